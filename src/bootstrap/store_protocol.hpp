// The bytes between store and client: docs/formats/store.md. Both ends encode and decode here.
//
// Pure functions on values, thread safe. Decoding takes bytes from anyone: it checks every length against
// what is there, allocates no more than that, and gives nothing when a byte is missing or left over.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wia::store_protocol {

constexpr uint8_t kVersion = 1;
// What each side sends first: seven bytes and the version. They differ, so that no side takes its own echo
// for an answer; the empty line makes text protocols answer instead of waiting for more.
constexpr size_t kOpeningSize = 8;
constexpr std::string_view kClientMagic = "WIA\r\n\r\n";
constexpr std::string_view kServerMagic = "wia\r\n\r\n";

// Limits in bytes. A frame's length (4 bytes, not counted) is checked before anything is allocated.
constexpr size_t kMaxKey = 4 << 10;
constexpr size_t kMaxValue = 1 << 20;
constexpr size_t kMaxName = 1 << 10;       // job, secret, member
constexpr size_t kMaxHello = 4 << 10;      // frame of a stranger
constexpr size_t kMaxKeysPerRequest = 64;  // of get_all
constexpr size_t kMaxRequest = 2 << 20;    // frame of a member
constexpr size_t kMaxReply = (64 << 20) + (1 << 10);
constexpr uint32_t kForever = 0xffffffff;  // as timeout_ms

struct Hello {
  uint32_t world_size = 0;  // 0: not known
  int32_t rank = -1;        // -1: none
  uint64_t client = 0;      // random; the same on all connections of a client
  std::string job, secret, member;
};

enum class Operation : uint8_t { set = 1, set_if_absent = 2, get_all = 3, add = 4, erase = 5 };

struct Request {
  Operation operation = Operation::set;
  std::vector<std::string> keys;  // one; get_all: 1 to kMaxKeysPerRequest
  std::string value;              // set, set_if_absent
  int64_t amount = 0;             // add
  uint32_t timeout_ms = 0;        // get_all
};

enum class Answer : uint8_t {
  ok = 0,
  timeout = 1,      // get_all: `missing` lists the indices without a value
  bad_request = 2,  // the rest has a text for people
  another_job = 3,
  wrong_secret = 4,
  world_size = 5,
  rank_taken = 6,
};

struct Reply {
  Answer answer = Answer::ok;
  std::vector<std::string> values;  // ok: get_all, in order; set_if_absent and add: one
  std::vector<uint32_t> missing;
  std::string text;
};

std::string opening(std::string_view magic);

// A whole frame: length and body.
std::string encode(const Hello& hello);
std::string encode(const Request& request);
std::string encode(const Reply& reply);

// The length a frame begins with. `bytes` has at least 4.
uint32_t frame_length(std::string_view bytes);

// From the body of a frame.
std::optional<Hello> decode_hello(std::string_view body);
std::optional<Request> decode_request(std::string_view body);
std::optional<Reply> decode_reply(std::string_view body);

}  // namespace wia::store_protocol
