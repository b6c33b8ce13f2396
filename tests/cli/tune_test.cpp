// wia tune as a command.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "temporary_folder.hpp"

namespace wia {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class TuneCommand : public TemporaryFolder {
 protected:
  TuneCommand() {
    std::string text = "machine,collective,library,ranks,bytes,time_us,note\n";
    for (const char* machine : {"one", "two"})
      for (int ranks = 2; ranks <= 32; ranks *= 2)
        for (long bytes = 1024; bytes <= 1 << 24; bytes *= 4) {
          const double size = static_cast<double>(bytes);
          text += fmt::format("{},all_gather,vendor,{},{},{},x\n", machine, ranks, bytes,
                              9 * ranks + size * 1e-3);
          text += fmt::format("{},all_gather,other,{},{},{},x\n", machine, ranks, bytes, 10 + size * 4e-3);
        }
    write("good.csv", text);
  }
  std::string read(const std::string& name) const { return read_path(path(name)); }
  // One line on stderr, nothing on stdout, exit code 2.
  static std::string refusal(const std::vector<std::string>& arguments) {
    Command command(arguments);
    EXPECT_EQ(command.wait(), 2);
    EXPECT_THAT(command.output, IsEmpty());
    EXPECT_EQ(sorted_lines(command.error).size(), 1u) << command.error;
    EXPECT_THAT(command.error, StartsWith("wia tune: "));
    return command.error;
  }
};

TEST_F(TuneCommand, WritesWhatItReadsBack) {
  Command learn({"tune", "--from", path("good.csv"), "--machine", "one", "-o", path("t.json")});
  EXPECT_EQ(learn.wait(), 0) << learn.error;
  EXPECT_THAT(learn.error, HasSubstr("columns that are not used: note"));
  EXPECT_THAT(learn.output, HasSubstr("all_gather: 40 cells; classes: other, vendor"));
  Command show({"tune", "--file", path("t.json")});
  EXPECT_EQ(show.wait(), 0) << show.error;
  EXPECT_EQ(show.output, learn.output);
  Command again({"tune", "--from", path("good.csv"), "--machine", "one", "-o", "-"});
  EXPECT_EQ(again.wait(), 0) << again.error;
  EXPECT_EQ(again.output, read("t.json"));
}

TEST_F(TuneCommand, ReportsAsTextAndJson) {
  Command text({"tune", "--from", path("good.csv"), "--report", "--splits", "2"});
  EXPECT_EQ(text.wait(60'000), 0) << text.error;
  EXPECT_THAT(text.output, StartsWith("A cell is "));
  for (const char* word :
       {"\none all_gather: 40 cells of 80 rows", "\ntwo all_gather", "learned", "always vendor", "best fixed",
        "nearest neighbour", "standard's rules", "cost model", "to 32 ranks"})
    EXPECT_THAT(text.output, HasSubstr(word));
  Command json({"tune", "--from", path("good.csv"), "--report", "--splits", "2", "--json", "-"});
  EXPECT_EQ(json.wait(60'000), 0) << json.error;
  const Json report = Json::parse(json.output);
  EXPECT_EQ(report["schema"], "wia.tune-report/1");
  ASSERT_EQ(report["tables"].size(), 2u);
  const Json& learned = report["tables"][0]["ways"][0];
  EXPECT_EQ(learned["way"], "learned");
  EXPECT_GE(learned["accuracy"]["mean"], 0.8);
  EXPECT_LE(learned["regret"]["geometric_mean"], 1.05);
}

TEST_F(TuneCommand, RanksOfANodeAreFilledIn) {
  std::string text = read("good.csv");
  for (size_t at; (at = text.find("\none,")) != std::string::npos;) text.replace(at, 5, "\nfrontier,");
  write("known.csv", text);
  Command known({"tune", "--from", path("known.csv"), "--machine", "frontier", "-o", "-"});
  EXPECT_EQ(known.wait(), 0) << known.error;
  EXPECT_THAT(known.error, HasSubstr("frontier: 8 ranks and 4 NICs a node, from the model of this machine"));
  EXPECT_THAT(known.output, HasSubstr("several_nodes"));
  Command told({"tune", "--from", path("good.csv"), "--machine", "two", "--ranks-per-node", "4", "-o", "-"});
  EXPECT_EQ(told.wait(), 0) << told.error;
  EXPECT_THAT(told.output, HasSubstr("\"ranks_per_node\":4"));
}

TEST_F(TuneCommand, AMistakeIsOneLineThatNamesIt) {
  EXPECT_THAT(refusal({"tune"}), HasSubstr("--from"));
  EXPECT_THAT(refusal({"tune", "--from", path("good.csv")}), HasSubstr("nothing is asked for"));
  EXPECT_THAT(refusal({"tune", "--from", path("none.csv"), "--report"}),
              HasSubstr("none.csv cannot be read"));
  EXPECT_THAT(refusal({"tune", "--from", folder_, "--report"}), HasSubstr("it is a directory"));
  EXPECT_THAT(refusal({"tune", "--file", path("good.csv")}), HasSubstr("line 1, column 1: is no JSON"));
  EXPECT_THAT(refusal({"tune", "--from", path("good.csv"), "--report", "--splits", "0"}),
              HasSubstr("--splits"));
  EXPECT_THAT(refusal({"tune", "--from", path("good.csv"), "--json", "-", "-o", "-", "--report"}),
              HasSubstr("-o"));
  write("bad.csv", "machine,collective,library,ranks,bytes,time_us\nm,all_gather,a,2,8,-1\n");
  EXPECT_THAT(refusal({"tune", "--from", path("bad.csv"), "--report"}),
              HasSubstr("bad.csv: line 2: time_us is \"-1\""));
  write("single.csv", "machine,collective,library,ranks,bytes,time_us\nm,all_gather,a,2,8,1\n");
  Command single({"tune", "--from", path("single.csv"), "--report"});
  EXPECT_EQ(single.wait(), 2);
  EXPECT_THAT(single.error, HasSubstr("no call was timed with two choices"));
}

TEST_F(TuneCommand, ATuningFileIsOfOneMachine) {
  const std::vector<std::string> from = {"tune", "--from", path("good.csv"), "-o", path("t.json")};
  Command several(from);
  EXPECT_EQ(several.wait(), 2);
  EXPECT_THAT(several.error, HasSubstr("has one, two: choose by --machine"));
  Command unknown({"tune", "--from", path("good.csv"), "-o", path("t.json"), "--machine", "three"});
  EXPECT_EQ(unknown.wait(), 2);
  EXPECT_THAT(unknown.error, HasSubstr("--machine: \"three\" is not in"));
  EXPECT_FALSE(std::filesystem::exists(path("t.json")));
}

TEST_F(TuneCommand, DamagedTuningFilesAreRefused) {
  Command learn({"tune", "--from", path("good.csv"), "--machine", "one", "-o", path("t.json")});
  ASSERT_EQ(learn.wait(), 0) << learn.error;
  const std::string good = read("t.json");
  for (int tenth = 0; tenth < 10; ++tenth) {
    write("cut.json", good.substr(0, good.size() * static_cast<size_t>(tenth) / 10));
    EXPECT_THAT(refusal({"tune", "--file", path("cut.json")}), HasSubstr("cut.json: line "));
  }
  std::string newer = good;
  newer.replace(newer.find("wia.tuning/1"), 12, "wia.tuning/2");
  write("newer.json", newer);
  EXPECT_THAT(refusal({"tune", "--file", path("newer.json")}), HasSubstr("schema: is \"wia.tuning/2\""));
}

}  // namespace
}  // namespace wia
