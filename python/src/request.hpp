// An operation under way.
//
// Several threads may wait for one: one of them is in the library, the others wait for it. Whatever happens
// to the Python object, the buffers live until the library has left them alone.
#pragma once
#include <nanobind/nanobind.h>
#include <wia/wia.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace wia_python {

class Request {
 public:
  // Takes the request over. `keep`: what has to live as long as it does.
  Request(wia_request_t* request, nanobind::object keep);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // True: done with success. False: not within the time (negative: no limit but the communicator's). Raises
  // its error, every time.
  bool wait(int64_t timeout_ms);
  bool test();       // never waits; raises as wait
  bool done();       // never waits, never raises
  int code() const;  // of a request that is done
  const std::string& message() const { return message_; }

 private:
  bool outcome();                    // raises unless success
  void settle(wia_status_t status);  // with mutex_ held, right after the C call
  bool wait_in_turn(int64_t timeout_ms);

  wia_request_t* request_;  // null: done
  nanobind::object keep_;
  std::mutex mutex_;
  std::condition_variable turn_;
  bool taken_ = false;  // a thread is in the library with it
  wia_status_t status_ = WIA_IN_PROGRESS;
  std::string message_;
};

// Requests whose objects are gone while they were under way. Frees what has been done since.
void reap();

}  // namespace wia_python
