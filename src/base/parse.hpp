// Reads numbers, sizes and times from text, for the environment, the command line and files.
//
// Pure functions, thread safe, no exceptions, independent of the locale. The whole text must be read: "8x" is
// no number. Nothing means: not of this form, or not representable.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wia {

// Decimal, with an optional sign.
std::optional<int64_t> parse_integer(std::string_view text);

// Bytes: "8", "64K", "1.5G"; K, M, G, T (either case, also "KB" and "KiB") are powers of 1024. A size that is
// no whole number of bytes is refused.
std::optional<uint64_t> parse_size(std::string_view text);

// Seconds as milliseconds, rounded up: "10", "0.5". Not negative.
std::optional<int64_t> parse_seconds(std::string_view text);

std::string lower_case(std::string_view text);

}  // namespace wia
