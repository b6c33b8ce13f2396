// The forms of WIA-AI-011 chapter 6: devices, tensors, collectives on tensors.
#include <cstring>

#include "capi/handles.hpp"
#include "device/host.hpp"
#include "transport/shm_heap.hpp"

using namespace wia;
using namespace wia::capi;

namespace {

// Started by wia_send_async and wia_recv_async of this thread.
thread_local std::vector<wia_request_t*> unsynchronized_;

void* allocate(size_t bytes) {
  auto heap = ShmHeap::instance();
  if (!heap) return null(heap.take_status());
  auto memory = heap.value()->allocate(bytes);
  return memory ? memory.value() : null(memory.take_status());
}

// First extent times or divided by the number of ranks.
wia_tensor_t* like(const wia_tensor_t* tensor, size_t first_extent) {
  std::vector<size_t> shape = tensor->shape;
  if (shape.empty()) shape.push_back(1);
  shape[0] = first_extent;
  return wia_tensor_create(nullptr, shape.data(), static_cast<int>(shape.size()), tensor->dtype);
}

size_t first_extent(const wia_tensor_t* tensor) { return tensor->shape.empty() ? 1 : tensor->shape[0]; }

bool present(const wia_tensor_t* tensor) {
  if (!tensor) report(Status(Code::invalid_argument, "tensor is NULL"));
  return tensor != nullptr;
}

wia_status_t move_chunk(bool sends, wia_tensor_t* tensor, int chunk, int peer) {
  Communicator* c = world();
  if (!c || !present(tensor)) return wia_last_error();
  const size_t chunks = static_cast<size_t>(c->size());
  if (chunk < 0 || static_cast<size_t>(chunk) >= chunks)
    return report(Status::error(Code::invalid_argument, "chunk is {}; legal are 0 to {}", chunk, chunks - 1));
  if (tensor->count() % chunks != 0)
    return report(Status::error(Code::invalid_argument,
                                "the tensor's {} elements do not divide into {} equal chunks",
                                tensor->count(), chunks));
  const size_t bytes = tensor->count() / chunks * wia_dtype_size(tensor->dtype);
  Request* request = nullptr;
  const wia_status_t status =
      report(c->transfer(sends, static_cast<std::byte*>(tensor->data) + bytes * static_cast<size_t>(chunk),
                         bytes, peer, 0, &request));
  if (request) unsynchronized_.push_back(to_handle(request));
  return status;
}

}  // namespace

extern "C" {

// --- Memory and devices ---------------------------------------------------------------------------

void* wia_alloc(size_t bytes) { return allocate(bytes); }

void wia_free(void* pointer) {
  if (pointer && (!ShmHeap::existing() || !ShmHeap::existing()->free(pointer)))
    report(Status::error(Code::invalid_argument,
                         "pointer {} was not given by wia_alloc, or was freed already", pointer));
}

int wia_get_device_count(void) { return host_device_count(); }

void* wia_alloc_device(int device, size_t bytes) {
  if (Status status = check_host_device(device); !status.ok()) return null(std::move(status));
  void* memory = allocate(bytes);
  if (memory) bind_to_host_device(memory, bytes, device);
  return memory;
}

void wia_free_device(void* pointer) { wia_free(pointer); }

wia_status_t wia_copy_peer(void* destination, const void* source, size_t bytes) {
  if (bytes > 0 && (!destination || !source))
    return report(Status::error(Code::invalid_argument, "{} is NULL with {} bytes",
                                destination ? "source" : "destination", bytes));
  if (bytes > 0) std::memmove(destination, source, bytes);
  return WIA_SUCCESS;
}

wia_status_t wia_synchronize(void) {
  wia_status_t first = WIA_SUCCESS;
  for (wia_request_t* request : std::exchange(unsynchronized_, {})) {
    const wia_status_t status = wia_request_wait(request, -1);
    if (first == WIA_SUCCESS) first = status;
  }
  return first;
}

bool wia_can_access_peer(int device, int peer) {
  return check_host_device(device).ok() && check_host_device(peer).ok();
}

// --- Tensors ----------------------------------------------------------------------------------------

wia_tensor_t* wia_tensor_create(void* data, const size_t* shape, int dims, wia_dtype_t dtype) {
  if (dims < 0 || (dims > 0 && !shape))
    return null<wia_tensor_t>(Status::error(Code::invalid_argument, "dims is {} with shape {}", dims,
                                            static_cast<const void*>(shape)));
  const size_t element = wia_dtype_size(dtype);
  if (element == 0)
    return null<wia_tensor_t>(Status::error(Code::invalid_argument, "dtype is {}; legal are 0 to {}",
                                            static_cast<int>(dtype), kNumDTypes - 1));
  size_t count = 1;
  for (int d = 0; d < dims; ++d)
    if (__builtin_mul_overflow(count, shape[d], &count) || count > SIZE_MAX / 2 / element)
      return null<wia_tensor_t>(Status::error(
          Code::invalid_argument, "shape[{}] is {}: more elements than memory can hold", d, shape[d]));
  auto tensor = std::make_unique<wia_tensor>(
      wia_tensor{data, std::vector<size_t>(shape, shape + dims), dtype, data == nullptr});
  if (!data && !(tensor->data = allocate(count * element))) return nullptr;
  return tensor.release();
}

void wia_tensor_destroy(wia_tensor_t* tensor) {
  if (!tensor) return;
  if (tensor->owned) wia_free(tensor->data);
  delete tensor;
}

void* wia_tensor_data(const wia_tensor_t* tensor) { return present(tensor) ? tensor->data : nullptr; }
size_t wia_tensor_count(const wia_tensor_t* tensor) { return present(tensor) ? tensor->count() : 0; }
wia_dtype_t wia_tensor_dtype(const wia_tensor_t* tensor) {
  return present(tensor) ? tensor->dtype : WIA_UINT8;
}
int wia_tensor_dims(const wia_tensor_t* tensor) {
  return present(tensor) ? static_cast<int>(tensor->shape.size()) : -1;
}
const size_t* wia_tensor_shape(const wia_tensor_t* tensor) {
  return present(tensor) ? tensor->shape.data() : nullptr;
}

// --- Collectives on tensors ---------------------------------------------------------------------------

wia_tensor_t* wia_allreduce(wia_tensor_t* tensor, wia_op_t op, wia_communicator_t* comm) {
  if (!present(tensor)) return nullptr;
  const wia_status_t status =
      wia_all_reduce(tensor->data, tensor->data, tensor->count(), tensor->dtype, op, comm, nullptr);
  return status == WIA_SUCCESS ? tensor : nullptr;
}

wia_request_t* wia_allreduce_async(wia_tensor_t* tensor, wia_op_t op, wia_communicator_t* comm) {
  if (!present(tensor)) return nullptr;
  wia_request_t* request = nullptr;
  wia_all_reduce(tensor->data, tensor->data, tensor->count(), tensor->dtype, op, comm, &request);
  return request;
}

wia_status_t wia_broadcast(wia_tensor_t* tensor, int root, wia_communicator_t* comm) {
  if (!present(tensor)) return wia_last_error();
  return wia_broadcast_buffer(tensor->data, tensor->count(), tensor->dtype, root, comm, nullptr);
}

wia_tensor_t* wia_reduce_scatter(wia_tensor_t* tensor, wia_op_t op, wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  if (!c || !present(tensor)) return nullptr;
  const auto ranks = static_cast<size_t>(c->size());
  if (first_extent(tensor) % ranks != 0)
    return null<wia_tensor_t>(Status::error(Code::invalid_argument,
                                            "the first extent, {}, is not a multiple of the {} ranks",
                                            first_extent(tensor), ranks));
  wia_tensor_t* part = like(tensor, first_extent(tensor) / ranks);
  if (part && wia_reduce_scatter_block(tensor->data, part->data, part->count(), tensor->dtype, op, comm,
                                       nullptr) == WIA_SUCCESS)
    return part;
  wia_tensor_destroy(part);
  return nullptr;
}

wia_tensor_t* wia_allgather(wia_tensor_t* chunk, wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  if (!c || !present(chunk)) return nullptr;
  wia_tensor_t* whole = like(chunk, first_extent(chunk) * static_cast<size_t>(c->size()));
  if (whole &&
      wia_all_gather(chunk->data, whole->data, chunk->count(), chunk->dtype, comm, nullptr) == WIA_SUCCESS)
    return whole;
  wia_tensor_destroy(whole);
  return nullptr;
}

wia_status_t wia_send_async(wia_tensor_t* tensor, int chunk, int to) {
  return move_chunk(true, tensor, chunk, to);
}
wia_status_t wia_recv_async(wia_tensor_t* tensor, int chunk, int from) {
  return move_chunk(false, tensor, chunk, from);
}

wia_status_t wia_send_recv(wia_tensor_t* tensor, wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  if (!c || !present(tensor)) return wia_last_error();
  wia_tensor_t* sent = like(tensor, first_extent(tensor));
  if (!sent) return wia_last_error();
  std::memcpy(sent->data, tensor->data, tensor->count() * wia_dtype_size(tensor->dtype));
  const int next = (c->rank() + 1) % c->size(), previous = (c->rank() + c->size() - 1) % c->size();
  const wia_status_t status = wia_send_recv_peers(sent, next, tensor, previous, comm);
  wia_tensor_destroy(sent);
  return status;
}

wia_status_t wia_send_recv_peers(wia_tensor_t* send, int to, wia_tensor_t* recv, int from,
                                 wia_communicator_t* comm) {
  if (!present(send) || !present(recv)) return wia_last_error();
  if (send->dtype != recv->dtype)
    return report(Status::error(Code::invalid_argument, "send is of {}, recv of {}",
                                name_of(static_cast<DType>(send->dtype)),
                                name_of(static_cast<DType>(recv->dtype))));
  return wia_sendrecv(send->data, send->count(), to, recv->data, recv->count(), from, send->dtype, 0, comm);
}

wia_status_t wia_wait(wia_request_t* request) { return wia_request_wait(request, -1); }

bool wia_wait_timeout(wia_request_t* request, int64_t milliseconds) {
  return wia_request_wait(request, milliseconds) == WIA_SUCCESS;
}

}  // extern "C"
