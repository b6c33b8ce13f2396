// Strangers at the port where a rank takes its data connections: port scans, garbage and silence change
// nothing, and take a bounded number of descriptors. What a hello has to prove:
// tests/transport/network_test.cpp.
#include <filesystem>

#include "field/data.hpp"

namespace wia::field {
namespace {

long descriptors_of(pid_t process) {
  std::error_code ignored;
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(process) + "/fd", ignored), end;
  return std::distance(all, end);
}

FileDescriptor visit(int port) {
  FileDescriptor visitor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "10.77.0.1", &address.sin_addr);
  const timeval limit{5, 0};
  setsockopt(visitor.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  EXPECT_EQ(connect(visitor.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return visitor;
}
void say(const FileDescriptor& visitor, const std::string& text) {
  [[maybe_unused]] const auto sent = send(visitor.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

using NetworkStrangers = OnHosts;

TEST_F(NetworkStrangers, ChangeNothing) {
  const Hosts hosts(3);
  Options options;
  options.hosts = &hosts;
  Job job(
      2,
      [](int me) {
        setenv("WIA_LOG", "info", 1);
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 60'000));
        int64_t ends = 0;
        std::puts("under way");
        std::fflush(stdout);
        for (bool told = false; ends < 2;) {  // with new connections all the time
          wia_communicator_t* group = nullptr;
          WIA_OK(wia_communicator_duplicate(w, &group));
          WIA_RUN(check_sum(group, 1000));
          WIA_OK(wia_communicator_destroy(group));
          ends = me == 0 ? access("/dev/shm/end", F_OK) == 0 : 0;
          ends = told ? 2 : ends;
          WIA_OK(wia_all_reduce(&ends, &ends, 1, WIA_INT64, WIA_OP_MAX, w, nullptr));
          told = ends == 1;
        }
        return check_sum(w, 100'000);
      },
      options);
  ASSERT_TRUE(job.shows(0, "under way") && job.shows(1, "under way"));
  const std::string& text = job.text(0);
  int process = 0, port = 0;
  const size_t place = text.find("is reached at node0 ");
  ASSERT_NE(place, std::string::npos) << text;
  ASSERT_EQ(std::sscanf(text.c_str() + place, "is reached at node0 %d %d", &process, &port), 2) << text;
  const long before = descriptors_of(job.pids()[0]);
  long most = 0;
  hosts.within(2, [&] {
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 600; ++i) {
      visit(port);  // a scan: gone at once
      if (i % 4 == 0) say(visit(port), "GET / HTTP/1.1\r\nHost: node0\r\n\r\n");
      if (i % 4 == 1) say(visit(port), std::string(100'000, 'x'));
      if (i % 4 == 2) say(visit(port), std::string("WIAN\1\0\0", 7) + std::string(57, '\0'));  // no proof
      silent.push_back(visit(port));
      if (i % 2 == 0) say(silent.back(), std::string("WIAN\1\0", 6));  // and no more
      most = std::max(most, descriptors_of(job.pids()[0]));
    }
  });
  EXPECT_LT(most - before, 256 + 50);
  hosts.run(0, "touch /dev/shm/end");
  expect_good(job.collect());
}

}  // namespace
}  // namespace wia::field
