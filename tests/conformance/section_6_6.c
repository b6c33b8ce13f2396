/* 6.6: communication beside computation; and 6.8's wait with a time limit. */
#include <stdlib.h>
#include <unistd.h>

#include "conformance/chapter6.h"
#include "conformance/forms.h"

static double compute_layer(void) {
  double x = 1;
  for (int i = 0; i < 200000; ++i) x += 1 / x;
  return x;
}

static int has_sum(wia_tensor_t* gradients, int size, int layer) {
  for (size_t i = 0; i < wia_tensor_count(gradients); ++i) {
    float wanted = 0;
    for (int r = 0; r < size; ++r) wanted += value(r + layer, i);
    if (floats(gradients)[i] != wanted) return 0;
  }
  return 1;
}

int overlap_of_communication(void) {
  wia_communicator_t* comm = wia_create_world_communicator();
  CHECK(comm);
  wia_tensor_t* gradients_layer1 = gradients_of(comm->my_rank + 1, 200003);
  wia_tensor_t* gradients_layer2 = gradients_of(comm->my_rank + 2, 7);

  wia_request_t* req1 = wia_allreduce_async(gradients_layer1, WIA_OP_SUM, comm);
  CHECK(req1 && compute_layer() > 1);
  wia_request_t* req2 = wia_allreduce_async(gradients_layer2, WIA_OP_SUM, comm);
  CHECK(req2 && compute_layer() > 1);

  CHECK(wia_wait(req1) == WIA_SUCCESS);
  CHECK(has_sum(gradients_layer1, comm->num_ranks, 1));
  CHECK(wia_wait(req2) == WIA_SUCCESS);
  CHECK(has_sum(gradients_layer2, comm->num_ranks, 2));
  wia_tensor_destroy(gradients_layer1);
  wia_tensor_destroy(gradients_layer2);
  return 0;
}

enum { kLayers = 9, kMostBuckets = kLayers };

/* Layer l has so many gradients: 25 MB buckets hold several small ones or one large one. */
static size_t length_of(int layer) { return 100000 + (size_t)layer * 300007; }

typedef struct {
  wia_tensor_t* merged;
  int first_layer, last_layer; /* descending */
  wia_request_t* request;
} Bucket;

static int start_bucket(Bucket* bucket, int first, int last, wia_communicator_t* comm) {
  size_t count = 0, at = 0;
  for (int layer = first; layer >= last; --layer) count += length_of(layer);
  bucket->merged = wia_tensor_create(NULL, &count, 1, WIA_FLOAT32);
  if (!bucket->merged) return 0;
  for (int layer = first; layer >= last; --layer) /* concatenate */
    for (size_t i = 0; i < length_of(layer); ++i)
      floats(bucket->merged)[at++] = value(comm->my_rank + layer, i);
  bucket->first_layer = first;
  bucket->last_layer = last;
  bucket->request = wia_allreduce_async(bucket->merged, WIA_OP_SUM, comm);
  return bucket->request != NULL;
}

int gradient_bucketing(void) {
  wia_communicator_t* comm = wia_create_world_communicator();
  CHECK(comm);
  const size_t BUCKET_SIZE = 25 * 1024 * 1024; /* 25MB */
  Bucket pending[kMostBuckets];
  int num_pending = 0, first = kLayers - 1;
  size_t bucket_bytes = 0;
  for (int layer = kLayers - 1; layer >= 0; layer--) {
    bucket_bytes += length_of(layer) * sizeof(float);
    if (bucket_bytes >= BUCKET_SIZE) {
      CHECK(start_bucket(&pending[num_pending++], first, layer, comm));
      first = layer - 1;
      bucket_bytes = 0;
    }
  }
  if (bucket_bytes > 0) CHECK(start_bucket(&pending[num_pending++], first, 0, comm));
  CHECK(num_pending == 2);
  for (int b = 0; b < num_pending; ++b) {
    CHECK(wia_wait(pending[b].request) == WIA_SUCCESS);
    size_t at = 0;
    for (int layer = pending[b].first_layer; layer >= pending[b].last_layer; --layer)
      for (size_t i = 0; i < length_of(layer); ++i) {
        float wanted = 0;
        for (int r = 0; r < comm->num_ranks; ++r) wanted += value(r + layer, i);
        CHECK(floats(pending[b].merged)[at++] == wanted);
      }
    wia_tensor_destroy(pending[b].merged);
  }
  return 0;
}

int wait_with_timeout(void) {
  wia_communicator_t* comm = wia_create_world_communicator();
  CHECK(comm && comm->num_ranks == 2);
  wia_tensor_t* gradients = gradients_of(comm->my_rank, 1000);
  wia_tensor_t* signal = gradients_of(comm->my_rank, 2);
  if (comm->my_rank == 0) {
    wia_request_t* req = wia_allreduce_async(gradients, WIA_OP_SUM, comm);
    CHECK(req && !wia_wait_timeout(req, 100)); /* rank 1 waits for the message below */
    CHECK(wia_send_async(signal, 0, 1) == WIA_SUCCESS && wia_synchronize() == WIA_SUCCESS);
    CHECK(wia_wait_timeout(req, 30000));
  } else {
    CHECK(wia_recv_async(signal, 0, 0) == WIA_SUCCESS && wia_synchronize() == WIA_SUCCESS);
    wia_request_t* req = wia_allreduce_async(gradients, WIA_OP_SUM, comm);
    CHECK(req && wia_wait_timeout(req, 30000));
  }
  for (size_t i = 0; i < 1000; ++i) CHECK(floats(gradients)[i] == sum(2, i));
  wia_tensor_destroy(gradients);
  wia_tensor_destroy(signal);
  return 0;
}
