#include "verify/case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verify/random.hpp"

namespace wia {
namespace {

constexpr int kFew = 8;    // up to so many ranks: all roots, all victims
constexpr int kFull = 16;  // up to so many: all variants in all cases
constexpr int kSome = 33;  // up to so many: all layouts
constexpr int kMany = 128;
constexpr uint64_t kThirds = 3;

bool has_uneven(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
         collective == Collective::gather || collective == Collective::scatter ||
         collective == Collective::all_to_all;
}

bool in_place_everywhere(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::reduce_scatter || collective == Collective::all_to_all;
}

std::vector<int> roots_of(const Algorithm& algorithm, int ranks) {
  if (!has_root(algorithm.collective)) return {0};
  std::vector<int> roots;
  if (ranks <= kFew) {
    for (int r = 0; r < ranks; ++r) roots.push_back(r);
  } else if (ranks <= kMany) {
    roots = {0, 1, ranks - 1,
             static_cast<int>(mix(static_cast<uint64_t>(ranks)) % static_cast<uint64_t>(ranks))};
  } else {
    roots = {ranks / 3};
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

struct Layout {
  std::string text;
  std::vector<std::vector<int>> units;  // Shape::units
};

std::vector<int> units_of(int ranks, int size) {
  std::vector<int> unit;
  for (int r = 0; r < ranks; ++r) unit.push_back(r / size);
  return unit;
}

Layout nodes_of(int ranks, int size) { return {fmt::format("nodes of {}", size), {units_of(ranks, size)}}; }

Layout nested(int ranks, int size, int nodes) {
  return {fmt::format("units of {} in nodes of {}", size, nodes),
          {units_of(ranks, size), units_of(ranks, nodes)}};
}

Layout uneven_nodes(int ranks) {
  Layout layout{"nodes of 3, 1, 2, 3, 1, 2...", {{}}};
  constexpr int kSizes[] = {3, 1, 2};
  std::vector<int>& unit = layout.units[0];
  for (int node = 0; static_cast<int>(unit.size()) < ranks; ++node)
    unit.insert(unit.end(), static_cast<size_t>(kSizes[node % 3]), node);
  unit.resize(static_cast<size_t>(ranks));
  return layout;
}

// Nodes have 3, 1, 3, 1 ... of the uneven units.
Layout uneven_nested(int ranks) {
  Layout layout = uneven_nodes(ranks);
  std::vector<int> node;
  for (const int unit : layout.units[0]) node.push_back(unit / 4 * 2 + (unit % 4 == 3));
  layout.text = "nodes of 3, 1, 3... units of 3, 1, 2, 3...";
  layout.units.push_back(std::move(node));
  return layout;
}

Layout interleaved(int ranks, int nodes) {
  Layout layout{fmt::format("ranks dealt to {} nodes in turn", nodes), {{}}};
  for (int r = 0; r < ranks; ++r) layout.units[0].push_back(r % nodes);
  return layout;
}

std::vector<Layout> layouts_of(int ranks) {
  if (ranks > kMany) return {nodes_of(ranks, 8), nested(ranks, 4, 16)};
  std::vector<Layout> layouts = {{"", {}}};
  if (ranks > kSome) {
    for (const int size : {4, 8}) layouts.push_back(nodes_of(ranks, size));
    layouts.push_back(uneven_nodes(ranks));
    layouts.push_back(nested(ranks, 4, 16));
    return layouts;
  }
  for (const int size : {1, 2, 3, 4, 8})
    if (size < ranks) layouts.push_back(nodes_of(ranks, size));
  if (ranks >= 4) layouts.push_back(uneven_nodes(ranks));
  for (const int nodes : {2, 3})
    if (nodes < ranks) layouts.push_back(interleaved(ranks, nodes));
  if (ranks > 4) layouts.push_back(nested(ranks, 2, 4));
  if (ranks > 6) layouts.push_back(uneven_nested(ranks));
  if (ranks > 8) {
    layouts.push_back(nested(ranks, 2, 4));
    layouts.back().units.push_back(units_of(ranks, 8));
    layouts.back().text += " below switches of 8";
  }
  return layouts;
}

std::vector<Case::InPlace> in_place_of(const Algorithm& algorithm, int ranks) {
  using InPlace = Case::InPlace;
  if (algorithm.collective == Collective::barrier) return {InPlace::none};
  if (ranks > kMany) return {InPlace::all};
  if (in_place_everywhere(algorithm.collective) && ranks <= kFew)
    return {InPlace::none, InPlace::all, InPlace::some};
  return {InPlace::none, InPlace::all};
}

}  // namespace

std::vector<Case> cases_of(const Algorithm& algorithm, int ranks) {
  std::vector<Case> cases;
  int turn = 0;
  for (const Layout& layout : layouts_of(ranks)) {
    for (const int root : roots_of(algorithm, ranks)) {
      for (const bool even : {true, false}) {
        if (!even && (!algorithm.uneven || !has_uneven(algorithm.collective) || ranks > kMany)) continue;
        for (const Case::InPlace in_place : in_place_of(algorithm, ranks)) {
          Case& one = cases.emplace_back();
          one.algorithm = &algorithm;
          one.shape.collective = algorithm.collective;
          one.shape.ranks = ranks;
          one.shape.root = root;
          one.shape.even = even;
          one.shape.units = layout.units;
          one.layout = layout.text;
          one.turn = turn++;
          one.in_place = in_place;
        }
      }
    }
  }
  return cases;
}

Shape Case::shape_of(int rank) const {
  Shape mine = shape;
  mine.rank = rank;
  mine.in_place =
      in_place == InPlace::all || (in_place == InPlace::some && mix(static_cast<uint64_t>(rank)) % 2 == 0);
  if (!in_place_everywhere(shape.collective)) mine.in_place &= mine.is_root();
  return mine;
}

std::string Case::text() const {
  std::string text = fmt::format("{} rank{}", shape.ranks, shape.ranks == 1 ? "" : "s");
  if (has_root(shape.collective)) text += fmt::format(", root {}", shape.root);
  if (in_place == InPlace::all) text += ", in place";
  if (in_place == InPlace::some) text += ", in place on some ranks";
  if (!shape.even) text += ", uneven";
  if (!layout.empty()) text += ", " + layout;
  return text;
}

std::string Variant::text() const {
  std::string text = fmt::format("{} elements a chunk", length);
  if (unit > 1) text += fmt::format(" in units of {}", unit);
  if (element == Element::average) text += ", int32 avg";
  if (slices > 1) text += fmt::format(", {} slices (window {})", slices, window);
  text += transport.landing ? ", landing" : transport.direct ? ", direct" : ", staged";
  text += fmt::format(", capacity {}{}", transport.capacity, transport.in_order ? " in order" : "");
  constexpr const char* kOrders[] = {"forward", "backward", "random", "starving", "even"};
  text += fmt::format(", {} order", kOrders[static_cast<int>(order)]);
  if (order == Order::starve) text += fmt::format(" of rank {}", victim);
  return text;
}

namespace {

constexpr LoopOptions staged(uint32_t capacity) { return {capacity, false, false, false}; }
constexpr LoopOptions in_order(uint32_t capacity) { return {capacity, false, false, true}; }
constexpr LoopOptions direct(uint32_t capacity) { return {capacity, true, false, false}; }
constexpr LoopOptions landing(uint32_t capacity) { return {capacity, true, true, false}; }

std::vector<int> victims_of(int ranks, uint64_t seed) {
  std::vector<int> victims;
  if (ranks <= kFew) {
    for (int r = 0; r < ranks; ++r) victims.push_back(r);
  } else {
    victims = {static_cast<int>(mix(seed) % static_cast<uint64_t>(ranks)), ranks - 1};
  }
  return victims;
}

std::vector<Variant> all_variants(const Case& a_case) {
  const int ranks = a_case.shape.ranks;
  std::vector<Variant> variants;
  const auto add = [&](uint32_t length, uint32_t unit, uint32_t slices, uint32_t window,
                       const LoopOptions& transport, Order order, int victim = -1,
                       Element element = Element::token) {
    Variant& made = variants.emplace_back();
    made = {element, length, unit, slices, window, transport, order, victim, 0};
  };
  if (ranks > kMany) {
    add(1, 1, 1, 1, landing(2), Order::even);
  } else {
    add(3, 1, 1, 1, staged(16), Order::forward);
    add(6, 4, 3, 2, staged(4), Order::backward);
    add(7, 1, 3, 3, staged(6), Order::random);
    add(2, 1, 1, 1, direct(2), Order::random);
    add(6, 1, 3, 2, landing(4), Order::random);
    if (reduces(a_case.shape.collective)) add(5, 1, 3, 2, landing(16), Order::forward, -1, Element::average);
    const std::vector<int> victims = victims_of(ranks, static_cast<uint64_t>(a_case.shape.root));
    for (const int victim : victims) {
      if (ranks <= kSome || victim == victims.front()) add(2, 1, 1, 1, direct(16), Order::starve, victim);
      if (ranks <= kSome || victim == victims.back()) add(3, 1, 1, 1, landing(16), Order::starve, victim);
    }
    if (ranks <= kSome) {
      add(0, 1, 1, 1, staged(2), Order::random);
      add(4, 1, 2, 2, landing(4), Order::starve, 0);
      add(4, 4, 1, 1, landing(16), Order::forward);
      if (reduces(a_case.shape.collective)) add(4, 1, 1, 1, staged(2), Order::backward, -1, Element::average);
    }
    if (ranks <= 64) add(20, 1, 10, 8, in_order(16), Order::random);  // what shared memory has
  }
  for (size_t i = 0; i < variants.size(); ++i) variants[i].seed = i + 1;
  return variants;
}

}  // namespace

std::vector<Variant> variants_of(const Case& a_case) {
  std::vector<Variant> variants = all_variants(a_case);
  const int ranks = a_case.shape.ranks;
  if (ranks <= kFull || ranks > kMany || (ranks <= kSome && a_case.layout.empty())) return variants;
  std::erase_if(variants, [&](const Variant& variant) {
    return (variant.seed + static_cast<uint64_t>(ranks + a_case.turn)) % kThirds != 0;
  });
  return variants;
}

int match_stride(int ranks) { return ranks > kMany ? 16 : 1; }

}  // namespace wia
