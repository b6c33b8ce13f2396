// A thread that waits for sockets on behalf of others: each is a task that is told when its socket is ready,
// or its time is up. The thread sleeps while there is nothing to do.
//
// Tasks are run one at a time, with the loop's mutex held; whoever adds one or touches what tasks share holds
// it too.
#pragma once
#include <sys/epoll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/deadline.hpp"
#include "base/file_descriptor.hpp"
#include "base/status.hpp"

namespace wia {

class SocketTask {
 public:
  SocketTask(FileDescriptor socket, Deadline deadline) : socket_(std::move(socket)), deadline_(deadline) {}
  virtual ~SocketTask() = default;
  // The socket is ready. False: the task is done with.
  virtual bool on_ready(uint32_t events) = 0;
  // The deadline has passed. False: the task is done with.
  virtual bool on_time() { return false; }
  const FileDescriptor& socket() const { return socket_; }
  const Deadline& deadline() const { return deadline_; }

 protected:
  friend class SocketLoop;
  FileDescriptor socket_;
  Deadline deadline_;
};

class SocketLoop {
 public:
  // Starts the thread; it runs until the process ends.
  Status start(const char* name);
  std::mutex& mutex() { return mutex_; }

  // All below want the mutex.
  // Events as epoll names them; 0: only the deadline counts.
  SocketTask* add(std::unique_ptr<SocketTask> task, uint32_t events);
  void change(SocketTask* task, uint32_t events);
  void remove(SocketTask* task);
  // Takes the socket from a task that is then done with.
  FileDescriptor hand_over(SocketTask* task);
  template <class Visitor>
  void for_each(const Visitor& visitor) {
    for (const auto& [task, owner] : tasks_) visitor(*task);
  }
  template <class Condition>
  void remove_if(const Condition& condition) {
    std::erase_if(tasks_,
                  [&](const auto& entry) { return entry.first != running_ && condition(*entry.first); });
  }
  // To be called once deadlines have changed outside of a task.
  void wake();

 private:
  void run();
  int64_t first_deadline() const;

  FileDescriptor epoll_, wake_;
  std::mutex mutex_;
  std::map<SocketTask*, std::unique_ptr<SocketTask>> tasks_;
  SocketTask* running_ = nullptr;
};

}  // namespace wia
