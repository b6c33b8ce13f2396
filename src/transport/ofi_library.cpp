#include "transport/ofi_library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

namespace wia {
namespace {

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

Result<const OfiLibrary*> load_now() {
  const KeepSignals keep;
  void* handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return Status::error(Code::unsupported, "libfabric cannot be loaded: {}", dlerror());
  static OfiLibrary library;
  if (!find(handle, "fi_version", &library.version) || !find(handle, "fi_getinfo", &library.getinfo) ||
      !find(handle, "fi_freeinfo", &library.freeinfo) || !find(handle, "fi_dupinfo", &library.dupinfo) ||
      !find(handle, "fi_fabric", &library.fabric) || !find(handle, "fi_strerror", &library.strerror))
    return Status::error(Code::unsupported, "libfabric.so.1 lacks what is needed: {}", dlerror());
  if (library.version() < kOfiVersion)
    return Status::error(Code::unsupported, "libfabric {} is too old: 1.14 or later is needed",
                         library.version_text());
  return &library;
}

}  // namespace

KeepSignals::KeepSignals() {
  for (int signal = 1; signal < kSignals; ++signal) sigaction(signal, nullptr, &before_[signal]);
}

KeepSignals::~KeepSignals() {
  for (int signal = 1; signal < kSignals; ++signal) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_sigaction != before_[signal].sa_sigaction)
      sigaction(signal, &before_[signal], nullptr);
  }
}

Result<const OfiLibrary*> OfiLibrary::load() {
  static const Result<const OfiLibrary*> loaded = load_now();
  if (!loaded) return loaded.status().copy();
  return loaded.value();
}

std::string OfiLibrary::version_text() const {
  return fmt::format("{}.{}", FI_MAJOR(version()), FI_MINOR(version()));
}

Status OfiLibrary::error(const std::string& what, ssize_t code) const {
  return Status::error(Code::system, "{}: {}", what, strerror(static_cast<int>(code < 0 ? -code : code)));
}

}  // namespace wia
