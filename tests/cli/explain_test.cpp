// wia explain as a command.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/json.hpp"
#include "cli/command.hpp"

namespace wia {
namespace {

using testing::HasSubstr;

TEST(ExplainCommand, SaysWhatAndWhy) {
  Command command({"explain", "all_reduce", "--size", "16M", "-n", "16", "--nodes", "4"});
  EXPECT_EQ(command.wait(), 0);
  const std::string text = command.output;
  EXPECT_THAT(text, HasSubstr("all_reduce of 16777216 bytes, 16 ranks on 4 nodes: hierarchical_ring"));
  EXPECT_THAT(text, HasSubstr("rules (its choice counts)"));
  EXPECT_THAT(text, HasSubstr("predicted"));
  EXPECT_THAT(text, HasSubstr("there is no tuning file"));
}

TEST(ExplainCommand, TheModelCountsWhenAsked) {
  Command command({"explain", "broadcast", "--size", "8", "--selector", "model", "--json", "-"});
  EXPECT_EQ(command.wait(), 0);
  const Json json = Json::parse(command.output);
  EXPECT_EQ(json["schema"], "wia.explain/1");
  ASSERT_EQ(json["selectors"].size(), 3u);
  EXPECT_EQ(json["selectors"][1]["selector"], "model");
  EXPECT_EQ(json["selectors"][1]["counts"], true);
  EXPECT_EQ(json["choice"], json["selectors"][1]["candidates"][0]["name"]);
}

TEST(ExplainCommand, WhatIsWrongIsNamed) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"explain", "all_produce", "--size", "8"}, "all_produce"},
      {{"explain", "all_reduce", "--size", "8XB"}, "8XB"},
      {{"explain", "all_reduce", "--size", "8", "-n", "2", "--nodes", "3"}, "--nodes"},
      {{"explain", "all_reduce", "--size", "8", "--selector", "best"}, "best"},
      {{"explain", "all_reduce", "--size", "8", "--dtype", "f12"}, "f12"},
      {{"explain", "all_reduce", "--size", "8", "--tuning", "/nowhere/t.json"}, "/nowhere/t.json"}};
  for (const auto& [arguments, text] : wrong) {
    Command command(arguments);
    EXPECT_EQ(command.wait(), 2) << text;
    EXPECT_THAT(command.error, HasSubstr(text));
  }
}

}  // namespace
}  // namespace wia
