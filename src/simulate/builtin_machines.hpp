// The files of machines/, as they were when this was built. CMake writes the list
// (machines/builtin_machines.cpp.in).
#pragma once
#include <span>
#include <string_view>

namespace wia {

struct BuiltinMachine {
  std::string_view name, text;
};
std::span<const BuiltinMachine> builtin_machines();

}  // namespace wia
