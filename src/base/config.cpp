#include "base/config.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/environment.hpp"
#include "base/parse.hpp"

namespace wia {
namespace {

constexpr std::array<std::string_view, 5> kLogLevels = {"debug", "info", "warning", "error", "off"};
constexpr std::array<std::string_view, 4> kWaits = {"auto", "spin", "yield", "sleep"};
constexpr std::array<std::string_view, 4> kTransports = {"auto", "shm", "tcp", "ofi"};
// Read by bootstrap (who this process is in its job), hence known.
constexpr std::array<std::string_view, 7> kLaunchVariables = {
    "WIA_RANK",   "WIA_WORLD_SIZE", "WIA_MASTER_ADDR", "WIA_MASTER_PORT",
    "WIA_JOB_ID", "WIA_JOB_SECRET", "WIA_STORE_SERVED"};
constexpr int64_t kLongestMs = 1'000'000'000;

// Position of `text` in `words`, or -1.
template <class Words>
int position_of(const Words& words, std::string_view text) {
  const auto found = std::find(words.begin(), words.end(), lower_case(text));
  return found == words.end() ? -1 : static_cast<int>(found - words.begin());
}

bool read_time(std::string_view text, int64_t& ms) {
  const auto value = parse_seconds(text);
  if (!value || *value < 1 || *value > kLongestMs) return false;
  ms = *value;
  return true;
}

bool read_size(std::string_view text, uint64_t least, uint64_t most, size_t& bytes) {
  const auto value = parse_size(text);
  if (!value || (*value != 0 && (*value < least || *value > most))) return false;
  bytes = *value;
  return true;
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzKMGT0123456789_-:/=.") == std::string_view::npos;
}

// "collective=algorithm,..."; each collective once. Whether the names exist is the selector's business.
bool read_algorithms(std::string_view text, std::string& algorithms) {
  std::set<std::string_view> seen;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view pair = rest.substr(0, comma);
    const size_t equals = std::min(pair.find('='), pair.size());
    if (equals == pair.size() || !is_name(pair.substr(0, equals)) || !is_name(pair.substr(equals + 1)))
      return false;
    if (!seen.insert(pair.substr(0, equals)).second || comma + 1 == rest.size()) return false;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  algorithms = text;
  return true;
}

std::string seconds(int64_t ms) { return fmt::format("{}", static_cast<double>(ms) / 1000); }

// One environment variable: its texts, how it is read (false: not allowed) and shown.
struct Setting {
  const char* variable;
  const char* meaning;
  const char* allowed;
  bool (*read)(std::string_view text, Config& config);
  std::string (*show)(const Config& config);
};

constexpr Setting kSettings[] = {
    {"WIA_LOG", "least severe messages that are printed", "debug, info, warning, error or off",
     [](std::string_view text, Config& config) {
       const int level = position_of(kLogLevels, text);
       if (level >= 0) config.log_level = static_cast<log::Level>(level);
       return level >= 0;
     },
     [](const Config& config) { return std::string(kLogLevels[static_cast<size_t>(config.log_level)]); }},
    {"WIA_TIMEOUT", "longest wait of a call, in seconds", "0.001 to 1000000 seconds",
     [](std::string_view text, Config& config) { return read_time(text, config.timeout_ms); },
     [](const Config& config) { return seconds(config.timeout_ms); }},
    {"WIA_INIT_TIMEOUT", "longest wait until all ranks have come, in seconds", "0.001 to 1000000 seconds",
     [](std::string_view text, Config& config) { return read_time(text, config.init_timeout_ms); },
     [](const Config& config) { return seconds(config.init_timeout_ms); }},
    {"WIA_LATE_NOTICE", "seconds after which one line says who is missing", "0.001 to 1000000 seconds",
     [](std::string_view text, Config& config) { return read_time(text, config.late_notice_ms); },
     [](const Config& config) { return seconds(config.late_notice_ms); }},
    {"WIA_RANKS_PER_NODE", "treats so many ranks as one node; 0: the real nodes", "0 to 1000000",
     [](std::string_view text, Config& config) {
       const auto value = parse_integer(text);
       if (!value || *value < 0 || *value > 1'000'000) return false;
       config.ranks_per_node = static_cast<int>(*value);
       return true;
     },
     [](const Config& config) { return std::to_string(config.ranks_per_node); }},
    {"WIA_LEVELS", "levels of the machine, from the innermost, that hierarchical algorithms have levels for",
     "numa, node, switch and numbers of ranks, separated by commas",
     [](std::string_view text, Config& config) {
       config.levels = text;
       return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789,") == text.npos;
     },
     [](const Config& config) { return config.levels; }},
    {"WIA_SWITCH", "the switch that this node hangs on; empty: what Slurm says", "a name without line ends",
     [](std::string_view text, Config& config) {
       config.switch_name = text;
       return text.find('\n') == text.npos;
     },
     [](const Config& config) { return config.switch_name; }},
    {"WIA_DETERMINISTIC", "1: results do not depend on size and algorithm", "0 or 1",
     [](std::string_view text, Config& config) {
       config.deterministic = text == "1";
       return text == "0" || text == "1";
     },
     [](const Config& config) { return std::string(config.deterministic ? "1" : "0"); }},
    {"WIA_STRICT", "1: a call ends only when all ranks have entered it, and compares with all", "0 or 1",
     [](std::string_view text, Config& config) {
       config.strict = text == "1";
       return text == "0" || text == "1";
     },
     [](const Config& config) { return std::string(config.strict ? "1" : "0"); }},
    {"WIA_ALGORITHM", "algorithms to use; empty: the library chooses",
     "COLLECTIVE=ALGORITHM, several separated by commas, each collective once",
     [](std::string_view text, Config& config) { return read_algorithms(text, config.algorithms); },
     [](const Config& config) { return config.algorithms; }},
    {"WIA_TUNING", "tuning file (wia tune) that chooses algorithms; rank 0's counts",
     "a path without line ends",
     [](std::string_view text, Config& config) {
       config.tuning = text;
       return text.find('\n') == text.npos;
     },
     [](const Config& config) { return config.tuning; }},
    {"WIA_SELECTOR", "who chooses algorithms; auto: the tuning file, else the rules; rank 0's counts",
     "auto, rules, model or svm",
     [](std::string_view text, Config& config) {
       const int selector = position_of(kSelectors, text);
       if (selector >= 0) config.selector = kSelectors[static_cast<size_t>(selector)];
       return selector >= 0;
     },
     [](const Config& config) { return config.selector; }},
    {"WIA_ONLINE", "1: times of real calls correct a tuning file's choice; rank 0's counts", "0 or 1",
     [](std::string_view text, Config& config) {
       config.correct_online = text == "1";
       return text == "0" || text == "1";
     },
     [](const Config& config) { return std::string(config.correct_online ? "1" : "0"); }},
    {"WIA_WAIT", "how a rank waits for others", "auto, spin, yield or sleep",
     [](std::string_view text, Config& config) {
       const int wait = position_of(kWaits, text);
       if (wait >= 0) config.wait = kWaits[static_cast<size_t>(wait)];
       return wait >= 0;
     },
     [](const Config& config) { return config.wait; }},
    {"WIA_HEAP_SIZE", "address space for shared memory; 0: by the machine's memory", "0, or 1M to 64T",
     [](std::string_view text, Config& config) {
       return read_size(text, 1ull << 20, 1ull << 46, config.heap_bytes);
     },
     [](const Config& config) { return std::to_string(config.heap_bytes); }},
    {"WIA_SLICE_SIZE", "longest slice in which a call moves its data; 0: the default", "0, or 64 to 1T",
     [](std::string_view text, Config& config) {
       return read_size(text, 64, 1ull << 40, config.slice_bytes);
     },
     [](const Config& config) { return std::to_string(config.slice_bytes); }},
    {"WIA_STAGING_SIZE", "staging memory of a rank in a communicator; 0: the default", "0, or 4K to 1T",
     [](std::string_view text, Config& config) {
       return read_size(text, 1ull << 12, 1ull << 40, config.staging_bytes);
     },
     [](const Config& config) { return std::to_string(config.staging_bytes); }},
    {"WIA_TRANSPORT", "between nodes; auto: shared memory on one host, else tcp", "auto, shm, tcp or ofi",
     [](std::string_view text, Config& config) {
       const int transport = position_of(kTransports, text);
       if (transport >= 0) config.transport = kTransports[static_cast<size_t>(transport)];
       return transport >= 0;
     },
     [](const Config& config) { return config.transport; }},
    {"WIA_NIC", "network interfaces to use; empty: all that lead to other hosts",
     "NAME, =NAME, ^NAME or ^=NAME, several separated by commas",
     [](std::string_view text, Config& config) {
       config.nic = text;
       return text.find_first_not_of(
                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@+-,=^ ") ==
              std::string_view::npos;
     },
     [](const Config& config) { return config.nic; }},
};

bool is_known(std::string_view variable) {
  const auto same = [&](const Setting& setting) { return variable == setting.variable; };
  return std::any_of(std::begin(kSettings), std::end(kSettings), same) ||
         std::find(kLaunchVariables.begin(), kLaunchVariables.end(), variable) != kLaunchVariables.end();
}

// Slurm names all switches above a node, and the node: "core.leaf3.node17".
std::string switch_of(const std::string& address) {
  const size_t node = address.rfind('.');
  return node == std::string::npos ? "" : address.substr(0, node);
}

void list_unknown(std::vector<Config::Item>& items) {
  std::vector<std::string> entries = environment_entries();
  std::sort(entries.begin(), entries.end());
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || !entry.starts_with("WIA_")) continue;
    const std::string variable = entry.substr(0, equals);
    if (!is_known(variable))
      items.push_back({variable, entry.substr(equals + 1), "ignored", "not a setting of this version"});
  }
}

}  // namespace

Result<Config> Config::from_environment() {
  Config config;
  config.switch_name = switch_of(environment("SLURM_TOPOLOGY_ADDR").value_or(""));
  for (const Setting& setting : kSettings) {
    const auto text = environment(setting.variable);
    const bool given = text && !text->empty();
    if (given && !setting.read(*text, config))
      return Status::error(Code::invalid_argument, "{}=\"{}\" is not understood; allowed: {}",
                           setting.variable, *text, setting.allowed);
    config.items.push_back(
        {setting.variable, setting.show(config), given ? "environment" : "default", setting.meaning});
  }
  list_unknown(config.items);
  return config;
}

}  // namespace wia
