#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/json.hpp"
#include "cli/command.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// The doctor with one variable set.
struct DoctorWith : Command {
  DoctorWith(const char* name, const char* value, const std::vector<std::string>& options = {"doctor"})
      : Command((setenv(name, value, 1), options)) {
    unsetenv(name);
  }
};

TEST(Doctor, ShowsTheMachineAndEverySetting) {
  Command command({"doctor"});
  EXPECT_EQ(command.wait(), 0) << command.output;
  for (const char* word :
       {"version", "CPU", "vector extensions", "allowed CPUs", "CPU quota", "memory", "open files",
        "shared heap", "mapped by another", "membarrier", "communicator of 2", "communicator of 8",
        "libfabric", "launcher", "WIA_LOG", "WIA_STAGING_SIZE", "default"})
    EXPECT_THAT(command.output, HasSubstr(word));
  EXPECT_THAT(command.output, testing::AnyOf(HasSubstr("all good\n"), HasSubstr("advice: ")));
  EXPECT_THAT(command.error, IsEmpty());
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Doctor, JsonIsAllOfStdout) {
  Command command({"doctor", "--json", "-"});
  EXPECT_EQ(command.wait(), 0) << command.output;
  const Json report = Json::parse(command.output);
  EXPECT_EQ(report["schema"], "wia.doctor/1");
  EXPECT_EQ(report["works"], true);
  EXPECT_TRUE(report["facts"].contains("shared heap"));
  EXPECT_EQ(report["settings"][0]["variable"], "WIA_LOG");
  EXPECT_EQ(report["settings"][0]["origin"], "default");
  for (const Json& finding : report["findings"]) EXPECT_FALSE(finding["remedy"].get<std::string>().empty());
}

TEST(Doctor, SaysWhereAValueComesFrom) {
  DoctorWith command("WIA_TIMEOUT", "7", {"doctor", "--json", "-"});
  EXPECT_EQ(command.wait(), 0);
  bool seen = false;
  const Json report = Json::parse(command.output);
  for (const Json& setting : report["settings"])
    seen |=
        setting["variable"] == "WIA_TIMEOUT" && setting["value"] == "7" && setting["origin"] == "environment";
  EXPECT_TRUE(seen);
}

TEST(Doctor, FindsAMisspelledVariable) {
  DoctorWith command("WIA_TIMEOUTS", "7");
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.output, AllOf(HasSubstr("problem: WIA_TIMEOUTS"), HasSubstr("-> ")));
}

TEST(Doctor, FindsAValueThatIsNotAllowed) {
  DoctorWith command("WIA_WAIT", "forever");
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.output, HasSubstr("WIA_WAIT=\"forever\""));
}

TEST(Doctor, FindsAnAlgorithmThatDoesNotExist) {
  DoctorWith command("WIA_ALGORITHM", "all_reduce=ring,broadcast=square");
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.output, HasSubstr("broadcast has no algorithm \"square\""));
}

TEST(Doctor, FindsARuleForInterfacesThatLeavesNone) {
  DoctorWith command("WIA_NIC", "no-such-nic");
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.output,
              AllOf(HasSubstr("problem: WIA_NIC=\"no-such-nic\""), HasSubstr("lo (127.0.0.1)")));
}

TEST(Doctor, FindsHalfALauncher) {
  DoctorWith command("WIA_RANK", "0");
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.output, HasSubstr("WIA_WORLD_SIZE"));
}

TEST(Doctor, KnowsItsLauncher) {
  Command command({"run", "-n", "2", "--", WIA_BINARY_DIR "/wia", "doctor"});
  EXPECT_EQ(command.wait(), 0) << command.output;
  EXPECT_THAT(command.output, HasSubstr("wia: rank 1 of 2"));
}

TEST(Doctor, FindsThatNoHeapCanBeMade) {
  Command command({"run", "-n", "1", "--", "sh", "-c", "ulimit -f 100; exec " WIA_BINARY_DIR "/wia doctor"});
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.output, AllOf(HasSubstr("problem: "), HasSubstr("ulimit -f")));
}

TEST(Doctor, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{"doctor", "--jsn"},
                                                  {"doctor", "now"},
                                                  {"doctor", "--json", "/nowhere/at/all"}}) {
    Command command(options);
    EXPECT_EQ(command.wait(), 2);
    EXPECT_THAT(command.output, IsEmpty());
    EXPECT_EQ(sorted_lines(command.error).size(), 1u) << command.error;
  }
}

}  // namespace
}  // namespace wia
