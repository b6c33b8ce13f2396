// In place of the other ofi_*.cpp in a build without libfabric.
#include "transport/ofi_wire.hpp"

namespace wia {
namespace {

Status absent() { return {Code::unsupported, "this build has no libfabric"}; }

}  // namespace

Result<std::unique_ptr<OfiWire>> make_ofi_wire(const OfiOptions&, uint64_t) { return absent(); }
bool ofi_wakes_sleepers(const OfiOptions&) { return false; }
void arm_ofi(Doorbell&) {}
bool settle_ofi(Deadline) { return true; }
Result<std::string> describe_ofi() { return absent(); }

}  // namespace wia
