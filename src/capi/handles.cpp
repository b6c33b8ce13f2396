#include "capi/handles.hpp"

#include <atomic>
#include <deque>
#include <mutex>

namespace wia::capi {
namespace {

struct Handle {
  wia_communicator_t shown;
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<wia_topology> topology;
};

std::mutex mutex_;
// Never shrinks: see resolve().
std::deque<std::unique_ptr<Handle>>& handles() {
  static auto* all = new std::deque<std::unique_ptr<Handle>>;
  return *all;
}

thread_local Status last_error_;

}  // namespace

wia_status_t report(Status status) {
  const auto code = static_cast<wia_status_t>(status.code());
  if (code < 0) last_error_ = std::move(status);
  return code;
}

// Another thread may destroy it meanwhile.
Communicator* behind(const wia_communicator_t* handle) {
  std::atomic_ref<void*> communicator(const_cast<wia_communicator_t*>(handle)->backend_data);
  return static_cast<Communicator*>(communicator.load(std::memory_order_acquire));
}

Communicator* resolve(const wia_communicator_t* handle) {
  if (!handle) return null<Communicator>(Status(Code::invalid_argument, "comm is NULL"));
  Communicator* communicator = behind(handle);
  return communicator ? communicator : null<Communicator>(Status(Code::destroyed, "comm has been destroyed"));
}

wia_communicator_t* publish(std::shared_ptr<Communicator> communicator) {
  auto handle = std::make_unique<Handle>();
  handle->shown = {communicator->size(), communicator->members().data(), communicator->rank(), nullptr,
                   communicator.get()};
  handle->communicator = std::move(communicator);
  std::lock_guard lock(mutex_);
  handles().push_back(std::move(handle));
  return &handles().back()->shown;
}

void show_topology(wia_communicator_t* handle, std::unique_ptr<wia_topology> topology) {
  std::lock_guard lock(mutex_);
  for (const auto& known : handles()) {
    if (&known->shown != handle) continue;
    handle->topology = topology.get();
    known->topology = std::move(topology);
    return;
  }
}

void destroy(wia_communicator_t* handle) {
  void* communicator = std::atomic_ref<void*>(handle->backend_data).exchange(nullptr);
  if (communicator) static_cast<Communicator*>(communicator)->destroy();
}

void destroy_all() {
  std::vector<wia_communicator_t*> all;
  {
    std::lock_guard lock(mutex_);
    for (auto& handle : handles()) all.push_back(&handle->shown);
  }
  for (auto* handle : all) destroy(handle);
}

}  // namespace wia::capi

using wia::capi::last_error_;

extern "C" {

wia_status_t wia_last_error(void) { return static_cast<wia_status_t>(last_error_.code()); }

const char* wia_last_error_message(void) { return last_error_.text().c_str(); }

const char* wia_status_string(wia_status_t status) { return wia::code_name(static_cast<wia::Code>(status)); }

const char* wia_version(void) { return WIA_VERSION_TEXT; }

size_t wia_dtype_size(wia_dtype_t dtype) {
  return static_cast<unsigned>(dtype) < wia::kNumDTypes ? wia::size_of(static_cast<wia::DType>(dtype)) : 0;
}

}  // extern "C"
