/* The first program in C: every rank contributes three numbers, all get the sums.
 *   wia run -n 4 -- hello_c */
#include <stdio.h>
#include <wia/wia.h>

int main(void) {
  wia_communicator_t* world;
  if (wia_init(&world) != WIA_SUCCESS) {
    fprintf(stderr, "%s\n", wia_last_error_message());
    return 1;
  }
  float values[3] = {1, (float)wia_rank(world), 0.5f};
  if (wia_all_reduce(values, values, 3, WIA_FLOAT32, WIA_OP_SUM, world, NULL) != WIA_SUCCESS) {
    fprintf(stderr, "%s\n", wia_last_error_message());
    return 1;
  }
  if (wia_rank(world) == 0) printf("%d ranks: %g %g %g\n", wia_size(world), values[0], values[1], values[2]);
  return wia_finalize() == WIA_SUCCESS ? 0 : 1;
}
