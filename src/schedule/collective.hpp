// The collectives, and the shape of a call: all that an algorithm may depend on.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wia {

// Chunks of a rank's buffers in a schedule, for P ranks and an algorithm's own split into C chunks:
//
//                    input                    output
//   all_reduce       C                        C
//   reduce           C                        C (root only)
//   broadcast        C (root only)            C (on the root: its input, always in place)
//   all_gather       1                        P, chunk p from rank p
//   gather           1                        P (root only)
//   reduce_scatter   P, chunk p for rank p    1
//   scatter          P (root only)            1
//   all_to_all       P, chunk p for rank p    P, chunk p from rank p
//   barrier          0                        0
//
// In place: all_reduce, reduce (on the root), all_to_all: input is output. all_gather, gather (root):
// input is output chunk `rank`. reduce_scatter, scatter (root): output is input chunk `rank`.
enum class Collective : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  barrier,
};
constexpr int kNumCollectives = 9;

std::string_view name_of(Collective collective);
std::optional<Collective> parse_collective(std::string_view name);  // "all_reduce" or "allreduce"
constexpr bool has_root(Collective c) {
  return c == Collective::broadcast || c == Collective::reduce || c == Collective::gather ||
         c == Collective::scatter;
}
constexpr bool reduces(Collective c) {
  return c == Collective::all_reduce || c == Collective::reduce || c == Collective::reduce_scatter;
}

struct Shape {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  int rank = 0;
  int root = 0;
  bool in_place = false;
  bool even = true;  // all chunks of P-chunk buffers have the same length (false: the v-variants)
  // node[r]: number of the node that rank r is on, counted from 0 in order of first appearance. Empty: one
  // node.
  std::vector<int> node;

  bool is_root() const { return rank == root; }
};

}  // namespace wia
