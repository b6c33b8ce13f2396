/* libwia: collective communication for deep learning. The C interface.
 *
 * Conventions
 *   Ownership   What a wia_..._create/alloc/init/split/duplicate call returns belongs to the caller and goes
 * back through the matching destroy/free/finalize. Buffers stay the caller's; while a call or its request is
 * under way, the library reads the send buffer and writes the receive buffer, and the caller leaves both
 * alone. Errors      Functions return wia_status_t: 0 success, negative an error. Functions that return
 * pointers give NULL on error. wia_last_error() and wia_last_error_message() tell the last error of this
 *               thread. An error in an argument is found before anything is sent and leaves
 *               the communicator usable; after an error below -100 the communicator is lost (see the codes).
 *   Threads     Everything may be called from any thread. Collectives of one communicator are executed in the
 * order in which the calls arrive, and that order must be the same on all ranks; on different communicators
 * it is free. Units       count: elements. bytes: bytes. Time limits: milliseconds; negative: no limit.
 *   Waiting     Every wait ends at the communicator's timeout (wia_communicator_set_timeout) with an error
 *               that says who was missing in which call.
 *   After fork  A child process may not use the library; its calls return WIA_ERROR_FORKED.
 *
 * Source: names and call forms of the first part follow WIA-AI-011 chapter 6 (docs/conformance.md says where
 * each stands); the second part offers the same on plain buffers, as the field expects.
 */
#ifndef WIA_WIA_H
#define WIA_WIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIA_VERSION_MAJOR 0
#define WIA_VERSION_MINOR 1
#define WIA_VERSION_PATCH 0

#if defined(_WIN32)
#error "libwia runs on Linux"
#endif
#define WIA_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Codes and types ------------------------------------------------------------------------- */

typedef enum {
  WIA_SUCCESS = 0,
  WIA_IN_PROGRESS = 1,
  /* This call is lost; the communicator is as it was. */
  WIA_ERROR_INVALID_ARGUMENT = -1,
  WIA_ERROR_UNSUPPORTED = -2,
  WIA_ERROR_OUT_OF_MEMORY = -3,
  WIA_ERROR_TRUNCATED = -4,
  WIA_ERROR_NOT_INITIALIZED = -5,
  WIA_ERROR_SYSTEM = -6,
  WIA_ERROR_BUSY = -7,
  /* A link is lost. */
  WIA_ERROR_UNREACHABLE = -100,
  WIA_ERROR_PROTOCOL = -101,
  /* A peer is lost or missing. */
  WIA_ERROR_PEER_FAILED = -200,
  WIA_ERROR_TIMEOUT = -201,
  /* The communicator is lost. */
  WIA_ERROR_MISMATCH = -300,
  WIA_ERROR_ABORTED = -301,
  WIA_ERROR_DESTROYED = -302,
  WIA_ERROR_FORKED = -303
} wia_status_t;

typedef enum {
  WIA_INT8,
  WIA_UINT8,
  WIA_INT16,
  WIA_UINT16,
  WIA_INT32,
  WIA_UINT32,
  WIA_INT64,
  WIA_UINT64,
  WIA_FLOAT16,
  WIA_BFLOAT16,
  WIA_FLOAT32,
  WIA_FLOAT64,
  WIA_FLOAT8_E4M3,
  WIA_FLOAT8_E5M2,
  WIA_BOOL
} wia_dtype_t;

/* float16, bfloat16 and float8 are accumulated in float32 and rounded once. WIA_OP_AVG of floats never
 * overflows before the division; of integers it is the exact sum divided by the number of ranks, truncated
 * toward zero; of WIA_BOOL it is refused. Integer sums and products wrap around. NaN in any contribution of
 * MIN or MAX gives NaN. WIA_BOOL holds 0 or 1: SUM, MAX, BOR, LOR are "or", PROD, MIN, BAND, LAND "and", BXOR
 * "exclusive or". BAND, BOR, BXOR, LAND and LOR of floats are refused. */
typedef enum {
  WIA_OP_SUM,
  WIA_OP_PROD,
  WIA_OP_MIN,
  WIA_OP_MAX,
  WIA_OP_AVG,
  WIA_OP_BAND,
  WIA_OP_BOR,
  WIA_OP_BXOR,
  WIA_OP_LAND,
  WIA_OP_LOR
} wia_op_t;

typedef struct wia_topology wia_topology_t;
typedef struct wia_tensor wia_tensor_t;
typedef struct wia_request wia_request_t;

/* A group of ranks. Read only. `ranks` holds, for each rank of this communicator, its rank in the world. */
typedef struct {
  int num_ranks;
  const int* ranks;
  int my_rank;
  wia_topology_t* topology; /* NULL until wia_discover_topology; the communicator's: not to be freed */
  void* backend_data;       /* NULL once destroyed */
} wia_communicator_t;

typedef struct {
  char bytes[128];
} wia_unique_id_t;

WIA_API const char* wia_version(void);
WIA_API const char* wia_status_string(wia_status_t status);
WIA_API wia_status_t wia_last_error(void);
WIA_API const char* wia_last_error_message(void); /* valid until the next failing call of this thread */
WIA_API size_t wia_dtype_size(wia_dtype_t dtype); /* bytes; 0 for an unknown one */

/* ---- Starting and stopping ---------------------------------------------------------------------- */

/* Joins the job of the launcher's environment (WIA_*, torchrun, Open MPI, MPICH/Intel MPI, Slurm; alone: a
 * world of one) and gives the communicator of all ranks. A second call before wia_finalize gives the same
 * communicator. Ends at WIA_INIT_TIMEOUT (seconds, default 300) naming the ranks that are missing. */
WIA_API wia_status_t wia_init(wia_communicator_t** world);
/* Destroys the world and every communicator that is left. Local, but for a process that serves the store
 * through which ranks meet (the one that made the unique id; rank 0 where the job was not started by `wia
 * run`): it stays until the others have finished or ended, for WIA_INIT_TIMEOUT at most. Harmless when
 * repeated. */
WIA_API wia_status_t wia_finalize(void);

/* The same with a limit of the stay; negative: WIA_INIT_TIMEOUT. For programs whose ranks have said farewell
 * by themselves, or that must not outlive an error for long. */
WIA_API wia_status_t wia_finalize_within(int64_t milliseconds);

/* For programs with a launcher of their own: one process makes an id (and from then on serves the meeting
 * point), gives it to all, and each calls wia_init_rank with its rank. The result is not the wia_init world
 * and must be destroyed by wia_communicator_destroy. */
WIA_API wia_status_t wia_get_unique_id(wia_unique_id_t* id);
/* The same, met at `host`: a name or address of this process's host that the others reach, 63 characters at
 * most. Loopback: nothing is open to the network. NULL: WIA_MASTER_ADDR, else the first network interface's.
 */
WIA_API wia_status_t wia_get_unique_id_at(const char* host, wia_unique_id_t* id);
WIA_API wia_status_t wia_init_rank(wia_communicator_t** world, int num_ranks, const wia_unique_id_t* id,
                                   int rank);

/* For bindings to languages that handle signals themselves. While a call of this thread waits,
 * interrupted(context) is called about every 100 ms (while it starts: every second), with no lock held; it
 * may call the library. Once it gives true, the call ends: wia_request_wait with WIA_IN_PROGRESS, the request
 * lives on; wia_finalize as if its time had passed; everything else with WIA_ERROR_ABORTED, and a
 * communicator in the middle of a call is aborted as by wia_communicator_abort. NULL: never; the default. For
 * this thread. */
WIA_API void wia_set_interrupted(bool (*interrupted)(void* context), void* context);

/* ---- Communicators ------------------------------------------------------------------------------- */

WIA_API int wia_rank(const wia_communicator_t* comm); /* -1 on error */
WIA_API int wia_size(const wia_communicator_t* comm); /* -1 on error */
/* Collective. Ranks of equal color form a communicator, ordered by key, then by rank. color < 0: *out is
 * NULL. */
WIA_API wia_status_t wia_communicator_split(wia_communicator_t* comm, int color, int key,
                                            wia_communicator_t** out);
/* Collective. */
WIA_API wia_status_t wia_communicator_duplicate(wia_communicator_t* comm, wia_communicator_t** out);
/* Called by the members only: `ranks` lists ranks of `comm`, in the order of the new communicator. */
WIA_API wia_status_t wia_communicator_create(wia_communicator_t* comm, const int* ranks, int num_ranks,
                                             wia_communicator_t** out);
/* Local, bounded, idempotent. Abort ends all that is under way, here and on the other members, with
 * WIA_ERROR_ABORTED. */
WIA_API wia_status_t wia_communicator_abort(wia_communicator_t* comm);
WIA_API wia_status_t wia_communicator_destroy(wia_communicator_t* comm);
/* Limit of each wait from now on; default WIA_TIMEOUT (seconds, default 600). 0 is refused. Communicators
 * made from this one begin with its limit, which is also that of making them. */
WIA_API wia_status_t wia_communicator_set_timeout(wia_communicator_t* comm, int64_t milliseconds);
/* Makes results independent of size and algorithm: contributions are always combined in the order of ranks.
 * All ranks must set it alike. Asking for an algorithm that cannot do this is then an error. */
WIA_API wia_status_t wia_communicator_set_deterministic(wia_communicator_t* comm, bool on);
/* Uses the algorithm of this name for a collective ("all_reduce", "ring"; with the longest slice or the NICs
 * of a pair: "ring/slice=64K/nics=1"); NULL or "auto": let the library choose. All ranks must set it alike.
 */
WIA_API wia_status_t wia_communicator_set_algorithm(wia_communicator_t* comm, const char* collective,
                                                    const char* algorithm);
/* Bytes of shared memory that all members' parts of this communicator take together. */
WIA_API size_t wia_communicator_shared_bytes(const wia_communicator_t* comm);
/* Nodes that its ranks are on: ranks of one node share memory (or are taken to, by WIA_RANKS_PER_NODE). 0 on
 * error. */
WIA_API int wia_communicator_num_nodes(const wia_communicator_t* comm);
/* What carries its data: "shared memory", "tcp", "ofi", "shared memory and tcp". For people; NULL on error.
 */
WIA_API const char* wia_communicator_transport(const wia_communicator_t* comm);
/* The call that is under way on this rank and who has not entered it, for people who wait: "rank 0 of world
 * is in call 3: all_reduce of 8 float32, sum, algorithm flat: rank 1 (pid 12) has not entered it". Empty:
 * nothing is under way. Valid until the next such call of this thread; NULL on error. */
WIA_API const char* wia_communicator_waiting(wia_communicator_t* comm);
/* WIA_SUCCESS, or the error that made this communicator unusable, here or on another member (text in
 * wia_last_error_message). */
WIA_API wia_status_t wia_communicator_status(const wia_communicator_t* comm);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Host memory that the other ranks of the host can read and write directly: collectives on it need no copies.
 * 64-byte aligned, 2 MiB from that size on. Any process may allocate, before or after wia_init. */
WIA_API void* wia_alloc(size_t bytes);
WIA_API void wia_free(void* pointer); /* NULL is allowed */

/* ---- Collectives on buffers ----------------------------------------------------------------------
 *
 * request == NULL: returns when the result is there. Else *request is set and the call returns at once.
 * count 0 is an ordered call like any other; buffers may then be NULL. Buffers need no alignment.
 * In place where stated; other overlap of send and recv is refused.
 */

/* recv[i] = op over ranks of send[i]; count elements each. In place: recv == send. */
WIA_API wia_status_t wia_all_reduce(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                    wia_op_t op, wia_communicator_t* comm, wia_request_t** request);
/* As wia_all_reduce with WIA_OP_SUM, each contribution multiplied by `factor` first. Floats only. */
WIA_API wia_status_t wia_all_reduce_scaled(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                           double factor, wia_communicator_t* comm, wia_request_t** request);
/* send: count, recv: size * count, in the order of ranks. In place: send == recv + rank * count. */
WIA_API wia_status_t wia_all_gather(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                    wia_communicator_t* comm, wia_request_t** request);
/* Rank r sends counts[r]; they land at recv + offsets[r] (NULL: one behind the other). */
WIA_API wia_status_t wia_all_gather_v(const void* send, void* recv, const size_t* counts,
                                      const size_t* offsets, wia_dtype_t dtype, wia_communicator_t* comm,
                                      wia_request_t** request);
/* send: size * count, recv: count. In place: recv == send + rank * count. */
WIA_API wia_status_t wia_reduce_scatter_block(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                              wia_op_t op, wia_communicator_t* comm, wia_request_t** request);
/* Rank r receives counts[r]; send holds their sum. */
WIA_API wia_status_t wia_reduce_scatter_v(const void* send, void* recv, const size_t* counts,
                                          wia_dtype_t dtype, wia_op_t op, wia_communicator_t* comm,
                                          wia_request_t** request);
WIA_API wia_status_t wia_broadcast_buffer(void* buffer, size_t count, wia_dtype_t dtype, int root,
                                          wia_communicator_t* comm, wia_request_t** request);
/* recv is used on the root only. In place: recv == send on the root. */
WIA_API wia_status_t wia_reduce(const void* send, void* recv, size_t count, wia_dtype_t dtype, wia_op_t op,
                                int root, wia_communicator_t* comm, wia_request_t** request);
/* count: of each rank. recv: size * count on the root. In place: send == recv + rank * count on the root. */
WIA_API wia_status_t wia_gather(const void* send, void* recv, size_t count, wia_dtype_t dtype, int root,
                                wia_communicator_t* comm, wia_request_t** request);
/* counts and offsets have the same content on all ranks. */
WIA_API wia_status_t wia_gather_v(const void* send, void* recv, const size_t* counts, const size_t* offsets,
                                  wia_dtype_t dtype, int root, wia_communicator_t* comm,
                                  wia_request_t** request);
/* count: of each rank. send: size * count on the root. In place: recv == send + rank * count on the root. */
WIA_API wia_status_t wia_scatter(const void* send, void* recv, size_t count, wia_dtype_t dtype, int root,
                                 wia_communicator_t* comm, wia_request_t** request);
WIA_API wia_status_t wia_scatter_v(const void* send, void* recv, const size_t* counts, const size_t* offsets,
                                   wia_dtype_t dtype, int root, wia_communicator_t* comm,
                                   wia_request_t** request);
/* count: for each pair. send, recv: size * count. In place: recv == send. */
WIA_API wia_status_t wia_all_to_all(const void* send, void* recv, size_t count, wia_dtype_t dtype,
                                    wia_communicator_t* comm, wia_request_t** request);
/* send_counts[r] elements from send + send_offsets[r] go to rank r; recv_counts[r] come from it. What r sends
 * here and what is expected from it must agree: a difference is WIA_ERROR_MISMATCH on both. Offsets NULL: one
 * behind the other. Not in place. */
WIA_API wia_status_t wia_all_to_all_v(const void* send, const size_t* send_counts, const size_t* send_offsets,
                                      void* recv, const size_t* recv_counts, const size_t* recv_offsets,
                                      wia_dtype_t dtype, wia_communicator_t* comm, wia_request_t** request);
WIA_API wia_status_t wia_barrier_async(wia_communicator_t* comm, wia_request_t** request);

/* ---- Point to point ------------------------------------------------------------------------------
 *
 * A message matches a receive of the same pair of ranks and tag, in order; its length must be equal: a longer
 * one is WIA_ERROR_TRUNCATED at the receiver, a shorter one WIA_ERROR_INVALID_ARGUMENT, and nothing is
 * written. tag >= 0. Sending to oneself needs a receive posted before the send is waited for.
 */
WIA_API wia_status_t wia_send(const void* buffer, size_t count, wia_dtype_t dtype, int to, int tag,
                              wia_communicator_t* comm, wia_request_t** request);
WIA_API wia_status_t wia_recv(void* buffer, size_t count, wia_dtype_t dtype, int from, int tag,
                              wia_communicator_t* comm, wia_request_t** request);
/* From whoever sends with this tag: of several messages any one, of several receives that match a message the
 * one that was posted first. *from (may be NULL) is written when it is done, and must live until then.
 * Whoever waits so ends with an error when a member of comm is lost, or when all others have left. */
WIA_API wia_status_t wia_recv_any(void* buffer, size_t count, wia_dtype_t dtype, int* from, int tag,
                                  wia_communicator_t* comm, wia_request_t** request);
/* Both at once: never deadlocks. */
WIA_API wia_status_t wia_sendrecv(const void* send, size_t send_count, int to, void* recv, size_t recv_count,
                                  int from, wia_dtype_t dtype, int tag, wia_communicator_t* comm);

/* ---- Requests ------------------------------------------------------------------------------------ */

/* Waits at most timeout_ms (negative: the communicator's timeout). WIA_IN_PROGRESS: the time passed, the
 * request lives on. Otherwise its outcome, and the request is freed. */
WIA_API wia_status_t wia_request_wait(wia_request_t* request, int64_t timeout_ms);
/* Never waits. *done: the return value is the outcome and the request is freed. */
WIA_API wia_status_t wia_request_test(wia_request_t* request, bool* done);

/* ==== WIA-AI-011 chapter 6 ========================================================================= */

/* 6.2 Devices. Without accelerators the host's NUMA nodes are the devices. */
WIA_API int wia_get_device_count(void);
WIA_API void* wia_alloc_device(int device, size_t bytes);
WIA_API void wia_free_device(void* pointer);
WIA_API wia_status_t wia_copy_peer(void* destination, const void* source, size_t bytes);
WIA_API wia_status_t
wia_synchronize(void); /* waits for copies and for wia_send_async and wia_recv_async of this thread */
WIA_API bool wia_can_access_peer(int device, int peer);

/* What joins two devices: the same device; shared memory of a host, within and across NUMA nodes; PCIe and
 * the links of accelerators; the network. */
typedef enum {
  WIA_CONNECTION_SELF,
  WIA_CONNECTION_SHM,
  WIA_CONNECTION_NUMA,
  WIA_CONNECTION_PCIE,
  WIA_CONNECTION_NVLINK,
  WIA_CONNECTION_XGMI,
  WIA_CONNECTION_NETWORK,
#ifndef WIA_NO_CHAPTER_NAMES /* for programs that have others of the chapter's names */
  SELF = WIA_CONNECTION_SELF,
  SHM = WIA_CONNECTION_SHM,
  NUMA = WIA_CONNECTION_NUMA,
  PCIE = WIA_CONNECTION_PCIE,
  NVLINK = WIA_CONNECTION_NVLINK,
  XGMI = WIA_CONNECTION_XGMI,
  NETWORK = WIA_CONNECTION_NETWORK
#endif
} ConnectionType;

typedef struct {
  int source_device;
  int target_device;
  float bandwidth_gbps; /* GB/s, 10^9 bytes a second; NaN: unknown */
  float latency_us;     /* microseconds, one way; NaN: unknown */
  ConnectionType type;
  bool supports_p2p; /* false also where it is not known */
} DeviceLink;

/* How a figure is known: measured here; said by the system or the vendor; taken from a link that is alike. */
typedef enum {
  WIA_EVIDENCE_UNKNOWN,
  WIA_EVIDENCE_MEASURED,
  WIA_EVIDENCE_REPORTED,
  WIA_EVIDENCE_ASSUMED
} wia_evidence_t;
typedef enum { WIA_FIGURE_BANDWIDTH, WIA_FIGURE_LATENCY } wia_figure_t;

/* Begins with its size, so that it can grow. Rank 0's options count, but for `progress`. */
typedef struct {
  size_t struct_size;                                         /* sizeof(wia_topology_options_t) */
  bool measure;                                               /* false: only what the system tells */
  uint64_t largest_bytes;                                     /* of a message; 0: 1 GiB */
  int64_t budget_ms;                                          /* about so long for a pair of ranks; 0: 1000 */
  void (*progress)(int pairs_done, int pairs, void* context); /* called before each pair, or NULL */
  void* progress_context;
} wia_topology_options_t;

/* Collective over `comm`, on which nothing else may be under way: its ranks are the devices, and every
 * ordered pair is measured, one after the other: bandwidth as the best of messages of 1 MiB to 1 GiB, latency
 * as half a round trip of 8 bytes. Of more than 16 ranks a sample is measured, and the others are assumed to
 * be as those that are alike. Also sets comm->topology, until the next call on `comm`. comm NULL: the devices
 * of this host, nothing measured; these are its accelerators, or the NUMA nodes where there are none. The
 * caller frees what is returned. NULL on error. Source: 6.2, discover_topology. */
WIA_API wia_topology_t* wia_discover_topology(wia_communicator_t* comm);
/* The same with options; NULL: as above. */
WIA_API wia_topology_t* wia_discover_topology_with(wia_communicator_t* comm,
                                                   const wia_topology_options_t* options);
WIA_API int wia_topology_num_devices(const wia_topology_t* topology); /* -1 on error */
/* *link = the link from `source` to `target`, each 0 to wia_topology_num_devices - 1. */
WIA_API wia_status_t wia_topology_link(const wia_topology_t* topology, int source, int target,
                                       DeviceLink* link);
/* How a figure of that link is known. WIA_EVIDENCE_UNKNOWN: not, or an argument is wrong. */
WIA_API wia_evidence_t wia_topology_evidence(const wia_topology_t* topology, int source, int target,
                                             wia_figure_t figure);
/* JSON with everything that is known, docs/formats/topology.md; the text lives as long as the topology. */
WIA_API const char* wia_topology_json(const wia_topology_t* topology);
WIA_API wia_status_t wia_topology_write(const wia_topology_t* topology, const char* file);
/* What wia_topology_write, `wia topology --json` or a person has written. A file with anything wrong in it is
 * refused with an error that names the place. NULL on error. */
WIA_API wia_topology_t* wia_topology_read(const char* file);
WIA_API void wia_topology_free(wia_topology_t* topology); /* NULL is allowed */
/* "NVLINK"; "?" for an unknown one. */
WIA_API const char* wia_connection_type_str(ConnectionType type);

/* 6.3 Tensors on host memory. `shape` has `dims` extents. data == NULL: the library allocates (as wia_alloc
 * does) and owns; else the caller's memory is used and must outlive the tensor. */
WIA_API wia_tensor_t* wia_tensor_create(void* data, const size_t* shape, int dims, wia_dtype_t dtype);
WIA_API void wia_tensor_destroy(wia_tensor_t* tensor); /* NULL is allowed */
WIA_API void* wia_tensor_data(const wia_tensor_t* tensor);
WIA_API size_t wia_tensor_count(const wia_tensor_t* tensor);
WIA_API wia_dtype_t wia_tensor_dtype(const wia_tensor_t* tensor);
WIA_API int wia_tensor_dims(const wia_tensor_t* tensor);
WIA_API const size_t* wia_tensor_shape(const wia_tensor_t* tensor);

/* In place; returns its argument, NULL on error. */
WIA_API wia_tensor_t* wia_allreduce(wia_tensor_t* tensor, wia_op_t op, wia_communicator_t* comm);
WIA_API wia_status_t wia_broadcast(wia_tensor_t* tensor, int root, wia_communicator_t* comm);
/* Returns a new tensor: this rank's of `size` equal parts of the sum, split along the first extent, which
 * `size` must divide. */
WIA_API wia_tensor_t* wia_reduce_scatter(wia_tensor_t* tensor, wia_op_t op, wia_communicator_t* comm);
/* Returns a new tensor: all ranks' chunks joined along the first extent. */
WIA_API wia_tensor_t* wia_allgather(wia_tensor_t* chunk, wia_communicator_t* comm);
/* Over the world communicator: chunk `chunk` of `size` equal chunks. Done after wia_synchronize. */
WIA_API wia_status_t wia_send_async(wia_tensor_t* tensor, int chunk, int to);
WIA_API wia_status_t wia_recv_async(wia_tensor_t* tensor, int chunk, int from);

/* 6.5 */
WIA_API wia_communicator_t* wia_create_world_communicator(void); /* as wia_init */
WIA_API wia_communicator_t* wia_create_sub_communicator(wia_communicator_t* world, const int* selected_ranks,
                                                        int num_selected);
/* Ring shift by one: sends the tensor to rank + 1 and replaces it by that of rank - 1. */
WIA_API wia_status_t wia_send_recv(wia_tensor_t* tensor, wia_communicator_t* comm);
WIA_API wia_status_t wia_send_recv_peers(wia_tensor_t* send, int to, wia_tensor_t* recv, int from,
                                         wia_communicator_t* comm);

/* 6.6 */
WIA_API wia_request_t* wia_allreduce_async(wia_tensor_t* tensor, wia_op_t op, wia_communicator_t* comm);
WIA_API wia_status_t wia_wait(wia_request_t* request);
/* false: not done within the time, or failed (then wia_last_error() is not WIA_IN_PROGRESS and the request is
 * freed). */
WIA_API bool wia_wait_timeout(wia_request_t* request, int64_t milliseconds);

/* 6.8 */
WIA_API wia_status_t wia_barrier(wia_communicator_t* comm);

#ifdef __cplusplus
}
#endif
#endif /* WIA_WIA_H */
