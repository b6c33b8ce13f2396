#include "bootstrap/store_table.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

using store_protocol::Answer;
using store_protocol::Operation;
using store_protocol::Reply;
using store_protocol::Request;

constexpr int64_t kMs = 1'000'000;

Request get_all(std::vector<std::string> keys, uint32_t timeout_ms = store_protocol::kForever) {
  Request request;
  request.operation = Operation::get_all;
  request.keys = std::move(keys);
  request.timeout_ms = timeout_ms;
  return request;
}

class StoreTableTest : public testing::Test {
 protected:
  Reply call(Operation operation, const std::string& key, const std::string& value, int64_t amount = 0) {
    Request request;
    request.operation = operation;
    request.keys = {key};
    request.value = value;
    request.amount = amount;
    auto reply = table.handle(request, 99, 0);
    EXPECT_TRUE(reply);
    return *reply;
  }
  void set(const std::string& key, const std::string& value) { call(Operation::set, key, value); }

  StoreTable table;
};

TEST_F(StoreTableTest, AWaitingCallGetsItsValuesInOrderOnceAllAreThere) {
  set("b", "2");
  EXPECT_FALSE(table.handle(get_all({"a", "b", "c"}), 7, 0));
  set("c", "3");
  EXPECT_TRUE(table.take_ready(0).empty());
  set("a", "1");
  const auto ready = table.take_ready(0);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].first, 7u);
  EXPECT_EQ(ready[0].second.values, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_TRUE(table.take_ready(0).empty());
}

TEST_F(StoreTableTest, AKeyErasedMeanwhileIsWaitedForAgain) {
  EXPECT_FALSE(table.handle(get_all({"a", "b"}), 7, 0));
  set("a", "1");
  call(Operation::erase, "a", "");
  set("b", "2");
  EXPECT_TRUE(table.take_ready(0).empty());
  set("a", "again");
  const auto ready = table.take_ready(0);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].second.values[0], "again");
}

TEST_F(StoreTableTest, TimePassesWithTheMissingIndices) {
  set("b", "2");
  EXPECT_FALSE(table.handle(get_all({"a", "b", "c"}, 10), 7, 5 * kMs));
  EXPECT_EQ(table.next_timeout(), 15 * kMs);
  EXPECT_TRUE(table.take_ready(15 * kMs - 1).empty());
  const auto ready = table.take_ready(15 * kMs);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].second.answer, Answer::timeout);
  EXPECT_EQ(ready[0].second.missing, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(table.next_timeout(), INT64_MAX);
}

TEST_F(StoreTableTest, NoTimeAsksOnlyWhatIsMissing) {
  const auto reply = table.handle(get_all({"a"}, 0), 7, 0);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->answer, Answer::timeout);
}

TEST_F(StoreTableTest, AForgottenCallerGetsNothing) {
  EXPECT_FALSE(table.handle(get_all({"a"}, 10), 7, 0));
  EXPECT_FALSE(table.handle(get_all({"a"}, 10), 8, 0));
  table.forget(7);
  set("a", "1");
  const auto ready = table.take_ready(100 * kMs);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].first, 8u);
}

TEST_F(StoreTableTest, SetIfAbsentGivesTheValueThatStands) {
  EXPECT_EQ(call(Operation::set_if_absent, "k", "first").values[0], "first");
  EXPECT_EQ(call(Operation::set_if_absent, "k", "second").values[0], "first");
}

TEST_F(StoreTableTest, AddCountsAndRefusesWhatIsNoNumber) {
  EXPECT_EQ(call(Operation::add, "n", "", 5).values[0], "5");
  EXPECT_EQ(call(Operation::add, "n", "", -7).values[0], "-2");
  set("text", "abc");
  EXPECT_EQ(call(Operation::add, "text", "", 1).answer, Answer::bad_request);
  set("big", "9223372036854775807");
  EXPECT_EQ(call(Operation::add, "big", "", 1).answer, Answer::bad_request);
}

TEST_F(StoreTableTest, AFullStoreRefusesAndKeepsWhatItHas) {
  const std::string value(store_protocol::kMaxValue, 'v');
  size_t stored = 0;
  while (call(Operation::set, std::to_string(stored), value).answer == Answer::ok) ++stored;
  EXPECT_EQ(stored, StoreTable::kMaxTotal / (store_protocol::kMaxValue + 4));
  EXPECT_EQ(table.handle(get_all({"0"}, 0), 7, 0)->values[0].size(), value.size());
  call(Operation::erase, "0", "");
  EXPECT_EQ(call(Operation::set, "0", value).answer, Answer::ok);
}

}  // namespace
}  // namespace wia
