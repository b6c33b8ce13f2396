#include <fmt/core.h>
#include <unistd.h>

#include "bootstrap/store.hpp"
#include "bootstrap/store_loop.hpp"

namespace wia {
namespace {

// What the caller holds. A forked child has no server thread, and may have caught the server's data in the
// middle of a change: there it is left as it is.
class Handle final : public StoreServer {
 public:
  explicit Handle(std::unique_ptr<StoreLoop> loop) : loop_(std::move(loop)), process_(getpid()) {}
  ~Handle() override {
    if (getpid() != process_) static_cast<void>(loop_.release());
  }
  int port() const override { return loop_->port(); }
  std::vector<int> wait_until_left(int rank, Deadline deadline) override {
    return loop_->gate().wait_until_left(rank, deadline);
  }

 private:
  std::unique_ptr<StoreLoop> loop_;
  const pid_t process_;
};

}  // namespace

std::string left_key(int rank) { return fmt::format("left/{}", rank); }

Result<std::unique_ptr<StoreServer>> StoreServer::start(const std::string& host, int port,
                                                        JobIdentity identity) {
  if (port < 0 || port > 65535)
    return Status::error(Code::invalid_argument, "port {} is not in the range 0 to 65535", port);
  if (identity.job.size() > store_protocol::kMaxName || identity.secret.size() > store_protocol::kMaxName)
    return Status::error(Code::invalid_argument, "job and secret may have {} bytes at most",
                         store_protocol::kMaxName);
  Result<Listener> listener = listen_on(host, port, Deadline::after_ms(10'000));
  if (!listener.ok()) return listener.take_status();
  auto loop = std::make_unique<StoreLoop>(std::move(*listener), std::move(identity));
  WIA_RETURN_IF_ERROR(loop->run());
  return std::unique_ptr<StoreServer>(std::make_unique<Handle>(std::move(loop)));
}

}  // namespace wia
