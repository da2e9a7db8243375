// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest kernel with layouts: a copy straight to shared memory, which is read transposed. For gfx942.
#include "examples/builder/Kernels.h"
#include "frontend/build/Block.h"

using namespace heddle::build;

Program heddle::examples::sharedTranspose() {
  BlockedLayout rows{.sizePerThread = {1, 1}, .threadsPerWarp = {1, 64}, .warpsPerBlock = {4, 1}, .order = {1, 0}};
  PaddedSharedLayout padded{.padding = {{64, 1}}, .shape = {64, 64}, .order = {1, 0}};
  return blockKernel("shared_transpose", {.chip = "gfx942", .warps = 4}, {aligned("x"), aligned("out")},
                     [=](Pointer<f32> x, Pointer<f32> out) {
                       auto offsets =
                           column(range<64>(SliceLayout{1, rows})) * 64 + row(range<64>(SliceLayout{0, rows}));
                       auto tile = allocateShared<f32, 64, 64>(padded);
                       bufferLoadToShared(tile, x, offsets);
                       asyncCommit();
                       asyncWait(0);
                       bufferStore(out, offsets, tile.trans().load(rows));
                     });
}
