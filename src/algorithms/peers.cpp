#include "algorithms/peers.hpp"

#include <algorithm>

namespace wia {

std::vector<int> doubling_counts(int n) {
  std::vector<int> counts;
  for (int count = 1; count < n; count *= 2) counts.push_back(count);
  counts.push_back(n);
  return counts;
}

std::vector<int> halving_counts(int n) {
  std::vector<int> counts;
  for (int count = n; count > 1; count = (count + 1) / 2) counts.push_back(count);
  counts.push_back(1);
  std::reverse(counts.begin(), counts.end());
  return counts;
}

// A member's parent has the lowest nonzero digit of its number, in base `radix`, set to zero.
int knomial_parent(int member, int radix) {
  if (member == 0) return -1;
  int unit = 1;
  while (member / unit % radix == 0) unit *= radix;
  return member - member / unit % radix * unit;
}

std::vector<Subtree> knomial_children(int member, int n, int radix) {
  int units = 1;  // the unit of the member's lowest nonzero digit; children differ in smaller ones
  while (units < n && member / units % radix == 0) units *= radix;
  std::vector<Subtree> children;
  for (int unit = units / radix; unit > 0; unit /= radix) {
    for (int digit = 1; digit < radix; ++digit) {
      const int child = member + digit * unit;
      if (child >= n) break;
      children.push_back({child, std::min(unit, n - child)});
    }
  }
  return children;
}

namespace {

// A binary tree over the labels 1..n in which a label's height is the number of its trailing zero bits: odd
// labels are leaves. Labels beyond n are left out, their first descendant within n takes their place.
int lowest_bit(int label) { return label & -label; }

int label_parent(int label, int n) {
  if (label == floor_power_of_two(n)) return 0;
  int parent = label;
  do {
    const int bit = lowest_bit(parent);
    parent = parent & (bit << 1) ? parent - bit : parent + bit;
  } while (parent > n);
  return parent;
}

int label_left(int label) {
  const int bit = lowest_bit(label);
  return bit == 1 ? 0 : label - bit / 2;
}

int label_right(int label, int n) {
  int step = lowest_bit(label) / 2;
  while (step > 0 && label + step > n) step /= 2;
  return step == 0 ? 0 : label + step;
}

// The second tree is the first with everyone's label moved on by one, so that leaves change places with
// others.
int label_of(int member, int n, int tree) { return (member + tree) % n + 1; }
int member_of(int label, int n, int tree) { return label == 0 ? -1 : around(label - 1 - tree, n); }

}  // namespace

TreePlace double_tree_place(int member, int n, int tree) {
  const int label = label_of(member, n, tree);
  TreePlace place;
  place.parent = member_of(label_parent(label, n), n, tree);
  place.children = {member_of(label_left(label), n, tree), member_of(label_right(label, n), n, tree)};
  return place;
}

int double_tree_root(int n, int tree) { return member_of(floor_power_of_two(n), n, tree); }

}  // namespace wia
