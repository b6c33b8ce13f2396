// Field case S09: a bad argument is refused at once, by name, value and legal range, and changes nothing.
#include <climits>

#include "field/data.hpp"

namespace wia::field {
namespace {

constexpr auto kType = WIA_INT64;
constexpr auto kInvalid = WIA_ERROR_INVALID_ARGUMENT;

// All packets of this host so far: nothing may be sent.
long packets() {
  std::FILE* file = std::fopen("/proc/net/dev", "r");
  char line[512];
  long total = 0;
  while (file && std::fgets(line, sizeof line, file)) {
    long received = 0, sent = 0;
    if (std::sscanf(line, " %*[^:]: %*d %ld %*d %*d %*d %*d %*d %*d %*d %ld", &received, &sent) == 2)
      total += received + sent;
  }
  if (file) std::fclose(file);
  return total;
}

int bad_roots_and_peers(wia_communicator_t* w) {
  Buffer<> x(8), y(8);
  for (const int root : {-1, 2, INT_MAX}) {
    const std::string shown = "root is " + std::to_string(root);
    WIA_CHECK(wia_broadcast_buffer(x.data(), 1, kType, root, w, nullptr) == kInvalid);
    WIA_CHECK(says(shown.c_str(), "0 to 1"));
    WIA_CHECK(wia_reduce(x.data(), y.data(), 1, kType, WIA_OP_SUM, root, w, nullptr) == kInvalid);
    WIA_CHECK(says(shown.c_str(), "0 to 1"));
    WIA_CHECK(wia_gather(x.data(), y.data(), 1, kType, root, w, nullptr) == kInvalid && says(shown.c_str()));
    WIA_CHECK(wia_scatter(x.data(), y.data(), 1, kType, root, w, nullptr) == kInvalid && says(shown.c_str()));
    const std::string to = "to is " + std::to_string(root), from = "from is " + std::to_string(root);
    WIA_CHECK(wia_send(x.data(), 1, kType, root, 0, w, nullptr) == kInvalid && says(to.c_str(), "0 to 1"));
    WIA_CHECK(wia_recv(x.data(), 1, kType, root, 0, w, nullptr) == kInvalid && says(from.c_str(), "0 to 1"));
    WIA_CHECK(wia_sendrecv(x.data(), 1, root, y.data(), 1, 0, kType, 0, w) == kInvalid && says(to.c_str()));
    WIA_CHECK(wia_sendrecv(x.data(), 1, 0, y.data(), 1, root, kType, 0, w) == kInvalid && says(from.c_str()));
  }
  WIA_CHECK(wia_send(x.data(), 1, kType, 0, -1, w, nullptr) == kInvalid && says("tag is -1", "0 and above"));
  WIA_CHECK(x.intact() && y.intact());
  return 0;
}

int bad_buffers_and_counts(wia_communicator_t* w) {
  Buffer<> x(8), y(8);
  const auto minus_one = static_cast<size_t>(-1);
  WIA_CHECK(wia_all_reduce(x.data(), x.data(), minus_one, kType, WIA_OP_SUM, w, nullptr) == kInvalid);
  WIA_CHECK(says("count is", "-1", "legal are 0 to"));
  WIA_CHECK(wia_send(x.data(), minus_one, kType, 1, 0, w, nullptr) == kInvalid && says("count is", "-1"));
  WIA_CHECK(wia_sendrecv(x.data(), minus_one, 0, y.data(), 1, 0, kType, 0, w) == kInvalid);
  WIA_CHECK(says("send_count is"));
  const size_t counts[] = {1, minus_one};
  WIA_CHECK(wia_all_gather_v(x.data(), y.data(), counts, nullptr, kType, w, nullptr) == kInvalid);
  WIA_CHECK(says("counts[1] is", "-1"));
  WIA_CHECK(wia_all_gather_v(x.data(), y.data(), nullptr, nullptr, kType, w, nullptr) == kInvalid);
  WIA_CHECK(says("counts is NULL", "one number a rank"));
  WIA_CHECK(wia_all_reduce(nullptr, x.data(), 5, kType, WIA_OP_SUM, w, nullptr) == kInvalid);
  WIA_CHECK(says("send is NULL", "40 bytes"));
  WIA_CHECK(wia_all_reduce(x.data(), nullptr, 5, kType, WIA_OP_SUM, w, nullptr) == kInvalid);
  WIA_CHECK(says("recv is NULL", "40 bytes"));
  WIA_CHECK(wia_broadcast_buffer(nullptr, 5, kType, 0, w, nullptr) == kInvalid && says("buffer is NULL"));
  WIA_CHECK(wia_recv(nullptr, 5, kType, 1, 0, w, nullptr) == kInvalid && says("buffer is NULL"));
  const auto dtype = static_cast<wia_dtype_t>(99);
  WIA_CHECK(wia_all_reduce(x.data(), y.data(), 1, dtype, WIA_OP_SUM, w, nullptr) == kInvalid);
  WIA_CHECK(says("dtype is 99", "0 to 14"));
  WIA_CHECK(wia_send(x.data(), 1, dtype, 1, 0, w, nullptr) == kInvalid && says("dtype is 99", "0 to 14"));
  WIA_CHECK(wia_all_reduce(x.data(), y.data(), 1, kType, static_cast<wia_op_t>(98), w, nullptr) == kInvalid);
  WIA_CHECK(says("op is 98", "0 to 9"));
  WIA_CHECK(x.intact() && y.intact());
  return 0;
}

int bad_handles(wia_communicator_t* w) {
  int64_t x = 0;
  wia_communicator_t* out = nullptr;
  WIA_CHECK(wia_all_reduce(&x, &x, 1, kType, WIA_OP_SUM, nullptr, nullptr) == kInvalid &&
            says("comm is NULL"));
  WIA_CHECK(wia_barrier(nullptr) == kInvalid && wia_rank(nullptr) == -1 && wia_size(nullptr) == -1);
  WIA_CHECK(wia_communicator_split(w, 0, 0, nullptr) == kInvalid && says("out is NULL"));
  WIA_CHECK(wia_communicator_create(w, nullptr, 2, &out) == kInvalid && says("ranks is NULL"));
  WIA_CHECK(wia_communicator_destroy(nullptr) == kInvalid && wia_communicator_abort(nullptr) == kInvalid);
  WIA_CHECK(wia_request_wait(nullptr, 0) == kInvalid && says("request is NULL"));
  WIA_CHECK(wia_init(nullptr) == kInvalid && says("world is NULL"));
  WIA_CHECK(wia_communicator_set_timeout(w, 0) == kInvalid && says("timeout is 0", "1 and more"));
  WIA_CHECK(wia_communicator_set_algorithm(w, "all_reduce", "nosuch") == kInvalid);
  WIA_CHECK(says("nosuch", "ring", "two_phase"));
  WIA_CHECK(wia_communicator_set_algorithm(w, "nosuch", "ring") == kInvalid && says("nosuch", "all_gather"));
  WIA_OK(wia_communicator_set_timeout(w, -1));  // no limit
  WIA_OK(wia_communicator_set_timeout(w, 10'000));
  return 0;
}

int bad_tensors(wia_communicator_t* w) {
  const size_t shape[] = {4}, huge[] = {SIZE_MAX / 2, 3};
  WIA_CHECK(!wia_tensor_create(nullptr, shape, -1, WIA_FLOAT32) && says("dims is -1"));
  WIA_CHECK(!wia_tensor_create(nullptr, nullptr, 1, WIA_FLOAT32) && wia_last_error() == kInvalid);
  WIA_CHECK(!wia_tensor_create(nullptr, huge, 2, WIA_FLOAT32) && says("shape["));
  WIA_CHECK(!wia_tensor_create(nullptr, shape, 1, static_cast<wia_dtype_t>(-1)) && says("dtype is -1"));
  WIA_CHECK(!wia_allreduce(nullptr, WIA_OP_SUM, w) && says("tensor is NULL"));
  WIA_CHECK(!wia_allgather(nullptr, w) && !wia_reduce_scatter(nullptr, WIA_OP_SUM, w));
  WIA_CHECK(wia_broadcast(nullptr, 0, w) == kInvalid && wia_send_async(nullptr, 0, 0) == kInvalid);
  wia_tensor_t* tensor = wia_tensor_create(nullptr, shape, 1, WIA_FLOAT32);
  WIA_CHECK(wia_send_async(tensor, 2, 0) == kInvalid && says("chunk is 2", "0 to 1"));
  WIA_CHECK(wia_recv_async(tensor, -1, 0) == kInvalid && says("chunk is -1", "0 to 1"));
  WIA_CHECK(wia_send_async(tensor, 0, 9) == kInvalid && says("to is 9", "0 to 1"));
  wia_tensor_destroy(tensor);
  int on_stack = 0;
  wia_free(&on_stack);  // reported, not followed
  WIA_CHECK(says("was not given by wia_alloc"));
  WIA_CHECK(!wia_alloc_device(-1, 8) && !wia_alloc_device(wia_get_device_count(), 8));
  WIA_CHECK(wia_copy_peer(nullptr, shape, 8) == kInvalid && says("destination is NULL"));
  return 0;
}

TEST(S09, AreRefusedByNameAtOnce) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    const long before = packets();
    for (const auto& check : {bad_roots_and_peers, bad_buffers_and_counts, bad_handles, bad_tensors}) {
      const double began = seconds();
      WIA_RUN(check(w));
      WIA_CHECK(seconds() - began < 0.1 * 10);  // each is a dozen calls and more
      WIA_RUN(check_sum(w));
    }
    if (packets() != before && me == 0) std::printf("note: other traffic on this host\n");
    WIA_OK(wia_communicator_status(w));
    return 0;
  }));
}

TEST(S09, BeforeTheStart) {
  expect_good(run_ranks(1, [](int) {
    const size_t shape[] = {4};
    wia_tensor_t* tensor = wia_tensor_create(nullptr, shape, 1, WIA_FLOAT32);
    WIA_CHECK(tensor && wia_send_async(tensor, 0, 0) == WIA_ERROR_NOT_INITIALIZED && says("wia_init"));
    wia_tensor_destroy(tensor);
    wia_unique_id_t id = {};
    wia_communicator_t* w = nullptr;
    WIA_CHECK(wia_init_rank(&w, 2, nullptr, 0) == kInvalid && says("id is NULL"));
    WIA_CHECK(wia_init_rank(&w, 2, &id, 0) == kInvalid && says("wia_get_unique_id"));
    WIA_OK(wia_get_unique_id(&id));
    WIA_CHECK(wia_init_rank(&w, 0, &id, 0) == kInvalid && says("num_ranks is 0", "1 and above"));
    WIA_CHECK(wia_init_rank(&w, 2, &id, 2) == kInvalid && says("rank is 2", "0 to 1"));
    return 0;
  }));
}

}  // namespace
}  // namespace wia::field
