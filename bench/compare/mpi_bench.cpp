// MPI peer: MPI_Allreduce, MPI_Allgather, MPI_Reduce_scatter_block, MPI_Bcast.
#include <mpi.h>

#include "bench_common.hpp"

namespace {
using namespace bench;

struct MpiPeer : Peer {
  Op op;
  float *in, *out;
  int nin, nout, rank;
  void prepare(Op o, float* i, float* u, size_t ni, size_t nu) override {
    op = o, in = i, out = u, nin = (int)ni, nout = (int)nu;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  void call() override {
    switch (op) {
      case kAllReduce:
        MPI_Allreduce(in, out, nin, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case kAllGather:
        MPI_Allgather(in, nin, MPI_FLOAT, out, nin, MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case kReduceScatter:
        MPI_Reduce_scatter_block(in, out, nout, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case kBroadcast:
        MPI_Bcast(rank == 0 ? in : out, nin, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
      default:
        break;
    }
  }
  void progress() override {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
};
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Options o = parse(argc, argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MpiPeer p;
  Harness h(o, rank, size, p);
  MPI_Barrier(MPI_COMM_WORLD);
  int rc = h.run();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return rc;
}
