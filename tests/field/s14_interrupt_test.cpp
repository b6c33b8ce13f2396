// Field case S14 (g): whoever embeds the library can end any wait of a thread, as Ctrl-C does in Python.
#include "field/data.hpp"

namespace wia::field {
namespace {

// Says "end the wait" once the time has come.
struct Alarm {
  double at;
  int asked = 0;
  explicit Alarm(double after) : at(seconds() + after) { wia_set_interrupted(&Alarm::ask, this); }
  ~Alarm() { wia_set_interrupted(nullptr, nullptr); }
  static bool ask(void* context) {
    auto* self = static_cast<Alarm*>(context);
    ++self->asked;
    return seconds() >= self->at;
  }
};

TEST(S14, AnInterruptEndsACallOnAllRanks) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_RUN(check_sum(w));
    int64_t x = 1;
    if (me == 1) {  // does not come until it hears of the end
      const double began = seconds();
      while (wia_communicator_status(w) == WIA_SUCCESS && seconds() - began < 20) usleep(10'000);
      WIA_CHECK(wia_communicator_status(w) == WIA_ERROR_ABORTED && says("rank 0", "interrupted"));
      return 0;
    }
    const Alarm alarm(0.5);
    const double began = seconds();
    WIA_CHECK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, w, nullptr) == WIA_ERROR_ABORTED);
    WIA_CHECK(says("rank 0", "interrupted") && seconds() - began < 0.5 + 5 && alarm.asked > 1);
    return 0;
  }));
}

TEST(S14, AnInterruptedRequestLivesOn) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    int64_t x = 1;
    if (me == 0) {
      wia_request_t* request = nullptr;
      WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, w, &request));
      {
        const Alarm alarm(0.3);
        WIA_CHECK(wia_request_wait(request, -1) == WIA_IN_PROGRESS);
      }
      const char* who = wia_communicator_waiting(w);
      WIA_CHECK(who && std::strstr(who, "all_reduce") && std::strstr(who, "rank 1"));
      WIA_OK(wia_send(&x, 1, WIA_INT64, 1, 0, w, nullptr));  // the other may come
      WIA_OK(wia_request_wait(request, -1));
      WIA_CHECK(wia_communicator_waiting(w)[0] == '\0');
    } else {
      int64_t word = 0;
      WIA_OK(wia_recv(&word, 1, WIA_INT64, 0, 0, w, nullptr));
      WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, w, nullptr));
    }
    WIA_CHECK(x == 2);
    return 0;
  }));
}

TEST(S14, AnInterruptEndsAReceiveAndAStart) {
  Options alone;
  alone.world_size = 2;
  expect_good(run_ranks(
      1,
      [](int) {
        wia_communicator_t* w = nullptr;
        const Alarm alarm(0.5);
        const double began = seconds();
        WIA_CHECK(wia_init(&w) == WIA_ERROR_ABORTED && says("rank 1", "interrupted"));
        WIA_CHECK(seconds() - began < 0.5 + 5);
        return 0;
      },
      alone));
  expect_good(run_ranks(1, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    int64_t x = 0;
    const Alarm alarm(0.3);
    WIA_CHECK(wia_recv(&x, 1, WIA_INT64, 0, 0, w, nullptr) == WIA_ERROR_ABORTED && says("interrupted"));
    return 0;
  }));
}

TEST(S14, TheStayOfAServingProcessHasALimit) {
  Job job(2, [](int me) {
    setenv("WIA_INIT_TIMEOUT", "60", 1);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    if (me == 1) {
      usleep(4'000'000);  // has not left
      return 0;
    }
    const double began = seconds();
    WIA_OK(wia_finalize_within(200));
    WIA_CHECK(seconds() - began < 3.5);
    return 0;
  });
  expect_good(job.collect());
}

TEST(S14, AnIdSaysWhereRanksMeet) {
  expect_good(run_ranks(1, [](int) {
    wia_unique_id_t id;
    WIA_OK(wia_get_unique_id_at("127.0.0.1", &id));
    WIA_CHECK(std::strstr(id.bytes, "127.0.0.1"));
    wia_communicator_t* w = nullptr;
    WIA_OK(wia_init_rank(&w, 1, &id, 0));
    WIA_OK(wia_communicator_destroy(w));
    WIA_CHECK(wia_get_unique_id_at("a b", &id) == WIA_ERROR_INVALID_ARGUMENT && says("a b"));
    return 0;
  }));
}

}  // namespace
}  // namespace wia::field
