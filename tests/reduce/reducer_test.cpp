// Every dtype with every op against the reference, on every instruction set, in every layout that is allowed.
#include "reduce/reducer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "reference.hpp"
#include "targets.hpp"

namespace wia {
namespace {

using Random = std::mt19937;

bool chance(Random& random, unsigned one_in) { return random() % one_in == 0; }

// Bytes between two guards, at any address.
class Guarded {
 public:
  Guarded(size_t bytes, size_t misalignment) : bytes_(bytes), memory_(bytes + 2 * kGuard + 64, kCanary) {
    const auto start = reinterpret_cast<uintptr_t>(memory_.data()) + kGuard;
    data_ = memory_.data() + kGuard + (64 - start % 64) % 64 + misalignment % 64;
  }
  uint8_t* data() { return data_; }
  void fill(const std::vector<uint8_t>& contents) {
    std::fill(memory_.begin(), memory_.end(), kCanary);
    if (!contents.empty()) std::memcpy(data_, contents.data(), contents.size());
  }
  bool guards_intact() const {
    auto is_canary = [](uint8_t byte) { return byte == kCanary; };
    return std::all_of(memory_.data(), static_cast<const uint8_t*>(data_), is_canary) &&
           std::all_of(static_cast<const uint8_t*>(data_) + bytes_, memory_.data() + memory_.size(),
                       is_canary);
  }

 private:
  static constexpr size_t kGuard = 128;
  static constexpr uint8_t kCanary = 0xa5;
  size_t bytes_;
  std::vector<uint8_t> memory_;
  uint8_t* data_;
};

// Mostly numbers that add up to something finite, and some of any bits.
void random_floats(DType type, size_t count, Random& random, uint8_t* out) {
  std::uniform_real_distribution<double> numbers(-4.0, 4.0);
  for (size_t i = 0; i < count; ++i) {
    uint8_t* element = out + i * size_of(type);
    from_double(type, numbers(random), element);
    if (chance(random, 8))
      for (size_t b = 0; b < size_of(type); ++b) element[b] = static_cast<uint8_t>(random());
  }
}

// Partial sums of an integer average, far from overflow.
void random_wide_integers(size_t bytes, size_t count, Random& random, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    reference::Int128 value = static_cast<int32_t>(random());
    value = (value << 32 | random()) >> (bytes == 8 ? 20 : 0);
    std::memcpy(out + i * bytes, &value, bytes);
  }
}

std::vector<uint8_t> random_elements(DType type, Op op, bool partial, size_t count, Random& random) {
  const size_t bytes = partial ? reference::partial_bytes(type, op) : size_of(type);
  std::vector<uint8_t> data(bytes * count);
  if (reference::is_float(type)) {
    random_floats(partial && bytes == 4 ? DType::float32 : type, count, random, data.data());
  } else if (bytes != size_of(type)) {
    random_wide_integers(bytes, count, random, data.data());
  } else {
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
    if (type == DType::boolean)
      for (uint8_t& byte : data) byte &= 1;
    if (op == Op::land || op == Op::lor)  // zeros are rare among wide integers
      for (size_t i = 0; i < count; ++i)
        if (chance(random, 3)) std::fill_n(data.begin() + static_cast<long>(i * bytes), bytes, uint8_t{0});
  }
  return data;
}

// One call of a Reducer with all its buffers, drawn at random within what the contract allows.
class Case {
 public:
  Case(DType dtype, Op op, int num_sources, size_t count, Random& random)
      : count_(count), streaming_(chance(random, 2)) {
    const int ranks = num_sources + static_cast<int>(random() % 3);
    r_ = {dtype, op, ranks, 0.75, chance(random, 2)};
    const bool all_raw = chance(random, 3);
    if (all_raw) r_.partial_result = false;
    const bool aligned = chance(random, 2);
    auto misalignment = [&] { return aligned ? 0 : random(); };
    for (int s = 0; s < num_sources; ++s) {
      partial_.push_back(!all_raw && chance(random, 2));
      contents_.push_back(random_elements(dtype, op, partial_.back(), count, random));
      sources_.emplace_back(contents_.back().size(), misalignment());
    }
    const size_t result_bytes = r_.partial_result ? reference::partial_bytes(dtype, op) : size_of(dtype);
    const size_t num_destinations = 1 + random() % 4;
    for (size_t d = 0; d < num_destinations; ++d) {
      destinations_.emplace_back(result_bytes * count, misalignment());
      const size_t source = random() % static_cast<size_t>(num_sources);
      const bool taken = std::count(in_place_.begin(), in_place_.end(), static_cast<int>(source)) > 0;
      const bool fits = !taken && partial_[source] == r_.partial_result;
      in_place_.push_back(fits && chance(random, 2) ? static_cast<int>(source) : -1);
    }
    compute_expected(result_bytes);
  }

  void check() {
    for (size_t s = 0; s < sources_.size(); ++s) sources_[s].fill(contents_[s]);
    for (Guarded& destination : destinations_) destination.fill({});
    call();
    for (size_t d = 0; d < destinations_.size(); ++d) check_destination(d);
    for (size_t s = 0; s < sources_.size(); ++s) {
      ASSERT_TRUE(sources_[s].guards_intact()) << describe() << " source " << s;
      if (std::count(in_place_.begin(), in_place_.end(), static_cast<int>(s)) > 0) continue;
      ASSERT_TRUE(std::equal(contents_[s].begin(), contents_[s].end(), sources_[s].data())) << describe();
    }
  }

 private:
  void compute_expected(size_t result_bytes) {
    expected_.resize(result_bytes * count_);
    const size_t raw = size_of(r_.dtype), partial = reference::partial_bytes(r_.dtype, r_.op);
    std::vector<reference::Operand> operands(sources_.size());
    for (size_t i = 0; i < count_; ++i) {
      for (size_t s = 0; s < operands.size(); ++s)
        operands[s] = {contents_[s].data() + i * (partial_[s] ? partial : raw), partial_[s]};
      reference::reduce(r_, operands, expected_.data() + i * result_bytes);
    }
  }

  uint8_t* destination(size_t d) {
    return in_place_[d] < 0 ? destinations_[d].data() : sources_[static_cast<size_t>(in_place_[d])].data();
  }

  void call() {
    std::vector<Source> sources;
    for (size_t s = 0; s < sources_.size(); ++s) sources.push_back({sources_[s].data(), partial_[s]});
    std::vector<void*> destinations;
    for (size_t d = 0; d < destinations_.size(); ++d) destinations.push_back(destination(d));
    const Reducer reducer = Reducer::make(r_.dtype, r_.op, r_.ranks, r_.factor).value();
    reducer({sources.data(), static_cast<int>(sources.size()), destinations.data(),
             static_cast<int>(destinations.size()), count_, r_.partial_result,
             streaming_ ? 1 + static_cast<int>(count_ % destinations.size()) : 0});
  }

  void check_destination(size_t d) {
    ASSERT_TRUE(destinations_[d].guards_intact()) << describe() << " destination " << d;
    if (count_ == 0) return;
    const size_t bytes = expected_.size() / count_;
    for (size_t i = 0; i < count_; ++i)
      ASSERT_TRUE(reference::same(r_, destination(d) + i * bytes, expected_.data() + i * bytes))
          << describe() << " destination " << d << " element " << i;
  }

  std::string describe() const {
    return fmt::format("{} {} of {} sources, {} elements, {} destinations{}{}", name_of(r_.op),
                       name_of(r_.dtype), sources_.size(), count_, destinations_.size(),
                       r_.partial_result ? ", partial" : "", streaming_ ? ", streaming" : "");
  }

  reference::Reduction r_;
  size_t count_;
  bool streaming_;
  std::vector<bool> partial_;
  std::vector<std::vector<uint8_t>> contents_;
  std::vector<Guarded> sources_;
  std::vector<Guarded> destinations_;
  std::vector<int> in_place_;  // the source that destination d equals, or -1
  std::vector<uint8_t> expected_;
};

std::string test_name(const testing::TestParamInfo<int>& info) {
  return std::string(name_of(static_cast<DType>(info.param)));
}

class EveryOp : public testing::TestWithParam<int> {};

TEST_P(EveryOp, MatchesReference) {
  const auto dtype = static_cast<DType>(GetParam());
  Random random(static_cast<unsigned>(GetParam()) + 1);
  for (int o = 0; o <= kNumOps; ++o) {
    const auto op = static_cast<Op>(o);
    if (!reference::is_valid(dtype, op)) continue;
    for (const int num_sources : {1, 2, 3, 8, 15})
      for (const size_t count : {0, 1, 3, 17, 1000, 4099}) {
        Case test(dtype, op, num_sources, count, random);
        for_each_target([&](const std::string& target) {
          SCOPED_TRACE(target);
          ASSERT_NO_FATAL_FAILURE(test.check());
        });
        if (HasFatalFailure()) return;
      }
  }
}

TEST_P(EveryOp, RefusesWhatMakesNoSense) {
  const auto dtype = static_cast<DType>(GetParam());
  for (int o = 0; o <= kNumOps; ++o) {
    const auto op = static_cast<Op>(o);
    const auto reducer = Reducer::make(dtype, op, 4);
    ASSERT_EQ(reducer.ok(), reference::is_valid(dtype, op)) << name_of(op);
    if (reducer.ok()) {
      EXPECT_EQ(reducer.value().raw_bytes(), size_of(dtype));
      EXPECT_EQ(reducer.value().partial_bytes(), reference::partial_bytes(dtype, op)) << name_of(op);
    } else {
      EXPECT_EQ(reducer.status().code(), Code::unsupported);
      EXPECT_NE(reducer.status().text().find(name_of(op)), std::string::npos) << reducer.status().text();
      EXPECT_NE(reducer.status().text().find(name_of(dtype)), std::string::npos) << reducer.status().text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryOp, testing::Range(0, kNumDTypes + 1), test_name);

TEST(Reducer, RefusesNumbersOutOfRange) {
  EXPECT_FALSE(Reducer::make(static_cast<DType>(77), Op::sum, 2).ok());
  EXPECT_FALSE(Reducer::make(DType::float32, static_cast<Op>(77), 2).ok());
  EXPECT_EQ(Reducer::make(DType::float32, Op::sum, 0).status().code(), Code::invalid_argument);
}

// Wherever an element lies and whatever the CPU, the same operands in the same order give the same zero.
TEST(Reducer, ZerosOfMinAndMaxDoNotDependOnPlace) {
  const std::vector<float> negative(100, -0.0f), positive(100, 0.0f);
  for (const Op op : {Op::min, Op::max})
    for_each_target([&](const std::string& target) {
      std::vector<float> result(100);
      const Source sources[] = {{negative.data(), false}, {positive.data(), false}};
      void* const destination = result.data();
      Reducer::make(DType::float32, op, 2).value()({sources, 2, &destination, 1, 100, false});
      for (const float value : result) ASSERT_FALSE(std::signbit(value)) << target;
    });
}

}  // namespace
}  // namespace wia
