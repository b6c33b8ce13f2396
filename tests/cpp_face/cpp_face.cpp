// Every call of <wia/wia.hpp>, on any number of ranks. Values of rank r at element i: 1000 r + i.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>
#include <wia/wia.hpp>

namespace {

#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

using Values = std::vector<std::int32_t>;

Values filled(int rank, int count, int from = 0) {
  Values values;
  for (int i = 0; i < count; i++) values.push_back(1000 * rank + from + i);
  return values;
}

Values summed(int ranks, int count, int from = 0) {
  Values values(static_cast<std::size_t>(count));
  for (int r = 0; r < ranks; r++)
    for (int i = 0; i < count; i++) values[static_cast<std::size_t>(i)] += 1000 * r + from + i;
  return values;
}

Values concatenated(int ranks, int count) {
  Values values;
  for (int r = 0; r < ranks; r++)
    for (const int v : filled(r, count)) values.push_back(v);
  return values;
}

void collectives(const wia::Communicator& comm) {
  const int n = comm.size(), me = comm.rank(), last = n - 1;
  const auto size = static_cast<std::size_t>(n);

  Values data = filled(me, 5), out(5);
  comm.all_reduce(std::as_const(data), out).value();
  EXPECT(out == summed(n, 5));
  comm.all_reduce(data, WIA_OP_MAX).value();
  EXPECT(data == filled(last, 5));

  Values all(5 * size);
  const Values own = filled(me, 5);
  comm.all_gather(own, all).value();
  EXPECT(all == concatenated(n, 5));
  std::fill(all.begin(), all.end(), -1);
  for (std::size_t i = 0; i < 5; i++)
    all[5 * static_cast<std::size_t>(me) + i] = 1000 * me + static_cast<int>(i);
  comm.all_gather(all).value();
  EXPECT(all == concatenated(n, 5));

  Values input = filled(me, 4 * n), block(4);
  comm.reduce_scatter(input, block).value();
  EXPECT(block == summed(n, 4, 4 * me));
  comm.reduce_scatter(input).value();
  EXPECT(std::equal(block.begin(), block.end(), input.begin() + 4 * me));

  data = filled(me, 3);
  comm.broadcast(data, last).value();
  EXPECT(data == filled(last, 3));

  data = filled(me, 3);
  Values root_only(me == last ? 3 : 0);
  comm.reduce(data, root_only, WIA_OP_SUM, last).value();
  EXPECT(me != last || root_only == summed(n, 3));
  root_only.assign(me == last ? 3 * size : 0, 0);
  comm.gather(data, root_only, last).value();
  EXPECT(me != last || root_only == concatenated(n, 3));
  Values part(3);
  comm.scatter(root_only, part, last).value();
  EXPECT(part == filled(me, 3));

  input.clear();
  for (int r = 0; r < n; r++) input.push_back(100 * me + r);
  Values exchanged(size);
  comm.all_to_all(input, exchanged).value();
  comm.all_to_all(input).value();
  for (int r = 0; r < n; r++) EXPECT(exchanged[static_cast<std::size_t>(r)] == 100 * r + me);
  EXPECT(exchanged == input);

  comm.barrier().value();
}

void point_to_point(const wia::Communicator& comm) {
  const int n = comm.size(), me = comm.rank(), right = (me + 1) % n, left = (me + n - 1) % n;
  Values mine = filled(me, 6), theirs(6);
  comm.send_recv(mine, right, theirs, left).value();
  EXPECT(theirs == filled(left, 6));
  if (n < 2) return;
  wia::Request request = comm.async().recv(theirs, right, 7).value();
  comm.send(mine, left, 7).value();
  request.wait().value();
  EXPECT(theirs == filled(right, 6));
}

void requests(const wia::Communicator& comm) {
  const int n = comm.size(), me = comm.rank();
  Values a = filled(me, 1000), b = filled(me, 10), c = filled(me, 7), d = filled(me, 3);
  std::vector<wia::Request> pending;
  pending.push_back(comm.async().all_reduce(a).value());
  pending.push_back(comm.async().all_reduce(b).value());
  for (wia::Request& request : pending) {
    EXPECT(request.pending());
    request.wait().value();
    EXPECT(!request.pending());
    request.wait().value();  // asked again: success
  }
  EXPECT(a == summed(n, 1000) && b == summed(n, 10));

  wia::Request tested = comm.async().all_reduce(c).value();
  while (!tested.test().value()) {
  }
  EXPECT(c == summed(n, 7));
  tested = comm.async().barrier().value();
  EXPECT(tested.wait_for(std::chrono::seconds(30)).value());

  { const wia::Request forgotten = comm.async().all_reduce(d).value(); }
  EXPECT(d == summed(n, 3));  // the destructor has waited
}

void types(const wia::Communicator& comm) {
  const auto n = static_cast<float>(comm.size());
  std::array<double, 2> doubles{0.25, 2};
  comm.all_reduce(doubles).value();
  EXPECT(doubles[0] == 0.25 * n && doubles[1] == 2 * n);
  bool any[2] = {comm.rank() == comm.size() - 1, false};
  comm.all_reduce(any, WIA_OP_LOR).value();
  EXPECT(any[0] && !any[1]);
  std::vector<wia::float16> halves(3, wia::float16(1.5f));
  std::vector<wia::bfloat16> brains(3, wia::bfloat16(1.5f));
  comm.all_reduce(halves).value();
  comm.all_reduce(brains).value();
  EXPECT(float(halves[2]) == 1.5f * n && float(brains[2]) == 1.5f * n);

  auto buffer = wia::Buffer<float>::allocate(100'000).value();
  EXPECT(buffer.size() == 100'000 && buffer[99'999] == 0);
  for (float& x : buffer) x = 1;
  comm.all_reduce(buffer.subspan(10, 50'000)).value();
  EXPECT(buffer[9] == 1 && buffer[10] == n && buffer[50'009] == n && buffer[50'010] == 1);
  EXPECT(wia::Buffer<float>::allocate(0).value().size() == 0);
  EXPECT(wia::Buffer<float>::allocate(std::numeric_limits<std::size_t>::max()).code() ==
         WIA_ERROR_OUT_OF_MEMORY);
}

void conversions() {
  const float cases[] = {0, -0.0f, 1, -2.5f, 65504, 1e-7f, INFINITY};
  for (const float x : cases) {
    EXPECT(std::signbit(float(wia::float16(x))) == std::signbit(x));
    EXPECT(std::abs(float(wia::float16(x)) - x) <= 1e-7f || x == INFINITY);
  }
  EXPECT(float(wia::float16(65520)) == INFINITY && float(wia::float16(65519)) == 65504);
  EXPECT(float(wia::float16(1 + 0x1p-11f)) == 1 &&
         float(wia::float16(1 + 0x3p-11f)) == 1 + 0x1p-9f);  // to even
  EXPECT(float(wia::float16(0x1p-24f)) == 0x1p-24f && float(wia::float16(0x1p-25f)) == 0);
  EXPECT(float(wia::bfloat16(1 + 0x1p-8f)) == 1 && float(wia::bfloat16(1 + 0x3p-8f)) == 1 + 0x1p-6f);
  EXPECT(std::isnan(float(wia::float16(NAN))) && std::isnan(float(wia::bfloat16(NAN))));
}

void communicators(const wia::Communicator& world) {
  const int n = world.size(), me = world.rank();
  wia::Communicator reversed = world.split(0, -me).value();
  EXPECT(reversed.rank() == n - 1 - me && reversed.size() == n);
  collectives(reversed);
  wia::Communicator odd_or_even = world.split(me % 2).value();
  collectives(odd_or_even);
  EXPECT(!world.split(-1).value().valid());
  wia::Communicator copy = world.duplicate().value();
  copy.set_timeout(std::chrono::seconds(30)).value();
  collectives(copy);
  copy = std::move(odd_or_even);  // closes the duplicate
  EXPECT(!odd_or_even.valid() && copy.valid());
  if (me == 0) {
    const int self[] = {0};
    collectives(world.create(self).value());
  }
  collectives(wia::Communicator::borrow(world.handle()));
  reversed.abort().value();
  EXPECT(reversed.status().code() == WIA_ERROR_ABORTED);
  Values data(1);
  EXPECT(!reversed.all_reduce(data).ok());
}

void topologies(const wia::Communicator& comm) {
  const int n = comm.size();
  const wia::Topology quick = comm.discover_topology(false).value();
  EXPECT(quick.size() == n && quick.evidence(0, n - 1, WIA_FIGURE_LATENCY) == WIA_EVIDENCE_UNKNOWN);
  const wia::Topology topology = comm.discover_topology(true, std::chrono::milliseconds(20)).value();
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const DeviceLink link = topology.link(i, j).value();
      EXPECT(link.source_device == i && link.target_device == j && link.bandwidth_gbps > 0);
      EXPECT((link.type == WIA_CONNECTION_SELF) == (i == j));
      EXPECT(topology.evidence(i, j, WIA_FIGURE_BANDWIDTH) == WIA_EVIDENCE_MEASURED);
    }
  EXPECT(topology.link(0, n).code() == WIA_ERROR_INVALID_ARGUMENT);
  EXPECT(comm.handle()->topology && wia_topology_json(comm.handle()->topology) == topology.json());
  EXPECT(wia::Topology::of_host().value().size() >= 1);
  EXPECT(!wia::Topology::read("/dev/null").ok());
  EXPECT(!wia::Communicator().discover_topology().ok());
}

// Errors are values; only value() throws.
void errors(const wia::Communicator& comm) {
  Values data(3);
  const wia::Status status = comm.broadcast(data, comm.size());
  EXPECT(status.code() == WIA_ERROR_INVALID_ARGUMENT && !status.message().empty());
  Values wrong(3 * static_cast<std::size_t>(comm.size()) + 1);
  EXPECT(comm.all_gather(data, wrong).message().find("needs " + std::to_string(3 * comm.size())) !=
         std::string::npos);
  EXPECT(comm.async().all_gather(data, wrong).code() == WIA_ERROR_INVALID_ARGUMENT);
  bool thrown = false;
  try {
    comm.broadcast(data, -1).value();
  } catch (const wia::Error& error) {
    thrown = error.code() == WIA_ERROR_INVALID_ARGUMENT && *error.what();
  }
  EXPECT(thrown);
  EXPECT(!wia::Communicator().all_reduce(data).ok());
  EXPECT(wia::Communicator().rank() == -1);
}

}  // namespace

int main() {
  conversions();
  const wia::Communicator world = wia::Communicator::init().value();
  world.set_timeout(std::chrono::seconds(30)).value();
  collectives(world);
  point_to_point(world);
  requests(world);
  types(world);
  topologies(world);
  errors(world);
  communicators(world);
  collectives(world);  // still as it was
}
