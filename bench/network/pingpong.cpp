// What libwia adds to a TCP socket: two ranks send a message there and back, in turn over a bare socket,
// spinning, and by wia_send and wia_recv; the same with a large message one way. Medians over batches, both
// sides in one run.
//
//   network_pingpong ADDRESS      an IPv4 address of rank 0's host, for the bare socket
//
// The launcher's variables say who is who (docs/launching.md); bench/network/run starts it in two namespaces.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <wia/wia.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr size_t kSmall = 8, kLarge = size_t{4} << 20;
constexpr int kBatches = 41, kSmallCalls = 400, kLargeCalls = 8;

wia_communicator_t* world;
int rank;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "network_pingpong: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}
void must(wia_status_t status) {
  if (status == WIA_SUCCESS) return;
  std::fprintf(stderr, "network_pingpong: %s\n", wia_last_error_message());
  std::exit(1);
}
double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// A way to send whole messages to the other rank, and to receive them.
struct Way {
  virtual ~Way() = default;
  virtual void send(const char* data, size_t bytes) = 0;
  virtual void receive(char* data, size_t bytes) = 0;
};

struct BareSocket final : Way {
  int fd = -1;
  explicit BareSocket(const char* host) {  // rank 0 listens, rank 1 connects
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail(host);
    socklen_t length = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 0 && (bind(fd, raw, length) != 0 || listen(fd, 1) != 0 || getsockname(fd, raw, &length) != 0))
      fail(host);
    must(wia_broadcast_buffer(&address.sin_port, 1, WIA_UINT16, 0, world, nullptr));
    if (rank == 1 && connect(fd, raw, length) != 0) fail(host);
    if (rank == 0) {
      const int listener = fd;
      fd = accept(listener, nullptr, nullptr);
      close(listener);
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~BareSocket() override { close(fd); }
  void send(const char* data, size_t bytes) override {
    while (bytes > 0) {
      const ssize_t sent = ::send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) fail("send");
      if (sent > 0) data += sent, bytes -= static_cast<size_t>(sent);
    }
  }
  void receive(char* data, size_t bytes) override {
    while (bytes > 0) {
      const ssize_t got = recv(fd, data, bytes, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) fail("recv");
      if (got > 0) data += got, bytes -= static_cast<size_t>(got);
    }
  }
};

struct Library final : Way {
  void send(const char* data, size_t bytes) override {
    must(wia_send(data, bytes, WIA_UINT8, 1 - rank, 0, world, nullptr));
  }
  void receive(char* data, size_t bytes) override {
    must(wia_recv(data, bytes, WIA_UINT8, 1 - rank, 0, world, nullptr));
  }
};

// Seconds for one message one way.
double small_messages(Way& way, std::vector<char>& data) {
  const double start = now();
  for (int i = 0; i < kSmallCalls; ++i) {
    if (rank == 0) way.send(data.data(), kSmall);
    way.receive(data.data(), kSmall);
    if (rank == 1) way.send(data.data(), kSmall);
  }
  return (now() - start) / kSmallCalls / 2;
}

double large_messages(Way& way, std::vector<char>& data) {
  const double start = now();
  for (int i = 0; i < kLargeCalls; ++i)
    rank == 0 ? way.send(data.data(), kLarge) : way.receive(data.data(), kLarge);
  rank == 0 ? way.receive(data.data(), kSmall) : way.send(data.data(), kSmall);
  return (now() - start) / kLargeCalls;
}

struct Spread {
  double low, median, high;  // tenth, half, nine tenths
};
Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 10], values[values.size() / 2], values[values.size() * 9 / 10]};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: network_pingpong ADDRESS\n"), 2;
  must(wia_init(&world));
  rank = wia_rank(world);
  if (wia_size(world) != 2) return std::fprintf(stderr, "network_pingpong: wants two ranks\n"), 2;
  BareSocket bare(argv[1]);
  Library library;
  std::vector<char> data(kLarge, 1);
  std::vector<double> small[2], large[2];
  for (int batch = -2; batch < kBatches; ++batch)
    for (int which = 0; which < 2; ++which) {
      Way& way = which == 0 ? static_cast<Way&>(bare) : library;
      const double small_s = small_messages(way, data), large_s = large_messages(way, data);
      if (batch < 0) continue;  // warm-up
      small[which].push_back(small_s * 1e6);
      large[which].push_back(kLarge / large_s * 1e-9);
    }
  if (rank == 0) {
    const Spread s0 = spread(small[0]), s1 = spread(small[1]), l0 = spread(large[0]), l1 = spread(large[1]);
    std::printf(
        "8 bytes one way, us, median (10%%, 90%%):  socket %.2f (%.2f, %.2f)  libwia %.2f (%.2f, %.2f)  "
        "ratio %.3f\n",
        s0.median, s0.low, s0.high, s1.median, s1.low, s1.high, s1.median / s0.median);
    std::printf(
        "4 MiB one way, GB/s, median (10%%, 90%%):  socket %.2f (%.2f, %.2f)  libwia %.2f (%.2f, %.2f)  "
        "ratio %.3f\n",
        l0.median, l0.low, l0.high, l1.median, l1.low, l1.high, l1.median / l0.median);
  }
  must(wia_finalize());
}
