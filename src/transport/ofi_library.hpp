// libfabric, loaded when it is first asked for: a build needs its headers only, and whoever does not use it
// pays nothing for it (with it come the libraries of every NIC's maker). Thread safe.
#pragma once
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>

#include <memory>
#include <string>

#include "base/status.hpp"

namespace wia {

// What libfabric exports; all else are calls through its objects.
struct OfiLibrary {
  decltype(&::fi_version) version;
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;

  static Result<const OfiLibrary*> load();
  std::string version_text() const;
  Status error(const std::string& what, ssize_t code) const;
};

// While it lives, whoever changes what signals do has changed nothing: some providers (psm2) set handlers of
// their own when they are loaded, and a process that should end by SIGTERM would exit with 1.
class KeepSignals {
 public:
  KeepSignals();
  ~KeepSignals();
  KeepSignals(const KeepSignals&) = delete;
  KeepSignals& operator=(const KeepSignals&) = delete;

 private:
  static constexpr int kSignals = 32;
  struct sigaction before_[kSignals];
};

// The interface version that is asked for: all of it is in libfabric 1.14 to 2.x.
inline constexpr uint32_t kOfiVersion = FI_VERSION(1, 14);

struct CloseFid {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using Fid = std::unique_ptr<Object, CloseFid>;

}  // namespace wia
