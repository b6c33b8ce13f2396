#include "bootstrap/store_protocol.hpp"

namespace wia::store_protocol {
namespace {

// Little-endian numbers, strings with a 4-byte length.
class Writer {
 public:
  Writer() : bytes_(4, '\0') {}  // room for the frame's length
  template <class Number>
  Writer& number(Number value) {
    const uint64_t bits = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(Number); ++i) bytes_ += static_cast<char>(bits >> (8 * i));
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  std::string frame() {
    const size_t length = bytes_.size() - 4;
    for (size_t i = 0; i < 4; ++i) bytes_[i] = static_cast<char>(length >> (8 * i));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class Number>
  Reader& number(Number& value) {
    uint64_t bits = 0;
    const std::string_view raw = take(sizeof(Number));
    for (size_t i = 0; i < raw.size(); ++i) bits |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
    value = static_cast<Number>(bits);
    return *this;
  }
  Reader& text(std::string& value, size_t most) {
    uint32_t size = 0;
    number(size);
    if (size > most) good_ = false;
    value = take(size);
    return *this;
  }
  // Items of at least `least_size` bytes; fails before anybody allocates for more than there are.
  uint32_t count(size_t most, size_t least_size) {
    uint32_t value = 0;
    number(value);
    if (value > most || value > bytes_.size() / least_size) good_ = false;
    return good_ ? value : 0;
  }
  bool finished() const { return good_ && bytes_.empty(); }

 private:
  std::string_view take(size_t size) {
    if (size > bytes_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

std::string opening(std::string_view magic) { return std::string(magic) + static_cast<char>(kVersion); }

uint32_t frame_length(std::string_view bytes) {
  uint32_t length = 0;
  Reader(bytes.substr(0, 4)).number(length);
  return length;
}

std::string encode(const Hello& hello) {
  Writer writer;
  writer.number(hello.world_size).number(hello.rank).number(hello.client);
  return writer.text(hello.job).text(hello.secret).text(hello.member).frame();
}

std::optional<Hello> decode_hello(std::string_view body) {
  Hello hello;
  Reader reader(body);
  reader.number(hello.world_size).number(hello.rank).number(hello.client);
  reader.text(hello.job, kMaxName).text(hello.secret, kMaxName).text(hello.member, kMaxName);
  if (!reader.finished()) return std::nullopt;
  return hello;
}

std::string encode(const Request& request) {
  Writer writer;
  writer.number(static_cast<uint8_t>(request.operation));
  if (request.operation == Operation::get_all) {
    writer.number(request.timeout_ms).number(static_cast<uint32_t>(request.keys.size()));
    for (const std::string& key : request.keys) writer.text(key);
    return writer.frame();
  }
  writer.text(request.keys.front());
  if (request.operation == Operation::add) writer.number(request.amount);
  if (request.operation == Operation::set || request.operation == Operation::set_if_absent)
    writer.text(request.value);
  return writer.frame();
}

std::optional<Request> decode_request(std::string_view body) {
  Request request;
  Reader reader(body);
  uint8_t operation = 0;
  reader.number(operation);
  if (operation < 1 || operation > 5) return std::nullopt;
  request.operation = static_cast<Operation>(operation);
  uint32_t keys = 1;
  if (request.operation == Operation::get_all) {
    reader.number(request.timeout_ms);
    keys = reader.count(kMaxKeysPerRequest, 4);
    if (keys == 0) return std::nullopt;
  }
  request.keys.resize(keys);
  for (std::string& key : request.keys) reader.text(key, kMaxKey);
  if (request.operation == Operation::add) reader.number(request.amount);
  if (request.operation == Operation::set || request.operation == Operation::set_if_absent)
    reader.text(request.value, kMaxValue);
  if (!reader.finished()) return std::nullopt;
  return request;
}

std::string encode(const Reply& reply) {
  Writer writer;
  writer.number(static_cast<uint8_t>(reply.answer));
  if (reply.answer == Answer::ok) {
    writer.number(static_cast<uint32_t>(reply.values.size()));
    for (const std::string& value : reply.values) writer.text(value);
  } else if (reply.answer == Answer::timeout) {
    writer.number(static_cast<uint32_t>(reply.missing.size()));
    for (const uint32_t index : reply.missing) writer.number(index);
  } else {
    writer.text(reply.text);
  }
  return writer.frame();
}

std::optional<Reply> decode_reply(std::string_view body) {
  Reply reply;
  Reader reader(body);
  uint8_t answer = 0;
  reader.number(answer);
  if (answer > static_cast<uint8_t>(Answer::rank_taken)) return std::nullopt;
  reply.answer = static_cast<Answer>(answer);
  if (reply.answer == Answer::ok) {
    reply.values.resize(reader.count(kMaxKeysPerRequest, 4));
    for (std::string& value : reply.values) reader.text(value, kMaxValue);
  } else if (reply.answer == Answer::timeout) {
    reply.missing.resize(reader.count(kMaxKeysPerRequest, 4));
    for (uint32_t& index : reply.missing) reader.number(index);
  } else {
    reader.text(reply.text, kMaxHello);
  }
  if (!reader.finished()) return std::nullopt;
  return reply;
}

}  // namespace wia::store_protocol
