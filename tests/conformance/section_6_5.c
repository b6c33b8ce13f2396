/* 6.5: communicators; and 6.8's barrier. */
#include "conformance/chapter6.h"
#include "conformance/forms.h"

int world_communicator(void) {
  wia_communicator_t* comm = wia_create_world_communicator();
  CHECK(comm && comm->num_ranks == wia_size(comm) && comm->my_rank == wia_rank(comm));
  CHECK(comm->my_rank >= 0 && comm->my_rank < comm->num_ranks);
  for (int i = 0; i < comm->num_ranks; i++) CHECK(comm->ranks[i] == i);
  CHECK(comm->backend_data != NULL);
  CHECK(wia_create_world_communicator() == comm);
  return 0;
}

/* Data parallel pairs and model parallel groups of four, of 8 ranks. */
int multi_communicator(void) {
  wia_communicator_t* world = wia_create_world_communicator();
  CHECK(world && world->num_ranks == 8);
  const int rank = world->my_rank;

  int dp_groups[4][2] = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  wia_communicator_t* dp_comm = wia_create_sub_communicator(world, dp_groups[rank % 4], 2);
  int mp_groups[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  wia_communicator_t* mp_comm = wia_create_sub_communicator(world, mp_groups[rank / 4], 4);
  CHECK(dp_comm && dp_comm->num_ranks == 2 && dp_comm->my_rank == rank / 4);
  CHECK(mp_comm && mp_comm->num_ranks == 4 && mp_comm->my_rank == rank % 4);
  for (int i = 0; i < 2; ++i) CHECK(dp_comm->ranks[i] == dp_groups[rank % 4][i]);
  for (int i = 0; i < 4; ++i) CHECK(mp_comm->ranks[i] == mp_groups[rank / 4][i]);

  wia_tensor_t* gradients = gradients_of(rank, 5001);
  CHECK(wia_allreduce(gradients, WIA_OP_SUM, dp_comm) == gradients);
  for (size_t i = 0; i < 5001; ++i)
    CHECK(floats(gradients)[i] == value(rank % 4, i) + value(rank % 4 + 4, i));

  wia_tensor_t* activations = gradients_of(rank, 777);
  CHECK(wia_send_recv(activations, mp_comm) == WIA_SUCCESS);
  const int before = rank / 4 * 4 + (rank % 4 + 3) % 4; /* the previous rank of the group */
  for (size_t i = 0; i < 777; ++i) CHECK(floats(activations)[i] == value(before, i));
  wia_tensor_destroy(gradients);
  wia_tensor_destroy(activations);
  CHECK(wia_communicator_destroy(dp_comm) == WIA_SUCCESS);
  CHECK(wia_communicator_destroy(mp_comm) == WIA_SUCCESS);
  return 0;
}

int ring_shift(void) {
  wia_communicator_t* world = wia_create_world_communicator();
  CHECK(world);
  const int rank = world->my_rank, size = world->num_ranks;
  const size_t count = 100003;
  wia_tensor_t* activations = gradients_of(rank, count);
  for (int turn = 1; turn <= size; ++turn) {
    CHECK(wia_send_recv(activations, world) == WIA_SUCCESS);
    for (size_t i = 0; i < count; ++i)
      CHECK(floats(activations)[i] == value((rank + turn * (size - 1)) % size, i));
  }
  /* With the peers named: the other way around. */
  wia_tensor_t* received = wia_tensor_create(NULL, &count, 1, WIA_FLOAT32);
  const int to = (rank + size - 1) % size, from = (rank + 1) % size;
  CHECK(wia_send_recv_peers(activations, to, received, from, world) == WIA_SUCCESS);
  for (size_t i = 0; i < count; ++i) CHECK(floats(received)[i] == value(from, i));
  wia_tensor_destroy(activations);
  wia_tensor_destroy(received);
  return 0;
}

int barrier_example(void) {
  wia_communicator_t* comm = wia_create_world_communicator();
  CHECK(comm);
  for (int i = 0; i < 100; ++i) CHECK(wia_barrier(comm) == WIA_SUCCESS); /* all ranks in step */
  return 0;
}
