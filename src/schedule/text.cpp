// Schedule::text(): one line a step, for people.
#include <fmt/format.h>

#include <iterator>

#include "schedule/schedule.hpp"

namespace wia {
namespace {

using Text = std::back_insert_iterator<std::string>;

void write_ref(Text out, Ref ref, uint32_t chunks) {
  if (chunks == 0) {
    fmt::format_to(out, "nothing");
    return;
  }
  const char* name = ref.partial()                    ? "partial"
                     : ref.buffer() == Buffer::input  ? "input"
                     : ref.buffer() == Buffer::output ? "output"
                                                      : "scratch";
  fmt::format_to(out, "{}[{}", name, ref.chunk());
  if (chunks > 1) fmt::format_to(out, "..{}", ref.chunk() + chunks - 1);
  fmt::format_to(out, "]");
}

void write_data(Text out, const Schedule& schedule, const Step& step) {
  switch (step.kind) {
    case Kind::send:
      fmt::format_to(out, "send ");
      write_ref(out, step.src, step.chunks);
      fmt::format_to(out, " -> rank {}", step.peer);
      break;
    case Kind::recv:
      fmt::format_to(out, "recv ");
      write_ref(out, step.dst, step.chunks);
      fmt::format_to(out, " <- rank {}", step.peer);
      break;
    case Kind::recv_reduce:
      fmt::format_to(out, "recv_reduce ");
      write_ref(out, step.dst, step.chunks);
      fmt::format_to(out, " <- rank {}{}, ", step.peer, step.flags & kPartialArrives ? " partial" : "");
      write_ref(out, step.src, step.chunks);
      break;
    case Kind::reduce: {
      fmt::format_to(out, "reduce ");
      write_ref(out, step.dst, step.chunks);
      const char* separator = " <- ";
      for (Ref source : schedule.sources_of(step)) {
        fmt::format_to(out, "{}", separator);
        write_ref(out, source, step.chunks);
        separator = ", ";
      }
      break;
    }
    case Kind::copy:
      fmt::format_to(out, "copy ");
      write_ref(out, step.dst, step.chunks);
      fmt::format_to(out, " <- ");
      write_ref(out, step.src, step.chunks);
      break;
    case Kind::nop:
      fmt::format_to(out, "nop");
      break;
  }
}

// Only what the data do not tell: the tag, another chunk's length, marks, the wait.
void write_notes(Text out, const Step& step) {
  const bool message = step.peer >= 0;
  if (message) fmt::format_to(out, "  tag {}", step.tag);
  const bool own_length =
      step.kind == Kind::send || step.kind == Kind::copy ? step.extent == step.src : step.extent == step.dst;
  if (step.kind != Kind::nop && step.chunks > 0 && !own_length) {
    fmt::format_to(out, "  sized ");
    write_ref(out, step.extent, step.chunks);
  }
  if (step.kind == Kind::recv && step.flags & kView) fmt::format_to(out, "  view");
  if (step.kind == Kind::send && step.fused != 1) {
    step.fused == 0 ? fmt::format_to(out, "  joined") : fmt::format_to(out, "  group of {}", step.fused);
  }
  if (step.kind != Kind::send && step.fused > 0) fmt::format_to(out, "  and {} sends", step.fused);
  if (step.wait_position > 0) {
    fmt::format_to(out, "  after {} steps of lane {}", step.wait_position, step.wait_lane);
  }
}

}  // namespace

std::string Schedule::text() const {
  std::string text;
  const Text out = std::back_inserter(text);
  for (int l = 0; l < lanes(); ++l) {
    for (const Step& step : lane(l)) {
      fmt::format_to(out, "lane {}: ", l);
      write_data(out, *this, step);
      write_notes(out, step);
      text += '\n';
    }
  }
  return text;
}

}  // namespace wia
