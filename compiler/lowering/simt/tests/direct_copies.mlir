// Copies straight to LDS: instructions of whole waves, waits for as many as may stay in flight, barriers that leave them in
// flight, and why a copy cannot be one.
// RUN: split-file %s %t
// RUN: heddle-opt %t/ring.mlir --heddle-insert-barriers --heddle-verify-hazards --heddle-count-waits | FileCheck %t/ring.mlir
// RUN: heddle compile %t/ring.mlir --target gfx950 --from place-shared-memory --to asm | FileCheck %t/ring.mlir --check-prefix=ASM
// RUN: %fails2 heddle compile %t/early.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/early.mlir
// RUN: %fails2 heddle compile %t/lanes.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/lanes.mlir
// RUN: sed 's/gfx950/gfx942/' %t/ring.mlir > %t/narrow.mlir
// RUN: %fails2 heddle compile %t/narrow.mlir --target gfx942 --from place-shared-memory 2>&1 | FileCheck %t/early.mlir --check-prefix=NARROW
// RUN: heddle-opt %t/unknown.mlir --heddle-insert-barriers --heddle-verify-hazards --heddle-count-waits 2> %t/warning | FileCheck %t/unknown.mlir
// RUN: FileCheck %t/unknown.mlir --check-prefix=WARNING --input-file %t/warning
// RUN: heddle-opt %t/carried.mlir --heddle-insert-barriers --heddle-verify-hazards --heddle-count-waits 2> %t/warning | FileCheck %t/carried.mlir
// RUN: FileCheck %t/carried.mlir --check-prefix=WARNING --input-file %t/warning
// RUN: %fails2 heddle compile %t/branch.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/branch.mlir
// RUN: heddle-opt %t/kept.mlir --heddle-count-waits | FileCheck %t/kept.mlir
// RUN: %fails2 heddle compile %t/pairs.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/pairs.mlir
// RUN: %fails2 heddle compile %t/padded.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/padded.mlir
// RUN: %fails2 heddle compile %t/part.mlir --target gfx950 --from place-shared-memory 2>&1 | FileCheck %t/part.mlir
// RUN: heddle-opt %t/idle.mlir --heddle-count-waits 2>&1 >/dev/null | FileCheck %t/idle.mlir

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
// CHECK: error: a load from shared memory reads bytes of shared memory that an asynchronous copy writes before: `async_wait` and a barrier are missing between them
// NARROW: error: 'simt.async_buffer_copy' cannot be compiled: {{.*}}rule C3: the 64 lanes of a warp do not write 256 contiguous bytes
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
// CHECK: error: 'simt.async_copy' cannot be compiled: {{.*}}rule C3: the 64 lanes of a warp do not write 256 contiguous bytes
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

//--- unknown.mlir
// Whether the tile of the ring is the one that was copied to is not known: the copies are waited for.
// CHECK: simt.async_buffer_copy
// CHECK-NEXT: simt.async_commit
// CHECK-NEXT: simt.async_wait 0 instructions 0
// CHECK-NEXT: simt.barrier shared
// CHECK-NEXT: simt.load_shared
// WARNING: warning: a load from shared memory waits for all copies in flight: whether one of them is to the tile of shared memory that it accesses is not known
// WARNING: note: the copy
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!ring = !simt.shared<2 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @unknown(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>, %a: i32, %b: i32) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %ring = simt.alloc at 0 : !ring
    simt.async_buffer_copy %p[%o] to %ring[%a] by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !ring
    %x = simt.load_shared %ring[%b] : !ring -> tensor<1024xf32, #l>
    simt.buffer_store %x, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    tt.return
  }
}

//--- kept.mlir
// A wait that counts instructions itself stays what it is; the other may leave the copy of the second group in flight.
// CHECK: simt.async_wait 1 instructions 0
// CHECK: simt.async_wait 1 instructions 1
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!tile = !simt.shared<1 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @kept(%p: !tt.ptr<f32>) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %m = simt.alloc at 0 : !tile
    simt.async_buffer_copy %p[%o] to %m by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !tile
    simt.async_commit
    simt.async_buffer_copy %p[%o] to %m by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !tile
    simt.async_commit
    simt.async_wait 1 instructions 0
    simt.async_wait 1
    tt.return
  }
}

//--- pairs.mlir
// CHECK: error: 'simt.async_buffer_copy' cannot be compiled: by 16 bytes for each lane, rule C1: a lane has 8 contiguous bytes of global memory, 8 of them contiguous in shared memory; by 4 bytes for each lane, rule C3: the 64 lanes of a warp do not write 256 contiguous bytes
#l = #simt.linear<register = [[1], [256], [512]], lane = [[2], [4], [8], [16], [32], [64]], warp = [[128], [0]], shape = [1024]>
!tile = !simt.shared<1 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @pairs(%p: !tt.ptr<f32>) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %m = simt.alloc at 0 : !tile
    simt.async_buffer_copy %p[%o] to %m by 2 : !tt.ptr<f32>, tensor<1024xi32, #l>, !tile
    tt.return
  }
}

//--- padded.mlir
// CHECK: error: 'simt.async_buffer_copy' cannot be compiled: {{.*}}rule C2: a warp writes 256 contiguous elements, and there is padding after each 128
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!tile = !simt.shared<1 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]], pad = [128:4]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @padded(%p: !tt.ptr<f32>) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %m = simt.alloc at 0 : !tile
    simt.async_buffer_copy %p[%o] to %m by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !tile
    tt.return
  }
}

//--- part.mlir
// Memory is swizzled by bits above those of the part: it begins at offset 264.
// CHECK: error: 'simt.async_buffer_copy' cannot be compiled: rule C4: it copies to a part of a memory object that does not begin at a multiple of 256 elements, which a warp writes
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[0], [0]], shape = [256]>
!tile = !simt.shared<1 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [264], [512]]>
!part = !simt.shared<1 * 256xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [264], [512]], of = [1024]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @part(%p: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #l>
    %m = simt.alloc at 0 : !tile
    %part = simt.subslice %m[256] : !tile -> !part
    simt.async_buffer_copy %p[%o] to %part by 4 : !tt.ptr<f32>, tensor<256xi32, #l>, !part
    tt.return
  }
}

//--- carried.mlir
// A loop carries the number of the tile, in a way that is not known: the read waits for the copy of this iteration too,
// and the next copy for the read.
// CHECK: scf.for
// CHECK: simt.barrier shared
// CHECK-NEXT: simt.async_buffer_copy
// CHECK-NEXT: simt.async_commit
// CHECK-NEXT: simt.async_wait 1 instructions 1
// CHECK-NEXT: simt.async_commit
// CHECK-NEXT: simt.async_wait 0 instructions 0
// CHECK-NEXT: simt.barrier shared
// CHECK-NEXT: simt.load_shared
// WARNING-COUNT-1: warning: {{.*}} waits for all copies in flight
// WARNING-NOT: warning:
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!ring = !simt.shared<2 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @carried(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %zero = arith.constant dense<0.0> : tensor<1024xf32, #l>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = simt.alloc at 0 : !ring
    simt.async_buffer_copy %p[%o] to %ring[%c0] by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !ring
    simt.async_commit
    %sum, %last = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %now = %c0) -> (tensor<1024xf32, #l>, i32) : i32 {
      %other = arith.subi %c1, %now : i32
      %next = arith.maxsi %other, %c0 : i32
      simt.async_buffer_copy %p[%o] to %ring[%next] by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !ring
      simt.async_commit
      simt.async_wait 1
      %x = simt.load_shared %ring[%now] : !ring -> tensor<1024xf32, #l>
      %more = arith.addf %s, %x : tensor<1024xf32, #l>
      scf.yield %more, %next : tensor<1024xf32, #l>, i32
    }
    simt.async_wait 0
    simt.buffer_store %sum, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    tt.return
  }
}

//--- branch.mlir
// A wait helps the thread that waits; the barrier after it needs all.
// CHECK: error: 'simt.load_shared' needs a barrier before it, and stands in a branch or loop that not all threads take alike
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!ring = !simt.shared<2 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @branch(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>, %a: i32, %b: i32) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %ring = simt.alloc at 0 : !ring
    simt.async_buffer_copy %p[%o] to %ring[%a] by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !ring
    %thread = simt.warp_id
    %c1 = arith.constant 1 : i32
    %some = arith.cmpi slt, %thread, %c1 : i32
    scf.if %some {
      %x = simt.load_shared %ring[%b] : !ring -> tensor<1024xf32, #l>
      simt.buffer_store %x, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    }
    tt.return
  }
}

//--- idle.mlir
// Waits that wait for nothing, and copies that nothing waits for. In a loop there are more groups than stand in the text.
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [], shape = [256]>
!memory = !simt.shared<1 * 256xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
// CHECK: idle.mlir:{{[0-9:]+}} warning: `async_wait` waits for nothing: 0 groups may stay in flight, and none were committed before
// CHECK: idle.mlir:{{[0-9:]+}} warning: `async_wait` waits for nothing: 2 groups may stay in flight, and at most 1 were committed before
// CHECK: idle.mlir:{{[0-9:]+}} warning: `async_wait` waits for nothing: 3 groups may stay in flight, and after the waits before it at most 2 are
// CHECK: idle.mlir:[[#@LINE+15]]:7: warning: an asynchronous copy is never waited for before the kernel ends
// CHECK: idle.mlir:[[#@LINE+19]]:5: warning: an asynchronous copy is never waited for before the kernel ends
// CHECK-NOT: warning
module attributes {simt.target = "gfx950", simt.warps = 1 : i64} {
  tt.func public @idle(%p: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #l>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %memory = simt.alloc at 0 : !memory
    simt.async_wait 0
    simt.async_buffer_copy %p[%o] to %memory by 4 : !tt.ptr<f32>, tensor<256xi32, #l>, !memory
    simt.async_commit
    simt.async_wait 2
    simt.async_wait 0
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.async_buffer_copy %p[%o] to %memory by 4 : !tt.ptr<f32>, tensor<256xi32, #l>, !memory
      simt.async_commit
      simt.async_wait 2
    }
    simt.async_wait 3
    simt.async_buffer_copy %p[%o] to %memory by 4 : !tt.ptr<f32>, tensor<256xi32, #l>, !memory
    simt.async_commit
    tt.return
  }
}
