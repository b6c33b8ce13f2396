// Field case S15: a wrong address or port of the master ends every rank in time, and says what failed.
#include <gmock/gmock.h>

#include "field/data.hpp"

namespace wia::field {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int kPort = 29'500, kWebPort = 8080;

struct Wrong {
  const char* name;
  const char* address;  // where rank 1 looks for the master
  int port;
  bool rank_0_runs;
  const char* reason;  // a regular expression
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

const Wrong kWrong[] = {
    {"closed_port", "10.77.0.1", kPort, false, "connection refused"},
    {"unused_address", "10.77.0.200", kPort, true, "no route to host|no answer"},
    {"dropped_silently", "10.99.0.1", kPort, true, "no answer"},
    {"unroutable", "10.98.0.1", kPort, true, "no route to host|network is unreachable"},
    {"no_such_name", "nobody.invalid", kPort, true, "no such host|no answer about the host name"},
    {"a_web_server", "10.77.0.1", kWebPort, true, "does not speak this protocol"},
    {"another_port", "10.77.0.1", kPort + 1, true, "connection refused"},
};

// Answers whoever connects like a web server, until it is killed.
pid_t serve_the_web(const Hosts& hosts) {
  const int listener = hosts.within(0, [] { return socket(AF_INET, SOCK_STREAM, 0); });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kWebPort);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener, 10), 0);
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (child == 0) {
    const int visitor = accept(listener, nullptr, nullptr);
    const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    if (write(visitor, answer, sizeof answer - 1) < 0) _exit(1);
    close(visitor);
  }
  close(listener);
  return child;
}

class NetworkS15 : public OnHosts, public testing::WithParamInterface<Wrong> {};

TEST_P(NetworkS15, EndsInTimeAndSaysWhatFailed) {
  const Wrong& wrong = GetParam();
  const Hosts hosts(2);
  hosts.run(1, "ip route add 10.99.0.0/24 via 10.77.0.1; ip route add unreachable 10.98.0.0/24");
  hosts.run(0, "echo 0 >/proc/sys/net/ipv4/ip_forward");
  const pid_t web = serve_the_web(hosts);
  Options options;
  options.hosts = &hosts;
  options.port = kPort;
  options.world_size = 2;
  const Results results = run_ranks(
      2,
      [&](int me) {
        if (me == 0 && !wrong.rank_0_runs) return 7;
        setenv("WIA_INIT_TIMEOUT", "2", 1);
        if (me == 1) {
          setenv("WIA_MASTER_ADDR", wrong.address, 1);
          setenv("WIA_MASTER_PORT", std::to_string(wrong.port).c_str(), 1);
        }
        const double began = seconds();
        wia_communicator_t* w = nullptr;
        const wia_status_t status = wia_init(&w);
        std::printf("%s\n", wia_last_error_message());
        return status < 0 && seconds() - began < 2 + 5 ? 7 : 1;
      },
      options);
  kill(web, SIGKILL);
  waitpid(web, nullptr, 0);
  for (const RankResult& result : results) EXPECT_EQ(result.code, 7) << result.text;
  EXPECT_THAT(results[1].text,
              AllOf(HasSubstr(std::string(wrong.address) + ":" + std::to_string(wrong.port)),
                    ContainsRegex(wrong.reason), ContainsRegex("[0-9]+ attempts? in [0-9.]+ s")));
  EXPECT_THAT(results[0].text, HasSubstr(wrong.rank_0_runs ? "rank 1" : ""));
}

INSTANTIATE_TEST_SUITE_P(Field, NetworkS15, testing::ValuesIn(kWrong),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace wia::field
