#include "simulate/machine_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "base/read_file.hpp"
#include "simulate/builtin_machines.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

constexpr size_t kLargestFile = size_t{1} << 30;

Result<MachineModel> read_machine_file(const std::string& path) {
  auto text = read_file(path, kLargestFile);
  if (!text) return text.take_status();
  if (text->find("\"wia.topology/") == std::string::npos) return machine_model_from_text(*text, path);
  auto topology = topology_from_text(*text, path);
  if (!topology) return topology.take_status();
  return machine_model_of(*topology, path);
}

}  // namespace

const VendorModel* MachineModel::vendor(Collective collective, std::string_view vendor_name) const {
  const auto found = std::find_if(vendors.begin(), vendors.end(), [&](const VendorModel& vendor) {
    return vendor.collective == collective && vendor.name == vendor_name;
  });
  return found == vendors.end() ? nullptr : &*found;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const BuiltinMachine& machine : builtin_machines()) names.emplace_back(machine.name);
  return names;
}

Result<MachineModel> find_machine_model(const std::string& name_or_path) {
  for (const BuiltinMachine& machine : builtin_machines())
    if (machine.name == name_or_path)
      return machine_model_from_text(machine.text, fmt::format("machines/{}.json", machine.name));
  if (name_or_path.find_first_of("/.") != std::string::npos) return read_machine_file(name_or_path);
  return Status::error(Code::invalid_argument, "\"{}\" is no machine; there are {}, or a file's path",
                       name_or_path, fmt::join(machine_names(), ", "));
}

}  // namespace wia
