#include "base/fork.hpp"
#include "capi/handles.hpp"

using namespace wia;
using namespace wia::capi;

namespace {

// Publishes what was made; a null communicator is a null handle.
wia_status_t give(Result<std::shared_ptr<Communicator>> made, wia_communicator_t** out) {
  if (!made) return report(made.take_status());
  *out = made.value() ? publish(std::move(made.value())) : nullptr;
  return WIA_SUCCESS;
}

}  // namespace

extern "C" {

int wia_rank(const wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  return c ? c->rank() : -1;
}

int wia_size(const wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  return c ? c->size() : -1;
}

wia_status_t wia_communicator_split(wia_communicator_t* comm, int color, int key, wia_communicator_t** out) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  if (!out) return report(Status(Code::invalid_argument, "out is NULL"));
  return give(c->split(color, key), out);
}

wia_status_t wia_communicator_duplicate(wia_communicator_t* comm, wia_communicator_t** out) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  if (!out) return report(Status(Code::invalid_argument, "out is NULL"));
  std::vector<int> everyone(static_cast<size_t>(c->size()));
  for (size_t r = 0; r < everyone.size(); ++r) everyone[r] = static_cast<int>(r);
  return give(c->create_sub(everyone), out);
}

wia_status_t wia_communicator_create(wia_communicator_t* comm, const int* ranks, int num_ranks,
                                     wia_communicator_t** out) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  if (!out) return report(Status(Code::invalid_argument, "out is NULL"));
  if (num_ranks < 1 || num_ranks > c->size())
    return report(
        Status::error(Code::invalid_argument, "num_ranks is {}; legal are 1 to {}", num_ranks, c->size()));
  if (!ranks)
    return report(Status::error(Code::invalid_argument, "ranks is NULL with num_ranks {}", num_ranks));
  return give(c->create_sub(std::vector<int>(ranks, ranks + num_ranks)), out);
}

wia_communicator_t* wia_create_sub_communicator(wia_communicator_t* world, const int* selected_ranks,
                                                int num_selected) {
  wia_communicator_t* out = nullptr;
  return wia_communicator_create(world, selected_ranks, num_selected, &out) == WIA_SUCCESS ? out : nullptr;
}

wia_status_t wia_communicator_abort(wia_communicator_t* comm) {
  if (!comm) return report(Status(Code::invalid_argument, "comm is NULL"));
  Communicator* c = behind(comm);
  if (!c) return WIA_SUCCESS;
  if (in_forked_child()) return report(forked_status());
  c->abort(fmt::format("aborted by rank {}", c->rank()));
  return WIA_SUCCESS;
}

wia_status_t wia_communicator_destroy(wia_communicator_t* comm) {
  if (!comm) return report(Status(Code::invalid_argument, "comm is NULL"));
  if (in_forked_child()) return report(forked_status());
  destroy(comm);
  return WIA_SUCCESS;
}

wia_status_t wia_communicator_set_timeout(wia_communicator_t* comm, int64_t milliseconds) {
  Communicator* c = resolve(comm);
  return c ? report(c->set_timeout(milliseconds)) : wia_last_error();
}

wia_status_t wia_communicator_set_deterministic(wia_communicator_t* comm, bool on) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  c->set_deterministic(on);
  return WIA_SUCCESS;
}

wia_status_t wia_communicator_set_algorithm(wia_communicator_t* comm, const char* collective,
                                            const char* algorithm) {
  Communicator* c = resolve(comm);
  if (!c) return wia_last_error();
  const auto which = collective ? parse_collective(collective) : std::nullopt;
  if (!which)
    return report(Status::error(Code::invalid_argument,
                                "collective is {}; legal are all_reduce, all_gather, reduce_scatter, "
                                "broadcast, reduce, gather, scatter, all_to_all, barrier",
                                collective ? collective : "NULL"));
  return report(c->set_algorithm(*which, algorithm ? algorithm : "auto"));
}

size_t wia_communicator_shared_bytes(const wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  return c ? c->shared_bytes() : 0;
}

int wia_communicator_num_nodes(const wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  return c ? c->num_nodes() : 0;
}

const char* wia_communicator_transport(const wia_communicator_t* comm) {
  const Communicator* c = resolve(comm);
  return c ? c->transport() : nullptr;
}

const char* wia_communicator_waiting(wia_communicator_t* comm) {
  thread_local std::string text;
  Communicator* c = resolve(comm);
  if (!c) return nullptr;
  text = c->waiting();
  return text.c_str();
}

wia_status_t wia_communicator_status(const wia_communicator_t* comm) {
  Communicator* c = resolve(comm);
  return c ? report(c->status()) : wia_last_error();
}

}  // extern "C"
