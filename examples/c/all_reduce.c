/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ranks that are processes sum arrays by a collective whose kernel is in a bundle: no compiler is needed. */
#define _POSIX_C_SOURCE 200809L
#include "heddle.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(heddle_status status) {
  if (status == HEDDLE_OK)
    return;
  fprintf(stderr, "error: %s\n", heddle_error_text());
  for (size_t i = 0; i < heddle_error_note_count(); ++i)
    fprintf(stderr, "  note: %s\n", heddle_error_note(i));
  exit(status);
}

/* What one rank does. */
static void run(const char *file, const char *address, int rank, int ranks, int elements, int hosts) {
  char name[32];
  uint64_t in = 0, out = 0, size = 0;
  float *values = malloc(sizeof *values * (size_t)elements);
  heddle_bundle bundle;
  heddle_device device;
  heddle_stream stream;
  heddle_buffer input, output;
  heddle_communicator group;
  heddle_collective sum;
  heddle_communicator_options options = {.struct_size = sizeof options, .hosts = hosts}; /* 0: those that there are */
  heddle_collective_request request = {.struct_size = sizeof request, .type = "f32", .count = elements};

  if (!values)
    exit(HEDDLE_ENVIRONMENT);
  for (int i = 0; i < elements; ++i)
    values[i] = (float)(i + rank);
  snprintf(name, sizeof name, "host:%d", rank);
  check(heddle_bundle_load(file, &bundle));
  check(heddle_device_open(name, &device));
  check(heddle_communicator_connect(device, address, rank, ranks, NULL, &options, &group));
  check(heddle_communicator_add_bundle(group, bundle));
  check(heddle_communicator_prepare(group, &request, &sum));
  check(heddle_stream_create(device, &stream));
  check(heddle_buffer_create(device, sizeof *values * (size_t)elements, "input", &input));
  check(heddle_buffer_create(device, sizeof *values * (size_t)elements, "output", &output));
  check(heddle_buffer_get(input, &in, &size));
  check(heddle_buffer_get(output, &out, &size));
  check(heddle_copy_to_device(stream, input, 0, values, size));
  check(heddle_collective_launch(sum, stream, in, out));
  check(heddle_copy_to_host(stream, values, output, 0, size));
  check(heddle_stream_synchronize(stream));
  check(heddle_communicator_synchronize(group));
  if (rank == 0)
    printf("%d ranks: out[0] = %g, out[%d] = %g; %s\n", ranks, values[0], elements - 1, values[elements - 1],
           heddle_has_compiler() ? "libheddle" : "libheddle_runtime");
  check(heddle_release(sum));
  check(heddle_release(group));
  check(heddle_release(input));
  check(heddle_release(output));
  check(heddle_release(stream));
  check(heddle_release(device));
  check(heddle_release(bundle));
  free(values);
}

int main(int count, char **words) {
  char address[64];
  int ranks = count > 2 ? atoi(words[2]) : 0, elements = count > 3 ? atoi(words[3]) : 1024;
  int hosts = count > 4 ? atoi(words[4]) : 0, worst = 0;

  if (count < 3 || ranks < 1 || ranks > 8 || elements < 1) {
    fprintf(stderr, "usage: heddle-all-reduce-c collectives.hbundle RANKS [ELEMENTS [HOSTS]]\n");
    return HEDDLE_INPUT;
  }
  snprintf(address, sizeof address, "unix:@heddle-all-reduce-c-%ld", (long)getpid());
  /* Before anything of Heddle: a child has no threads for kernels otherwise. */
  for (int rank = 1; rank < ranks; ++rank)
    if (fork() == 0) {
      run(words[1], address, rank, ranks, elements, hosts);
      return 0;
    }
  run(words[1], address, 0, ranks, elements, hosts);
  for (int rank = 1; rank < ranks; ++rank) {
    int status = 0;
    wait(&status);
    status = WIFEXITED(status) ? WEXITSTATUS(status) : HEDDLE_INTERNAL; /* else it was killed */
    worst = status > worst ? status : worst;
  }
  return worst;
}
