// libwia's C++20 face: communicators, typed buffers, requests; header-only over <wia/wia.h>.
//
//   auto world = wia::Communicator::init().value();           // throws wia::Error, only here
//   std::vector<float> gradients = ...;
//   if (auto status = world.all_reduce(gradients); !status.ok()) std::puts(status.message().c_str());
//   wia::Request request = world.async().all_reduce(gradients).value();
//   request.wait().value();
//
// Errors are values: Status, or Result<T> with a T. Nothing here throws but value(), which throws Error.
// Buffers are contiguous ranges (std::vector, std::array, std::span, wia::Buffer) of a type that dtype_of
// knows. They are checked for length here and stay the caller's; asynchronous calls use them until their
// request is done. Threads, ownership, time limits and what is in place: as <wia/wia.h> says for the function
// of the same name.
#pragma once
#include <wia/wia.h>
#include <wia/dtype.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace wia {
inline namespace v0 {  // a version in the symbols: programs that mix versions of this header still link

// ---- Outcomes ----------------------------------------------------------------------------------

class Error : public std::runtime_error {
 public:
  Error(wia_status_t code, const std::string& message) : std::runtime_error(message), code_(code) {}
  wia_status_t code() const { return code_; }

 private:
  wia_status_t code_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(wia_status_t code, std::string message) : code_(code), message_(std::move(message)) {}
  // The outcome of a C call that this thread has just made.
  static Status of(wia_status_t code) {
    return code == WIA_SUCCESS ? Status() : Status(code, wia_last_error_message());
  }

  bool ok() const { return code_ == WIA_SUCCESS; }
  wia_status_t code() const { return code_; }
  const std::string& message() const { return message_; }  // empty when ok
  void value() const {
    if (!ok()) throw Error(code_, message_);
  }

 private:
  wia_status_t code_ = WIA_SUCCESS;
  std::string message_;
};

// A T, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Status error) : content_(std::in_place_index<1>, std::move(error)) {}  // not ok

  bool ok() const { return content_.index() == 0; }
  wia_status_t code() const { return status().code(); }
  const std::string& message() const { return status().message(); }
  const Status& status() const {
    static const Status success;
    return ok() ? success : std::get<1>(content_);
  }
  T& value() & { return status().value(), std::get<0>(content_); }
  T value() && { return status().value(), std::get<0>(std::move(content_)); }
  T& operator*() { return std::get<0>(content_); }  // requires ok()
  T* operator->() { return &std::get<0>(content_); }

 private:
  std::variant<T, Status> content_;
};

// ---- Memory ----------------------------------------------------------------------------------------

// Elements in memory that the other ranks of the host reach directly (wia_alloc): collectives on it need no
// copies. Zero at first. Move-only.
template <class T>
requires std::is_trivially_copyable_v<T>
class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T))
      return Status(WIA_ERROR_OUT_OF_MEMORY, "wia::Buffer: too many elements");
    Buffer buffer;
    if (count == 0) return buffer;
    buffer.data_.reset(static_cast<T*>(wia_alloc(count * sizeof(T))));
    if (!buffer.data_) return Status::of(wia_last_error());
    buffer.count_ = count;
    std::uninitialized_value_construct_n(buffer.data(), count);
    return buffer;
  }

  T* data() const { return data_.get(); }
  std::size_t size() const { return count_; }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }
  T& operator[](std::size_t i) const { return data()[i]; }
  std::span<T> span() const { return {data(), count_}; }
  std::span<T> subspan(std::size_t offset, std::size_t count) const { return span().subspan(offset, count); }

 private:
  struct Free {
    void operator()(T* pointer) const { wia_free(pointer); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t count_ = 0;
};

// ---- Requests --------------------------------------------------------------------------------------

// An operation under way. Move-only. The destructor of an unfinished request waits for it: the library may
// still read and write its buffers, which usually end with the same scope. That wait is bounded by the
// communicator's timeout, and short after Communicator::abort(). An outcome that nobody asked for is dropped.
class Request {
 public:
  Request() = default;
  explicit Request(wia_request_t* request) : request_(request) {}  // takes it over
  Request(Request&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    Request previous(std::move(*this));
    request_ = std::exchange(other.request_, nullptr);
    return *this;
  }
  ~Request() {
    if (request_) wia_request_wait(request_, -1);
  }

  bool pending() const { return request_ != nullptr; }  // false once an outcome was given
  // Each gives the outcome once; asked again, they say success.
  Status wait() {
    if (!request_) return {};
    return Status::of(wia_request_wait(std::exchange(request_, nullptr), -1));
  }
  // true: done, with success. false: not done within the time (rounded up to milliseconds).
  template <class Rep, class Period>
  Result<bool> wait_for(std::chrono::duration<Rep, Period> time) {
    if (!request_) return true;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(time).count();
    return outcome(wia_request_wait(request_, milliseconds > 0 ? milliseconds : 0));
  }
  Result<bool> test() {  // never waits
    if (!request_) return true;
    bool done = false;
    const wia_status_t code = wia_request_test(request_, &done);
    return outcome(done ? code : WIA_IN_PROGRESS);
  }

 private:
  Result<bool> outcome(wia_status_t code) {
    if (code == WIA_IN_PROGRESS) return false;
    request_ = nullptr;
    if (code != WIA_SUCCESS) return Status::of(code);
    return true;
  }
  wia_request_t* request_ = nullptr;
};

// ---- Collectives -----------------------------------------------------------------------------------

// What calls take as buffers.
template <class R>
concept Input = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> &&(dtype_of<std::ranges::range_value_t<R>>::value >= 0);
template <class R>
concept Output = Input<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
template <class R, class S>
concept OutputLike = Output<R> && std::same_as<std::ranges::range_value_t<R>, std::ranges::range_value_t<S>>;
template <class R>
inline constexpr wia_dtype_t range_dtype = dtype_of<std::ranges::range_value_t<R>>::value;

// Every collective, once for both ways to call it. Outcome is Status: the calls return when the result is
// there; or Result<Request>: they return at once. Forms with one buffer are in place.
template <class Outcome>
class Collectives {
 public:
  explicit Collectives(wia_communicator_t* comm = nullptr) : comm_(comm) {}

  template <Input S, OutputLike<S> R>
  Outcome all_reduce(S&& send, R&& recv, wia_op_t op = WIA_OP_SUM) const {
    if (auto s = equal("all_reduce: recv", size(recv), size(send)); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_all_reduce(data(send), data(recv), size(send), range_dtype<S>, op, comm_, r);
    });
  }
  template <Output R>
  Outcome all_reduce(R&& buffer, wia_op_t op = WIA_OP_SUM) const {
    return all_reduce(buffer, buffer, op);
  }

  // recv: one block of send's size from each rank. In place: this rank's block is filled before.
  template <Input S, OutputLike<S> R>
  Outcome all_gather(S&& send, R&& recv) const {
    if (auto s = equal("all_gather: recv", size(recv), size(send) * ranks()); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_all_gather(data(send), data(recv), size(send), range_dtype<S>, comm_, r);
    });
  }
  template <Output R>
  Outcome all_gather(R&& buffer) const {
    if (auto s = divisible("all_gather: buffer", size(buffer)); !s.ok()) return s;
    return all_gather(own_block(buffer), buffer);
  }

  // send: one block of recv's size for each rank. In place: the sum lands in this rank's block.
  template <Input S, OutputLike<S> R>
  Outcome reduce_scatter(S&& send, R&& recv, wia_op_t op = WIA_OP_SUM) const {
    if (auto s = equal("reduce_scatter: send", size(send), size(recv) * ranks()); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_reduce_scatter_block(data(send), data(recv), size(recv), range_dtype<S>, op, comm_, r);
    });
  }
  template <Output R>
  Outcome reduce_scatter(R&& buffer, wia_op_t op = WIA_OP_SUM) const {
    if (auto s = divisible("reduce_scatter: buffer", size(buffer)); !s.ok()) return s;
    return reduce_scatter(buffer, own_block(buffer), op);
  }

  template <Output R>
  Outcome broadcast(R&& buffer, int root = 0) const {
    return run([&](auto** r) {
      return wia_broadcast_buffer(data(buffer), size(buffer), range_dtype<R>, root, comm_, r);
    });
  }

  // recv is used on the root only and may be empty elsewhere.
  template <Input S, OutputLike<S> R>
  Outcome reduce(S&& send, R&& recv, wia_op_t op = WIA_OP_SUM, int root = 0) const {
    if (auto s = equal_on(root, "reduce: recv", size(recv), size(send)); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_reduce(data(send), data(recv), size(send), range_dtype<S>, op, root, comm_, r);
    });
  }
  template <Input S, OutputLike<S> R>
  Outcome gather(S&& send, R&& recv, int root = 0) const {
    if (auto s = equal_on(root, "gather: recv", size(recv), size(send) * ranks()); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_gather(data(send), data(recv), size(send), range_dtype<S>, root, comm_, r);
    });
  }
  // send is used on the root only and may be empty elsewhere.
  template <Input S, OutputLike<S> R>
  Outcome scatter(S&& send, R&& recv, int root = 0) const {
    if (auto s = equal_on(root, "scatter: send", size(send), size(recv) * ranks()); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_scatter(data(send), data(recv), size(recv), range_dtype<S>, root, comm_, r);
    });
  }

  // Block i of send goes to rank i; block i of recv comes from it.
  template <Input S, OutputLike<S> R>
  Outcome all_to_all(S&& send, R&& recv) const {
    if (auto s = equal("all_to_all: recv", size(recv), size(send)); !s.ok()) return s;
    if (auto s = divisible("all_to_all: send", size(send)); !s.ok()) return s;
    return run([&](auto** r) {
      return wia_all_to_all(data(send), data(recv), size(send) / ranks(), range_dtype<S>, comm_, r);
    });
  }
  template <Output R>
  Outcome all_to_all(R&& buffer) const {
    return all_to_all(buffer, buffer);
  }

  Outcome barrier() const {
    return run([&](auto** r) { return wia_barrier_async(comm_, r); });
  }

  template <Input S>
  Outcome send(S&& buffer, int to, int tag = 0) const {
    return run(
        [&](auto** r) { return wia_send(data(buffer), size(buffer), range_dtype<S>, to, tag, comm_, r); });
  }
  template <Output R>
  Outcome recv(R&& buffer, int from, int tag = 0) const {
    return run(
        [&](auto** r) { return wia_recv(data(buffer), size(buffer), range_dtype<R>, from, tag, comm_, r); });
  }

 protected:
  static auto* data(auto& range) { return std::ranges::data(range); }
  static std::size_t size(auto& range) { return std::ranges::size(range); }
  std::size_t ranks() const { return comm_ ? static_cast<std::size_t>(comm_->num_ranks) : 1; }

  wia_communicator_t* comm_;

 private:
  template <class Call>
  static Outcome run(Call call) {
    if constexpr (std::same_as<Outcome, Status>) {
      return Status::of(call(static_cast<wia_request_t**>(nullptr)));
    } else {
      wia_request_t* request = nullptr;
      const wia_status_t code = call(&request);
      if (code != WIA_SUCCESS) return Status::of(code);
      return Request(request);
    }
  }
  template <class R>
  auto own_block(R& buffer) const {
    const std::size_t block = size(buffer) / ranks();
    return std::span(data(buffer), size(buffer)).subspan(block * static_cast<std::size_t>(rank()), block);
  }
  int rank() const { return comm_ ? comm_->my_rank : 0; }
  static Status equal(const char* what, std::size_t has, std::size_t needs) {
    if (has == needs) return {};
    return {WIA_ERROR_INVALID_ARGUMENT, std::string(what) + " holds " + std::to_string(has) +
                                            " elements, needs " + std::to_string(needs)};
  }
  Status equal_on(int root, const char* what, std::size_t has, std::size_t needs) const {
    return rank() == root ? equal(what, has, needs) : Status();
  }
  Status divisible(const char* what, std::size_t has) const {
    if (has % ranks() == 0) return {};
    return {WIA_ERROR_INVALID_ARGUMENT, std::string(what) + " holds " + std::to_string(has) +
                                            " elements, which " + std::to_string(ranks()) +
                                            " ranks do not divide"};
  }
};

// ---- Topology --------------------------------------------------------------------------------------

// What is connected to what: devices 0 to size() - 1 (the ranks of a communicator, or this host's devices)
// and a link for every ordered pair, as wia_discover_topology says. Move-only.
class Topology {
 public:
  static Result<Topology> of_host() { return take(wia_discover_topology(nullptr)); }
  static Result<Topology> read(const std::string& file) { return take(wia_topology_read(file.c_str())); }
  static Result<Topology> take(wia_topology_t* topology) {  // takes it over; NULL: the last error
    if (!topology) return Status::of(wia_last_error());
    return Topology(topology);
  }

  int size() const { return wia_topology_num_devices(handle_.get()); }
  Result<DeviceLink> link(int source, int target) const {
    DeviceLink link{};
    const wia_status_t code = wia_topology_link(handle_.get(), source, target, &link);
    if (code != WIA_SUCCESS) return Status::of(code);
    return link;
  }
  wia_evidence_t evidence(int source, int target, wia_figure_t figure) const {
    return wia_topology_evidence(handle_.get(), source, target, figure);
  }
  std::string json() const { return wia_topology_json(handle_.get()); }
  Status write(const std::string& file) const {
    return Status::of(wia_topology_write(handle_.get(), file.c_str()));
  }

 private:
  struct Free {
    void operator()(wia_topology_t* topology) const { wia_topology_free(topology); }
  };
  explicit Topology(wia_topology_t* topology) : handle_(topology) {}
  std::unique_ptr<wia_topology_t, Free> handle_;
};

// ---- Communicators ---------------------------------------------------------------------------------

// A group of ranks. Move-only. Owns what it was made with (init, init_rank, split, duplicate, create, adopt)
// and closes it in its destructor, which is local and bounded; what is borrowed stays open. One that holds
// nothing (default, moved from, split with a negative color) is not valid(); its calls return an error.
class Communicator : public Collectives<Status> {
 public:
  Communicator() = default;
  Communicator(Communicator&& other) noexcept
      : Collectives(std::exchange(other.comm_, nullptr)), close_(std::exchange(other.close_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    Communicator previous(std::move(*this));
    comm_ = std::exchange(other.comm_, nullptr);
    close_ = std::exchange(other.close_, nullptr);
    return *this;
  }
  ~Communicator() {
    if (comm_ && close_) close_(comm_);
  }

  // All ranks of the job (wia_init). The object finishes the library (wia_finalize): it has to live longest.
  static Result<Communicator> init() {
    return make([](auto** out) { return wia_init(out); }, [](wia_communicator_t*) { return wia_finalize(); });
  }
  static Result<Communicator> init_rank(int num_ranks, const wia_unique_id_t& id, int rank) {
    return make([&](auto** out) { return wia_init_rank(out, num_ranks, &id, rank); });
  }
  static Communicator adopt(wia_communicator_t* comm) { return {comm, wia_communicator_destroy}; }
  static Communicator borrow(wia_communicator_t* comm) { return {comm, nullptr}; }

  bool valid() const { return comm_ != nullptr; }
  wia_communicator_t* handle() const { return comm_; }  // for the calls of <wia/wia.h>
  int rank() const { return wia_rank(comm_); }
  int size() const { return wia_size(comm_); }

  // The same calls, returning a Request at once: world.async().all_reduce(gradients).
  Collectives<Result<Request>> async() const { return Collectives<Result<Request>>(comm_); }

  template <Input S, OutputLike<S> R>
  Status send_recv(S&& send, int to, R&& recv, int from, int tag = 0) const {
    return Status::of(wia_sendrecv(data(send), std::ranges::size(send), to, data(recv),
                                   std::ranges::size(recv), from, range_dtype<S>, tag, comm_));
  }

  Result<Communicator> split(int color, int key = 0) const {
    return make([&](auto** out) { return wia_communicator_split(comm_, color, key, out); });
  }
  Result<Communicator> duplicate() const {
    return make([&](auto** out) { return wia_communicator_duplicate(comm_, out); });
  }
  Result<Communicator> create(std::span<const int> ranks) const {
    return make([&](auto** out) {
      return wia_communicator_create(comm_, ranks.data(), static_cast<int>(ranks.size()), out);
    });
  }
  // Collective; see wia_discover_topology. Without a time: the library's.
  Result<Topology> discover_topology(bool measure = true, std::chrono::milliseconds budget = {}) const {
    wia_topology_options_t options{};
    options.struct_size = sizeof options;
    options.measure = measure;
    options.budget_ms = budget.count();
    if (!comm_) return Status(WIA_ERROR_INVALID_ARGUMENT, "wia::Communicator: is not valid");
    return Topology::take(wia_discover_topology_with(comm_, &options));
  }
  Status abort() const { return Status::of(wia_communicator_abort(comm_)); }
  Status status() const { return Status::of(wia_communicator_status(comm_)); }
  Status set_timeout(std::chrono::milliseconds time) const {
    return Status::of(wia_communicator_set_timeout(comm_, time.count()));
  }

 private:
  using Close = wia_status_t (*)(wia_communicator_t*);
  Communicator(wia_communicator_t* comm, Close close) : Collectives(comm), close_(close) {}
  template <class Call>
  static Result<Communicator> make(Call call, Close close = wia_communicator_destroy) {
    wia_communicator_t* comm = nullptr;
    const wia_status_t code = call(&comm);
    if (code != WIA_SUCCESS) return Status::of(code);
    return Communicator(comm, close);
  }
  Close close_ = nullptr;
};

}  // namespace v0
}  // namespace wia
