// Whether this test was built with the address sanitizer, under which memory is slower and not returned at
// once.
#pragma once

namespace wia {

#ifdef __SANITIZE_ADDRESS__  // of GCC
constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)  // of Clang
constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
constexpr bool kAddressSanitizer = false;
#endif

}  // namespace wia
