// Who talks to whom: the arithmetic of rings, trees and cubes, over members 0..n-1 of some team. Pure
// functions.
#pragma once
#include <array>
#include <bit>
#include <vector>

namespace wia {

// Counted around the end: around(-1, n) is n - 1.
constexpr int around(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }

// Pairs meet: in meeting m of 0..n-1 member i meets `meeting_partner(i, m, n)`, who meets i. Over all
// meetings everyone meets everyone once; who meets itself has a pause.
constexpr int meeting_partner(int i, int meeting, int n) { return around(meeting - i, n); }

constexpr bool is_power_of_two(int n) { return std::has_single_bit(static_cast<unsigned>(n)); }
constexpr int floor_power_of_two(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }
// Rounds of doubling until n is reached.
constexpr int ceil_log2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

// --- Folding: a cube needs a power of two, so each of the members that are too many hands its part to a
// neighbour. Members 2i and 2i+1 for i < extras share one corner of the cube; 2i stands there, 2i+1 is the
// extra.
class Folding {
 public:
  explicit constexpr Folding(int n) : core_(floor_power_of_two(n)), extras_(n - core_) {}
  constexpr int core() const { return core_; }
  constexpr bool is_extra(int member) const { return member < 2 * extras_ && member % 2 == 1; }
  constexpr bool has_extra(int member) const { return member < 2 * extras_ && member % 2 == 0; }
  constexpr int corner_of(int member) const { return member < 2 * extras_ ? member / 2 : member - extras_; }
  constexpr int member_at(int corner) const { return corner < extras_ ? 2 * corner : corner + extras_; }

 private:
  int core_, extras_;
};

// --- Growing: how many consecutive blocks every member holds, from 1 to n, at most twice as many each time.
std::vector<int> doubling_counts(int n);  // 1, 2, 4, 8, ... n
std::vector<int> halving_counts(
    int n);  // n halved and rounded up again and again, backwards: 1, 2, 3, 6, 11 for 11

// --- Knomial trees of a radix, for members numbered from the root (0).
struct Subtree {
  int root;
  int size;  // it consists of root .. root + size - 1
};
int knomial_parent(int member, int radix);  // -1 for the root
// The largest subtree first.
std::vector<Subtree> knomial_children(int member, int n, int radix);

// --- The double tree: two binary trees over all members, in which every member has children in one at most.
struct TreePlace {
  int parent = -1;                      // -1: the root
  std::array<int, 2> children{-1, -1};  // -1: none
  bool leaf() const { return children[0] < 0 && children[1] < 0; }
};
TreePlace double_tree_place(int member, int n, int tree);
int double_tree_root(int n, int tree);

}  // namespace wia
