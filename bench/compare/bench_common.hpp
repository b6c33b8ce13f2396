// Timing harness shared by every peer (libwia, MPI, Gloo, ...). One process per rank, all on one machine; not
// thread safe. The only thing of libwia that the peers of this folder share with each other. All ranks run on
// one machine and map the same file (--shm), which carries the harness' own barrier and the time stamps, so
// the loop is the same for every peer and no peer's barrier is part of what is timed.
//
//   per iteration:  harness barrier; t0; collective; t1     (CLOCK_MONOTONIC, one clock)
//   iteration time: max over ranks(t1) - min over ranks(t0)
//   then, without barriers: K calls back to back; b2b = (max end - min start) / K
//
// "bytes" follows the usual convention (nccl-tests): all-reduce/broadcast: buffer per
// rank; all-gather: the whole output; reduce-scatter: the whole input.
// algbw = bytes / median iteration time.
//
// With --serve DIR the cells are not given by options: rank 0 reads lines "OPERATION SIZE" from the FIFO
// DIR/commands and answers each with one CSV row on the FIFO DIR/rows (first "ready"), so that a driver can
// take the same cell of several peers in turn. Between cells all ranks sleep.
#pragma once
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace bench {

enum Op { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kNumOps };
inline const char* op_name(Op o) {
  static const char* n[] = {"allreduce", "allgather", "reducescatter", "broadcast"};
  return n[o];
}

// What a peer has to offer. prepare() is outside the timing.
struct Peer {
  virtual ~Peer() = default;
  // in_count/out_count in floats; broadcast: root 0 reads in, the others write out.
  virtual void prepare(Op op, float* in, float* out, size_t in_count, size_t out_count) = 0;
  virtual void call() = 0;
  virtual void progress() {}  // polled while waiting in the harness barrier
  virtual void done() {}
  virtual bool has_threads() const { return false; }
  // false: results are there only when every rank's call has returned.
  virtual bool completes_alone() const { return true; }
  // A peer that offers memory of its own (registered, shared) returns a buffer of so many floats here.
  virtual float* alloc(size_t /*count*/, int /*0 in, 1 out*/) { return nullptr; }
};

struct Options {
  std::string shm, label = "peer", csv, wait, nics, serve,
                   ops = "allreduce,allgather,reducescatter,broadcast";
  std::string sizes = "8,1K,16K,256K,1M,16M,128M";
  double budget = 0.6;  // seconds of timed iterations per cell
  int min_iters = 7, max_iters = 4000, warmup = 3, near_tries = 1;
  bool thp = false, check = true;
};

constexpr int kMaxRanks = 64, kMaxIters = 8192;
constexpr double kNear = 130;  // ns; see Harness::probe

struct Shared {
  alignas(128) std::atomic<uint32_t> arrived;
  alignas(128) std::atomic<uint32_t> phase;
  alignas(128) std::atomic<int64_t> iters;
  std::atomic<uint32_t> errors;
  // The cell that is asked for (--serve); `commands` counts them. An op of kNumOps ends the ranks.
  alignas(128) std::atomic<uint32_t> commands;
  int command_op;
  size_t command_bytes;
  alignas(128) std::atomic<uint32_t> ping;
  alignas(128) std::atomic<uint32_t> pong;
  double xcore;
  double est;
  double cpu[kMaxRanks];
  double nic[kMaxRanks][8];  // GB/s sent and received by each NIC of the rank's node
  double t0[kMaxRanks][kMaxIters];
  double t1[kMaxRanks][kMaxIters];
};

inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
inline double cpu_s() {
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  return r.ru_utime.tv_sec + r.ru_utime.tv_usec * 1e-6 + r.ru_stime.tv_sec + r.ru_stime.tv_usec * 1e-6;
}
inline float value(int rank, size_t i) {  // reproducible random data in [-1, 1)
  uint64_t z = (uint64_t)i + 0x9E3779B97F4A7C15ull * (uint64_t)(rank + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (float)(int32_t)(z >> 40) * (1.0f / 8388608.0f) - 1.0f;
}
inline double nic_bytes(const std::string& nic, const char* dir) {
  FILE* f = fopen(("/sys/class/net/" + nic + "/statistics/" + dir + "_bytes").c_str(), "r");
  double v = 0;
  if (f) {
    if (fscanf(f, "%lf", &v) != 1) v = 0;
    fclose(f);
  }
  return v;
}
inline size_t parse_size(const std::string& s) {
  size_t v = strtoull(s.c_str(), nullptr, 10);
  switch (s.empty() ? 0 : s.back()) {
    case 'K':
      return v << 10;
    case 'M':
      return v << 20;
    case 'G':
      return v << 30;
  }
  return v;
}
inline std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> r;
  size_t b = 0;
  while (b <= s.size()) {
    size_t e = s.find(',', b);
    if (e == std::string::npos) e = s.size();
    if (e > b) r.push_back(s.substr(b, e - b));
    b = e + 1;
  }
  return r;
}

// Takes the options it knows out of argv; leaves the others for the peer.
inline Options parse(int argc, char** argv, std::vector<std::string>* rest = nullptr) {
  Options o;
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i], v = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--shm")
      o.shm = v, i++;
    else if (a == "--label")
      o.label = v, i++;
    else if (a == "--serve")
      o.serve = v, i++;
    else if (a == "--nics")
      o.nics = v, i++;
    else if (a == "--wait")
      o.wait = v, i++;
    else if (a == "--csv")
      o.csv = v, i++;
    else if (a == "--ops")
      o.ops = v, i++;
    else if (a == "--sizes")
      o.sizes = v, i++;
    else if (a == "--budget")
      o.budget = atof(v.c_str()), i++;
    else if (a == "--min-iters")
      o.min_iters = atoi(v.c_str()), i++;
    else if (a == "--max-iters")
      o.max_iters = std::min(atoi(v.c_str()), kMaxIters), i++;
    else if (a == "--warmup")
      o.warmup = atoi(v.c_str()), i++;
    else if (a == "--near")
      o.near_tries = atoi(v.c_str()), i++;
    else if (a == "--thp")
      o.thp = true;
    else if (a == "--no-check")
      o.check = false;
    else if (rest)
      rest->push_back(a);
  }
  if (o.shm.empty() && getenv("BENCH_SHM")) o.shm = getenv("BENCH_SHM");
  if (o.shm.empty()) {
    fprintf(stderr, "need --shm FILE (an empty file, the same for all ranks)\n");
    exit(2);
  }
  return o;
}

class Harness {
 public:
  Harness(const Options& o, int rank, int size, Peer& p) : o_(o), rank_(rank), size_(size), p_(p) {
    int fd = open(o.shm.c_str(), O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(Shared))) {
      perror(o.shm.c_str());
      exit(2);
    }
    sh_ = (Shared*)mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (sh_ == MAP_FAILED || size > kMaxRanks) {
      perror("mmap");
      exit(2);
    }
    wait_ = !o.wait.empty()                         ? o.wait
            : p.has_threads()                       ? "sleep"
            : size <= sysconf(_SC_NPROCESSORS_ONLN) ? "spin"
                                                    : "yield";
  }

  // Waits as --wait says. Default: sleep (futex) for peers with threads of their own, which
  // a spinning or yielding rank would keep off the core; else spin while every rank can
  // have a core, else yield. Polls the peer's progress while it waits, since some libraries
  // still owe their neighbours work after a call has returned.
  void barrier() {
    uint32_t ph = sh_->phase.load(std::memory_order_acquire);
    if (sh_->arrived.fetch_add(1) + 1 == (uint32_t)size_) {
      sh_->arrived.store(0);
      sh_->phase.store(ph + 1, std::memory_order_release);
      if (wait_ == "sleep") syscall(SYS_futex, &sh_->phase, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
      return;
    }
    for (uint32_t k = 1; sh_->phase.load(std::memory_order_acquire) == ph; k++) {
      if (wait_ == "spin") {
        __builtin_ia32_pause();
        if (!(k & 1023)) p_.progress();
        if (!(k & 0xFFFF)) sched_yield();
      } else if (wait_ == "yield") {
        sched_yield();
        if (!(k & 63)) p_.progress();
      } else {
        timespec ts{0, 1000000};  // wake each ms to give the peer some progress
        syscall(SYS_futex, &sh_->phase, FUTEX_WAIT, ph, &ts, nullptr, 0);
        p_.progress();
      }
    }
  }

  int run() {
    if (!o_.serve.empty()) return serve();
    FILE* f = nullptr;
    if (rank_ == 0) {
      f = o_.csv.empty() ? stdout : fopen(o_.csv.c_str(), "a");
      if (!f) f = stdout;
      if (f == stdout || ftell(f) == 0)
        fprintf(f,
                "peer,op,ranks,bytes,iters,median_us,p99_us,min_us,b2b_us,algbw_GBps,cpu_s_per_wall_s,check,"
                "xcore_ns,nic_tx_rx_GBps\n");
    }
    for (auto& on : split(o_.ops))
      for (int op = 0; op < kNumOps; op++)
        if (on == op_name((Op)op))
          for (auto& s : split(o_.sizes)) cell((Op)op, parse_size(s), f);
    barrier();
    if (f && f != stdout) fclose(f);
    return failed_ ? 1 : 0;
  }

 private:
  int serve() {
    FILE *commands = nullptr, *rows = nullptr;
    barrier();
    if (rank_ == 0) {
      rows = fopen((o_.serve + "/rows").c_str(), "w");
      commands = fopen((o_.serve + "/commands").c_str(), "r");
      if (!rows || !commands) {
        perror(o_.serve.c_str());
        exit(2);
      }
      fprintf(rows, "ready\n");
      fflush(rows);
    }
    for (uint32_t seen = 0;; seen++) {
      if (rank_ == 0) {
        char name[64] = "", size[64] = "";
        int op = 0;
        if (fscanf(commands, "%63s %63s", name, size) != 2) name[0] = 0;  // the driver is gone: end
        while (op < kNumOps && strcmp(op_name((Op)op), name)) op++;
        sh_->command_op = op;
        sh_->command_bytes = parse_size(size);
        sh_->commands.store(seen + 1);
        syscall(SYS_futex, &sh_->commands, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
      } else {
        while (sh_->commands.load() == seen)
          syscall(SYS_futex, &sh_->commands, FUTEX_WAIT, seen, nullptr, nullptr, 0);
      }
      if (sh_->command_op == kNumOps) break;
      cell((Op)sh_->command_op, sh_->command_bytes, rows);
    }
    if (rows) fclose(rows);
    if (commands) fclose(commands);
    return failed_ ? 1 : 0;
  }

  float* alloc(size_t count) {
    size_t n = std::max<size_t>(count * 4, 4096);
    void* p = mmap(nullptr, n + (2u << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
      perror("mmap");
      exit(2);
    }
    madvise(p, n + (2u << 20), o_.thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return (float*)p;
  }
  void release(float* p, size_t count) { munmap(p, std::max<size_t>(count * 4, 4096) + (2u << 20)); }

  // One-way time of a cache line between cores 0 and 1, in ns. On a virtual machine the two
  // can be near (one L3 cache) in one second and far (another L3) in the next; what peers
  // reach then differs by up to 4x, so only cells taken in the same state can be compared.
  double probe() {
    cpu_set_t old, one;
    barrier();
    if (size_ > 1 && rank_ < 2 && sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
        !sched_getaffinity(0, sizeof old, &old)) {
      CPU_ZERO(&one);
      CPU_SET(rank_, &one);
      sched_setaffinity(0, sizeof one, &one);
      std::vector<double> v;
      for (uint32_t i = 1; i <= 400; i++) {
        double a = now();
        std::atomic<uint32_t>&mine = rank_ ? sh_->pong : sh_->ping, &other = rank_ ? sh_->ping : sh_->pong;
        uint32_t seq = base_ + i;
        if (rank_ == 0) mine.store(seq, std::memory_order_release);
        for (uint32_t k = 1; other.load(std::memory_order_acquire) != seq; k++)
          if (!(k & 0xFFFF)) sched_yield();
        if (rank_ == 1) mine.store(seq, std::memory_order_release);
        v.push_back(now() - a);
      }
      base_ += 400;
      std::sort(v.begin(), v.end());
      if (rank_ == 0) sh_->xcore = v[v.size() / 2] * 5e8;
      sched_setaffinity(0, sizeof old, &old);
    }
    barrier();
    return sh_->xcore;
  }

  bool verify(Op op, const float* out, size_t n_out) {
    size_t stride = n_out > (4u << 20) ? 13 : 1, bad = 0;  // sampled above 16 MB of output
    for (size_t i = 0; i < n_out; i += stride) {
      double e = 0;
      if (op == kAllReduce || op == kReduceScatter) {
        size_t g = op == kReduceScatter ? (size_t)rank_ * n_out + i : i;
        for (int r = 0; r < size_; r++) e += value(r, g);
        if (!(std::fabs(out[i] - e) <= 1e-6 * size_ * size_)) bad++;
      } else {
        size_t per = op == kAllGather ? n_out / size_ : n_out;
        if (!(out[i] == value((int)(i / per), i % per))) bad++;
      }
    }
    if (bad)
      fprintf(stderr, "%s rank %d: %s of %zu floats: %zu wrong\n", o_.label.c_str(), rank_, op_name(op),
              n_out, bad);
    return bad == 0;
  }

  void cell(Op op, size_t bytes, FILE* f) {
    size_t total = std::max<size_t>(1, bytes / 4), block = std::max<size_t>(1, total / size_);
    size_t nin = op == kAllGather ? block : op == kReduceScatter ? block * size_ : total;
    size_t nout = op == kAllGather ? block * size_ : op == kReduceScatter ? block : total;
    size_t real = 4 * std::max(nin, nout);  // may exceed bytes when bytes < 4 * ranks
    float *in = p_.alloc(nin, 0), *out = p_.alloc(nout, 1);
    bool own = !in;
    if (own) in = alloc(nin), out = alloc(nout);
    for (size_t i = 0; i < nin; i++) in[i] = value(rank_, i);
    for (size_t i = 0; i < nout; i++) out[i] = NAN;
    const float* result = (op == kBroadcast && rank_ == 0) ? in : out;
    p_.prepare(op, in, out, nin, nout);
    if (rank_ == 0) sh_->errors = 0;
    barrier();
    bool ok = true;
    p_.call();
    if (!p_.completes_alone()) barrier();
    if (o_.check) ok = verify(op, result, nout);
    barrier();
    for (int i = 1; i < o_.warmup; i++) {
      p_.call();
      barrier();
    }
    // How many iterations fit the budget: rank 0 estimates, everyone follows.
    barrier();
    double a = now();
    p_.call();
    barrier();
    if (rank_ == 0) sh_->est = now() - a;
    barrier();
    if (sh_->est < 0.002) {  // a better estimate for short calls
      a = now();
      for (int i = 0; i < 20; i++) p_.call();
      barrier();
      if (rank_ == 0) sh_->est = (now() - a) / 20;
    }
    if (rank_ == 0) {
      double n = o_.budget / std::max(1e-7, sh_->est);
      sh_->iters = (int64_t)std::min<double>(o_.max_iters, std::max<double>(o_.min_iters, n));
    }
    barrier();
    int iters = (int)sh_->iters.load();
    auto nics = split(o_.nics);
    nics.resize(std::min<size_t>(nics.size(), 4));
    std::vector<double> nic0(2 * nics.size());
    double x0 = 0, x1 = 0;
    for (int tries = 0; tries < std::max(1, o_.near_tries); tries++) {
      x0 = probe();
      if (o_.near_tries > 1 && x0 > kNear) {
        if (tries + 1 < o_.near_tries) usleep(200000);  // far: wait for better times
        if (tries + 1 < o_.near_tries) continue;
      }
      for (size_t k = 0; k < nic0.size(); k++) nic0[k] = nic_bytes(nics[k / 2], k % 2 ? "rx" : "tx");
      double c0 = cpu_s(), w0 = now();
      for (int i = 0; i < iters; i++) {
        barrier();
        double t0 = now();
        p_.call();
        double t1 = now();
        sh_->t0[rank_][i] = t0;
        sh_->t1[rank_][i] = t1;
      }
      barrier();
      double wall = now() - w0;
      sh_->cpu[rank_] = (cpu_s() - c0) / wall;
      for (size_t k = 0; k < nic0.size(); k++)
        sh_->nic[rank_][k] = (nic_bytes(nics[k / 2], k % 2 ? "rx" : "tx") - nic0[k]) / wall / 1e9;
      x1 = probe();
      if (x1 <= kNear) break;
    }
    std::vector<double> v;
    double med = 0;
    if (rank_ == 0)
      for (int i = 0; i < iters; i++) {
        double lo = sh_->t0[0][i], hi = sh_->t1[0][i];
        for (int r = 1; r < size_; r++) lo = std::min(lo, sh_->t0[r][i]), hi = std::max(hi, sh_->t1[r][i]);
        v.push_back(hi - lo);
      }
    barrier();
    if (rank_ == 0) {
      std::sort(v.begin(), v.end());
      med = v[v.size() / 2];
      sh_->iters = (int64_t)std::min<double>(2000, std::max<double>(5, 0.5 * o_.budget / med));
    }
    barrier();
    int k = (int)sh_->iters.load();
    barrier();
    double t0 = now();
    for (int i = 0; i < k; i++) p_.call();
    double t1 = now();
    sh_->t0[rank_][0] = t0;
    sh_->t1[rank_][0] = t1;
    barrier();
    double b2b = 0;
    if (rank_ == 0) {
      double lo = 1e300, hi = 0;
      for (int r = 0; r < size_; r++) lo = std::min(lo, sh_->t0[r][0]), hi = std::max(hi, sh_->t1[r][0]);
      b2b = (hi - lo) / k;
    }
    if (o_.check) {  // once more, on a poisoned output
      for (size_t i = 0; i < nout; i++) out[i] = NAN;
      barrier();
      p_.call();
      if (!p_.completes_alone()) barrier();
      ok = verify(op, result, nout) && ok;
    }
    if (!ok) sh_->errors++;
    barrier();
    failed_ = failed_ || sh_->errors.load() > 0;
    if (rank_ == 0) {
      double cpu = 0;
      for (int r = 0; r < size_; r++) cpu += sh_->cpu[r];
      std::string nic;  // the busiest node's rates, averaged over the timed loop
      for (size_t j = 0; j < nic0.size(); j++) {
        double m = 0;
        for (int r = 0; r < size_; r++) m = std::max(m, sh_->nic[r][j]);
        char b[64];
        snprintf(b, sizeof b, "%s%.4f", j % 2 ? "/" : j ? " " : "", m);
        nic += b;
      }
      fprintf(f, "%s,%s,%d,%zu,%d,%.2f,%.2f,%.2f,%.2f,%.5f,%.2f,%s,%.0f/%.0f,%s\n", o_.label.c_str(),
              op_name(op), size_, real, iters, med * 1e6,
              v[std::min(v.size() - 1, v.size() * 99 / 100)] * 1e6, v[0] * 1e6, b2b * 1e6, real / med / 1e9,
              cpu,
              !o_.check            ? "off"
              : sh_->errors.load() ? "FAIL"
                                   : "ok",
              x0, x1, nic.c_str());
      fflush(f);
    }
    p_.done();
    if (own) release(in, nin), release(out, nout);
    barrier();
  }

  Options o_;
  std::string wait_;
  int rank_, size_;
  uint32_t base_ = 0;
  bool failed_ = false;
  Peer& p_;
  Shared* sh_;
};

}  // namespace bench
