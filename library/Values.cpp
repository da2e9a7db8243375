// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: values of buffers from text.
#include "library/Handles.h"
#include "support/BufferSpec.h"
#include "support/Npy.h"
#include <fmt/format.h>

using namespace heddle;

heddle_status heddle_make_values(const char *value, heddle_text *bytes) {
  return guarded([&] {
    requirePointer(value, "value", "a buffer's value");
    requirePointer(bytes, "bytes", "a place for the handle");
    BufferSpec spec = parseBufferSpec(value);
    if (spec.kind == BufferSpec::Kind::Scalar || spec.kind == BufferSpec::Kind::Pointers)
      throw inputError(fmt::format("`{}` is no value that has bytes of its own", value),
                       {"such are `f32[64,128]`, `rand:bf16[64]:7` and `@file.npy`"});
    give(bytes, TextObject{spec.kind == BufferSpec::Kind::File ? readNpy(spec.path).bytes : materialize(spec)});
  });
}
