// Gloo peer: TCP transport, file store, a full mesh, as PyTorch's CPU backend uses it.
//   --rank R --size N --store DIR          rendezvous through files in DIR
//   --iface lo | --host 127.0.0.1          device to bind (repeat --iface to use two NICs:
//                                          the buffer is split over one context per NIC,
//                                          each driven by its own thread; PyTorch itself
//                                          uses one NIC per operation, in turn)
//   --algo ring|bcube|hd                   all-reduce: ring is Gloo's (and PyTorch's) default;
//                                          hd is the older AllreduceHalvingDoubling
//   --rs allreduce|hd                      reduce-scatter: as an all-reduce whose own block is
//                                          kept (PyTorch's way), or ReduceScatterHalvingDoubling
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "bench_common.hpp"

namespace {
using namespace bench;
using Ctx = std::shared_ptr<gloo::rendezvous::Context>;

// One context (one NIC) and its part of the buffers.
struct Lane {
  Ctx ctx;
  float *in = nullptr, *out = nullptr;
  size_t nin = 0, nout = 0;
  std::vector<float> scratch;
  std::unique_ptr<gloo::Algorithm> old;
};

struct GlooPeer : Peer {
  std::vector<Lane> lanes;
  std::string algo = "ring", rs = "allreduce";
  int rank = 0, size = 1;
  Op op = kAllReduce;
  bool gather_staged = false;
  float* gout = nullptr;
  std::vector<std::vector<float>> stage;

  void prepare(Op o, float* in, float* out, size_t nin, size_t nout) override {
    op = o;
    size_t nl = lanes.size();
    if (nl > 1 && (op == kAllGather || op == kReduceScatter))
      nl = 1;  // split lanes: all-reduce, broadcast only
    active = nl;
    size_t at = 0;
    for (size_t l = 0; l < nl; l++) {
      Lane& a = lanes[l];
      size_t n = nl == 1 ? 0 : (l + 1 < nl ? nin / nl : nin - at);
      a.in = in + at, a.out = out + at;
      a.nin = nl == 1 ? nin : n, a.nout = nl == 1 ? nout : n;
      at += n;
      a.old.reset();
      a.scratch.clear();
      if (op == kReduceScatter) {
        a.scratch.resize(a.nin);
        if (rs == "hd")
          a.old.reset(new gloo::ReduceScatterHalvingDoubling<float>(a.ctx, {a.scratch.data()}, (int)a.nin,
                                                                    std::vector<int>(size, (int)a.nout)));
      } else if (op == kAllReduce && algo == "hd") {
        a.old.reset(new gloo::AllreduceHalvingDoubling<float>(a.ctx, {a.out}, (int)a.nin));
      }
    }
  }
  void one(Lane& a) {
    if (a.nin == 0) return;
    std::shared_ptr<gloo::Context> c = a.ctx;
    switch (op) {
      case kAllReduce:
        if (a.old) {
          memcpy(a.out, a.in, a.nin * 4);
          a.old->run();
        } else {
          allreduce(a, a.out);
        }
        break;
      case kReduceScatter:
        if (a.old) {
          memcpy(a.scratch.data(), a.in, a.nin * 4);
          a.old->run();
          memcpy(a.out, a.scratch.data(), a.nout * 4);
        } else {
          allreduce(a, a.scratch.data());
          memcpy(a.out, a.scratch.data() + (size_t)rank * a.nout, a.nout * 4);
        }
        break;
      case kAllGather: {
        gloo::AllgatherOptions o(c);
        o.setInput(a.in, a.nin);
        o.setOutput(a.out, a.nout);
        gloo::allgather(o);
        break;
      }
      case kBroadcast: {
        gloo::BroadcastOptions o(c);
        o.setRoot(0);
        o.setOutput(rank == 0 ? a.in : a.out, a.nin);  // in place, as PyTorch does
        gloo::broadcast(o);
        break;
      }
      default:
        break;
    }
  }
  void allreduce(Lane& a, float* out) {
    gloo::AllreduceOptions o(a.ctx);
    if (algo == "bcube") o.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
    o.setInput(a.in, a.nin);
    o.setOutput(out, a.nin);
    o.setReduceFunction(
        [](void* d, const void* x, const void* y, size_t n) { gloo::sum<float>(d, x, y, n); });
    gloo::allreduce(o);
  }
  void call() override {
    if (active == 1) {
      one(lanes[0]);
      return;
    }
    std::unique_lock<std::mutex> l(m);
    if (!worker.joinable()) worker = std::thread([this] { loop(); });
    go++;
    cv.notify_all();
    l.unlock();
    one(lanes[0]);
    l.lock();
    cv.wait(l, [&] { return finished == go; });
  }
  void loop() {
    std::unique_lock<std::mutex> l(m);
    for (int seen = 0;;) {
      cv.wait(l, [&] { return stop || go != seen; });
      if (stop) return;
      seen = go;
      l.unlock();
      one(lanes[1]);
      l.lock();
      finished = seen;
      cv.notify_all();
    }
  }
  bool has_threads() const override { return true; }
  void done() override {
    for (auto& a : lanes) a.old.reset();
  }
  ~GlooPeer() override {
    {
      std::lock_guard<std::mutex> l(m);
      stop = true;
      cv.notify_all();
    }
    if (worker.joinable()) worker.join();
  }
  size_t active = 1;
  std::mutex m;
  std::condition_variable cv;
  std::thread worker;
  int go = 0, finished = 0;
  bool stop = false;
};

// Gloo changed the store arguments from references to shared pointers; take either.
template <class Context, class Store, class Device, class Prefix = gloo::rendezvous::PrefixStore>
void connect(Context& ctx, const std::string& prefix, std::shared_ptr<Store> files, Device& dev) {
  if constexpr (std::is_constructible<Prefix, std::string, std::shared_ptr<Store>>::value) {
    ctx.connectFullMesh(std::make_shared<Prefix>(prefix, files), dev);
  } else {
    Prefix ps(prefix, *files);
    ctx.connectFullMesh(ps, dev);
  }
}
}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> rest;
  Options o = parse(argc, argv, &rest);
  GlooPeer p;
  std::string store, host;
  std::vector<std::string> ifaces;
  for (size_t i = 0; i + 1 < rest.size(); i += 2) {
    const std::string &a = rest[i], &v = rest[i + 1];
    if (a == "--rank")
      p.rank = atoi(v.c_str());
    else if (a == "--size")
      p.size = atoi(v.c_str());
    else if (a == "--store")
      store = v;
    else if (a == "--iface")
      ifaces.push_back(v);
    else if (a == "--host")
      host = v;
    else if (a == "--algo")
      p.algo = v;
    else if (a == "--rs")
      p.rs = v;
    else {
      fprintf(stderr, "unknown option %s\n", a.c_str());
      return 2;
    }
  }
  if (store.empty()) {
    fprintf(stderr, "need --store DIR\n");
    return 2;
  }
  if (ifaces.empty()) ifaces.push_back("");
  if (ifaces.size() > 2) ifaces.resize(2);
  auto files = std::make_shared<gloo::rendezvous::FileStore>(store);
  p.lanes.resize(ifaces.size());
  for (size_t l = 0; l < ifaces.size(); l++) {
    gloo::transport::tcp::attr at;
    at.iface = ifaces[l];
    if (at.iface.empty()) at.hostname = host.empty() ? "127.0.0.1" : host;
    auto dev = gloo::transport::tcp::CreateDevice(at);
    p.lanes[l].ctx = std::make_shared<gloo::rendezvous::Context>(p.rank, p.size);
    connect(*p.lanes[l].ctx, "nic" + std::to_string(l), files, dev);
  }
  Harness h(o, p.rank, p.size, p);
  return h.run();
}
