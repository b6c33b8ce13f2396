#include "tune/timings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/read_file.hpp"

namespace wia {
namespace {

constexpr size_t kLargestFile = size_t{256} << 20;
constexpr size_t kMostFields = 256;
constexpr size_t kLongestField = 128;
constexpr size_t kMostRows = 1'000'000;
constexpr double kLongestSeconds = 1e6;

struct Refused {  // thrown and caught in this file
  std::string text;
};
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Refused{fmt::format(format, std::forward<Args>(args)...)};
}

std::string quoted(std::string_view field) {
  return field.size() <= 40 ? fmt::format("\"{}\"", field) : fmt::format("\"{}...\"", field.substr(0, 40));
}

// Refused before anything is printed of it.
void check_bytes(std::string_view line) {
  for (const char c : line) {
    if (c == '"') refuse("has a quotation mark; fields are plain");
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) refuse("holds a byte that is no text");
  }
}

std::string_view trimmed(std::string_view field) {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  return field;
}

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (size_t begin = 0;;) {
    const size_t comma = std::min(line.find(',', begin), line.size());
    fields.push_back(trimmed(line.substr(begin, comma - begin)));
    if (fields.back().size() > kLongestField) refuse("a field has more than {} bytes", kLongestField);
    if (fields.size() > kMostFields) refuse("has more than {} fields", kMostFields);
    if (comma == line.size()) return;
    begin = comma + 1;
  }
}

double read_number(std::string_view name, std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value))
    refuse("{} is {}, wanted is a number", name, quoted(field));
  return value;
}

std::string read_name(std::string_view name, std::string_view field) {
  const bool plain = std::all_of(field.begin(), field.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-.+:/ ").find(c) != std::string_view::npos;
  });
  if (field.empty()) refuse("{} is empty", name);
  if (!plain) refuse("{} is {}, wanted is a name of letters, digits and _-.+:/", name, quoted(field));
  return std::string(field);
}

// Names of the same thing; a table has one of them.
struct Column {
  std::vector<std::string_view> names;
  std::optional<size_t> position;

  bool is(std::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
};

// Where each known column stands.
class Header {
 public:
  Header(const std::vector<std::string_view>& fields, std::vector<std::string>& ignored)
      : width_(fields.size()) {
    for (const Quantity& quantity : call_quantities()) quantities_.push_back({{quantity.name}, {}});
    for (size_t i = 0; i < fields.size(); ++i) place(fields, i, ignored);
    for (const Column* column : {&machine_, &collective_, &choice_, &time_, &quantities_[0], &quantities_[1]})
      if (!column->position) refuse("no column \"{}\"", fmt::join(column->names, "\" or \""));
    const std::string_view unit = fields[*time_.position];
    to_seconds_ = unit == "time_ms" ? 1e-3 : unit == "time_us" ? 1e-6 : 1;
    time_name_ = unit;
  }

  Timing read(const std::vector<std::string_view>& fields) const {
    if (fields.size() != width_) refuse("has {} fields, the header has {}", fields.size(), width_);
    Timing timing;
    timing.machine = read_name("machine", fields[*machine_.position]);
    timing.choice = read_name(choice_.names[0], fields[*choice_.position]);
    if (run_set_.position && !fields[*run_set_.position].empty())
      timing.run_set = read_name("run_set", fields[*run_set_.position]);
    const auto collective = parse_collective(fields[*collective_.position]);
    if (!collective) refuse("collective is {}, which is none", quoted(fields[*collective_.position]));
    timing.collective = *collective;
    for (size_t i = 0; i < quantities_.size(); ++i)
      if (quantities_[i].position) read(call_quantities()[i], fields[*quantities_[i].position], timing.call);
    timing.seconds = read_number(time_name_, fields[*time_.position]) * to_seconds_;
    if (!(timing.seconds > 0 && timing.seconds <= kLongestSeconds))
      refuse("{} is {}, wanted is a time above 0, of at most {} s", time_name_,
             quoted(fields[*time_.position]), kLongestSeconds);
    return timing;
  }

 private:
  void place(const std::vector<std::string_view>& fields, size_t i, std::vector<std::string>& ignored) {
    const std::string_view name = fields[i];
    if (std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        fields.begin() + static_cast<std::ptrdiff_t>(i))
      refuse("the column {} is there twice", quoted(name));
    Column* found = nullptr;
    for (Column* column : {&machine_, &collective_, &choice_, &time_, &run_set_})
      if (column->is(name)) found = column;
    for (Column& column : quantities_)
      if (column.is(name)) found = &column;
    if (!found) {
      ignored.emplace_back(name);
    } else if (found->position) {
      refuse("the columns {} and {} say the same", quoted(fields[*found->position]), quoted(name));
    } else {
      found->position = i;
    }
  }

  static void read(const Quantity& quantity, std::string_view field, CallShape& call) {
    const double value = read_number(quantity.name, field);
    if (value < quantity.least || value > quantity.most || (quantity.whole && value != std::floor(value)))
      refuse("{} is {}, wanted is a {}number from {:g} to {:g}", quantity.name, quoted(field),
             quantity.whole ? "whole " : "", quantity.least, quantity.most);
    call.*quantity.member = value;
  }

  size_t width_;
  Column machine_{{"machine"}, {}}, collective_{{"collective"}, {}}, choice_{{"library", "algorithm"}, {}},
      run_set_{{"run_set"}, {}}, time_{{"time_ms", "time_us", "time_s"}, {}};
  std::vector<Column> quantities_;
  double to_seconds_ = 1;
  std::string time_name_;
};

// Lines from the first on, without their ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // as spreadsheets begin their files
  }
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    const size_t end = rest_.find('\n');
    // A row that has lost its end may have lost digits.
    if (end == std::string_view::npos) refuse("the last line has no end: is the file cut off?");
    line = rest_.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  size_t number() const { return number_; }

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

TimingTable read_table(Lines& lines) {
  TimingTable table;
  std::string_view line;
  std::vector<std::string_view> fields;
  if (!lines.next(line)) refuse("the file is empty");
  check_bytes(line);
  split(line, fields);
  const Header header(fields, table.ignored_columns);
  while (lines.next(line)) {
    if (line.empty()) continue;
    check_bytes(line);
    split(line, fields);
    if (table.rows.size() == kMostRows) refuse("is row {}; at most so many less one are read", kMostRows + 1);
    table.rows.push_back(header.read(fields));
  }
  if (table.rows.empty()) refuse("no row follows the header");
  return table;
}

}  // namespace

Result<TimingTable> timings_from_text(std::string_view text, const std::string& name) {
  Lines lines(text);
  try {
    return read_table(lines);
  } catch (const Refused& refused) {
    return Status::error(Code::invalid_argument, "{}: line {}: {}", name, std::max<size_t>(lines.number(), 1),
                         refused.text);
  }
}

Result<TimingTable> read_timings(const std::string& path) {
  auto text = read_file(path, kLargestFile);
  if (!text) return text.take_status();
  return timings_from_text(*text, path);
}

}  // namespace wia
