// Runs something once for each instruction set this CPU has and the kernels were compiled for.
#pragma once
#include <hwy/targets.h>

#include <string>

namespace wia {

// A Reducer made inside `body(name)` uses that instruction set.
template <class Body>
void for_each_target(Body body) {
  struct Target {
    int64_t bit;
    const char* name;
  };
  // No bit of the architecture at all: what every CPU has.
  const Target targets[] = {{HWY_AVX3, "AVX3"}, {HWY_AVX2, "AVX2"}, {HWY_SSE4, "SSE4"}, {0, "baseline"}};
  const int64_t supported = hwy::SupportedTargets();
  for (const Target& target : targets) {
    if ((target.bit & ~supported) != 0) continue;
    hwy::GetChosenTarget().Update(target.bit);
    body(std::string(target.name));
  }
  hwy::GetChosenTarget().Update(supported);
}

}  // namespace wia
