// Runs one rank's bound schedule over an endpoint, a step at a time, without ever blocking.
//
// Each lane has a cursor (slice, step) that only grows. advance() moves every lane as far as it can
// go. Not thread safe; reused from call to call, so that in the steady state nothing is allocated.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "engine/binding.hpp"
#include "engine/data_mover.hpp"
#include "schedule/schedule.hpp"
#include "transport/endpoint.hpp"

namespace wia {

class Execution {
 public:
  enum class State { moved, waiting, done, failed };

  // `mover`: moves the data; null: the host does.
  explicit Execution(Endpoint& endpoint, DataMover* mover = nullptr) : endpoint_(endpoint), mover_(mover) {}

  // From the next start() on a call ends only when all ranks have entered it.
  void confirm_all();

  // `schedule` and what `binding` points to must stay until the end. Calls Endpoint::enter.
  void start(const Schedule& schedule, const Binding& binding, const CallSignature& call);
  // done: the result is there, and what was sent may be changed. failed: see status().
  State advance();
  const Status& status() const { return status_; }
  // The peer that made another call, with status() of Code::mismatch; else -1.
  int mismatched_peer() const { return mismatched_peer_; }

  // For error texts: the ranks that the lanes wait for at present, without repetition.
  std::vector<int> waiting_for() const;
  // The steps that the lanes are at, for people.
  std::string cursors() const;

 private:
  struct Lane {
    std::span<const Step> steps;
    uint32_t slice = 0;
    uint32_t position = 0;
  };
  struct AlignedDelete {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  struct View {
    Message message;
    int peer = -1;
  };

  bool run(Lane& lane);
  bool ready(const Lane& lane, const Step& step) const;
  bool may_begin_slice(const Lane& lane);
  uint32_t execute(const Step& step, uint32_t slice);  // steps done; 0: not now

  uint32_t send(const Step& step, uint32_t slice);
  bool receive(const Step& step, uint32_t slice);
  void take(const Step& step, uint32_t slice, const std::byte* from);
  uint32_t receive_and_reduce(const Step& step, uint32_t slice);
  uint32_t reduce(const Step& step, uint32_t slice);
  void copy(const Step& step, uint32_t slice);
  // `place`: where the message will be copied to; null: it will not.
  bool find(const Step& step, uint32_t slice, size_t bytes, std::byte* place, Message* message);
  void refuse(const Step& step, uint32_t slice, size_t bytes, const Message& message);

  // Reduces `sources_` (of piece 0; advanced piece by piece) into step.dst and to the peers of the sends that
  // follow.
  bool reduce_to_all(const Step& step, uint32_t slice);
  void next_piece(const Step& step, uint32_t slice, uint32_t piece, uint64_t part, uint32_t landed,
                  bool staged);
  void copy_bytes(void* to, const std::byte* from, size_t bytes, bool streaming);
  void reduce_elements(const ReduceArguments& arguments);
  void make_scratch(size_t bytes);
  bool finish();

  Key key(const Step& step, uint32_t slice) const { return {operation_, slice, step.tag}; }
  size_t element_bytes(Ref ref) const { return ref.partial() ? partial_bytes_ : binding_->raw_bytes; }
  const Extents& extents(Ref ref) const {
    return ref.buffer() == Buffer::input ? binding_->input_extents : binding_->output_extents;
  }
  // Which of the window's places a slice takes.
  size_t slot(uint32_t slice) const { return slice == 0 ? 0 : slice % binding_->window; }
  std::byte* address(Ref ref, uint32_t slice) const;
  uint64_t elements(Ref extent, uint32_t slice) const;
  // A step of several chunks is done in pieces, unless all that it touches is contiguous.
  uint32_t pieces(const Step& step, bool contiguous) const {
    return contiguous && step.chunks > 0 ? 1 : step.chunks;
  }
  bool contiguous(Ref ref, const Step& step) const;
  uint64_t piece_elements(const Step& step, uint32_t piece, bool whole, uint32_t slice) const;
  bool is_past_end(const Step& step, uint32_t slice) const;
  uint64_t total_elements(const Step& step, uint32_t slice) const;
  uint64_t elements_of_all(const Step& step, uint32_t slice) const;
  std::span<const int> peers_of(const Step* sends, uint32_t count);

  Endpoint& endpoint_;
  DataMover* const mover_;
  const Schedule* schedule_ = nullptr;
  const Binding* binding_ = nullptr;
  size_t partial_bytes_ = 1;
  uint32_t operation_ = 0, signature_ = 0;
  std::vector<Lane> lanes_;
  uint32_t oldest_slice_ = 0;
  bool output_lands_ = false;
  std::span<const int> to_confirm_;  // peers that must have entered the call before it ends
  size_t confirmed_ = 0;             // so many are known to have
  std::vector<int> all_peers_;       // empty: only the schedule's silent ones are confirmed
  Status status_;
  int mismatched_peer_ = -1;

  std::vector<View> views_;
  std::vector<Source> sources_;
  std::vector<View*> source_views_;
  std::vector<void*> destinations_;
  std::vector<int> peers_, landed_peers_;
  std::byte* scratch_ = nullptr;
  std::unique_ptr<std::byte[], AlignedDelete> scratch_memory_;
  size_t scratch_bytes_ = 0, slot_bytes_ = 0;
};

}  // namespace wia
