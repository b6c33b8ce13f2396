#include "topology/nics.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "topology/sysfs.hpp"

namespace wia {
namespace {

int count_bits(const void* mask, size_t bytes) {
  int bits = 0;
  for (size_t i = 0; i < bytes; ++i) bits += std::popcount(static_cast<const uint8_t*>(mask)[i]);
  return bits;
}

std::optional<NicAddress> address_of(const ifaddrs& entry) {
  if (!entry.ifa_addr) return std::nullopt;
  NicAddress address;
  address.family = entry.ifa_addr->sa_family;
  const auto take = [&](auto* of, auto* mask, auto member) {
    std::memcpy(address.bytes, &(of->*member), sizeof(of->*member));
    address.prefix_length = mask ? count_bits(&(mask->*member), sizeof(mask->*member)) : 0;
  };
  if (address.family == AF_INET)
    take(reinterpret_cast<sockaddr_in*>(entry.ifa_addr), reinterpret_cast<sockaddr_in*>(entry.ifa_netmask),
         &sockaddr_in::sin_addr);
  else if (address.family == AF_INET6)
    take(reinterpret_cast<sockaddr_in6*>(entry.ifa_addr), reinterpret_cast<sockaddr_in6*>(entry.ifa_netmask),
         &sockaddr_in6::sin6_addr);
  else
    return std::nullopt;
  return address;
}

// eth2 before eth10: runs of digits are compared as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  const auto run = [](std::string_view& text) {
    const bool digits = std::isdigit(static_cast<unsigned char>(text[0])) != 0;
    size_t length = 1;
    while (length < text.size() && (std::isdigit(static_cast<unsigned char>(text[length])) != 0) == digits)
      ++length;
    std::string_view taken = text.substr(0, length);
    text.remove_prefix(length);
    while (digits && taken.size() > 1 && taken[0] == '0') taken.remove_prefix(1);
    return std::pair(digits ? taken.size() : 0, taken);
  };
  for (std::string_view left = a, right = b; !left.empty() && !right.empty();)
    if (const auto one = run(left), other = run(right); one != other) return one < other;
  return std::pair(a.size(), a) < std::pair(b.size(), b);
}

void sort_by_name(std::vector<Nic>& nics) {
  std::sort(nics.begin(), nics.end(),
            [](const Nic& a, const Nic& b) { return natural_less(a.name, b.name); });
}

// --- The rule -------------------------------------------------------------------------------------

// Interfaces of containers, virtual machines and tunnels: their addresses mean nothing elsewhere, and every
// host has the same.
constexpr std::string_view kPassedOver[] = {"docker",    "virbr", "br-", "veth", "cni", "flannel",
                                            "tailscale", "wg",    "tun", "tap",  "lxc", "vmnet"};

struct Item {
  bool excludes = false, exact = false;
  std::string_view name;
  bool matches(const Nic& nic) const { return exact ? nic.name == name : nic.name.starts_with(name); }
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Nothing: an item without a name.
std::optional<std::vector<Item>> read_rule(std::string_view rule, const std::vector<Nic>& nics) {
  std::vector<Item> items;
  for (size_t begin = 0; begin <= rule.size();) {
    const size_t end = std::min(rule.find(',', begin), rule.size());
    Item item;
    item.name = trimmed(rule.substr(begin, end - begin));
    item.excludes = item.name.starts_with('^');
    if (item.excludes) item.name.remove_prefix(1);
    item.exact = item.name.starts_with('=');
    if (item.exact) item.name.remove_prefix(1);
    if (item.name.empty()) return std::nullopt;
    item.exact |=
        std::any_of(nics.begin(), nics.end(), [&](const Nic& nic) { return nic.name == item.name; });
    items.push_back(item);
    begin = end + 1;
  }
  return items;
}

bool usable(const Nic& nic) { return nic.up && !nic.addresses.empty(); }

bool chosen_by_default(const Nic& nic) {
  const auto only_here = [](const NicAddress& address) { return address.link_local_v6(); };
  const auto begins = [&](std::string_view prefix) { return nic.name.starts_with(prefix); };
  return usable(nic) && !nic.loopback && !nic.bridge &&
         !std::all_of(nic.addresses.begin(), nic.addresses.end(), only_here) &&
         std::none_of(std::begin(kPassedOver), std::end(kPassedOver), begins);
}

std::vector<Nic> default_choice(const std::vector<Nic>& nics) {
  std::vector<Nic> chosen;
  std::copy_if(nics.begin(), nics.end(), std::back_inserter(chosen), chosen_by_default);
  if (chosen.empty())  // alone on its host
    std::copy_if(nics.begin(), nics.end(), std::back_inserter(chosen),
                 [](const Nic& nic) { return nic.loopback && usable(nic); });
  return chosen;
}

std::string list_of(std::vector<Nic> nics) {
  if (nics.empty()) return "no interface at all";
  sort_by_name(nics);
  std::string text;
  for (const Nic& nic : nics)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", nic.name,
                        !nic.up                 ? "down"
                        : nic.addresses.empty() ? "no address"
                                                : nic.addresses[0].text());
  return text;
}

}  // namespace

std::string NicAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, bytes, text, sizeof text);
  return text;
}

bool NicAddress::link_local_v6() const {
  return family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::vector<Nic> list_interfaces() {
  std::vector<Nic> nics;
  ifaddrs* entries = nullptr;
  if (getifaddrs(&entries) != 0) return nics;
  for (const ifaddrs* entry = entries; entry; entry = entry->ifa_next) {
    const auto same = [&](const Nic& nic) { return nic.name == entry->ifa_name; };
    auto nic = std::find_if(nics.begin(), nics.end(), same);
    if (nic == nics.end()) {
      nic = nics.emplace(nics.end());
      nic->name = entry->ifa_name;
      nic->index = if_nametoindex(entry->ifa_name);
      nic->up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
      nic->loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    }
    if (const auto address = address_of(*entry)) nic->addresses.push_back(*address);
  }
  freeifaddrs(entries);
  for (Nic& nic : nics)
    std::stable_partition(nic.addresses.begin(), nic.addresses.end(),
                          [](const NicAddress& address) { return address.family == AF_INET; });
  return nics;
}

void add_sysfs_facts(std::vector<Nic>& nics, const std::string& root) {
  for (Nic& nic : nics) {
    const std::string directory = root + "/class/net/" + nic.name;
    if (sysfs::number(directory + "/ifindex") != nic.index) continue;
    if (const auto speed = sysfs::number(directory + "/speed"); speed > 0) nic.speed_mbps = speed;
    nic.mtu = static_cast<int>(sysfs::number(directory + "/mtu").value_or(0));
    nic.bridge = sysfs::exists(directory + "/bridge");
    nic.virtual_device = !sysfs::exists(directory + "/device");
    nic.numa_node = sysfs::numa_node_of(directory + "/device");
    nic.pci = sysfs::pci_address_of(directory + "/device");
  }
}

std::optional<uint64_t> sent_bytes(const Nic& nic, const std::string& root) {
  const std::string directory = root + "/class/net/" + nic.name;
  if (sysfs::number(directory + "/ifindex") != nic.index) return std::nullopt;
  const auto bytes = sysfs::number(directory + "/statistics/tx_bytes");
  return bytes && *bytes >= 0 ? std::optional(static_cast<uint64_t>(*bytes)) : std::nullopt;
}

std::vector<Nic> list_nics(const std::string& sysfs) {
  std::vector<Nic> nics = list_interfaces();
  add_sysfs_facts(nics, sysfs);
  sort_by_name(nics);
  return nics;
}

Result<std::vector<Nic>> select_nics(const std::vector<Nic>& nics, std::string_view rule) {
  std::vector<Nic> chosen;
  if (trimmed(rule).empty()) {
    chosen = default_choice(nics);
  } else {
    const auto items = read_rule(rule, nics);
    if (!items)
      return Status::error(Code::invalid_argument,
                           "WIA_NIC=\"{}\" has an item without a name; items are NAME, =NAME, ^NAME, ^=NAME",
                           rule);
    const auto any = [&](const Nic& nic, bool excludes) {
      return std::any_of(items->begin(), items->end(),
                         [&](const Item& item) { return item.excludes == excludes && item.matches(nic); });
    };
    const bool only_exclusions =
        std::all_of(items->begin(), items->end(), [](const Item& item) { return item.excludes; });
    for (const Nic& nic : only_exclusions ? default_choice(nics) : nics)
      if (usable(nic) && (only_exclusions || any(nic, false)) && !any(nic, true)) chosen.push_back(nic);
  }
  if (chosen.empty())
    return Status::error(Code::invalid_argument,
                         "WIA_NIC=\"{}\" leaves no interface that is up and has an address; there is {}",
                         rule, list_of(nics));
  sort_by_name(chosen);
  return chosen;
}

std::vector<std::string> nics_near(const std::vector<Nic>& nics, std::optional<int> numa_node) {
  std::vector<std::string> names;
  for (const Nic& nic : nics)
    if (numa_node && nic.numa_node == numa_node) names.push_back(nic.name);
  if (names.size() == nics.size()) names.clear();
  return names;
}

}  // namespace wia
