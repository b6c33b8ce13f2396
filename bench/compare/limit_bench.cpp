// What the machine's memory allows: the memory traffic that no all-reduce, all-gather, reduce-scatter or
// broadcast in shared memory can do without, and nothing else. No library comes below it with these buffers;
// a library at 1.0 times the limit spends nothing on finding each other.
//   --rank R --size N --store DIR     DIR: the same for all ranks; holds the shared buffers
//
// Buffers of all ranks are mapped by all. Each rank does an equal share of the work, without waiting for
// anybody:
//   all-reduce       reads its slice of all inputs, writes the sum into all outputs
//   reduce-scatter   reads its block of all inputs, writes the sum into its output
//   all-gather       reads its input, writes it into all outputs
//   broadcast        reads its slice of the root's input, writes it into all other outputs
// Block length and stores (cached, or past the caches) are the best of those tried in the first calls of a
// cell. For small messages it is no bound that could be reached, as no rank could know when to start.
#include <immintrin.h>

#include "bench_common.hpp"

namespace {
using namespace bench;

struct Variant {
  size_t block;  // floats that are summed in the L1 cache before they are stored
  bool streaming;
};
constexpr Variant kVariants[] = {{64, false}, {512, false}, {2048, false},
                                 {64, true},  {512, true},  {2048, true}};
constexpr int kNumVariants = sizeof kVariants / sizeof kVariants[0];
constexpr size_t kLargestBlock = 2048;

void store(float* to, const float* from, size_t n, bool streaming) {
  if (!streaming || reinterpret_cast<uintptr_t>(to) % 32 || n % 8) {
    memcpy(to, from, n * sizeof(float));
    return;
  }
  for (size_t i = 0; i < n; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
}

void combine(const std::vector<const float*>& sources, const std::vector<float*>& destinations, size_t begin,
             size_t end, Variant variant) {
  alignas(64) float sum[kLargestBlock];
  for (size_t at = begin; at < end; at += variant.block) {
    const size_t n = std::min(variant.block, end - at);
    const float* result = sources[0] + at;
    if (sources.size() > 1) {
      for (size_t i = 0; i < n; i++) sum[i] = sources[0][at + i] + sources[1][at + i];
      for (size_t s = 2; s < sources.size(); s++)
        for (size_t i = 0; i < n; i++) sum[i] += sources[s][at + i];
      result = sum;
    }
    for (float* destination : destinations) store(destination + at, result, n, variant.streaming);
  }
  if (variant.streaming) _mm_sfence();
}

struct LimitPeer : Peer {
  int rank = 0, size = 1;
  std::string store_path;
  std::vector<const float*>
      sources;  // indexed alike: [begin, end) of all sources and destinations belong together
  std::vector<float*> destinations;
  size_t begin = 0, end = 0;
  int calls = 0, best = 0;
  double best_time = 1e300;

  bool completes_alone() const override { return false; }

  float* alloc(size_t count, int which) override {
    // Not a multiple of a page apart, so that the ranks' buffers do not compete for the same lines of the L1
    // cache.
    const size_t stride = (count * sizeof(float) + 4095) / 4096 * 4096 + 576;
    Mapping& m = mappings[which];
    m.path = store_path + (which ? "/out" : "/in");
    m.bytes = stride * static_cast<size_t>(size);
    const int fd = open(m.path.c_str(), O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(m.bytes))) fail(m.path);
    void* p = mmap(nullptr, m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) fail(m.path);
    m.base = static_cast<char*>(p);
    m.buffers.clear();
    for (int r = 0; r < size; r++)
      m.buffers.push_back(reinterpret_cast<float*>(m.base + stride * static_cast<size_t>(r)));
    return m.buffers[static_cast<size_t>(rank)];
  }

  void prepare(Op op, float*, float*, size_t nin, size_t nout) override {
    const std::vector<float*>&ins = mappings[0].buffers, &outs = mappings[1].buffers;
    const size_t r = static_cast<size_t>(rank);
    sources.assign(ins.begin(), ins.end());
    destinations = outs;
    slice(nin);
    if (op == kAllGather) {
      sources = {ins[r] - r * nin};
      begin = r * nin, end = begin + nin;
    } else if (op == kReduceScatter) {
      destinations = {outs[r] - r * nout};
      begin = r * nout, end = begin + nout;
    } else if (op == kBroadcast) {
      sources.resize(1);
      destinations.erase(destinations.begin());
    }
    calls = best = 0, best_time = 1e300;
  }

  void call() override {
    // The first call maps pages, the next try the variants.
    const int trial = calls <= kNumVariants ? calls++ - 1 : -1;
    const double start = now();
    combine(sources, destinations, begin, end, kVariants[trial >= 0 ? trial : best]);
    if (trial >= 0 && now() - start < best_time) best = trial, best_time = now() - start;
  }

  void done() override {
    for (Mapping& m : mappings) {
      munmap(m.base, m.bytes);
      if (rank == 0) unlink(m.path.c_str());
    }
  }

 private:
  struct Mapping {
    std::string path;
    char* base;
    size_t bytes;
    std::vector<float*> buffers;
  };
  Mapping mappings[2];

  void slice(size_t n) {  // cut at multiples of a cache line
    const size_t lines = (n + 15) / 16, parts = static_cast<size_t>(size), r = static_cast<size_t>(rank);
    begin = std::min(n, lines * r / parts * 16);
    end = std::min(n, lines * (r + 1) / parts * 16);
  }
  [[noreturn]] static void fail(const std::string& what) {
    perror(what.c_str());
    exit(1);
  }
};
}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> rest;
  Options o = parse(argc, argv, &rest);
  o.warmup = std::max(o.warmup, kNumVariants + 2);
  LimitPeer p;
  for (size_t i = 0; i + 1 < rest.size(); i += 2) {
    if (rest[i] == "--rank") p.rank = atoi(rest[i + 1].c_str());
    if (rest[i] == "--size") p.size = atoi(rest[i + 1].c_str());
    if (rest[i] == "--store") p.store_path = rest[i + 1];
  }
  if (p.store_path.empty()) return fprintf(stderr, "limit_bench: need --rank R --size N --store DIR\n"), 2;
  Harness h(o, p.rank, p.size, p);
  return h.run();
}
