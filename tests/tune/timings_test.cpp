// The reader of tables of timings, and cells.
#include "tune/timings.hpp"

#include <gmock/gmock.h>

#include "tune/cells.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kGood =
    "machine,collective,run_set,library,ranks,bytes,time_ms\n"
    "m,all_gather,1,a,8,1024,2.0\n"
    "m,all_gather,1,b,8,1024,3.0\n"
    "m,all_gather,2,a,8,1024,4.0\n"
    "m,all_gather,3,a,8,1024,90\n"
    "m,all_gather,1,c,16,1024,1\n";

TEST(Timings, ColumnsGoByTheirNames) {
  auto table = timings_from_text(
      "\xef\xbb\xbftime_us,bytes,comment,algorithm,nodes,ranks,collective,machine\r\n"
      "1.5e3, 1048576,odd,ring,2,16,allreduce,my cluster\r\n\r\n",
      "t.csv");
  ASSERT_TRUE(table.ok()) << table.status().text();
  ASSERT_EQ(table->rows.size(), 1u);
  const Timing& row = table->rows[0];
  EXPECT_EQ(row.machine, "my cluster");
  EXPECT_EQ(row.collective, Collective::all_reduce);
  EXPECT_EQ(row.choice, "ring");
  EXPECT_EQ(row.call.bytes, 1048576);
  EXPECT_EQ(row.call.nodes, 2);
  EXPECT_NE(row.call.alpha_us, row.call.alpha_us);  // not a number: unknown
  EXPECT_DOUBLE_EQ(row.seconds, 1.5e-3);
  EXPECT_THAT(table->ignored_columns, ElementsAre("comment"));
}

struct Damage {
  std::string text, refusal;
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.refusal; }

class DamagedTable : public testing::TestWithParam<Damage> {};

TEST_P(DamagedTable, IsRefusedByLine) {
  auto table = timings_from_text(GetParam().text, "t.csv");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), Code::invalid_argument);
  EXPECT_THAT(table.status().text(), AllOf(StartsWith("t.csv: line "), HasSubstr(GetParam().refusal)));
}

const std::string kHeader = "machine,collective,library,ranks,bytes,time_ms\n";
INSTANTIATE_TEST_SUITE_P(
    Damages, DamagedTable,
    testing::Values(
        Damage{"", "line 1: the file is empty"}, Damage{kHeader, "line 1: no row follows"},
        Damage{"a,b\n1,2\n", "line 1: no column \"machine\""},
        Damage{"machine,collective,library,ranks,bytes\n",
               "no column \"time_ms\" or \"time_us\" or \"time_s\""},
        Damage{"machine,machine,collective,library,ranks,bytes,time_ms\n", "\"machine\" is there twice"},
        Damage{"machine,collective,library,algorithm,ranks,bytes,time_ms\n", "say the same"},
        Damage{kHeader + "m,all_gather,a,8,1,1\nm,all_gather,a,8,1\n",
               "line 3: has 5 fields, the header has 6"},
        Damage{kHeader + "m,all_gather,a,8,1,1,7\n", "line 2: has 7 fields"},
        Damage{kHeader + "m,frob,a,8,1,1\n", "collective is \"frob\""},
        Damage{kHeader + "m,all_gather,,8,1,1\n", "library is empty"},
        Damage{kHeader + "m,all_gather,a\\b,8,1,1\n", "library is \"a\\b\""},
        Damage{kHeader + "m,all_gather,a,0,1,1\n", "ranks is \"0\", wanted is a whole number from 1"},
        Damage{kHeader + "m,all_gather,a,8.5,1,1\n", "ranks is \"8.5\""},
        Damage{kHeader + "m,all_gather,a,8,-1,1\n", "bytes is \"-1\""},
        Damage{kHeader + "m,all_gather,a,8,1e99,1\n", "bytes is \"1e99\""},
        Damage{kHeader + "m,all_gather,a,8,1,0\n", "time_ms is \"0\", wanted is a time above 0"},
        Damage{kHeader + "m,all_gather,a,8,1,-3\n", "time_ms is \"-3\""},
        Damage{kHeader + "m,all_gather,a,8,1,nan\n", "time_ms is \"nan\", wanted is a number"},
        Damage{kHeader + "m,all_gather,a,8,1,inf\n", "time_ms is \"inf\""},
        Damage{kHeader + "m,all_gather,a,8,1,1e999\n", "time_ms is \"1e999\""},
        Damage{kHeader + "m,all_gather,a,8,1,1ms\n", "time_ms is \"1ms\""},
        Damage{kHeader + "m,all_gather,a,8,1,\n", "time_ms is \"\""},
        Damage{kHeader + "m,all_gather,a,8,1,1\nm,all_gather,a,8,1,1", "line 3: the last line has no end"},
        Damage{kHeader + "\"m\",all_gather,a,8,1,1\n", "line 2: has a quotation mark"},
        Damage{kHeader + std::string("m\0,all_gather,a,8,1,1\n", 23), "line 2: holds a byte that is no text"},
        Damage{kHeader + std::string(1'000'000, 'x') + "\n", "line 2: a field has more than 128 bytes"},
        Damage{kHeader + std::string(1'000'000, ',') + "\n", "line 2: has more than 256 fields"},
        Damage{std::string("\x7f\x45\x4c\x46\x02\x01\x01\0\n", 9), "line 1: holds a byte that is no text"}));

// Whatever is cut off or changed: read or refused, never worse.
TEST(Timings, AnyDamageIsSurvived) {
  const std::string good = kGood;
  for (size_t length = 0; length < good.size(); ++length) {
    auto table = timings_from_text(good.substr(0, length), "t.csv");
    // Cut at the end of a line there is nothing to see.
    EXPECT_EQ(table.ok(), length > 60 && good[length - 1] == '\n') << length;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {1, 2, 4, 16, 32, 64, 128}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      auto table = timings_from_text(bad, "t.csv");
      if (table.ok()) cells_of(*table);
    }
  }
}

TEST(Timings, FilesThatCannotBeRead) {
  EXPECT_THAT(read_timings("/nowhere/t.csv").status().text(), HasSubstr("/nowhere/t.csv cannot be read"));
  EXPECT_THAT(read_timings("/tmp").status().text(), HasSubstr("it is a directory"));
}

TEST(Cells, AreMediansOverTheRuns) {
  auto table = timings_from_text(kGood, "t.csv");
  ASSERT_TRUE(table.ok()) << table.status().text();
  const auto tables = cells_of(*table);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(tables[0].classes, ElementsAre("a", "b", "c"));
  EXPECT_EQ(tables[0].run_sets, 3u);
  EXPECT_EQ(tables[0].single_cells, 1u);  // 16 ranks: c alone
  ASSERT_EQ(tables[0].cells.size(), 1u);
  const Cell& cell = tables[0].cells[0];
  EXPECT_DOUBLE_EQ(cell.seconds[0], 4e-3);
  EXPECT_FALSE(cell.measured(2));
  EXPECT_EQ(cell.best(), 1u);
  EXPECT_DOUBLE_EQ(cell.regret(0), 4.0 / 3);
}

}  // namespace
}  // namespace wia
