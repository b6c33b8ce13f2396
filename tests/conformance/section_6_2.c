/* 6.2: devices, their memory, copies between them, and how they are connected. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

/* discover_topology of the listing, for the ranks of a job; its three measurements are wia_topology_link. */
int topology_discovery(void) {
  wia_communicator_t* world = wia_create_world_communicator();
  CHECK(world && world->topology == NULL);
  wia_topology_options_t options = {
      .struct_size = sizeof options, .measure = true, .largest_bytes = 1 * MB, .budget_ms = 20};
  wia_topology_t* topology = wia_discover_topology_with(world, &options);
  CHECK(topology && world->topology);
  int num_devices = wia_topology_num_devices(topology);
  CHECK(num_devices == world->num_ranks && wia_topology_num_devices(world->topology) == num_devices);
  for (int i = 0; i < num_devices; i++) {
    for (int j = 0; j < num_devices; j++) {
      if (i == j) continue;
      DeviceLink link;
      CHECK(wia_topology_link(topology, i, j, &link) == WIA_SUCCESS);
      printf("link %d -> %d: %.1f GB/s, %.1f us, %s\n", link.source_device, link.target_device,
             link.bandwidth_gbps, link.latency_us, wia_connection_type_str(link.type));
      CHECK(link.source_device == i && link.target_device == j);
      CHECK(link.bandwidth_gbps > 0 && link.latency_us > 0 && link.supports_p2p);
      CHECK(link.type == SHM || link.type == NUMA);
      CHECK(wia_topology_evidence(topology, i, j, WIA_FIGURE_BANDWIDTH) == WIA_EVIDENCE_MEASURED);
      CHECK(wia_topology_evidence(topology, i, j, WIA_FIGURE_LATENCY) == WIA_EVIDENCE_MEASURED);
    }
  }
  wia_topology_free(topology);
  CHECK(strstr(wia_topology_json(world->topology), "wia.topology/1")); /* the communicator's own lives on */
  return 0;
}

/* This host's devices, nothing measured; written to a file and read back. */
int topology_of_the_host(void) {
  wia_topology_t* topology = wia_discover_topology(NULL);
  CHECK(topology && wia_topology_num_devices(topology) >= 1);
  DeviceLink link;
  CHECK(wia_topology_link(topology, 0, 0, &link) == WIA_SUCCESS);
  CHECK(link.type == SELF && link.supports_p2p && isnan(link.bandwidth_gbps));
  CHECK(wia_topology_evidence(topology, 0, 0, WIA_FIGURE_BANDWIDTH) == WIA_EVIDENCE_UNKNOWN);
  char file[] = "/tmp/wia-test-topology-XXXXXX";
  const int fd = mkstemp(file);
  CHECK(fd >= 0 && wia_topology_write(topology, file) == WIA_SUCCESS);
  wia_topology_t* again = wia_topology_read(file);
  CHECK(again && strcmp(wia_topology_json(again), wia_topology_json(topology)) == 0);
  CHECK(ftruncate(fd, 100) == 0 && wia_topology_read(file) == NULL);
  CHECK(wia_last_error() == WIA_ERROR_INVALID_ARGUMENT && strstr(wia_last_error_message(), file));
  close(fd);
  unlink(file);

  const int devices = wia_topology_num_devices(topology);
  CHECK(wia_topology_link(topology, 0, devices, &link) == WIA_ERROR_INVALID_ARGUMENT);
  CHECK(wia_topology_link(topology, 0, 0, NULL) == WIA_ERROR_INVALID_ARGUMENT);
  CHECK(wia_topology_link(NULL, 0, 0, &link) == WIA_ERROR_INVALID_ARGUMENT &&
        wia_topology_num_devices(NULL) == -1);
  CHECK(!wia_topology_json(NULL) && !wia_topology_read(NULL) && !wia_topology_read("/nowhere/at/all"));
  CHECK(wia_topology_write(topology, "/nowhere/at/all") == WIA_ERROR_SYSTEM);
  wia_topology_options_t wrong = {.struct_size = 3};
  CHECK(!wia_discover_topology_with(NULL, &wrong) && wia_last_error() == WIA_ERROR_INVALID_ARGUMENT);
  CHECK(strcmp(wia_connection_type_str(NVLINK), "NVLINK") == 0 &&
        wia_connection_type_str((ConnectionType)99)[0] == '?');
  wia_topology_free(again);
  wia_topology_free(topology);
  wia_topology_free(NULL);
  return 0;
}
