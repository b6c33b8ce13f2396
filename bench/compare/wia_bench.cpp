// libwia peer. Ranks come from the environment (WIA_RANK, ...).
//   --alloc    buffers from wia_alloc instead of ordinary ones
#include <wia/wia.h>

#include <utility>

#include "bench_common.hpp"

namespace {
using namespace bench;

struct WiaPeer : Peer {
  wia_communicator_t* world = nullptr;
  bool own_memory = false;
  Op op = kAllReduce;
  float *in = nullptr, *out = nullptr;
  size_t nin = 0, nout = 0;
  float* allocated[2] = {};

  void prepare(Op o, float* i, float* u, size_t ni, size_t nu) override {
    op = o, in = i, out = u, nin = ni, nout = nu;
  }
  void call() override {
    wia_status_t status = WIA_SUCCESS;
    switch (op) {
      case kAllReduce:
        status = wia_all_reduce(in, out, nin, WIA_FLOAT32, WIA_OP_SUM, world, nullptr);
        break;
      case kAllGather:
        status = wia_all_gather(in, out, nin, WIA_FLOAT32, world, nullptr);
        break;
      case kReduceScatter:
        status = wia_reduce_scatter_block(in, out, nout, WIA_FLOAT32, WIA_OP_SUM, world, nullptr);
        break;
      case kBroadcast:
        status = wia_broadcast_buffer(world->my_rank == 0 ? in : out, nin, WIA_FLOAT32, 0, world, nullptr);
        break;
      default:
        break;
    }
    if (status != WIA_SUCCESS) fail();
  }
  float* alloc(size_t count, int which) override {
    if (!own_memory) return nullptr;
    allocated[which] = static_cast<float*>(wia_alloc(count * sizeof(float)));
    if (!allocated[which]) fail();
    return allocated[which];
  }
  void done() override {
    for (float*& pointer : allocated) wia_free(std::exchange(pointer, nullptr));
  }
  [[noreturn]] static void fail() {
    fprintf(stderr, "wia_bench: %s\n", wia_last_error_message());
    exit(1);
  }
};
}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> rest;
  const Options o = parse(argc, argv, &rest);
  WiaPeer p;
  for (const std::string& option : rest) {
    if (option != "--alloc") return fprintf(stderr, "wia_bench: unknown option %s\n", option.c_str()), 2;
    p.own_memory = true;
  }
  if (wia_init(&p.world) != WIA_SUCCESS) WiaPeer::fail();
  Harness h(o, wia_rank(p.world), wia_size(p.world), p);
  const int rc = h.run();
  if (wia_finalize() != WIA_SUCCESS) WiaPeer::fail();
  return rc;
}
