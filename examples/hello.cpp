// The first program in C++: every rank contributes three numbers, all get the sums.
//   wia run -n 4 -- hello_cpp
#include <cstdio>
#include <vector>
#include <wia/wia.hpp>

int main() {
  auto world = wia::Communicator::init();
  if (!world.ok()) return std::fprintf(stderr, "%s\n", world.message().c_str()), 1;

  std::vector<float> values{1, static_cast<float>(world->rank()), 0.5f};
  if (auto status = world->all_reduce(values); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;

  if (world->rank() == 0) std::printf("%d ranks: %g %g %g\n", world->size(), values[0], values[1], values[2]);
}
