// How frames get from one rank of a communicator to another: what FrameEndpoint needs of a network.
//
// Frames of a pair may overtake each other where there are several ways (NICs), but for packets, which take
// one way. Nothing blocks. Used by one thread at a time.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "transport/frame.hpp"
#include "transport/messages.hpp"

namespace wia {

// A frame on its way in.
struct Arriving {
  StoredMessage* message = nullptr;
  std::byte* data = nullptr;
};

// Where a wire puts what arrives.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A frame begins to arrive: where its bytes go. Null: none that may come now; the peer is lost then.
  virtual Arriving begin(int peer, const FrameHeader& header) = 0;
  // All of it is there.
  virtual void arrived(int peer, const FrameHeader& header, Arriving arriving) = 0;
  // The rest of it will not come.
  virtual void broken_off(Arriving arriving) = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  // Before anything else: where frames go, and whose buffers they are sent from.
  void attach(FrameSink* sink, std::shared_ptr<MessagePool> pool) {
    sink_ = sink;
    pool_ = std::move(pool);
    attached();
  }

  // Whether send() may be called now; begins to open the way to the peer if there is none yet.
  virtual bool ready(int peer, FrameKind kind) = 0;
  // `head`: whole frames, then the header of the last, whose bytes are `data`. A buffer is given along with
  // one more user, which the wire takes off; without one the data stays as it is until flushed().
  virtual void send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data,
                    size_t bytes, MessageBuffer* buffer) = 0;
  // Data frames that are sent from now on take so many of a pair's ways at most; 0: all.
  void use_rails(int most) { most_rails_ = most > 0 ? static_cast<size_t>(most) : SIZE_MAX; }
  // Nothing that was sent to the peer (or to anyone) is still held here.
  virtual bool flushed(int peer) = 0;
  virtual bool flushed() = 0;
  // Takes what has come from the peer, a message at a time: true if anything came. Begins to open the way.
  virtual bool poll(int peer) = 0;
  // Whether long data of others is copied before it is sent: who has several peers had better stage it once.
  virtual bool copies_data() const { return false; }
  // Why nothing more will come from the peer; null: all is well.
  virtual const Status* loss(int peer) const = 0;
  // Whether the peer can be heard at present; begins nothing.
  virtual bool connected(int peer) = 0;
  // "10.0.0.2 by eth0 (pid 12 of host n1)": for error texts.
  virtual std::string describe(int peer) const = 0;
  // Last words to all who are connected; what was under way is dropped, and no memory of others is used any
  // more.
  virtual void end(std::span<const std::byte> last_words) = 0;

 protected:
  virtual void attached() {}
  size_t usable(size_t rails) const { return std::min(rails, most_rails_); }

  size_t most_rails_ = SIZE_MAX;
  FrameSink* sink_ = nullptr;
  std::shared_ptr<MessagePool> pool_;
};

}  // namespace wia
