// wia tune by measuring, on ranks of its own.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/command.hpp"
#include "dispatch/tuning_file.hpp"
#include "temporary_folder.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class TuneMeasures : public TemporaryFolder {
 protected:
  std::string path(const std::string& name = "t.json") const { return TemporaryFolder::path(name); }
  std::string read() const { return read_path(path()); }
  Tuning tuning() const {
    auto tuning = read_tuning(path());
    EXPECT_TRUE(tuning.ok()) << tuning.status().text();
    return tuning.ok() ? std::move(*tuning) : Tuning();
  }
  std::vector<std::string> tune(std::vector<std::string> more) const {
    more.insert(more.begin(), {"tune", "-o", path()});
    return more;
  }
  // Exit code 2, one line on stderr, no rank was started.
  static std::string refusal(const std::vector<std::string>& arguments) {
    Command command(arguments);
    EXPECT_EQ(command.wait(), 2);
    EXPECT_THAT(command.output, IsEmpty());
    EXPECT_THAT(sorted_lines(command.error), SizeIs(1)) << command.error;
    EXPECT_THAT(command.error, StartsWith("wia tune: "));
    EXPECT_TRUE(command.leaves_nothing());
    return command.error;
  }
};

TEST_F(TuneMeasures, WritesAFileThatIsRead) {
  Command command(tune({"-n", "2", "--budget", "3s"}));
  ASSERT_EQ(command.wait(60'000), 0) << command.error;
  EXPECT_THAT(command.error, IsEmpty());
  EXPECT_THAT(command.output, AllOf(HasSubstr("2 ranks on 1 node, shared memory"), HasSubstr("all_reduce"),
                                    HasSubstr("geometric mean of the ratios")));
  const Tuning found = tuning();
  EXPECT_EQ(found.conditions.at("ranks"), "2");
  ASSERT_THAT(found.collectives, Not(IsEmpty()));
  EXPECT_EQ(found.collectives[0].collective, Collective::all_reduce);
  for (const CollectiveTuning& one : found.collectives)
    for (const auto& cell : one.cells) {
      EXPECT_EQ(cell.call.ranks, 2);
      EXPECT_EQ(cell.call.nodes, 1);
      EXPECT_THAT(cell.rounds_us, Not(IsEmpty()));
    }
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
  Command show({"tune", "--file", path()});
  EXPECT_EQ(show.wait(), 0) << show.error;
  EXPECT_THAT(show.output, HasSubstr("source: wia tune"));
}

TEST_F(TuneMeasures, GoesOnFromItsFileAndKeepsWhatIsThere) {
  Command first(tune({"all_reduce,broadcast", "--sizes", "8,64K", "--budget", "2"}));
  ASSERT_EQ(first.wait(60'000), 0) << first.error;
  const Tuning before = tuning();
  ASSERT_THAT(before.collectives, SizeIs(2));
  Command second(tune({"allreduce", "--sizes", "1K", "--budget", "2"}));
  ASSERT_EQ(second.wait(60'000), 0) << second.error;
  EXPECT_THAT(second.output, Not(HasSubstr("65536")));  // not asked for this time
  const Tuning after = tuning();
  ASSERT_THAT(after.collectives, SizeIs(2));
  ASSERT_THAT(after.collectives[0].cells, SizeIs(3));
  EXPECT_EQ(after.collectives[0].cells[0].rounds_us, before.collectives[0].cells[0].rounds_us);
  EXPECT_EQ(after.collectives[0].cells[1].call.bytes, 1024);
  EXPECT_EQ(after.collectives[0].cells[2].rounds_us, before.collectives[0].cells[1].rounds_us);
  EXPECT_EQ(after.collectives[1].cells, before.collectives[1].cells);
}

TEST_F(TuneMeasures, AFileOfOtherRanksOrMachinesIsRefused) {
  Command first(tune({"all_reduce", "--sizes", "8", "--budget", "0.1"}));
  ASSERT_EQ(first.wait(60'000), 0) << first.error;
  const std::string text = read();
  EXPECT_THAT(
      refusal(tune({"all_reduce", "-n", "3"})),
      AllOf(HasSubstr("-o: "), HasSubstr("is of ranks \"2\", here it is \"3\""), HasSubstr("--fresh")));
  std::string other = text;
  other.replace(other.find("\"machine\": \"") + 12, 1, "another ");
  std::ofstream(path()) << other;
  EXPECT_THAT(refusal(tune({"all_reduce"})), HasSubstr("is of machine \"another "));
  std::string nodes = text;
  nodes.replace(nodes.find("\"nodes\": \"1\"") + 10, 1, "2");
  std::ofstream(path()) << nodes;
  // What is known only once the ranks have met.
  Command later(tune({"all_reduce"}));
  EXPECT_EQ(later.wait(), 2);
  EXPECT_THAT(later.error, HasSubstr("is of nodes \"2\", here it is \"1\""));
  EXPECT_EQ(read(), nodes);
  Command fresh(tune({"all_reduce", "-n", "3", "--sizes", "8", "--budget", "0.1", "--fresh"}));
  EXPECT_EQ(fresh.wait(60'000), 0) << fresh.error;
  EXPECT_EQ(tuning().conditions.at("ranks"), "3");
}

TEST_F(TuneMeasures, ADamagedFileIsRefusedAndStays) {
  Command first(tune({"all_reduce", "--sizes", "8", "--budget", "0.1"}));
  ASSERT_EQ(first.wait(60'000), 0) << first.error;
  const std::string good = read();
  const std::string cut = good.substr(0, good.size() / 2);
  std::ofstream(path()) << cut;
  EXPECT_THAT(refusal(tune({"all_reduce"})), AllOf(HasSubstr("-o: "), HasSubstr("t.json: line ")));
  EXPECT_EQ(read(), cut);
  std::string negative = good;
  negative.replace(negative.find("\"rounds_us\":"), 12, "\"rounds_us\":{\"direct\":[-1]},\"x\":");
  std::ofstream(path()) << negative;
  EXPECT_THAT(refusal(tune({"all_reduce"})), HasSubstr("rounds_us.direct[0]: is -1"));
}

TEST_F(TuneMeasures, OptionsThatCannotBeAreRefused) {
  for (const char* budget : {"0", "-1", "5x", "s", "m", "1e9", "99999999m", "nan"})
    EXPECT_THAT(refusal(tune({std::string("--budget=") + budget})),
                AllOf(HasSubstr("--budget"), HasSubstr(std::string("\"") + budget + "\"")));
  EXPECT_THAT(refusal(tune({"--sizes", "8,0"})), AllOf(HasSubstr("--sizes"), HasSubstr("0 bytes")));
  EXPECT_THAT(refusal(tune({"--sizes", "8XB"})), AllOf(HasSubstr("--sizes"), HasSubstr("8XB")));
  EXPECT_THAT(refusal(tune({"--sizes", "1000T"})),
              AllOf(HasSubstr("--sizes"), HasSubstr("1099511627776000")));
  EXPECT_THAT(refusal(tune({"all_reduces"})), AllOf(HasSubstr("COLLECTIVE"), HasSubstr("all_reduces")));
  EXPECT_THAT(refusal(tune({"sendrecv"})), HasSubstr("nothing to choose from"));
  EXPECT_THAT(refusal(tune({"-n", "0"})), HasSubstr("--ranks"));
  EXPECT_THAT(refusal(tune({"-n", "1"})), HasSubstr("-n: 1 rank has nothing to choose from"));
  EXPECT_THAT(refusal(tune({"--json", "x.json"})), HasSubstr("--json"));
  EXPECT_THAT(refusal(tune({"--report"})), HasSubstr("--report"));
  EXPECT_THAT(refusal({"tune", "-n", "2"}), HasSubstr("-o: is missing"));
  EXPECT_THAT(refusal({"tune", "-o", folder_}), HasSubstr("is a directory"));
  EXPECT_THAT(refusal({"tune", "-o", "/nowhere/at/all"}), HasSubstr("/nowhere/at/all cannot be written"));
  EXPECT_THAT(refusal({"tune", "--from", path(), "--budget", "1s", "--report"}), HasSubstr("--budget"));
}

TEST_F(TuneMeasures, JoinsUnderALauncher) {
  Command command({"run", "-n", "3", "--no-prefix", "--", WIA_BINARY_DIR "/wia", "tune", "barrier,gather",
                   "-o", path(), "--sizes", "4K", "--budget", "0.5"});
  ASSERT_EQ(command.wait(60'000), 0) << command.error;
  EXPECT_EQ(tuning().conditions.at("ranks"), "3");
  EXPECT_EQ(tuning().collectives.back().collective, Collective::barrier);
  Command wrong({"run", "-n", "2", "--", WIA_BINARY_DIR "/wia", "tune", "-n", "3", "-o", path("u.json")});
  EXPECT_EQ(wrong.wait(), 2);
  EXPECT_THAT(wrong.error, HasSubstr("-n: 3, but wia has started 2 ranks"));
}

TEST_F(TuneMeasures, ARankThatDiesEndsTheJob) {
  const std::string program = WIA_BINARY_DIR "/wia tune --budget 5m -o " + path();
  Command command({"run", "-n", "2", "--", "sh", "-c",
                   "if [ $WIA_RANK = 1 ]; then timeout -s KILL 1 " + program + "; else " + program + "; fi"});
  EXPECT_EQ(command.wait(60'000), 137);
  EXPECT_THAT(command.error, HasSubstr("rank 1 exited with code 137"));
  EXPECT_TRUE(command.leaves_nothing());
}

TEST_F(TuneMeasures, ToStdoutGoesOnlyTheFile) {
  Command command({"tune", "all_gather", "-o", "-", "--sizes", "1K", "--budget", "0.2"});
  ASSERT_EQ(command.wait(60'000), 0) << command.error;
  EXPECT_TRUE(tuning_from_text(command.output, "stdout").ok());
  EXPECT_THAT(command.error, HasSubstr("all_gather"));
}

}  // namespace
}  // namespace wia
