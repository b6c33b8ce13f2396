// Field case S01: calls without data are calls like others: they succeed, write nothing, and keep their place
// in the order.
#include "field/data.hpp"

namespace wia::field {
namespace {

constexpr auto kType = WIA_INT64;

// Every collective with count 0, on these pointers.
std::vector<wia_status_t> call_all(wia_communicator_t* w, int64_t* in, int64_t* out,
                                   wia_request_t** requests) {
  const size_t none[16] = {};
  size_t next = 0;
  const auto request = [&] { return requests ? &requests[next++] : nullptr; };
  return {wia_all_reduce(in, out, 0, kType, WIA_OP_SUM, w, request()),
          wia_all_gather(in, out, 0, kType, w, request()),
          wia_all_gather_v(in, out, none, nullptr, kType, w, request()),
          wia_reduce_scatter_block(in, out, 0, kType, WIA_OP_MAX, w, request()),
          wia_reduce_scatter_v(in, out, none, kType, WIA_OP_SUM, w, request()),
          wia_broadcast_buffer(out, 0, kType, 1, w, request()),
          wia_reduce(in, out, 0, kType, WIA_OP_SUM, 2, w, request()),
          wia_gather(in, out, 0, kType, 1, w, request()),
          wia_gather_v(in, out, none, nullptr, kType, 0, w, request()),
          wia_scatter(in, out, 0, kType, 2, w, request()),
          wia_scatter_v(in, out, none, nullptr, kType, 1, w, request()),
          wia_all_to_all(in, out, 0, kType, w, request()),
          wia_all_to_all_v(in, none, nullptr, out, none, nullptr, kType, w, request())};
}

TEST(S01, NothingInEveryCall) {
  expect_good(run_ranks(3, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const bool with_memory : {false, true}) {
      Buffer<> in(0), out(0);
      int64_t *send = with_memory ? in.data() : nullptr, *recv = with_memory ? out.data() : nullptr;
      for (const wia_status_t status : call_all(w, send, recv, nullptr)) WIA_CHECK(status == WIA_SUCCESS);
      wia_request_t* requests[16] = {};
      for (const wia_status_t status : call_all(w, send, recv, requests)) WIA_CHECK(status == WIA_SUCCESS);
      for (wia_request_t* request : requests)
        if (request) WIA_OK(wia_request_wait(request, -1));
      WIA_CHECK(in.intact() && out.intact());
      // A call with data right behind one without.
      WIA_OK(wia_all_reduce(send, recv, 0, kType, WIA_OP_SUM, w, nullptr));
      WIA_RUN(check_sum(w, 5));
    }
    return 0;
  }));
}

TEST(S01, ShapesWithAnEmptyExtent) {
  expect_good(run_ranks(3, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    const size_t shape[] = {1, 0, 2};
    wia_tensor_t* chunk = wia_tensor_create(nullptr, shape, 3, WIA_FLOAT32);
    WIA_CHECK(chunk && wia_tensor_count(chunk) == 0);
    wia_tensor_t* whole = wia_allgather(chunk, w);
    WIA_CHECK(whole && wia_tensor_count(whole) == 0 && wia_tensor_dims(whole) == 3);
    WIA_CHECK(wia_tensor_shape(whole)[0] == 3 && wia_tensor_shape(whole)[2] == 2);
    wia_tensor_t* part = wia_reduce_scatter(whole, WIA_OP_SUM, w);
    WIA_CHECK(part && wia_tensor_shape(part)[0] == 1 && wia_tensor_count(part) == 0);
    WIA_CHECK(wia_allreduce(part, WIA_OP_SUM, w) == part);
    for (wia_tensor_t* tensor : {chunk, whole, part}) wia_tensor_destroy(tensor);
    return check_sum(w, 5);
  }));
}

// all_to_all_v where counts[s][r] elements go from s to r.
int exchange(wia_communicator_t* w, const size_t (&counts)[3][3]) {
  const int me = wia_rank(w);
  size_t received[3], sending = 0, receiving = 0;
  for (int r = 0; r < 3; ++r) {
    received[r] = counts[r][me];
    sending += counts[me][r];
    receiving += received[r];
  }
  Buffer<> in(sending), out(receiving);
  in.fill(me);
  WIA_OK(wia_all_to_all_v(in.data(), counts[me], nullptr, out.data(), received, nullptr, kType, w, nullptr));
  size_t at = 0;
  for (int r = 0; r < 3; ++r) {
    size_t from = 0;  // where my part begins in r's data
    for (int q = 0; q < me; ++q) from += counts[r][q];
    for (size_t i = 0; i < received[r]; ++i) WIA_CHECK(out.get(at++) == value(r, from + i));
  }
  WIA_CHECK(in.intact() && out.intact());
  return 0;
}

TEST(S01, SomeSendOrReceiveNothing) {
  expect_good(run_ranks(3, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const char* algorithm : {"direct", "pairwise"}) {
      WIA_OK(wia_communicator_set_algorithm(w, "all_to_all", algorithm));
      WIA_RUN(exchange(w, {{3, 1, 2}, {0, 0, 0}, {4, 9000, 1}}));   // rank 1 sends nothing
      WIA_RUN(exchange(w, {{3, 1, 0}, {70000, 2, 0}, {4, 5, 0}}));  // rank 2 receives nothing
      WIA_RUN(exchange(w, {{0, 0, 7}, {0, 0, 0}, {0, 0, 0}}));
      WIA_RUN(exchange(w, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}));
    }
    const size_t divisions[][3] = {{2, 0, 1}, {0, 0, 9}, {100000, 0, 0}, {0, 0, 0}};
    for (const auto& counts : divisions) {
      const size_t all = counts[0] + counts[1] + counts[2];
      Buffer<> in(counts[me]), gathered(all), full(all), part(counts[me]);
      in.fill(me), full.fill(me);
      WIA_OK(wia_all_gather_v(in.data(), gathered.data(), counts, nullptr, kType, w, nullptr));
      size_t at = 0, mine = 0;
      for (int r = 0; r < 3; ++r)
        for (size_t i = 0; i < counts[r]; ++i) WIA_CHECK(gathered.get(at++) == value(r, i));
      WIA_OK(wia_reduce_scatter_v(full.data(), part.data(), counts, kType, WIA_OP_SUM, w, nullptr));
      for (int r = 0; r < me; ++r) mine += counts[r];
      for (size_t i = 0; i < counts[me]; ++i) WIA_CHECK(part.get(i) == sum(3, mine + i));
      WIA_CHECK(in.intact() && gathered.intact() && full.intact() && part.intact());
    }
    return check_sum(w, 5);
  }));
}

}  // namespace
}  // namespace wia::field
