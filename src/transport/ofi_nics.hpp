// Which provider of libfabric is used, and the NICs that it has: one domain each.
#pragma once
#include <rdma/fabric.h>

#include <memory>
#include <string>
#include <vector>

#include "transport/ofi_library.hpp"
#include "transport/ofi_wire.hpp"

namespace wia {

struct OfiNic {
  struct Free {
    void operator()(fi_info* info) const { OfiLibrary::load().value()->freeinfo(info); }
  };
  std::unique_ptr<fi_info, Free> info;
  std::string provider() const { return info->fabric_attr->prov_name; }
  std::string name() const { return info->domain_attr->name; }  // "cxi0", "eth0"
};

// Of the first provider of the order of preference that is here. A provider that goes by network interfaces
// (tcp) uses those of `options`, in their order. Never empty; looked for once (libfabric takes 40 ms for it),
// and lives as long as the process. Thread safe.
Result<const std::vector<OfiNic>*> find_ofi_nics(const OfiLibrary& library, const OfiOptions& options);

// "psm3 on eth0; tcp;ofi_rxm on eth0 lo", or "no provider".
std::string list_ofi_providers(const OfiLibrary& library);

}  // namespace wia
