#include "base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/environment.hpp"

namespace wia {
namespace {

using testing::HasSubstr;

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const std::string& entry : environment_entries())
      if (entry.starts_with("WIA_")) unsetenv(entry.substr(0, entry.find('=')).c_str());
  }
  static const Config::Item* item(const Config& config, const std::string& variable) {
    for (const Config::Item& candidate : config.items)
      if (candidate.variable == variable) return &candidate;
    return nullptr;
  }
};

TEST_F(ConfigTest, DefaultsAreThoseOfTheStruct) {
  const Result<Config> config = Config::from_environment();
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().timeout_ms, 600'000);
  EXPECT_EQ(config.value().wait, "auto");
  EXPECT_EQ(config.value().items.size(), 19u);
  for (const Config::Item& each : config.value().items) {
    EXPECT_EQ(each.origin, "default") << each.variable;
    EXPECT_FALSE(each.meaning.empty()) << each.variable;
  }
  EXPECT_EQ(item(config.value(), "WIA_INIT_TIMEOUT")->value, "300");
}

TEST_F(ConfigTest, ReadsEverySetting) {
  setenv("WIA_LOG", "INFO", 1);
  setenv("WIA_TIMEOUT", "2.5", 1);
  setenv("WIA_INIT_TIMEOUT", "10", 1);
  setenv("WIA_LATE_NOTICE", "0.001", 1);
  setenv("WIA_RANKS_PER_NODE", "4", 1);
  setenv("WIA_LEVELS", "numa,node,16", 1);
  setenv("WIA_SWITCH", "leaf3", 1);
  setenv("WIA_DETERMINISTIC", "1", 1);
  setenv("WIA_STRICT", "1", 1);
  setenv("WIA_ALGORITHM", "all_reduce=hierarchical:direct:ring,broadcast=knomial", 1);
  setenv("WIA_TUNING", "/tmp/t.json", 1);
  setenv("WIA_SELECTOR", "model", 1);
  setenv("WIA_ONLINE", "0", 1);
  setenv("WIA_WAIT", "sleep", 1);
  setenv("WIA_HEAP_SIZE", "1.5G", 1);
  setenv("WIA_STAGING_SIZE", "64K", 1);
  setenv("WIA_TRANSPORT", "tcp", 1);
  setenv("WIA_SLICE_SIZE", "1M", 1);
  setenv("WIA_NIC", "eth0.5,^docker", 1);
  const Result<Config> read = Config::from_environment();
  ASSERT_TRUE(read.ok()) << read.status().text();
  const Config& config = read.value();
  EXPECT_EQ(config.log_level, log::Level::info);
  EXPECT_EQ(config.timeout_ms, 2500);
  EXPECT_EQ(config.init_timeout_ms, 10'000);
  EXPECT_EQ(config.late_notice_ms, 1);
  EXPECT_EQ(config.ranks_per_node, 4);
  EXPECT_EQ(config.levels, "numa,node,16");
  EXPECT_EQ(config.switch_name, "leaf3");
  EXPECT_TRUE(config.deterministic);
  EXPECT_TRUE(config.strict);
  EXPECT_EQ(config.algorithms, "all_reduce=hierarchical:direct:ring,broadcast=knomial");
  EXPECT_EQ(config.tuning, "/tmp/t.json");
  EXPECT_EQ(config.selector, "model");
  EXPECT_FALSE(config.correct_online);
  EXPECT_EQ(config.wait, "sleep");
  EXPECT_EQ(config.heap_bytes, 3ull << 29);
  EXPECT_EQ(config.staging_bytes, 64u << 10);
  EXPECT_EQ(config.transport, "tcp");
  EXPECT_EQ(config.slice_bytes, 1u << 20);
  EXPECT_EQ(config.nic, "eth0.5,^docker");
  for (const Config::Item& each : config.items) EXPECT_EQ(each.origin, "environment") << each.variable;
  EXPECT_EQ(item(config, "WIA_TIMEOUT")->value, "2.5");
}

TEST_F(ConfigTest, SlurmNamesTheSwitch) {
  setenv("SLURM_TOPOLOGY_ADDR", "core.leaf3.node17", 1);
  EXPECT_EQ(Config::from_environment().value().switch_name, "core.leaf3");
  setenv("SLURM_TOPOLOGY_ADDR", "node17", 1);
  EXPECT_EQ(Config::from_environment().value().switch_name, "");
  unsetenv("SLURM_TOPOLOGY_ADDR");
}

TEST_F(ConfigTest, EmptyCountsAsNotSet) {
  setenv("WIA_TIMEOUT", "", 1);
  const Result<Config> config = Config::from_environment();
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(item(config.value(), "WIA_TIMEOUT")->origin, "default");
}

TEST_F(ConfigTest, UnknownVariablesAreListedAsIgnored) {
  setenv("WIA_TIMEOT", "5", 1);
  setenv("WIA_RANK", "0", 1);
  const Result<Config> config = Config::from_environment();
  ASSERT_TRUE(config.ok());
  ASSERT_NE(item(config.value(), "WIA_TIMEOT"), nullptr);
  EXPECT_EQ(item(config.value(), "WIA_TIMEOT")->origin, "ignored");
  EXPECT_EQ(item(config.value(), "WIA_RANK"), nullptr);
}

struct BadValue {
  const char *variable, *value, *allowed;
};
void PrintTo(const BadValue& bad, std::ostream* out) { *out << bad.variable << "=" << bad.value; }

class BadValueTest : public ConfigTest, public testing::WithParamInterface<BadValue> {};

TEST_P(BadValueTest, ErrorNamesVariableValueAndRange) {
  const BadValue bad = GetParam();
  setenv(bad.variable, bad.value, 1);
  const Result<Config> config = Config::from_environment();
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.status().code(), Code::invalid_argument);
  EXPECT_THAT(config.status().text(), HasSubstr(bad.variable));
  EXPECT_THAT(config.status().text(), HasSubstr(std::string("\"") + bad.value + "\""));
  EXPECT_THAT(config.status().text(), HasSubstr(bad.allowed));
}

INSTANTIATE_TEST_SUITE_P(
    Values, BadValueTest,
    testing::Values(
        BadValue{"WIA_LOG", "loud", "debug, info"}, BadValue{"WIA_TIMEOUT", "-1", "0.001 to"},
        BadValue{"WIA_TIMEOUT", "0", "0.001 to"}, BadValue{"WIA_TIMEOUT", "10s", "0.001 to"},
        BadValue{"WIA_INIT_TIMEOUT", "1e3", "0.001 to"}, BadValue{"WIA_LATE_NOTICE", "1000001", "1000000"},
        BadValue{"WIA_RANKS_PER_NODE", "-2", "0 to"}, BadValue{"WIA_LEVELS", "numa;node", "numa, node"},
        BadValue{"WIA_DETERMINISTIC", "yes", "0 or 1"},
        BadValue{"WIA_ALGORITHM", "ring", "COLLECTIVE=ALGORITHM"},
        BadValue{"WIA_ALGORITHM", "all_reduce=ring,", "COLLECTIVE=ALGORITHM"},
        BadValue{"WIA_ALGORITHM", "a=b,a=c", "each collective once"}, BadValue{"WIA_WAIT", "poll", "spin"},
        BadValue{"WIA_SELECTOR", "best", "model"}, BadValue{"WIA_ONLINE", "2", "0 or 1"},
        BadValue{"WIA_HEAP_SIZE", "8XB", "1M to 64T"}, BadValue{"WIA_HEAP_SIZE", "1K", "1M to 64T"},
        BadValue{"WIA_STAGING_SIZE", "-4K", "4K to 1T"}, BadValue{"WIA_NIC", "eth0;eth1", "=NAME"}));

}  // namespace
}  // namespace wia
