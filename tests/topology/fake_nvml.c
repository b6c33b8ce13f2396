/* A stand-in for libnvidia-ml.so.1 with four devices: 0 and 1 are joined by 4 NVLinks of 25 GB/s, 2 is
 * reached over PCIe 4.0 x16, 3 tells nothing but its existence. */
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, DEVICES = 4 };

struct pci_info {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct field_value {
  unsigned field, scope;
  long long timestamp, latency_us;
  unsigned value_type;
  int result;
  unsigned long long value;
};

static int number(const void* device) { return (int)((size_t)device - 1); }

int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = DEVICES, SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return *device = (void*)(size_t)(index + 1), SUCCESS;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  if (number(device) == 3) return NOT_SUPPORTED;
  return snprintf(name, length, "Fake %d", number(device)), SUCCESS;
}
int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* info) {
  if (number(device) == 3) return NOT_SUPPORTED;
  return snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", 0xfa + number(device)), SUCCESS;
}
int nvmlDeviceGetP2PStatus(void* a, void* b, int capability, int* status) {
  if (number(a) == 3 || number(b) == 3) return NOT_SUPPORTED;
  const int joined = number(a) < 2 && number(b) < 2;
  return *status = capability == 2 ? !joined : 0, SUCCESS; /* 2: NVLink */
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  return number(device) < 2 ? (*active = link < 4, SUCCESS) : NOT_SUPPORTED;
}
int nvmlDeviceGetFieldValues(void* device, int count, struct field_value* values) {
  for (int i = 0; i < count; ++i) {
    const unsigned speed = 25000; /* MB/s of a link */
    values[i].result = values[i].field == 90 && number(device) < 2 ? SUCCESS : NOT_SUPPORTED;
    memcpy(&values[i].value, &speed, sizeof speed);
  }
  return SUCCESS;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* generation) {
  return number(device) == 3 ? NOT_SUPPORTED : (*generation = 4, SUCCESS);
}
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* width) {
  return number(device) == 3 ? NOT_SUPPORTED : (*width = 16, SUCCESS);
}
