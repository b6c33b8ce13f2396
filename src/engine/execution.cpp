#include "engine/execution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace wia {

// --- Where data lies (inline: a step of 8 bytes spends its time here) -------------------------------

inline std::byte* Execution::address(Ref ref, uint32_t slice) const {
  if (ref.buffer() == Buffer::scratch)
    return scratch_ + (slot(slice) * schedule_->scratch_chunks() + ref.chunk()) * slot_bytes_;
  const uint64_t element = extents(ref).begin(ref.chunk()) + slice * binding_->slice_elements;
  return (ref.buffer() == Buffer::input ? binding_->input : binding_->output) + element * binding_->raw_bytes;
}

inline uint64_t Execution::elements(Ref extent, uint32_t slice) const {
  const uint64_t length = extents(extent).length(extent.chunk());
  if (binding_->slices == 1) return length;
  const uint64_t begin = slice * binding_->slice_elements;
  return begin >= length ? 0 : std::min(binding_->slice_elements, length - begin);
}

inline bool Execution::contiguous(Ref ref, const Step& step) const {
  return step.chunks == 1 ||
         (ref.buffer() != Buffer::scratch && binding_->slices == 1 && extents(ref).contiguous());
}

inline uint64_t Execution::piece_elements(const Step& step, uint32_t piece, bool whole,
                                          uint32_t slice) const {
  return whole ? total_elements(step, slice) : elements(step.extent.plus(piece), slice);
}

// Beyond the end of its chunks neither side of a step has a message.
inline bool Execution::is_past_end(const Step& step, uint32_t slice) const {
  if (slice == 0) return false;
  return !binding_->marks_ends || step.chunks != 1 ||
         extents(step.extent).length(step.extent.chunk()) != slice * binding_->slice_elements;
}

inline uint64_t Execution::total_elements(const Step& step, uint32_t slice) const {
  return step.chunks == 1 ? elements(step.extent, slice) : elements_of_all(step, slice);
}

uint64_t Execution::elements_of_all(const Step& step, uint32_t slice) const {
  uint64_t total = 0;
  for (uint32_t c = 0; c < step.chunks; ++c) total += elements(step.extent.plus(c), slice);
  return total;
}

// --- Moving data ----------------------------------------------------------------------------------

inline void Execution::copy_bytes(void* to, const std::byte* from, size_t bytes, bool streaming) {
  if (mover_) [[unlikely]]
    mover_->copy(to, from, bytes);
  else
    copy_to_all(&to, 1, from, bytes, streaming);
}

inline void Execution::reduce_elements(const ReduceArguments& arguments) {
  if (mover_) [[unlikely]]
    mover_->reduce(*binding_->reducer, arguments);
  else
    (*binding_->reducer)(arguments);
}

// --- Calls ----------------------------------------------------------------------------------------

void Execution::start(const Schedule& schedule, const Binding& binding, const CallSignature& call) {
  schedule_ = &schedule;
  binding_ = &binding;
  partial_bytes_ = binding.partial_bytes();
  operation_ = static_cast<uint32_t>(call.sequence);
  signature_ = call.hash;
  oldest_slice_ = 0;
  to_confirm_ = all_peers_.empty() ? schedule.silent_peers() : all_peers_;
  confirmed_ = 0;
  mismatched_peer_ = -1;
  if (!status_.ok()) status_ = {};
  lanes_.resize(static_cast<size_t>(schedule.lanes()));
  for (int l = 0; l < schedule.lanes(); ++l) lanes_[l] = {schedule.lane(l), 0, 0};

  const bool large = std::max(binding.input_bytes, binding.output_bytes) >= binding.direct_from;
  // Results may be written into peers' outputs where chunks lie alike on all ranks.
  output_lands_ = large && binding.output && binding.output_extents.contiguous();
  endpoint_.enter(call, all_peers_.empty() ? schedule.unanswered_peers() : all_peers_,
                  large ? binding.output : nullptr, binding.output_bytes);

  if (const size_t slots = schedule.scratch_chunks()) {
    if (views_.size() < slots * binding.window) views_.resize(slots * binding.window);
    // Scratch that is only looked at where it arrived needs no memory.
    if (schedule.needs_scratch_memory()) {
      slot_bytes_ = (binding.slice_elements * std::max(partial_bytes_, binding.raw_bytes) + 63) / 64 * 64;
      make_scratch(slots * binding.window * slot_bytes_);
    }
  }
  if (sources_.size() < schedule.max_sources()) {
    sources_.resize(schedule.max_sources());
    source_views_.resize(schedule.max_sources());
  }
  if (peers_.size() < schedule.max_fused()) {
    peers_.resize(schedule.max_fused());
    landed_peers_.resize(schedule.max_fused());
    destinations_.resize(schedule.max_fused() + 1);
  }
}

void Execution::make_scratch(size_t bytes) {
  if (scratch_bytes_ >= bytes) return;
  if (mover_) {
    scratch_ = mover_->scratch(bytes);
  } else {
    scratch_memory_.reset(new (std::align_val_t{64}, std::nothrow) std::byte[bytes]);
    scratch_ = scratch_memory_.get();
  }
  scratch_bytes_ = scratch_ ? bytes : 0;
  if (!scratch_) status_ = Status::error(Code::out_of_memory, "no memory for {} bytes of scratch", bytes);
}

void Execution::confirm_all() {
  for (int peer = 0; peer < endpoint_.size(); ++peer)
    if (peer != endpoint_.rank()) all_peers_.push_back(peer);
}

Execution::State Execution::advance() {
  if (!status_.ok()) return State::failed;
  bool moved = false, all_done, again;
  do {
    again = false;
    all_done = true;
    for (Lane& lane : lanes_) {
      if (lane.slice == binding_->slices) continue;
      again |= run(lane);
      all_done &= lane.slice == binding_->slices;
    }
    if (!status_.ok()) return State::failed;
    moved |= again;
  } while (again && !all_done && binding_->slices > 1);
  if (all_done && finish()) return status_.ok() ? State::done : State::failed;
  return moved ? State::moved : State::waiting;
}

bool Execution::finish() {
  if (!endpoint_.drained()) return false;
  for (; confirmed_ < to_confirm_.size(); ++confirmed_) {
    const auto entered = endpoint_.entered(to_confirm_[confirmed_]);
    if (entered == Endpoint::Entered::no) return false;
    if (entered == Endpoint::Entered::other) {
      mismatched_peer_ = to_confirm_[confirmed_];
      status_ = Status(Code::mismatch, "");
      return true;
    }
  }
  endpoint_.leave();
  return true;
}

// A slice at most: then the other lanes have their turn, so that what the peers wait for leaves early.
bool Execution::run(Lane& lane) {
  bool moved = false;
  if (lane.slice > 0 && lane.position == 0 && !may_begin_slice(lane)) return moved;
  const auto steps = lane.steps;
  for (uint32_t done = 0; lane.position < steps.size(); lane.position += done) {
    const Step& step = steps[lane.position];
    if (step.wait_position > 0 && !ready(lane, step)) return moved;
    done = execute(step, lane.slice);
    if (done == 0) return moved;
    moved = true;
  }
  ++lane.slice;
  lane.position = 0;
  return true;
}

bool Execution::ready(const Lane& lane, const Step& step) const {
  const Lane& other = lanes_[step.wait_lane];
  return other.slice > lane.slice || (other.slice == lane.slice && other.position >= step.wait_position);
}

bool Execution::may_begin_slice(const Lane& lane) {
  if (lane.slice < oldest_slice_ + binding_->window) return true;
  oldest_slice_ = lane.slice;
  for (const Lane& other : lanes_) oldest_slice_ = std::min(oldest_slice_, other.slice);
  return lane.slice < oldest_slice_ + binding_->window;
}

uint32_t Execution::execute(const Step& step, uint32_t slice) {
  switch (step.kind) {
    case Kind::send:
      return send(step, slice);
    case Kind::recv:
      return receive(step, slice) ? 1 : 0;
    case Kind::recv_reduce:
      return receive_and_reduce(step, slice);
    case Kind::reduce:
      return reduce(step, slice);
    case Kind::copy:
      copy(step, slice);
      return 1;
    case Kind::nop:
      return 1;
  }
  return 1;
}

std::span<const int> Execution::peers_of(const Step* sends, uint32_t count) {
  if (count == 1) return {&sends->peer, 1};
  for (uint32_t i = 0; i < count; ++i) peers_[i] = sends[i].peer;
  return {peers_.data(), count};
}

// --- Steps --------------------------------------------------------------------------------------

uint32_t Execution::send(const Step& step, uint32_t slice) {
  const uint32_t group = std::max<uint32_t>(step.fused, 1);
  const auto peers = peers_of(&step, group);
  const size_t element = element_bytes(step.src);
  const size_t bytes = total_elements(step, slice) * element;
  if (bytes == 0 && is_past_end(step, slice)) return group;
  const bool whole = contiguous(step.src, step);
  if (bytes >= binding_->direct_from && whole && step.src.buffer() != Buffer::scratch &&
      !(step.flags & kTake) && endpoint_.can_send_direct(peers, address(step.src, slice), bytes))
    return endpoint_.post_direct(peers, key(step, slice), address(step.src, slice), bytes) ? group : 0;
  std::byte* place = endpoint_.stage(peers, bytes);
  if (!place) return 0;
  for (uint32_t piece = 0; piece < pieces(step, whole) && bytes > 0; ++piece) {
    const size_t part = piece_elements(step, piece, whole, slice) * element;
    const std::byte* from = address(step.src.plus(piece), slice);
    if (mover_) [[unlikely]]
      mover_->copy(place, from, part);
    else
      std::memcpy(place, from, part);  // it is read at once: never past the caches
    place += part;
  }
  endpoint_.post(peers, key(step, slice), bytes);
  return group;
}

// False: nothing there yet, or an error.
inline bool Execution::find(const Step& step, uint32_t slice, size_t bytes, std::byte* place,
                            Message* message) {
  const std::span<std::byte> wanted(place, place ? bytes : 0);
  if (!endpoint_.find(step.peer, key(step, slice), message, wanted)) return false;
  if (message->signature == signature_ && message->bytes == bytes) [[likely]]
    return true;
  refuse(step, slice, bytes, *message);
  return false;
}

void Execution::refuse(const Step& step, uint32_t slice, size_t bytes, const Message& message) {
  if (message.signature != signature_) {
    mismatched_peer_ = step.peer;
    status_ = Status(Code::mismatch, "");
    return;
  }
  status_ = Status::error(
      Code::mismatch, "rank {} sent {} bytes in call {} where {} were expected (slice {}, tag {}){}",
      step.peer, message.bytes, operation_, bytes, slice, step.tag,
      binding_->marks_ends ? ": what it sends here and what this rank expects differ" : "");
}

bool Execution::receive(const Step& step, uint32_t slice) {
  const size_t element = element_bytes(step.dst);
  const size_t bytes = total_elements(step, slice) * element;
  if (bytes == 0 && is_past_end(step, slice)) return true;
  if (step.flags & kView) {
    View& view = views_[slot(slice) * schedule_->scratch_chunks() + step.dst.chunk()];
    view.peer = step.peer;
    return find(step, slice, bytes, nullptr, &view.message);
  }
  Message message;
  std::byte* place = bytes > 0 && contiguous(step.dst, step) ? address(step.dst, slice) : nullptr;
  if (!find(step, slice, bytes, place, &message)) return false;
  if (bytes > 0) take(step, slice, message.data);
  endpoint_.release(step.peer, message);
  return true;
}

// Copies what a message holds to where it belongs.
void Execution::take(const Step& step, uint32_t slice, const std::byte* from) {
  const size_t element = element_bytes(step.dst);
  const bool whole = contiguous(step.dst, step);
  for (uint32_t piece = 0; piece < pieces(step, whole); ++piece) {
    const size_t part = piece_elements(step, piece, whole, slice) * element;
    void* to = address(step.dst.plus(piece), slice);
    if (to != from) copy_bytes(to, from, part, binding_->streaming);
    from += part;
  }
}

uint32_t Execution::receive_and_reduce(const Step& step, uint32_t slice) {
  const bool partial = step.flags & kPartialArrives;
  const size_t bytes = total_elements(step, slice) * (partial ? partial_bytes_ : binding_->raw_bytes);
  if (bytes == 0 && slice > 0) return 1u + step.fused;
  Message message;
  if (!find(step, slice, bytes, nullptr, &message)) return 0;
  sources_[0] = {message.data, partial};
  sources_[1] = {address(step.src, slice), step.src.partial()};
  source_views_[0] = source_views_[1] = nullptr;
  if (!reduce_to_all(step, slice)) return 0;
  endpoint_.release(step.peer, message);
  return 1u + step.fused;
}

uint32_t Execution::reduce(const Step& step, uint32_t slice) {
  const auto refs = schedule_->sources_of(step);
  View* const views = views_.data() + slot(slice) * schedule_->scratch_chunks();
  for (size_t i = 0; i < refs.size(); ++i) {
    View* view = refs[i].buffer() == Buffer::scratch ? views + refs[i].chunk() : nullptr;
    if (view && !view->message.data) view = nullptr;
    source_views_[i] = view;
    sources_[i] = {view ? view->message.data : address(refs[i], slice), refs[i].partial()};
  }
  if (!reduce_to_all(step, slice)) return 0;
  for (size_t i = 0; i < refs.size(); ++i) {
    View* view = source_views_[i];
    if (!view) continue;
    endpoint_.release(view->peer, view->message);
    view->message.data = nullptr;
  }
  return 1u + step.fused;
}

bool Execution::reduce_to_all(const Step& step, uint32_t slice) {
  if (slice > 0 && total_elements(step, slice) == 0) return true;
  const Step* sends = &step + 1;
  const size_t element = element_bytes(step.dst);
  // Who gets the result how: written into its output, or staged once for all the others.
  uint32_t landed = 0, staged = 0;
  std::byte* place = nullptr;
  for (uint32_t i = 0; i < step.fused; ++i) {
    const int peer = sends[i].peer;
    std::byte* landing =
        step.dst.buffer() == Buffer::output && output_lands_ ? endpoint_.landing(peer) : nullptr;
    if (!landing) {
      peers_[staged++] = peer;
      continue;
    }
    if (!endpoint_.can_post(peer)) return false;
    landed_peers_[landed] = peer;
    destinations_[1 + landed++] = landing + (address(step.dst, slice) - binding_->output);
  }
  const uint32_t count = step.chunks;
  const size_t bytes = total_elements(step, slice) * element;
  if (staged > 0 && !(place = endpoint_.stage({peers_.data(), staged}, bytes))) return false;

  destinations_[0] = address(step.dst, slice);
  if (staged > 0) destinations_[1 + landed] = place;
  const int num_destinations = static_cast<int>(1 + landed + (staged > 0));
  const auto num_sources = step.kind == Kind::recv_reduce ? 2 : static_cast<int>(step.sources);
  // Staged data is read at once and belongs into the caches; results that are too large for them do not.
  const bool streams = binding_->streaming && step.dst.buffer() == Buffer::output;
  for (uint32_t piece = 0; piece < count; ++piece) {
    const uint64_t part = elements(step.extent.plus(piece), slice);
    if (part > 0)
      reduce_elements({sources_.data(), num_sources, destinations_.data(), num_destinations, part,
                       step.dst.partial(), streams ? static_cast<int>(1 + landed) : 0});
    if (piece + 1 < count) next_piece(step, slice, piece, part, landed, staged > 0);
  }
  if (staged > 0) endpoint_.post({peers_.data(), staged}, key(sends[0], slice), bytes);
  for (uint32_t i = 0; i < landed; ++i) {
    const auto* first = endpoint_.landing(landed_peers_[i]) + (address(step.dst, slice) - binding_->output);
    endpoint_.post_landed(landed_peers_[i], key(sends[0], slice), first, bytes);
  }
  return true;
}

// Moves sources and destinations of a step of several chunks on to the next chunk.
void Execution::next_piece(const Step& step, uint32_t slice, uint32_t piece, uint64_t part, uint32_t landed,
                           bool staged) {
  auto* own = static_cast<std::byte*>(destinations_[0]);
  std::byte* next = address(step.dst.plus(piece + 1), slice);
  for (uint32_t i = 0; i < landed; ++i)
    destinations_[1 + i] = static_cast<std::byte*>(destinations_[1 + i]) + (next - own);
  if (staged)
    destinations_[1 + landed] =
        static_cast<std::byte*>(destinations_[1 + landed]) + part * element_bytes(step.dst);
  destinations_[0] = next;
  if (step.kind == Kind::recv_reduce) {
    const size_t arriving = step.flags & kPartialArrives ? partial_bytes_ : binding_->raw_bytes;
    sources_[0].data = static_cast<const std::byte*>(sources_[0].data) + part * arriving;
    sources_[1].data = address(step.src.plus(piece + 1), slice);
  } else {
    const auto refs = schedule_->sources_of(step);
    for (size_t i = 0; i < refs.size(); ++i) sources_[i].data = address(refs[i].plus(piece + 1), slice);
  }
}

void Execution::copy(const Step& step, uint32_t slice) {
  const bool whole = contiguous(step.src, step) && contiguous(step.dst, step);
  const size_t element = element_bytes(step.src);
  for (uint32_t piece = 0; piece < pieces(step, whole); ++piece) {
    const size_t part = piece_elements(step, piece, whole, slice) * element;
    const std::byte* from = address(step.src.plus(piece), slice);
    void* to = address(step.dst.plus(piece), slice);
    if (part > 0 && to != from)
      copy_bytes(to, from, part, binding_->streaming && step.dst.buffer() == Buffer::output);
  }
}

// --- For people -----------------------------------------------------------------------------------

std::vector<int> Execution::waiting_for() const {
  std::vector<int> ranks;
  for (const Lane& lane : lanes_) {
    if (lane.slice >= binding_->slices || lane.position >= lane.steps.size()) continue;
    const Step& step = lane.steps[lane.position];
    if (step.peer >= 0) ranks.push_back(step.peer);
  }
  if (ranks.empty())
    ranks.assign(to_confirm_.begin() + static_cast<std::ptrdiff_t>(confirmed_), to_confirm_.end());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::string Execution::cursors() const {
  std::string text;
  for (size_t l = 0; l < lanes_.size(); ++l)
    text += fmt::format("{}lane {}: slice {}/{} step {}/{}", l ? "; " : "", l, lanes_[l].slice,
                        binding_->slices, lanes_[l].position, lanes_[l].steps.size());
  return text;
}

}  // namespace wia
