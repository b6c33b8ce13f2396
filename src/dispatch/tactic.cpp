#include "dispatch/tactic.hpp"

#include <algorithm>

#include "base/parse.hpp"

namespace wia {
namespace {

constexpr std::string_view kSlice = "slice=", kNics = "nics=";
constexpr uint64_t kShortestSlice = 64, kLongestSlice = uint64_t{1} << 40;

// One of the parts behind the algorithm; each at most once.
Status read_part(std::string_view part, Tactic* tactic) {
  if (part.starts_with(kSlice) && tactic->slice_bytes == 0) {
    const auto bytes = parse_size(part.substr(kSlice.size()));
    if (!bytes || *bytes < kShortestSlice || *bytes > kLongestSlice)
      return Status::error(Code::invalid_argument, "{}: legal are 64 to 1T", part);
    tactic->slice_bytes = *bytes;
  } else if (part.starts_with(kNics) && tactic->nics == 0) {
    const auto nics = parse_integer(part.substr(kNics.size()));
    if (!nics || *nics < 1 || *nics > 1024)
      return Status::error(Code::invalid_argument, "{}: legal are 1 to 1024", part);
    tactic->nics = static_cast<int>(*nics);
  } else {
    return Status::error(Code::invalid_argument,
                         "\"{}\" behind an algorithm: there are slice=SIZE and nics=N", part);
  }
  return {};
}

std::string size_text(size_t bytes) {
  const char* unit = "";
  for (const char* next : {"K", "M", "G"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return std::to_string(bytes) + unit;
}

}  // namespace

Result<Tactic> parse_tactic(Collective collective, std::string_view name) {
  size_t end = std::min(name.find('/'), name.size());
  auto algorithm = find_algorithm(collective, name.substr(0, end));
  if (!algorithm) return algorithm.take_status();
  Tactic tactic{algorithm.value()};
  while (end < name.size()) {
    const size_t begin = end + 1;
    end = std::min(name.find('/', begin), name.size());
    WIA_RETURN_IF_ERROR(read_part(name.substr(begin, end - begin), &tactic));
  }
  return tactic;
}

std::string name_of(const Tactic& tactic) {
  std::string name = tactic.algorithm->name;
  if (tactic.slice_bytes > 0) name += "/slice=" + size_text(tactic.slice_bytes);
  if (tactic.nics > 0) name += "/nics=" + std::to_string(tactic.nics);
  return name;
}

}  // namespace wia
