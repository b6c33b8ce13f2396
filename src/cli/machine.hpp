// Facts about this machine, as the system tells them. What it does not tell is empty or nothing.
//
// Pure reads of /proc and /sys; thread safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wia::cli {

// Those that reductions can use: "avx2", "avx512f", "sve", ...
std::vector<std::string> vector_extensions();

// "1.5 GiB"
std::string bytes_text(double bytes);
// A list of numbers with ranges: "0-3,8".
std::string ranges_text(const std::vector<int>& numbers);
// The first line of a file.
std::optional<std::string> first_line(const std::string& path);

}  // namespace wia::cli
