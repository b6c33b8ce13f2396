// The learned selector on a model made by hand, and the tuning file.
#include "dispatch/learned.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/json.hpp"
#include "dispatch/tuning_file.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// "small" below 64 KiB, "large" above; "never" loses to both.
Tuning example() {
  CollectiveTuning tuning;
  tuning.collective = Collective::all_gather;
  tuning.learned.classes = {"small", "large", "never"};
  LearnedModel::Svm& svm = tuning.learned.svms.emplace_back();
  svm.features = {{find_feature("log2_bytes"), 10, 22, 1}, {find_feature("log2_ranks"), 1, 4, 0.5}};
  svm.gamma = 0.125;
  svm.cost = 8;
  svm.biases = {0, 1, 1};
  svm.vectors = {{{12, 2}, {1, 0, 0}}, {{20, 2}, {-1, 0, 0}}};
  tuning.evidence = {2, 5, 4, 0.5, 1, 1.0625};
  tuning.cells = {{{}, {1.5, 3, std::nullopt}}, {{}, {80, 40.25, 100}}};
  tuning.cells[0].call.bytes = 4096;
  tuning.cells[1].call.bytes = 1 << 20;
  for (auto& cell : tuning.cells) cell.call.ranks = 4;
  return {"example", {{"source", "by hand"}}, {tuning}, std::nullopt};
}

CallShape call(double bytes, double ranks) {
  CallShape shape;
  shape.bytes = bytes;
  shape.ranks = ranks;
  return shape;
}

TEST(Learned, ChoosesByVotesOfPairs) {
  const LearnedSelector selector(example().collectives[0].learned);
  EXPECT_EQ(selector.choose(call(1 << 12, 4)), "small");
  EXPECT_EQ(selector.choose(call(1 << 20, 4)), "large");
  EXPECT_EQ(selector.choose(call(1 << 14, 16)), "small");
  EXPECT_EQ(selector.choose(call(1 << 19, 2)), "large");
}

TEST(Learned, OutsideOfWhatWasMeasuredTheNearestCounts) {
  const LearnedSelector selector(example().collectives[0].learned);
  for (const double bytes : {0.0, 1.0, 1023.0}) EXPECT_EQ(selector.choose(call(bytes, 1e6)), "small");
  EXPECT_EQ(selector.choose(call(1e18, 1)), "large");
  EXPECT_EQ(selector.choose(call(1 << 20, kUnknown)), "large");
  EXPECT_THAT(selector.explain(call(1 << 30, 4))[0].reason,
              HasSubstr("log2_bytes is 30, measured was 10 to 22"));
  EXPECT_THAT(selector.explain(call(1 << 20, kUnknown))[0].reason, HasSubstr("log2_ranks is unknown"));
}

TEST(Learned, SvmsVoteTogether) {
  LearnedModel model = example().collectives[0].learned;
  model.svms.push_back(model.svms[0]);
  model.svms[1].vectors.clear();
  model.svms[1].biases = {-100, 1, 1};  // says "large" everywhere, and no louder than 1
  const LearnedSelector selector(model);
  EXPECT_EQ(selector.choose(call(1 << 12, 4)), "large");
  EXPECT_DOUBLE_EQ(selector.decide(call(1 << 12, 4))[1], 1);
  EXPECT_GT(selector.decide(call(1 << 12, 4))[0], -0.5);
  model.svms.push_back(model.svms[0]);
  EXPECT_EQ(LearnedSelector(model).choose(call(1 << 12, 4)), "small");
  EXPECT_EQ(LearnedSelector(model).choose(call(1 << 20, 4)), "large");
}

TEST(Learned, ExplainsWithTheScores) {
  const LearnedSelector selector(example().collectives[0].learned);
  const auto candidates = selector.explain(call(1 << 20, 4));
  ASSERT_EQ(candidates.size(), 3u);
  EXPECT_EQ(candidates[0].name, "large");
  EXPECT_EQ(candidates[2].name, "never");
  EXPECT_GT(candidates[0].score, candidates[1].score);
  EXPECT_THAT(candidates[0].reason, StartsWith("wins 2 of 2 pairs, margin +"));
}

TEST(TuningFile, WhatIsWrittenIsReadBack) {
  auto read = tuning_from_text(to_text(example()), "text");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, example());
  EXPECT_EQ(to_text(*read), to_text(example()));
}

// The worked example of the format's page.
TEST(TuningFile, TheDocumentedExampleIsRead) {
  std::ifstream page(WIA_SOURCE_DIR "/docs/formats/tuning.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  const size_t begin = text.find("```json\n") + 8, end = text.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  auto read = tuning_from_text(text.substr(begin, end - begin), "tuning.md");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, example());
}

struct Damage {
  const char* place;  // JSON pointer of what is replaced; "-/...": removed
  Json value;
  const char* refusal;
};
void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.place << " = " << damage.value.dump();
}

class DamagedTuning : public testing::TestWithParam<Damage> {};

TEST_P(DamagedTuning, IsRefusedByNameAndPlace) {
  const std::string place = GetParam().place;
  Json json = Json::parse(to_text(example()));
  if (place.starts_with('-')) {
    const Json::json_pointer pointer(place.substr(1));
    json[pointer.parent_pointer()].erase(pointer.back());
  } else {
    json[Json::json_pointer(place)] = GetParam().value;
  }
  auto read = tuning_from_text(json.dump(), "t.json");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::invalid_argument);
  EXPECT_THAT(read.status().text(), AllOf(StartsWith("t.json: "), HasSubstr(GetParam().refusal)));
}

#define SVM "/collectives/0/svms/0"
INSTANTIATE_TEST_SUITE_P(
    Damages, DamagedTuning,
    testing::Values(
        Damage{"/schema", "wia.tuning/2", "schema: is \"wia.tuning/2\", wanted is \"wia.tuning/1\""},
        Damage{"/schema", "wia.topology/1", "schema: is"}, Damage{"-/machine", {}, "\"machine\" is missing"},
        Damage{"/extra", 1, "\"extra\" is no member"},
        Damage{"/conditions/source", 3, "conditions.source: is 3"},
        Damage{"/collectives/1", Json::object(), "collectives[1]: \"collective\" is missing"},
        Damage{"/collectives/0/collective", "all_join", "collectives[0].collective: is \"all_join\""},
        Damage{"/collectives/0/classes", {"a", "b"}, "collectives[0].pairs: are not all pairs"},
        Damage{"/collectives/0/classes", Json::array(), "collectives[0].pairs: are not all pairs"},
        Damage{"/collectives/0/evidence/accuracy", 1.5, "evidence.accuracy: is 1.5"},
        Damage{"/collectives/0/evidence/regret", 0.5, "evidence.regret: is 0.5"},
        Damage{
            "/collectives/0/cells/0/times_us", {1, 2}, "cells[0].times_us: has 2 times, there are 3 classes"},
        Damage{"/collectives/0/cells/0/times_us/1", 0, "cells[0].times_us[1]: is 0"},
        Damage{"/collectives/0/cells/1/ranks", 0, "cells[1].ranks: is 0, wanted is a whole number from 1"},
        Damage{"/collectives/0/svms", Json::array(), "collectives[0]: 0 SVMs, wanted are 1 to 64"},
        Damage{SVM "/kernel", "linear", "svms[0].kernel: is \"linear\""},
        Damage{SVM "/gamma", 0, "svms[0]: gamma is not above 0"},
        Damage{SVM "/gamma", "x", "svms[0].gamma: is \"x\""},
        Damage{SVM "/features/0/name", "log2_moons", "features[0].name: is \"log2_moons\""},
        Damage{SVM "/features/1/name", "log2_bytes", "the feature log2_bytes is there twice"},
        Damage{SVM "/features/0/least", 22, "features[0]: \"least\" is not below"},
        Damage{SVM "/features/0/weight", -1, "features[0].weight: is -1"},
        Damage{"/collectives/0/pairs/0/0", "large", "collectives[0].pairs: are not all pairs"},
        Damage{SVM "/biases", {0, 1}, "svms[0]: 2 biases, wanted is one for each of 3 pairs"},
        Damage{SVM "/biases/0", nullptr, "svms[0].biases[0]: is null"},
        Damage{SVM "/vectors/0/values", {1}, "vectors[0].values: has 1 numbers, there are 2 features"},
        Damage{SVM "/vectors/1/weights", {1}, "vectors[1].weights: has 1 numbers, there are 3 pairs"}));

// Cut off or changed anywhere: read as something whole, or refused, never worse.
TEST(TuningFile, AnyDamageIsSurvived) {
  const std::string good = to_text(example());
  for (size_t length = 0; length + 1 < good.size(); ++length)
    EXPECT_FALSE(tuning_from_text(good.substr(0, length), "t").ok()) << length;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      auto read = tuning_from_text(bad, "t");
      if (!read.ok()) continue;
      for (const CollectiveTuning& one : read->collectives)
        EXPECT_NE(LearnedSelector(one.learned).choose(call(1 << 20, 4)).data(), nullptr);
    }
  }
  EXPECT_THAT(tuning_from_text(std::string("\x7f\x45\x4c\x46\0", 5), "t").status().text(),
              StartsWith("t: line 1, column 1: is no JSON"));
  EXPECT_FALSE(tuning_from_text(std::string(100'000, '['), "t").ok());
}

TEST(TuningFile, FilesThatCannotBeReadOrWritten) {
  EXPECT_THAT(read_tuning("/nowhere/t.json").status().text(), HasSubstr("/nowhere/t.json cannot be read"));
  EXPECT_THAT(read_tuning("/tmp").status().text(), HasSubstr("it is a directory"));
  EXPECT_THAT(write_tuning(example(), "/nowhere/t.json").text(), HasSubstr("/nowhere/t.json"));
}

}  // namespace
}  // namespace wia
