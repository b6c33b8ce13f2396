/* Data and checks of the chapter's examples. */
#ifndef FORMS_H
#define FORMS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wia/wia.h>

#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, wia_last_error_message()); \
      return 1;                                                                                     \
    }                                                                                               \
  } while (0)

/* Whole numbers below 2^20, different for each rank and place: sums of eight are exact in float. */
static inline float value(int rank, size_t i) {
  return (float)(((uint64_t)(rank + 1) * 1000003 + (uint64_t)i * 7919) % (1u << 20));
}

static inline float sum(int ranks, size_t i) {
  float total = 0;
  for (int r = 0; r < ranks; ++r) total += value(r, i);
  return total;
}

static inline float* floats(wia_tensor_t* tensor) { return (float*)wia_tensor_data(tensor); }

/* A tensor of `count` floats with the values of `rank`. */
static inline wia_tensor_t* gradients_of(int rank, size_t count) {
  wia_tensor_t* tensor = wia_tensor_create(NULL, &count, 1, WIA_FLOAT32);
  for (size_t i = 0; tensor && i < count; ++i) floats(tensor)[i] = value(rank, i);
  return tensor;
}

#endif
