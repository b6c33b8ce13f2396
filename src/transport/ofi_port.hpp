// One NIC as libfabric gives it - a domain, an endpoint, its queue of completions, its peers' addresses,
// registered buffers for short messages - shared by all communicators of this process: it costs tens of
// milliseconds and descriptors that a communicator should not. It is opened on first use and stays to the end
// of the process, so that a communicator that goes takes nothing along that others use, or that is still on
// its way.
//
// A communicator takes a seat. Whoever waits polls: if no other thread does just now, it takes what has come
// for all, and puts it into the inboxes of the seats that it is for; so nobody depends on another's thread.
// One mutex guards libfabric's objects (FI_THREAD_DOMAIN); nothing blocks while it is held.
//
// libfabric uses memory of the port (short messages) and of a communicator's message pool (long ones), never
// a user's: there is no way to end a transfer on an endpoint that others use, so memory that it may still
// touch must not be anybody's who wants it back. A seat that is left stays, with its pool, until its last
// transfer has ended. That costs a copy of long data that a user sends or receives in place, and saves the
// registration of his memory for each message; the pool's memory is registered once.
//
// Messages are untagged and land in multi-receive buffers: whose a message is says its header, so there is
// nothing for tags to match, and a few large buffers take what posted receives of the longest message each
// would need many times the memory for. Thread safe.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/ofi_message.hpp"
#include "transport/ofi_nics.hpp"
#include "transport/ofi_seat.hpp"

namespace wia {

class OfiPort {
 public:
  // The one of this process. `wake_sleepers`: the queue gets a descriptor that the network's thread watches,
  // where the provider has one. Then each message costs a write and some reads of it (tcp;ofi_rxm: 12.4 us
  // instead of 10.5 for 8 bytes, 44 instead of 30 for 16 KB), which is for those who sleep at once.
  static Result<OfiPort*> on(const OfiLibrary& library, const OfiNic& nic, bool wake_sleepers);
  bool wakes_sleepers() const { return wakes_sleepers_; }
  // Before a sleep at the bell: it is rung at once by ports that have something.
  static void arm_all(Doorbell& bell);
  // False: something that communicators which have ended sent is still under way at the deadline.
  static bool settle(Deadline deadline);

  const std::string& text() const { return text_; }  // "tcp;ofi_rxm on eth0"
  std::string name() const;                          // hexadecimal
  Result<fi_addr_t> find_peer(const std::string& name);

  // A communicator's seat: from now on messages to it are kept. leave() is its end.
  OfiSeat* take_seat(uint64_t communicator);
  // `belongings`: what the reads and offers use that are under way; null: there are none.
  void leave(OfiSeat* seat, std::shared_ptr<const void> belongings);

  // Null: no memory. It goes by send(), which takes it in any case, and whose end is news; or nowhere.
  OfiMessage* take_message(OfiSeat& seat);
  void send(OfiMessage* message, bool awaited = true);  // by settle()
  void drop(OfiMessage* message);
  // Of the whole buffer's bytes; `taken` is news.
  Result<OfiOffer> offer(OfiSeat& seat, int peer, MessageBuffer* buffer);

  // Sends and offers to a peer that hears nothing any more: settle() does not wait for them.
  void give_up(OfiSeat& seat, int peer);

  // Memory of the pool to read into; null where it needs no registration.
  Result<OfiRegion*> hold(OfiSeat& seat, MessageBuffer* buffer);
  void let_go(OfiSeat& seat, OfiRegion* region);
  // 0, or -FI_EAGAIN for not now, or an error of libfabric. Its end is news.
  ssize_t read(OfiSeat& seat, OfiRead* operation, fi_addr_t from, std::span<std::byte> to,
               const OfiRegion* region, uint64_t address, uint64_t key);
  // Once the read has ended, whether the seat has been left by then or not.
  void send_after(OfiRead* read, OfiMessage* message, bool awaited);
  size_t longest_read() const { return longest_read_; }

  // Takes what has come and moves things along, unless another thread does. `own`: whose thread this is.
  void poll(const OfiSeat* own);

 private:
  struct ReceiveBuffer : OfiOperation {
    static constexpr size_t kBytes = 256 << 10;
    std::byte* data = nullptr;
    void* descriptor = nullptr;
  };
  // A frame whose bytes a peer reads from here.
  struct Offered {
    OfiSeat* seat = nullptr;  // null: free
    int peer = -1;
    OfiRegion* region = nullptr;
    MessageBuffer* buffer = nullptr;
    bool given_up = false;
  };
  static constexpr size_t kReceiveBuffers = 4;
  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kMessages = 16;  // whose memory is had at a time

  explicit OfiPort(const OfiLibrary& library) : library_(library), domain_{library} {}
  static std::vector<OfiPort*> all();
  Status open(const OfiNic& nic);
  Status open_queue(size_t entries, bool with_descriptor);
  Status open_objects(fi_info& info);
  Status post_receives();
  Status receive_again(ReceiveBuffer& buffer);
  bool add_messages();
  bool may_sleep();

  // Under the mutex.
  void take_completions();
  void take_error();
  void complete(OfiOperation* operation, std::span<const std::byte> received, bool last, int error);
  void route(std::span<const std::byte> message);
  void take_back(uint32_t number, const OfiHeader& header);
  void end_offer(Offered& offered);
  void tell(OfiSeat& seat, OfiNews news, std::span<const std::byte> bytes = {});
  void finish_send(OfiMessage* message, int error);
  void give_back(OfiMessage* message);
  void submit(OfiMessage* message);
  void send_waiting();
  void clear_seats();
  std::string reason_of(int error) const;

  const OfiLibrary& library_;
  std::string text_;
  OfiDomain domain_;
  size_t longest_read_ = 0;
  bool wakes_sleepers_ = false;
  std::unique_ptr<std::byte[]> receive_memory_;
  std::vector<ReceiveBuffer> receives_;

  std::mutex mutex_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_object_;
  std::unique_ptr<OfiMemoryCache> own_memory_;  // registrations outlive what refers to them
  Fid<fid_av> addresses_;
  Fid<fid_cq> completions_;
  Fid<fid_ep> endpoint_;
  std::map<std::string, fi_addr_t> peers_;  // by name
  std::vector<std::unique_ptr<OfiMessage[]>> messages_;
  OfiMessage* free_ = nullptr;
  // To a peer that libfabric has no connection with yet, or that is slow: in order.
  std::map<fi_addr_t, std::deque<OfiMessage*>> waiting_;
  std::unordered_map<uint32_t, std::unique_ptr<OfiSeat>> seats_;
  std::deque<OfiSeat*> left_;  // seats, the one that was left first before the others
  uint32_t last_number_ = 0;
  std::vector<Offered> offered_;
  std::vector<uint32_t> free_offered_;
  const OfiSeat* polling_ = nullptr;
  bool others_have_news_ = false;
};

}  // namespace wia
