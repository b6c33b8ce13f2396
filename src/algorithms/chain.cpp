// chain: a broadcast or reduce that passes through all ranks one after the other, the root at one end.
//
// Slices follow each other closely, as in a pipeline: for large data, time is that of sending the data once,
// however many ranks there are. Every link carries the data once.
#include "algorithms/builders.hpp"
#include "algorithms/peers.hpp"

namespace wia {

Result<Schedule> chain_broadcast(const Shape& shape) {
  Builder builder(shape);
  const int behind_root = around(shape.rank - shape.root, shape.ranks);
  const int next = around(shape.rank + 1, shape.ranks), previous = around(shape.rank - 1, shape.ranks);
  if (behind_root > 0) builder.recv(0, previous, output(0), 0);
  if (behind_root < shape.ranks - 1) builder.send(0, next, behind_root == 0 ? input(0) : output(0), 0);
  return std::move(builder).finish();
}

// From the rank before the root, counted around, to the root.
Result<Schedule> chain_reduce(const Shape& shape) {
  Builder builder(shape);
  const int hops_to_root = around(shape.rank - shape.root, shape.ranks);
  const int last = shape.ranks - 1;
  const int to = around(shape.rank - 1, shape.ranks), from = around(shape.rank + 1, shape.ranks);
  const Format arriving = hops_to_root + 1 == last ? Format::raw : Format::partial;
  if (shape.ranks == 1) {
    builder.reduce(0, output(0), std::vector<Ref>{input(0)}, input(0));
  } else if (hops_to_root == last) {
    builder.send(0, to, input(0), 0);
  } else if (hops_to_root == 0) {
    builder.recv_reduce(0, from, output(0), input(0), 0, 1, input(0), arriving);
  } else {
    const Ref sum = partial(builder.allocate_scratch(1));
    builder.recv_reduce(0, from, sum, input(0), 0, 1, input(0), arriving);
    builder.send(0, to, sum, 0, 1, input(0));
  }
  return std::move(builder).finish();
}

}  // namespace wia
