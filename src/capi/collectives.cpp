// Collectives and transfers on plain buffers, and requests.
#include "capi/handles.hpp"

using namespace wia;
using namespace wia::capi;

namespace {

wia_status_t unknown(const char* what, int value, int known) {
  return report(Status::error(Code::invalid_argument, "{} is {}; legal are 0 to {}", what, value, known - 1));
}

// `dtype` and `op` as the user gave them: what Call holds has lost values that are none.
wia_status_t run(const Call& call, wia_dtype_t dtype, wia_op_t op, wia_communicator_t* comm,
                 wia_request_t** request) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  if (static_cast<unsigned>(dtype) >= kNumDTypes)
    return unknown("dtype", static_cast<int>(dtype), kNumDTypes);
  if (static_cast<unsigned>(op) >= kNumOps) return unknown("op", static_cast<int>(op), kNumOps);
  if (!request) return report(c->collective(call, nullptr));
  Request* made = nullptr;
  const wia_status_t status = report(c->collective(call, &made));
  *request = to_handle(made);
  return status;
}

// Fields that most calls have.
Call make(Collective collective, const void* send, void* recv, size_t count, wia_dtype_t dtype) {
  Call call;
  call.collective = collective;
  call.send = send;
  call.recv = recv;
  call.count = count;
  call.dtype = static_cast<DType>(dtype);
  return call;
}

wia_status_t missing_counts() {
  return report(Status(Code::invalid_argument, "counts is NULL; wanted is one number a rank"));
}

// start(communicator, bytes, request): the transfer.
template <class Start>
wia_status_t move(size_t count, wia_dtype_t dtype, wia_communicator_t* comm, wia_request_t** request,
                  Start start) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  const size_t element = wia_dtype_size(dtype);
  if (element == 0) return unknown("dtype", static_cast<int>(dtype), kNumDTypes);
  if (count > SIZE_MAX / 2 / element)
    return report(Status::error(Code::invalid_argument,
                                "count is {} (as a signed number {}); legal are 0 to {}", count,
                                static_cast<int64_t>(count), SIZE_MAX / 2 / element));
  if (!request) return report(start(*c, count * element, nullptr));
  Request* made = nullptr;
  const wia_status_t status = report(start(*c, count * element, &made));
  *request = to_handle(made);
  return status;
}

}  // namespace

extern "C" {

wia_status_t wia_all_reduce(const void* send, void* recv, size_t count, wia_dtype_t dtype, wia_op_t op,
                            wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::all_reduce, send, recv, count, dtype);
  call.op = static_cast<Op>(op);
  return run(call, dtype, op, comm, request);
}

wia_status_t wia_all_reduce_scaled(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                   double factor, wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::all_reduce, send, recv, count, dtype);
  call.op = Op::premul_sum;
  call.factor = factor;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_all_gather(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                            wia_communicator_t* comm, wia_request_t** request) {
  return run(make(Collective::all_gather, send, recv, count, dtype), dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_all_gather_v(const void* send, void* recv, const size_t* counts, const size_t* offsets,
                              wia_dtype_t dtype, wia_communicator_t* comm, wia_request_t** request) {
  if (!counts) return missing_counts();
  Call call = make(Collective::all_gather, send, recv, 0, dtype);
  call.counts = counts;
  call.offsets = offsets;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_reduce_scatter_block(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                      wia_op_t op, wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::reduce_scatter, send, recv, count, dtype);
  call.op = static_cast<Op>(op);
  return run(call, dtype, op, comm, request);
}

wia_status_t wia_reduce_scatter_v(const void* send, void* recv, const size_t* counts, wia_dtype_t dtype,
                                  wia_op_t op, wia_communicator_t* comm, wia_request_t** request) {
  if (!counts) return missing_counts();
  Call call = make(Collective::reduce_scatter, send, recv, 0, dtype);
  call.op = static_cast<Op>(op);
  call.counts = counts;
  return run(call, dtype, op, comm, request);
}

wia_status_t wia_broadcast_buffer(void* buffer, size_t count, wia_dtype_t dtype, int root,
                                  wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::broadcast, nullptr, buffer, count, dtype);
  call.root = root;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_reduce(const void* send, void* recv, size_t count, wia_dtype_t dtype, wia_op_t op, int root,
                        wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::reduce, send, recv, count, dtype);
  call.op = static_cast<Op>(op);
  call.root = root;
  return run(call, dtype, op, comm, request);
}

wia_status_t wia_gather(const void* send, void* recv, size_t count, wia_dtype_t dtype, int root,
                        wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::gather, send, recv, count, dtype);
  call.root = root;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_gather_v(const void* send, void* recv, const size_t* counts, const size_t* offsets,
                          wia_dtype_t dtype, int root, wia_communicator_t* comm, wia_request_t** request) {
  if (!counts) return missing_counts();
  Call call = make(Collective::gather, send, recv, 0, dtype);
  call.root = root;
  call.counts = counts;
  call.offsets = offsets;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_scatter(const void* send, void* recv, size_t count, wia_dtype_t dtype, int root,
                         wia_communicator_t* comm, wia_request_t** request) {
  Call call = make(Collective::scatter, send, recv, count, dtype);
  call.root = root;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_scatter_v(const void* send, void* recv, const size_t* counts, const size_t* offsets,
                           wia_dtype_t dtype, int root, wia_communicator_t* comm, wia_request_t** request) {
  if (!counts) return missing_counts();
  Call call = make(Collective::scatter, send, recv, 0, dtype);
  call.root = root;
  call.counts = counts;
  call.offsets = offsets;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_all_to_all(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                            wia_communicator_t* comm, wia_request_t** request) {
  return run(make(Collective::all_to_all, send, recv, count, dtype), dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_all_to_all_v(const void* send, const size_t* send_counts, const size_t* send_offsets,
                              void* recv, const size_t* recv_counts, const size_t* recv_offsets,
                              wia_dtype_t dtype, wia_communicator_t* comm, wia_request_t** request) {
  if (!send_counts || !recv_counts) return missing_counts();
  Call call = make(Collective::all_to_all, send, recv, 0, dtype);
  call.counts = send_counts;
  call.offsets = send_offsets;
  call.recv_counts = recv_counts;
  call.recv_offsets = recv_offsets;
  return run(call, dtype, WIA_OP_SUM, comm, request);
}

wia_status_t wia_barrier_async(wia_communicator_t* comm, wia_request_t** request) {
  return run(make(Collective::barrier, nullptr, nullptr, 0, WIA_UINT8), WIA_UINT8, WIA_OP_SUM, comm, request);
}

wia_status_t wia_barrier(wia_communicator_t* comm) { return wia_barrier_async(comm, nullptr); }

wia_status_t wia_send(const void* buffer, size_t count, wia_dtype_t dtype, int to, int tag,
                      wia_communicator_t* comm, wia_request_t** request) {
  return move(count, dtype, comm, request, [=](Communicator& c, size_t bytes, Request** made) {
    return c.transfer(true, const_cast<void*>(buffer), bytes, to, tag, made);
  });
}

wia_status_t wia_recv(void* buffer, size_t count, wia_dtype_t dtype, int from, int tag,
                      wia_communicator_t* comm, wia_request_t** request) {
  return move(count, dtype, comm, request, [=](Communicator& c, size_t bytes, Request** made) {
    return c.transfer(false, buffer, bytes, from, tag, made);
  });
}

wia_status_t wia_recv_any(void* buffer, size_t count, wia_dtype_t dtype, int* from, int tag,
                          wia_communicator_t* comm, wia_request_t** request) {
  return move(count, dtype, comm, request, [=](Communicator& c, size_t bytes, Request** made) {
    return c.receive_any(buffer, bytes, tag, from, made);
  });
}

wia_status_t wia_sendrecv(const void* send, size_t send_count, int to, void* recv, size_t recv_count,
                          int from, wia_dtype_t dtype, int tag, wia_communicator_t* comm) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  const size_t element = wia_dtype_size(dtype);
  if (element == 0) return unknown("dtype", static_cast<int>(dtype), kNumDTypes);
  if (send_count > SIZE_MAX / 2 / element || recv_count > SIZE_MAX / 2 / element)
    return report(Status::error(Code::invalid_argument,
                                "send_count is {}, recv_count is {}; legal are 0 to {}", send_count,
                                recv_count, SIZE_MAX / 2 / element));
  return report(c->exchange(send, send_count * element, to, recv, recv_count * element, from, tag));
}

wia_status_t wia_request_wait(wia_request_t* request, int64_t timeout_ms) {
  if (!request) return report(Status(Code::invalid_argument, "request is NULL"));
  return report(Communicator::wait(from_handle(request), timeout_ms));
}

wia_status_t wia_request_test(wia_request_t* request, bool* done) {
  if (!request || !done)
    return report(Status::error(Code::invalid_argument, "{} is NULL", request ? "done" : "request"));
  Status status = Communicator::test(from_handle(request));
  *done = status.code() != Code::in_progress;
  return *done ? report(std::move(status)) : WIA_SUCCESS;
}

}  // extern "C"
