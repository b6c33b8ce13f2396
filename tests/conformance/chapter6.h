/* The examples of WIA-AI-011 chapter 6 in C, in the chapter's own call forms. Each is run by every rank of a
 * job, checks its results and gives 0, or says what was wrong and gives 1. chapter6_test.cpp starts the jobs.
 */
#ifndef CHAPTER6_H
#define CHAPTER6_H

#ifdef __cplusplus
extern "C" {
#endif

int device_memory(void);            /* 6.2 */
int bandwidth_measurement(void);    /* 6.2, measure_bandwidth */
int topology_discovery(void);       /* 6.2, discover_topology */
int topology_of_the_host(void);     /* 6.2 */
int all_reduce_example(void);       /* 6.3.1 */
int ring_all_reduce(void);          /* 6.3.1 */
int broadcast_example(void);        /* 6.3.2 */
int reduce_scatter_example(void);   /* 6.3.3 */
int all_gather_example(void);       /* 6.3.3 */
int world_communicator(void);       /* 6.5 */
int multi_communicator(void);       /* 6.5, 8 ranks */
int ring_shift(void);               /* 6.5, wia_send_recv */
int overlap_of_communication(void); /* 6.6 */
int gradient_bucketing(void);       /* 6.6 */
int wait_with_timeout(void);        /* 6.6 and 6.8, wia_wait_timeout; 2 ranks */
int barrier_example(void);          /* 6.8 */

#ifdef __cplusplus
}
#endif
#endif
