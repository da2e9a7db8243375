/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Runs a package of tests/corpus/vector_add.gfx942.ttir that was compiled beforehand: with libheddle_runtime, which has
 * no compiler, or with libheddle. */
#include "heddle.h"
#include <stdio.h>
#include <stdlib.h>

static void check(heddle_status status) {
  if (status == HEDDLE_OK)
    return;
  fprintf(stderr, "error: %s\n", heddle_error_text());
  for (size_t i = 0; i < heddle_error_note_count(); ++i)
    fprintf(stderr, "  note: %s\n", heddle_error_note(i));
  exit(status);
}

int main(int count, char **words) {
  enum { elements = 4000 };
  static float x[elements], y[elements], out[elements];
  heddle_package package;
  heddle_device device;
  heddle_kernel kernel;
  heddle_stream stream;
  heddle_buffer buffers[3];

  if (count < 2) {
    fprintf(stderr, "usage: heddle-run-package-c vector_add.hpkg [DEVICE]\n");
    return HEDDLE_INPUT;
  }
  for (int i = 0; i < elements; ++i) {
    x[i] = (float)i;
    y[i] = 2;
  }
  check(heddle_package_load(words[1], &package));
  check(heddle_device_open(count > 2 ? words[2] : "host", &device));
  check(heddle_kernel_load(device, package, &kernel));
  check(heddle_stream_create(device, &stream));
  for (int i = 0; i < 3; ++i)
    check(heddle_buffer_create(device, sizeof x, i == 0 ? "x" : i == 1 ? "y" : "out", &buffers[i]));

  /* The kernel's tiles have 1024 elements. */
  heddle_launch_options options = {.struct_size = sizeof options, .grid = {(elements + 1023) / 1024}};
  heddle_value values[] = {{HEDDLE_BUFFER, 0, (uint64_t)buffers[0]},
                           {HEDDLE_BUFFER, 0, (uint64_t)buffers[1]},
                           {HEDDLE_BUFFER, 0, (uint64_t)buffers[2]},
                           {HEDDLE_SCALAR, 0, elements}};
  check(heddle_copy_to_device(stream, buffers[0], 0, x, sizeof x));
  check(heddle_copy_to_device(stream, buffers[1], 0, y, sizeof y));
  check(heddle_launch(stream, kernel, &options, values, 4));
  check(heddle_copy_to_host(stream, out, buffers[2], 0, sizeof out));
  check(heddle_stream_synchronize(stream));
  printf("out[0] = %g, out[%d] = %g; %s\n", out[0], elements - 1, out[elements - 1],
         heddle_has_compiler() ? "libheddle" : "libheddle_runtime");

  for (int i = 0; i < 3; ++i)
    check(heddle_release(buffers[i]));
  check(heddle_release(stream));
  check(heddle_release(kernel));
  check(heddle_release(device));
  check(heddle_release(package));
  return 0;
}
