// Field case S23: a port that is taken, shared by two jobs, used over again, 0, or not allowed.
#include <fstream>

#include "field/data.hpp"

namespace wia::field {
namespace {

// Accepts on a port of its own, on the host of rank 0, and never says a word.
class SilentListener {
 public:
  SilentListener() : socket_(make()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(over().ranks_per_host > 0 ? INADDR_ANY : INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    bind(socket_, reinterpret_cast<sockaddr*>(&address), length);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    listen(socket_, 100);
    port = ntohs(address.sin_port);
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  ~SilentListener() { close(socket_); }
  int port = 0;

 private:
  static int make() {
    const auto here = [] { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); };
    return over().ranks_per_host > 0 ? Hosts::at_least(2).within(0, here) : here();
  }

  const int socket_;
};

TEST(S23, AForeignListenerOnThePort) {
  const SilentListener stranger;
  const std::string port = std::to_string(stranger.port);
  Options options;
  options.port = stranger.port;
  expect_good(run_ranks(
      2,
      [&](int me) {
        setenv("WIA_INIT_TIMEOUT", "3", 1);
        const double began = seconds();
        wia_communicator_t* w = nullptr;
        WIA_CHECK(wia_init(&w) < 0 && says(port.c_str()));
        WIA_CHECK(seconds() - began < (me == 0 ? 5 : 3 + 5));
        if (me == 0) WIA_CHECK(says("WIA_MASTER_PORT"));
        return 0;
      },
      options));
}

// No rank ever joins the other job; at least one of the two jobs runs.
TEST(S23, TwoJobsOnOnePort) {
  if (over().ranks_per_host > 0) Hosts::at_least(3);  // both jobs are on the same ones
  for (const bool same_secret : {false, true}) {
    const auto rank_main = [](int) {
      setenv("WIA_INIT_TIMEOUT", "4", 1);
      wia_communicator_t* w = nullptr;
      const double began = seconds();
      if (wia_init(&w) != WIA_SUCCESS) {
        std::printf("refused: %s\n", wia_last_error_message());
        return seconds() - began < 4 + 5 ? 7 : 1;
      }
      for (int i = 0; i < 200; ++i) WIA_RUN(check_sum(w, 2000));
      return 0;
    };
    Options first, second;
    first.port = second.port = free_port();
    first.secret = "A";
    second.secret = same_secret ? "A" : "B";
    Job a(2, rank_main, first), b(3, rank_main, second);
    const Results of_a = a.collect(), of_b = b.collect();
    int jobs_that_ran = 0;
    for (const Results& results : {of_a, of_b}) {
      jobs_that_ran += results[0].code == 0;
      for (const RankResult& result : results) {
        EXPECT_EQ(result.code, results[0].code) << result.text;
        if (result.code == 7)
          EXPECT_NE(result.text.find(std::to_string(first.port)), std::string::npos) << result.text;
        else
          EXPECT_EQ(result.code, 0) << result.text;
      }
    }
    EXPECT_GE(jobs_that_ran, 1);
  }
}

TEST(S23, OverAndOverOnOnePort) {
  Options options;
  options.port = free_port();
  for (int i = 0; i < 100; ++i)
    expect_good(run_ranks(
        2,
        [](int) {
          wia_communicator_t* w = nullptr;
          WIA_RUN(start(&w));
          return check_sum(w);
        },
        options));
}

TEST(S23, PortsThatAreNone) {
  for (const char* port : {"0", "-1", "65536", "port"})
    expect_good(run_ranks(2, [port](int) {
      setenv("WIA_MASTER_PORT", port, 1);
      setenv("WIA_INIT_TIMEOUT", "2", 1);
      const double began = seconds();
      wia_communicator_t* w = nullptr;
      WIA_CHECK(wia_init(&w) == WIA_ERROR_INVALID_ARGUMENT && seconds() - began < 1);
      WIA_CHECK(says("WIA_MASTER_PORT", port));
      return 0;
    }));
}

TEST(S23, APortThatNeedsPermission) {
  int first_free = 1024;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  if (getuid() != 0) GTEST_SKIP() << "becomes another user, which only root may";
  if (first_free <= 80) GTEST_SKIP() << "on this machine everybody may serve port 80";
  Options options;
  options.port = 80;
  expect_good(run_ranks(
      2,
      [](int me) {
        setenv("WIA_INIT_TIMEOUT", "2", 1);
        WIA_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
        const double began = seconds();
        wia_communicator_t* w = nullptr;
        WIA_CHECK(wia_init(&w) < 0 && says("80") && seconds() - began < 2 + 5);
        if (me == 0) WIA_CHECK(says("no permission for this port") && seconds() - began < 5);
        return 0;
      },
      options));
}

}  // namespace
}  // namespace wia::field
