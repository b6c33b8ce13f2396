#include "verify/case_data.hpp"

#include <algorithm>
#include <cstring>

#include "schedule/check.hpp"
#include "verify/random.hpp"

namespace wia {
namespace {

constexpr size_t kGuard = 64;

size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Chunks lie apart by one element, backwards when so asked.
void spread(const size_t* lengths, size_t* offsets, size_t chunks, bool backwards) {
  size_t at = 1;
  for (size_t i = 0; i < chunks; ++i) {
    const size_t c = backwards ? chunks - 1 - i : i;
    offsets[c] = at;
    at += lengths[c] + 1;
  }
}

}  // namespace

CaseData::CaseData(const Case& a_case, const Variant& variant, uint32_t chunks)
    : case_(a_case),
      variant_(variant),
      ranks_(static_cast<uint32_t>(a_case.shape.ranks)),
      values_(a_case.shape.collective, a_case.shape.ranks, a_case.shape.root, variant.element, variant.seed),
      reducer_(Reducer::make(values_.dtype(), values_.op(), a_case.shape.ranks).value()),
      all_(ranks_) {
  const BufferChunks parts = nominal_chunks(a_case.shape.collective, ranks_, 1);
  input_parts_ = parts.input;
  output_parts_ = parts.output;
  set_lengths();
  for (uint32_t r = 0; r < ranks_; ++r) {
    all_[r].shape = a_case.shape_of(static_cast<int>(r));
    set_extents(all_[r], chunks);
    bytes_ = place(all_[r], bytes_);
  }
  bytes_ += kGuard;
  memory_.reset(new std::byte[bytes_]);
  std::fill_n(memory_.get(), bytes_, Values::kPoison);
  fill();
  bindings_.reserve(ranks_);
  for (const Rank& rank : all_) bindings_.push_back(bind(rank));
}

// --- Lengths ----------------------------------------------------------------------------------

void CaseData::set_lengths() {
  longest_ = variant_.length;
  if (case_.shape.even) return;
  const bool by_rank = case_.shape.collective == Collective::all_to_all;
  const bool symmetric = case_.in_place != Case::InPlace::none;
  const bool backwards = variant_.seed % 2 == 0;
  const size_t rows = by_rank ? ranks_ : 1;
  lengths_.resize(rows * ranks_);
  offsets_.resize(lengths_.size());
  longest_ = 0;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < ranks_; ++c) {
      const auto [a, b] = symmetric ? std::minmax(r, c) : std::pair<const size_t&, const size_t&>(r, c);
      const size_t one = mix(mix(variant_.seed + a) + b) % (2 * variant_.length + 1);
      lengths_[r * ranks_ + c] = one;
      longest_ = std::max<uint64_t>(longest_, one);
    }
    spread(&lengths_[r * ranks_], &offsets_[r * ranks_], ranks_, backwards);
  }
  if (!by_rank) return;
  back_lengths_.resize(lengths_.size());
  back_offsets_.resize(lengths_.size());
  for (size_t r = 0; r < ranks_; ++r) {
    for (size_t c = 0; c < ranks_; ++c) back_lengths_[r * ranks_ + c] = lengths_[c * ranks_ + r];
    spread(&back_lengths_[r * ranks_], &back_offsets_[r * ranks_], ranks_, backwards);
  }
}

void CaseData::set_extents(Rank& rank, uint32_t chunks) {
  const auto r = static_cast<size_t>(rank.shape.rank);
  const uint64_t each = variant_.length;
  switch (case_.shape.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast: {
      const uint64_t count = each > 0 ? each * chunks - chunks / 2 : chunks / 2;
      rank.input_extents = rank.output_extents = Extents::even(count, chunks, variant_.unit);
      longest_ = rank.input_extents.longest();
      return;
    }
    case Collective::all_to_all:
      rank.input_extents = rank.output_extents = Extents::even(each * ranks_, ranks_);
      if (case_.shape.even) return;
      rank.input_extents = Extents::given(&lengths_[r * ranks_], &offsets_[r * ranks_], ranks_);
      rank.output_extents = Extents::given(&back_lengths_[r * ranks_], &back_offsets_[r * ranks_], ranks_);
      return;
    case Collective::barrier:
      return;
    default:
      break;
  }
  // One side has a chunk for each rank, the other side one.
  const Extents parts = case_.shape.even ? Extents::even(each * ranks_, ranks_)
                                         : Extents::given(lengths_.data(), offsets_.data(), ranks_);
  const Extents own = Extents::even(case_.shape.even ? each : lengths_[r], 1);
  rank.input_extents = input_parts_ > 1 ? parts : own;
  rank.output_extents = output_parts_ > 1 ? parts : own;
}

// --- Memory -----------------------------------------------------------------------------------

// Returns where the next rank's memory begins.
size_t CaseData::place(Rank& rank, size_t begin) const {
  const Collective collective = case_.shape.collective;
  const bool root = rank.shape.is_root();
  const bool has_input = root || (collective != Collective::broadcast && collective != Collective::scatter);
  const bool has_output = root || (collective != Collective::reduce && collective != Collective::gather);
  const bool in_place = rank.shape.in_place || (collective == Collective::broadcast && root);
  const size_t input_bytes = rank.input_extents.span() * values_.bytes();
  const size_t output_bytes = rank.output_extents.span() * values_.bytes();
  const bool gathers = collective == Collective::all_gather || collective == Collective::gather;
  const bool scatters = collective == Collective::reduce_scatter || collective == Collective::scatter;
  const auto own = static_cast<uint32_t>(rank.shape.rank);

  rank.begin = begin;
  size_t at = begin + kGuard;
  if (has_input && !(in_place && gathers)) {
    rank.input = at;
    at += round_up(input_bytes) + kGuard;
  }
  if (has_output && !(in_place && !gathers)) {
    rank.output = at;
    at += round_up(output_bytes) + kGuard;
  }
  if (in_place && gathers) rank.input = rank.output + rank.output_extents.begin(own) * values_.bytes();
  if (in_place && !gathers)
    rank.output = rank.input + (scatters ? rank.input_extents.begin(own) * values_.bytes() : 0);
  return at;
}

CaseData::Part CaseData::part(const Extents& extents, uint32_t parts, uint32_t chunk) const {
  if (parts == 1 && extents.contiguous()) return {0, 0, extents.span()};
  return {chunk, extents.begin(chunk), extents.length(chunk)};
}

void CaseData::fill() {
  for (const Rank& rank : all_) {
    for (uint32_t c = 0; c < input_parts_ && rank.input != kNone; ++c) {
      const Part one = part(rank.input_extents, input_parts_, c);
      for (uint64_t i = 0; i < one.length; ++i)
        values_.store(at(rank.input) + (one.begin + i) * values_.bytes(),
                      values_.input(rank.shape.rank, c, i));
    }
  }
}

Binding CaseData::bind(const Rank& rank) const {
  Binding binding;
  binding.input = at(rank.input);
  binding.output = at(rank.output);
  binding.input_extents = rank.input_extents;
  binding.output_extents = rank.output_extents;
  binding.raw_bytes = values_.bytes();
  binding.reducer = reduces(case_.shape.collective) ? &reducer_ : nullptr;
  const uint64_t longest = std::max<uint64_t>(longest_, 1);
  binding.slice_elements = (longest + variant_.slices - 1) / variant_.slices;
  binding.slices = static_cast<uint32_t>((longest + binding.slice_elements - 1) / binding.slice_elements);
  binding.window = std::min(variant_.window, binding.slices);
  binding.direct_from = variant_.transport.direct ? 1 : SIZE_MAX;
  binding.measure();
  return binding;
}

// --- Afterwards -------------------------------------------------------------------------------

// Whether the input's chunk is (also) output.
bool CaseData::overlaps(const Rank& rank, uint32_t chunk) const {
  const Collective collective = case_.shape.collective;
  if (collective == Collective::broadcast) return rank.shape.is_root();
  if (!rank.shape.in_place) return false;
  const bool scatters = collective == Collective::reduce_scatter || collective == Collective::scatter;
  return !scatters || static_cast<int>(chunk) == rank.shape.rank;
}

Status CaseData::check_part(const Rank& rank, bool output, const Part& part) {
  std::byte* element = at(output ? rank.output : rank.input) + part.begin * values_.bytes();
  const int r = rank.shape.rank;
  for (uint64_t i = 0; i < part.length; ++i, element += values_.bytes()) {
    if (values_.equal(element, output ? values_.output(r, part.chunk, i) : values_.input(r, part.chunk, i)))
      continue;
    if (!output)
      return Status::error(Code::protocol, "rank {}: element {} of input part {} was changed", r, i,
                           part.chunk);
    return Status::error(Code::protocol, "rank {}: element {} of output part {} {}", r, i, part.chunk,
                         values_.explain(element, r, part.chunk, i));
  }
  std::fill_n(element - part.length * values_.bytes(), part.length * values_.bytes(), Values::kPoison);
  return {};
}

Status CaseData::check() {
  for (const Rank& rank : all_) {
    for (uint32_t c = 0; c < output_parts_ && rank.output != kNone; ++c)
      WIA_RETURN_IF_ERROR(check_part(rank, true, part(rank.output_extents, output_parts_, c)));
    for (uint32_t c = 0; c < input_parts_ && rank.input != kNone; ++c)
      if (!overlaps(rank, c))
        WIA_RETURN_IF_ERROR(check_part(rank, false, part(rank.input_extents, input_parts_, c)));
  }
  return check_poison();
}

Status CaseData::check_poison() const {
  const std::byte* memory = memory_.get();
  if (memory[0] == Values::kPoison && std::memcmp(memory, memory + 1, bytes_ - 1) == 0) return {};
  const auto written =
      std::find_if(memory, memory + bytes_, [](std::byte b) { return b != Values::kPoison; });
  const auto place = static_cast<size_t>(written - memory);
  const auto after =
      std::find_if(all_.begin(), all_.end(), [&](const Rank& rank) { return rank.begin > place; });
  const Rank& rank = *(after - 1);
  const bool output = rank.output <= place;
  const size_t buffer = output ? rank.output : rank.input;
  return Status::error(Code::protocol,
                       "rank {}: {} bytes from the start of its {} something was written that is no data",
                       rank.shape.rank, static_cast<int64_t>(place - buffer), output ? "output" : "input");
}

}  // namespace wia
