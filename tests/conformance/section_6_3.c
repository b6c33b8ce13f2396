/* 6.3: collectives on tensors, and a ring of sends and receives. */
#include "conformance/chapter6.h"
#include "conformance/forms.h"

int all_reduce_example(void) {
  wia_communicator_t* communicator = wia_create_world_communicator();
  CHECK(communicator);
  const size_t counts[] = {1, 7, 1000, 100003};
  for (int c = 0; c < 4; ++c) {
    wia_tensor_t* local_gradients = gradients_of(communicator->my_rank, counts[c]);
    CHECK(local_gradients);
    wia_tensor_t* summed_gradients = wia_allreduce(local_gradients, WIA_OP_SUM, communicator);
    CHECK(summed_gradients == local_gradients); /* in place */
    for (size_t i = 0; i < counts[c]; ++i)
      CHECK(floats(summed_gradients)[i] == sum(communicator->num_ranks, i));
    wia_tensor_destroy(local_gradients);
  }
  return 0;
}

static void add_inplace(wia_tensor_t* to, int to_chunk, wia_tensor_t* from, int from_chunk, int chunks) {
  const size_t length = wia_tensor_count(to) / (size_t)chunks;
  for (size_t i = 0; i < length; ++i)
    floats(to)[(size_t)to_chunk * length + i] += floats(from)[(size_t)from_chunk * length + i];
}

int ring_all_reduce(void) {
  wia_communicator_t* comm = wia_create_world_communicator();
  CHECK(comm);
  int rank = comm->my_rank;
  int size = comm->num_ranks;
  const size_t count = (size_t)size * 5003;
  wia_tensor_t* input = gradients_of(rank, count);
  wia_tensor_t* recv_buffer = wia_tensor_create(NULL, &count, 1, WIA_FLOAT32);
  CHECK(input && recv_buffer);

  /* Reduce-scatter */
  for (int step = 0; step < size - 1; step++) {
    int send_chunk = (rank - step + size) % size;
    int recv_chunk = (rank - step - 1 + size) % size;
    int send_to = (rank + 1) % size;
    int recv_from = (rank - 1 + size) % size;
    CHECK(wia_send_async(input, send_chunk, send_to) == WIA_SUCCESS);
    CHECK(wia_recv_async(recv_buffer, recv_chunk, recv_from) == WIA_SUCCESS);
    CHECK(wia_synchronize() == WIA_SUCCESS);
    add_inplace(input, recv_chunk, recv_buffer, recv_chunk, size);
  }
  /* All-gather; the chunk that is complete here is rank + 1, which the listing misses. */
  for (int step = 0; step < size - 1; step++) {
    int send_chunk = (rank + 1 - step + size) % size;
    int recv_chunk = (rank - step + size) % size;
    int send_to = (rank + 1) % size;
    int recv_from = (rank - 1 + size) % size;
    CHECK(wia_send_async(input, send_chunk, send_to) == WIA_SUCCESS);
    CHECK(wia_recv_async(input, recv_chunk, recv_from) == WIA_SUCCESS);
    CHECK(wia_synchronize() == WIA_SUCCESS);
  }
  for (size_t i = 0; i < count; ++i) CHECK(floats(input)[i] == sum(size, i));
  wia_tensor_destroy(input);
  wia_tensor_destroy(recv_buffer);
  return 0;
}

int broadcast_example(void) {
  wia_communicator_t* communicator = wia_create_world_communicator();
  CHECK(communicator);
  const int rank = communicator->my_rank;
  for (int root = 0; root < communicator->num_ranks; ++root) {
    wia_tensor_t* model_weights = gradients_of(rank, 3001); /* of the root: the weights */
    CHECK(wia_broadcast(model_weights, root, communicator) == WIA_SUCCESS);
    for (size_t i = 0; i < 3001; ++i) CHECK(floats(model_weights)[i] == value(root, i));
    wia_tensor_destroy(model_weights);
  }
  return 0;
}

int reduce_scatter_example(void) {
  wia_communicator_t* communicator = wia_create_world_communicator();
  CHECK(communicator);
  const int size = communicator->num_ranks;
  const size_t shape[] = {(size_t)size * 2, 101}, part = 2 * 101;
  wia_tensor_t* full_gradients = wia_tensor_create(NULL, shape, 2, WIA_FLOAT32);
  CHECK(full_gradients);
  for (size_t i = 0; i < wia_tensor_count(full_gradients); ++i)
    floats(full_gradients)[i] = value(communicator->my_rank, i);
  wia_tensor_t* my_chunk = wia_reduce_scatter(full_gradients, WIA_OP_SUM, communicator);
  CHECK(my_chunk && my_chunk != full_gradients);
  CHECK(wia_tensor_dims(my_chunk) == 2 && wia_tensor_shape(my_chunk)[0] == 2);
  CHECK(wia_tensor_shape(my_chunk)[1] == 101 && wia_tensor_dtype(my_chunk) == WIA_FLOAT32);
  for (size_t i = 0; i < part; ++i)
    CHECK(floats(my_chunk)[i] == sum(size, (size_t)communicator->my_rank * part + i));
  for (size_t i = 0; i < wia_tensor_count(full_gradients); ++i) /* only read */
    CHECK(floats(full_gradients)[i] == value(communicator->my_rank, i));
  wia_tensor_destroy(my_chunk);
  wia_tensor_destroy(full_gradients);
  return 0;
}

int all_gather_example(void) {
  wia_communicator_t* communicator = wia_create_world_communicator();
  CHECK(communicator);
  const size_t shape[] = {3, 7};
  wia_tensor_t* my_chunk = wia_tensor_create(NULL, shape, 2, WIA_FLOAT32);
  CHECK(my_chunk);
  for (size_t i = 0; i < 21; ++i) floats(my_chunk)[i] = value(communicator->my_rank, i);
  wia_tensor_t* full_tensor = wia_allgather(my_chunk, communicator);
  CHECK(full_tensor && wia_tensor_dims(full_tensor) == 2);
  CHECK(wia_tensor_shape(full_tensor)[0] == 3 * (size_t)communicator->num_ranks);
  for (int r = 0; r < communicator->num_ranks; ++r)
    for (size_t i = 0; i < 21; ++i) CHECK(floats(full_tensor)[(size_t)r * 21 + i] == value(r, i));
  wia_tensor_destroy(full_tensor);
  wia_tensor_destroy(my_chunk);
  return 0;
}
