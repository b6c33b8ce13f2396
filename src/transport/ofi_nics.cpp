#include "transport/ofi_nics.hpp"

#include <fmt/core.h>
#include <string.h>

#include <map>
#include <mutex>
#include <set>

namespace wia {
namespace {

// The makers' own first; tcp is everywhere (from 1.18 on without ofi_rxm).
constexpr const char* kProviders[] = {"cxi", "efa", "verbs;ofi_rxm", "opx", "psm3", "tcp", "tcp;ofi_rxm"};

using Info = std::unique_ptr<fi_info, OfiNic::Free>;

// What the wire asks of a provider, and what it can cope with.
Info make_hints(const OfiLibrary& library, const char* provider, bool device_memory) {
  Info hints(library.dupinfo(nullptr));
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV | (device_memory ? FI_HMEM : 0);
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                FI_MR_ENDPOINT | (device_memory ? FI_MR_HMEM : 0);
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->fabric_attr->prov_name = strdup(provider);
  return hints;
}

bool goes_by_interfaces(const fi_info& info) { return strncmp(info.fabric_attr->prov_name, "tcp", 3) == 0; }

bool is_at(const fi_info& info, const Address& address) {
  Address own;
  if (info.src_addrlen > sizeof own.storage) return false;
  memcpy(&own.storage, info.src_addr, info.src_addrlen);
  own.length = static_cast<socklen_t>(info.src_addrlen);
  return own.text() == address.text();  // without a port both
}

// Of what a provider offers: each domain once; where it goes by interfaces, those that are to be used.
std::vector<OfiNic> choose(const OfiLibrary& library, const fi_info* offered, const OfiOptions& options) {
  std::vector<OfiNic> nics;
  std::set<std::string> seen;
  const std::string provider = offered->fabric_attr->prov_name;
  const auto take = [&](const fi_info& info) {
    if (provider == info.fabric_attr->prov_name && seen.insert(info.domain_attr->name).second)
      nics.push_back({Info(library.dupinfo(&info))});
  };
  if (!goes_by_interfaces(*offered)) {
    for (const fi_info* info = offered; info; info = info->next) take(*info);
    return nics;
  }
  for (const Address& address : options.addresses)
    for (const fi_info* info = offered; info; info = info->next)
      if (is_at(*info, address)) take(*info);
  return nics;
}

// What a provider offers; null: nothing, for the reason in `refusal` if there is one to tell.
Info ask(const OfiLibrary& library, const char* provider, bool device_memory, std::string* refusal) {
  const KeepSignals keep;
  const Info hints = make_hints(library, provider, device_memory);
  fi_info* offered = nullptr;
  const int answer =
      hints ? library.getinfo(kOfiVersion, nullptr, nullptr, 0, hints.get(), &offered) : -FI_ENOMEM;
  if (answer != 0 && answer != -FI_ENODATA) *refusal = library.strerror(-answer);
  return Info(answer == 0 ? offered : nullptr);
}

Result<std::vector<OfiNic>> look_for_nics(const OfiLibrary& library, const OfiOptions& options) {
  std::string refusals;
  for (const char* provider : kProviders) {
    std::string refusal;
    const Info offered = ask(library, provider, options.device_memory, &refusal);
    if (offered) {
      std::vector<OfiNic> nics = choose(library, offered.get(), options);
      if (!nics.empty()) return nics;
      refusal = "none of the interfaces to use";
    }
    if (!refusal.empty()) refusals += fmt::format("; {}: {}", provider, refusal);
  }
  return Status::error(
      Code::unsupported,
      "no provider of libfabric {} has reliable datagrams with messages, reads of remote memory{} "
      "and multi-receive buffers (see fi_info){}",
      library.version_text(), options.device_memory ? ", device memory (FI_HMEM)" : "", refusals);
}

}  // namespace

Result<const std::vector<OfiNic>*> find_ofi_nics(const OfiLibrary& library, const OfiOptions& options) {
  std::string key = options.device_memory ? "device" : "host";
  for (const Address& address : options.addresses) key += " " + address.text();
  static std::mutex mutex;
  static auto& found = *new std::map<std::string, std::vector<OfiNic>>;
  std::lock_guard lock(mutex);
  const auto known = found.find(key);
  if (known != found.end()) return &known->second;
  auto nics = look_for_nics(library, options);
  if (!nics) return nics.take_status();
  return &(found[key] = std::move(nics.value()));
}

std::string list_ofi_providers(const OfiLibrary& library) {
  std::string list;
  std::set<std::string> seen;  // a provider may answer to two names
  for (const char* provider : kProviders) {
    std::string refusal, nics;
    const Info offered = ask(library, provider, false, &refusal);
    for (const fi_info* info = offered.get(); info; info = info->next)
      if (seen.insert(fmt::format("{} on {}", info->fabric_attr->prov_name, info->domain_attr->name)).second)
        nics += fmt::format(" {}", info->domain_attr->name);
    if (!nics.empty())
      list += fmt::format("{}{} on{}", list.empty() ? "" : "; ", offered->fabric_attr->prov_name, nics);
  }
  return list.empty() ? "no provider" : list;
}

}  // namespace wia
