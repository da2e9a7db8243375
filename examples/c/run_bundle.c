/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantises a matrix to FP8 by a kernel of the library that is in a bundle: no compiler is needed. */
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
  enum { rows = 4, columns = 512 };
  static float x[rows * columns], scales[rows];
  static unsigned char q[rows * columns];
  const char *choices[] = {"M=4", "K=512", count > 3 ? words[3] : "pow2=false"};
  const size_t sizes[] = {sizeof x, sizeof q, sizeof scales};
  uint64_t addresses[3], size;
  heddle_bundle bundle;
  heddle_device device;
  heddle_call call;
  heddle_stream stream;
  heddle_buffer buffers[3];

  if (count < 2) {
    fprintf(stderr, "usage: heddle-run-bundle-c kernels.hbundle [DEVICE [CHOICE]]\n");
    return HEDDLE_INPUT;
  }
  for (int i = 0; i < rows * columns; ++i)
    x[i] = (float)(i / columns + 1);
  check(heddle_bundle_load(words[1], &bundle));
  check(heddle_device_open(count > 2 ? words[2] : "host", &device));
  check(heddle_call_load(device, bundle, "fp8_rowwise_2d", choices, 3, &call));
  check(heddle_stream_create(device, &stream));
  /* In the order that heddle_call_describe gives: x, then the results. */
  for (int i = 0; i < 3; ++i) {
    check(heddle_buffer_create(device, sizes[i], i == 0 ? "x" : i == 1 ? "q" : "scales", &buffers[i]));
    check(heddle_buffer_get(buffers[i], &addresses[i], &size));
  }
  check(heddle_copy_to_device(stream, buffers[0], 0, x, sizeof x));
  check(heddle_call_launch(stream, call, addresses, 3));
  check(heddle_copy_to_host(stream, q, buffers[1], 0, sizeof q));
  check(heddle_copy_to_host(stream, scales, buffers[2], 0, sizeof scales));
  check(heddle_stream_synchronize(stream));
  printf("scales %g %g %g %g, q[0] = 0x%02x; %s\n", scales[0], scales[1], scales[2], scales[3], q[0],
         heddle_has_compiler() ? "libheddle" : "libheddle_runtime");

  for (int i = 0; i < 3; ++i)
    check(heddle_release(buffers[i]));
  check(heddle_release(stream));
  check(heddle_release(call));
  check(heddle_release(device));
  check(heddle_release(bundle));
  return 0;
}
