// A group of ranks and the calls on it.
//
// Calls of one communicator are executed one after the other, in the order in which they arrive; transfers
// between two ranks run beside them. Whoever waits drives: a blocking call runs its schedule in the caller, a
// waiter drives what it waits for, and what nobody waits for is driven by the progress thread.
//
// Failure contract:
//   1. An error in an argument is found before anything is sent; the communicator stays as it was.
//   2. Everything else that fails (a peer lost, a timeout, different calls, abort) ends the communicator: all
//   that is
//      under way ends with the reason, here and on the other members, and later calls return it. The first
//      reason wins.
//   3. Every wait looks at its deadline and for trouble about every millisecond while it polls, and at least
//   every 20 ms
//      while it sleeps.
//   4. destroy() and abort() never wait for a peer.
// Thread safe.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "communicator/call.hpp"
#include "communicator/world.hpp"
#include "engine/execution.hpp"
#include "engine/point_to_point.hpp"
#include "engine/progress_thread.hpp"
#include "transport/endpoint.hpp"

namespace wia {

class Communicator;

// A collective that is bound and ready to run, with all that it points to.
struct Operation {
  std::shared_ptr<const Schedule> schedule;
  Binding binding;
  CallSignature signature;
  std::vector<size_t> counts, offsets, recv_counts, recv_offsets;  // copies, or offsets worked out
  // What it was made from; settings 0: nothing.
  Call call;
  uint32_t settings = 0;
};

// An operation that was started and not waited for yet.
struct Request {
  std::shared_ptr<Communicator> communicator;
  bool collective = true;
  Operation operation;
  Transfer transfer;
  int* from = nullptr;  // where the rank goes whose message a receive got
  Status status;
  Deadline deadline = Deadline::never();
  std::atomic<bool> done{false};
};

class Communicator : public Progressible, public std::enable_shared_from_this<Communicator> {
 public:
  // timeout_ms: negative for no limit; empty: the configured one.
  static Result<std::shared_ptr<Communicator>> create(std::shared_ptr<World> world, std::vector<int> members,
                                                      int rank, const std::string& name,
                                                      std::optional<int64_t> timeout_ms = std::nullopt);
  ~Communicator() override;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const std::vector<int>& members() const { return members_; }  // ranks in the world

  // request == null: returns when done. Else *request is set, to be waited for.
  Status collective(const Call& call, Request** request);
  Status transfer(bool sends, void* data, size_t bytes, int peer, int tag, Request** request);
  // From whoever sends with this tag. *from is written when it is done.
  Status receive_any(void* data, size_t bytes, int tag, int* from, Request** request);
  Status exchange(const void* send, size_t send_bytes, int to, void* recv, size_t recv_bytes, int from,
                  int tag);

  // Frees the request unless the code is in_progress (the time passed, or interrupted() says so; negative:
  // the communicator's timeout).
  static Status wait(Request* request, int64_t timeout_ms);
  static Status test(Request* request);  // in_progress: not yet

  // Collective over the members of `ranks` only (numbers of this communicator).
  Result<std::shared_ptr<Communicator>> create_sub(const std::vector<int>& ranks);
  // Collective over all members. Null where color is negative.
  Result<std::shared_ptr<Communicator>> split(int color, int key);

  void abort(const std::string& reason);
  void destroy();
  Status set_timeout(int64_t milliseconds);
  void set_deterministic(bool on);
  Status set_algorithm(Collective collective, const std::string& name);  // "auto": choose
  std::string waiting();  // the call under way and who is missing in it; empty: nothing is under way
  Status status();        // why it is unusable; looks at what the other members have announced
  size_t shared_bytes() const;
  int num_nodes() const { return num_nodes_; }
  const char* transport() const;  // "shared memory", "tcp", "shared memory and tcp"
  // The algorithm that a call would use, and why.
  Result<std::pair<const Algorithm*, std::string>> choose(const Call& call) const;

  bool needs_progress() const override;
  bool progress_in_background(bool look) override;

 private:
  struct CachedSchedule {
    uint64_t key;  // root, in place, even; the collective is the algorithm's
    const Algorithm* algorithm;
    std::shared_ptr<const Schedule> schedule;
  };

  Communicator(std::shared_ptr<World> world, std::vector<int> members, int rank, std::string name);
  Status set_algorithms(const std::string& list);
  void end(Status reason, bool tell_peers);
  static void free(Request* request);
  static Status finish(Request* request);
  bool drive(Request& request, Deadline deadline);  // false: the time passed
  void wake_progress_thread();
  std::unique_lock<std::mutex> enter();

  // All below want mutex_.
  Status bind(const Call& call, Operation* operation);
  bool is_repeated(const Call& call, const Operation& operation) const;
  void set_buffers(const Call& call, Binding* binding) const;
  void set_given_chunks(const Call& call, Operation* operation) const;
  Result<const CachedSchedule*> schedule_for(const Call& call);
  Result<const Reducer*> reducer_for(const Call& call);
  Status run_inline(const Operation& operation, std::unique_lock<std::mutex>& lock);
  Status execution_failed(const Operation& operation) const;
  bool progress();  // true if anything moved
  bool start_next();
  bool progress_transfers();
  Status start_transfer(bool sends, void* data, size_t bytes, int peer, int tag, int* from,
                        Request** request);
  Request* new_request();
  void complete(Request& request, Status status);
  Status fail(Status reason, bool tell_peers);  // gives the first reason
  void begin_call();
  const Operation* current_operation() const;
  Status interruption() const;
  Status interruption_from_outside() const;
  Status look_for_trouble();
  std::optional<Trouble> look_at_senders() const;
  Status explain(const Trouble& trouble, const Operation* current) const;
  Status mismatch(int peer, const CallSignature& mine, const CallSignature& theirs) const;
  Status timed_out(const Operation& current) const;
  std::string waiting_text() const;
  std::string wait_name(const CallSignature& call) const;
  std::string who_is_missing(const CallSignature& call) const;
  std::string rank_text(int rank) const;

  std::shared_ptr<World> world_;  // null once destroyed
  const WaitPolicy wait_policy_;
  const int64_t late_notice_ms_;
  const std::vector<int> members_;
  const int rank_;
  const std::string name_;
  const size_t staging_bytes_;           // of each rank
  const size_t slice_bytes_;             // at most
  std::vector<std::vector<int>> units_;  // of the members, as Shape::units
  int num_nodes_ = 1;

  mutable std::mutex mutex_;
  std::unique_ptr<Endpoint> endpoint_;  // null once destroyed
  std::unique_ptr<Execution> execution_;
  std::unique_ptr<PointToPoint> transfers_;
  std::vector<std::unique_ptr<CachedSchedule>> schedules_;
  std::unique_ptr<Reducer> reducers_[(kNumDTypes + 1) * (kNumOps + 1)];
  std::vector<std::unique_ptr<Reducer>> retired_reducers_;
  const Algorithm* forced_[kNumCollectives] = {};
  bool deterministic_ = false;
  uint32_t settings_ = 1;  // counts changes of the two above
  uint64_t sequence_ = 0;
  Operation inline_operations_[kNumCollectives];  // of blocking calls
  const Operation* inline_running_ = nullptr;
  std::deque<Request*> queue_;    // collectives not started
  Request* active_ = nullptr;     // the collective under way
  std::vector<Request*> moving_;  // transfers under way
  std::vector<std::unique_ptr<Request>> pool_;
  Status failure_;
  int64_t call_started_ns_ = 0, last_look_ns_ = 0;
  bool lateness_told_ = false, waiting_reported_ = false;

  std::atomic<int64_t> timeout_ms_;
  std::atomic<bool> usable_{true};
  std::atomic<bool> interrupted_{false};
  std::atomic<int> pending_{0};   // requests under way
  std::atomic<int> waiters_{0};   // threads that drive it themselves
  std::atomic<int> visitors_{0};  // threads that want mutex_ while a blocking call runs
  std::atomic<bool> registered_{false};
  std::mutex naming_;
  std::map<std::vector<int>, int> sub_counters_;
  int split_counter_ = 0;
};

}  // namespace wia
