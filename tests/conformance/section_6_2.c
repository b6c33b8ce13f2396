/* 6.2: devices, their memory, copies between them. */
#include <time.h>

#include "conformance/chapter6.h"
#include "conformance/forms.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)

static double get_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int device_memory(void) {
  int num_devices = wia_get_device_count();
  CHECK(num_devices >= 1);
  for (int i = 0; i < num_devices; i++) {
    CHECK(wia_can_access_peer(i, i));
    for (int j = 0; j < num_devices; j++) {
      unsigned char* src_mem = wia_alloc_device(i, 10 * KB + 3);
      unsigned char* dst_mem = wia_alloc_device(j, 10 * KB + 3);
      CHECK(src_mem && dst_mem);
      for (size_t k = 0; k < 10 * KB + 3; ++k) src_mem[k] = (unsigned char)(k * 7 + 1);
      memset(dst_mem, 0xee, 10 * KB + 3);
      CHECK(wia_copy_peer(dst_mem, src_mem, 10 * KB) == WIA_SUCCESS);
      CHECK(wia_synchronize() == WIA_SUCCESS);
      CHECK(memcmp(dst_mem, src_mem, 10 * KB) == 0 && dst_mem[10 * KB] == 0xee);
      wia_free_device(src_mem);
      wia_free_device(dst_mem);
    }
  }
  CHECK(!wia_can_access_peer(0, num_devices) && !wia_can_access_peer(-1, 0));
  CHECK(wia_alloc_device(num_devices, 8) == NULL && wia_last_error() == WIA_ERROR_INVALID_ARGUMENT);
  wia_free_device(NULL);
  return 0;
}

/* As the listing, with fewer repetitions. */
static float measure_bandwidth(int src, int dst) {
  size_t sizes[] = {1 * MB, 10 * MB};
  float best_bandwidth = 0;
  for (int i = 0; i < 2; i++) {
    void* src_mem = wia_alloc_device(src, sizes[i]);
    void* dst_mem = wia_alloc_device(dst, sizes[i]);
    if (!src_mem || !dst_mem) return -1;
    for (int w = 0; w < 2; w++) {
      wia_copy_peer(dst_mem, src_mem, sizes[i]);
    }
    double start = get_time();
    for (int iter = 0; iter < 10; iter++) {
      wia_copy_peer(dst_mem, src_mem, sizes[i]);
    }
    wia_synchronize();
    double elapsed = get_time() - start;
    float bandwidth = (float)((double)(sizes[i] * 10) / elapsed / 1e9);
    if (bandwidth > best_bandwidth) {
      best_bandwidth = bandwidth;
    }
    wia_free_device(src_mem);
    wia_free_device(dst_mem);
  }
  return best_bandwidth;
}

int bandwidth_measurement(void) {
  CHECK(measure_bandwidth(0, wia_get_device_count() - 1) > 0);
  return 0;
}
