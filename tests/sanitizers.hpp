// Whether this test was built with the address or the thread sanitizer: memory is then slower, takes a
// multiple, and is not returned at once.
#pragma once

namespace wia {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // of GCC
constexpr bool kMemoryIsWatched = true;
#elif defined(__has_feature)  // of Clang
constexpr bool kMemoryIsWatched = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kMemoryIsWatched = false;
#endif

}  // namespace wia
