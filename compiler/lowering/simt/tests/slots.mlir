// A constant number of a ring's tile is one of the ring's, for copies and accesses as for `simt.index`.
// RUN: %fails2 heddle compile %s --target gfx950 --from simplify-layouts -o %t.hpkg 2>&1 | FileCheck %s
// CHECK: slots.mlir:15:5: error: 'simt.async_buffer_copy' takes slot 2 of a ring of 2: they are numbered from 0 to 1
// RUN: sed 's/ring\[%%c2\]/ring[%%c1]/' %s > %t.mlir
// RUN: %fails2 heddle compile %t.mlir --target gfx950 --from simplify-layouts -o %t.hpkg 2>&1 | FileCheck --check-prefix=READ %s
// READ: error: 'simt.load_shared' takes slot -1 of a ring of 2: they are numbered from 0 to 1
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [], shape = [256]>
module attributes {simt.target = "gfx950", simt.warps = 1 : i64} {
  tt.func public @slots(%p: !tt.ptr<f32>) {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %before = arith.constant -1 : i32
    %o = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #l>
    %ring = simt.alloc : !simt.shared<2 * 256xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
    simt.async_buffer_copy %p[%o] to %ring[%c2] by 4 : !tt.ptr<f32>, tensor<256xi32, #l>, !simt.shared<2 * 256xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
    simt.async_commit
    simt.async_wait 0
    %x = simt.load_shared %ring[%before] : !simt.shared<2 * 256xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]> -> tensor<256xf32, #l>
    simt.buffer_store %x, %p[%o] by 4 : tensor<256xf32, #l>, !tt.ptr<f32>, tensor<256xi32, #l>
    tt.return
  }
}
