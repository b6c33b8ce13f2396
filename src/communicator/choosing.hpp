// How a job chooses algorithms: rank 0's settings and tuning file, told to all ranks. Thread safe.
#pragma once
#include <memory>
#include <string>

#include "base/config.hpp"
#include "base/status.hpp"
#include "dispatch/dispatcher.hpp"

namespace wia {

struct Choosing {
  Selection selection = Selection::automatic;
  bool correct_online = false;           // only what a tuning file chose is corrected
  std::shared_ptr<const Tuning> tuning;  // null: none
};

// On rank 0: reads the tuning file. What is wrong with it is told to all in the text.
std::string choosing_text(const Config& config);
// On every rank. A tuning file that cannot be used is an error, here on all ranks alike.
Result<Choosing> choosing_from_text(const std::string& text);

}  // namespace wia
