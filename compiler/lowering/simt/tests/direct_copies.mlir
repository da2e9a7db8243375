// Copies straight to LDS: instructions of whole waves, waits for as many as may stay in flight, barriers that leave them in
// flight, and why a copy cannot be one.
// RUN: split-file %s %t
// RUN: heddle-opt %t/ring.mlir --heddle-insert-barriers --heddle-verify-hazards --heddle-count-waits | FileCheck %t/ring.mlir
// RUN: heddle compile %t/ring.mlir --target gfx950 --from place-shared-memory --to asm | FileCheck %t/ring.mlir --check-prefix=ASM
// RUN: %fails2 heddle compile %t/early.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/early.mlir
// RUN: %fails2 heddle compile %t/lanes.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/lanes.mlir
// RUN: sed 's/gfx950/gfx942/' %t/ring.mlir > %t/narrow.mlir
// RUN: %fails2 heddle compile %t/narrow.mlir --target gfx942 --from place-shared-memory 2>&1 | FileCheck %t/early.mlir --check-prefix=NARROW

//--- ring.mlir
// Two groups ahead: at the wait those of two groups, of 2 instructions each, may be in flight.
#l = #simt.linear<register = [[1], [2], [1024]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [2048]>
!ring = !simt.shared<3 * 2048xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512], [1024]]>
// CHECK: simt.async_buffer_copy
// CHECK: scf.for
// CHECK: simt.barrier shared
// CHECK-NEXT: simt.async_buffer_copy
// CHECK-NEXT: simt.async_commit
// CHECK-NEXT: simt.async_wait 2 instructions 4
// CHECK-NEXT: simt.barrier shared
// CHECK-NEXT: simt.load_shared
// ASM: buffer_load_dwordx4 {{.*}} lds
// ASM: s_barrier
// ASM-NOT: vmcnt
// ASM: buffer_load_dwordx4 {{.*}} lds
// ASM: buffer_load_dwordx4 {{.*}} lds
// ASM: s_waitcnt vmcnt(4)
// ASM-NOT: vmcnt
// ASM: s_barrier
// ASM-NOT: vmcnt
// ASM: ds_read_b128
// ASM-NOT: vmcnt
// ASM: s_cbranch
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @ring(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 2048 : i32} : tensor<2048xi32, #l>
    %zero = arith.constant dense<0.0> : tensor<2048xf32, #l>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %ring = simt.alloc at 0 : !ring
    simt.async_buffer_copy %p[%o] to %ring[%c0] by 4 : !tt.ptr<f32>, tensor<2048xi32, #l>, !ring
    simt.async_commit
    simt.async_buffer_copy %p[%o] to %ring[%c1] by 4 : !tt.ptr<f32>, tensor<2048xi32, #l>, !ring
    simt.async_commit
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<2048xf32, #l>) : i32 {
      %ahead = arith.addi %i, %c2 : i32
      %next = arith.remui %ahead, %c3 : i32
      %now = arith.remui %i, %c3 : i32
      simt.async_buffer_copy %p[%o] to %ring[%next] by 4 : !tt.ptr<f32>, tensor<2048xi32, #l>, !ring
      simt.async_commit
      simt.async_wait 2
      %x = simt.load_shared %ring[%now] : !ring -> tensor<2048xf32, #l>
      %more = arith.addf %s, %x : tensor<2048xf32, #l>
      scf.yield %more : tensor<2048xf32, #l>
    }
    simt.async_wait 0
    simt.buffer_store %sum, %out[%o] by 4 : tensor<2048xf32, #l>, !tt.ptr<f32>, tensor<2048xi32, #l>
    tt.return
  }
}

//--- early.mlir
// CHECK: error: 'simt.load_shared' reads bytes of shared memory that 'simt.async_buffer_copy' writes before: `simt.async_wait` and a barrier are missing between them
// NARROW: error: 'simt.async_buffer_copy' is not lowered for GPU targets: rule C3: the 64 lanes of a warp do not write 256 contiguous bytes
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!tile = !simt.shared<1 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @early(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %m = simt.alloc at 0 : !tile
    simt.async_buffer_copy %p[%o] to %m by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !tile
    simt.async_commit
    %x = simt.load_shared %m : !tile -> tensor<1024xf32, #l>
    simt.buffer_store %x, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    tt.return
  }
}

//--- lanes.mlir
// CHECK: error: 'simt.async_copy' is not lowered for GPU targets: rule C3: the 64 lanes of a warp do not write 256 contiguous bytes
#l = #simt.linear<register = [[1]], lane = [[2], [4], [8], [16], [32], [64]], warp = [[128], [256]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @lanes(%x: !tt.ptr<f32>) {
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #l>
    %m = simt.alloc at 0 : !tile
    simt.async_copy %p to %m by 1 : tensor<512x!tt.ptr<f32>, #l>, !tile
    simt.async_commit
    simt.async_wait 0
    tt.return
  }
}
