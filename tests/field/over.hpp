// By which way the ranks of a test reach each other: the same tests run over several, as
// tests/field/CMakeLists.txt lists them. The variable TEST_OVER names the way.
#pragma once
#include <string_view>

#include "field/hosts.hpp"

namespace wia::field {

struct Over {
  std::string_view name;
  const char* transport;   // WIA_TRANSPORT
  const char* per_node;    // WIA_RANKS_PER_NODE
  int ranks_per_host = 0;  // 0: all ranks are on this host
  bool network() const { return name != "shm" && !name.empty(); }
};

inline const Over& over() {
  static constexpr Over kAll[] = {{"", "auto", "0"},
                                  {"shm", "shm", "0"},
                                  {"tcp", "tcp", "0"},  // every rank is a node
                                  {"ofi", "ofi", "0"},
                                  {"mixed", "tcp", "2"},
                                  {"namespaces", "auto", "0", 1},
                                  {"namespaces2", "auto", "0", 2}};
  static const Over& found = []() -> const Over& {
    const char* name = getenv("TEST_OVER");
    for (const Over& one : kAll)
      if (one.name == (name ? name : "")) return one;
    std::fprintf(stderr, "TEST_OVER=%s is none of the ways\n", name);
    std::exit(2);
  }();
  return found;
}

// Where hosts are wanted and cannot be had, the tests are skipped.
class HostsOrSkip : public testing::Environment {
  void SetUp() override {
    if (over().ranks_per_host > 0 && !Hosts::obstacle().empty())
      GTEST_SKIP() << "[  SKIPPED ] " << Hosts::obstacle();
  }
};
inline const auto* const kHostsOrSkip = testing::AddGlobalTestEnvironment(new HostsOrSkip);

}  // namespace wia::field
