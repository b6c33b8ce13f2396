#include "simulate/trace.hpp"

#include <set>

#include "base/json.hpp"

namespace wia {

const char* activity_name(Activity activity) {
  static constexpr const char* kNames[] = {"call", "send", "receive", "reduce", "copy", "wait"};
  return kNames[static_cast<size_t>(activity)];
}

std::string Trace::text(const std::string& title) const {
  Json events = Json::array();
  events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", 0}, {"args", {{"name", title}}}});
  std::set<int> ranks;
  for (const Entry& entry : entries_) {
    if (ranks.insert(entry.rank).second)
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", 0},
                        {"tid", entry.rank},
                        {"args", {{"name", "rank " + std::to_string(entry.rank)}}}});
    Json event = {{"ph", "X"},
                  {"name", activity_name(entry.activity)},
                  {"pid", 0},
                  {"tid", entry.rank},
                  {"ts", entry.begin_us},
                  {"dur", entry.us}};
    if (entry.peer >= 0) event["args"] = {{"peer", entry.peer}, {"bytes", entry.bytes}};
    events.push_back(std::move(event));
  }
  Json json;
  json["displayTimeUnit"] = "ns";
  json["otherData"] = {{"activities_left_out", left_out_}};
  json["traceEvents"] = std::move(events);
  return json.dump() + "\n";
}

}  // namespace wia
