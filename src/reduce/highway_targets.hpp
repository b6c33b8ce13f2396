// Which instruction sets the kernels are compiled for: SSE4, AVX2, AVX-512 and what every CPU of the
// architecture has. To be included before any header of Highway, alike in all files of the layer.
//
// The others would lengthen the build and gain nothing here: these loops wait for memory. The numbers are
// Highway's target bits; names would not do, as not every version has them all.
#pragma once

#define HWY_DISABLED_TARGETS                                                    \
  (0xffLL /* what comes after AVX-512 of Skylake */ | (1LL << 12) /* SSSE3 */ | \
   (0xfLL << 24) /* SVE: vectors of unknown size, which arrays cannot hold */)
