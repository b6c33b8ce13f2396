// JSON for programs. The only file that sees the JSON library.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace wia {

using Json = nlohmann::ordered_json;  // keys stay in the order in which they are set

// For people: an array or object without others inside stands on one line when it fits, else one line a
// member.
std::string json_text(const Json& json);

// To a file, or to stdout for "-". Throws std::runtime_error that names the file and says why it cannot be
// written.
inline void write_text(const std::string& text, const std::string& file) {
  const bool to_stdout = file == "-";
  std::FILE* stream = to_stdout ? stdout : std::fopen(file.c_str(), "w");
  bool good = stream != nullptr;
  if (good)
    good = std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
  const int error = errno;
  if (stream && !to_stdout) good &= std::fclose(stream) == 0;
  if (!good)
    throw std::runtime_error("cannot write " + (to_stdout ? "to stdout" : file) + ": " +
                             std::strerror(error));
}

inline void write_json(const Json& json, const std::string& file) {
  write_text(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", file);
}

}  // namespace wia
