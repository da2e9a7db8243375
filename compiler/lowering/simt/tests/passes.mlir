// Hand-written simt IR through the passes of its level; the module says which chip and how many warps it is for.
// RUN: heddle-opt %s --heddle-place-shared-memory --heddle-insert-barriers --heddle-verify-hazards | FileCheck %s --check-prefix=BARRIERS
// RUN: heddle-opt %s --heddle-place-shared-memory --heddle-insert-barriers --heddle-simt-to-threads | FileCheck %s --check-prefix=THREADS
// RUN: heddle-opt %s --heddle-place-shared-memory --heddle-insert-barriers --heddle-simt-to-threads --heddle-loops-to-branches --heddle-threads-to-llvm | FileCheck %s --check-prefix=LLVM
// RUN: heddle compile %s --target gfx942 --from simplify-layouts --to asm | FileCheck %s --check-prefix=ASM
// RUN: sed 's/simt.target = "gfx942", //' %s > %t.mlir && %fails1 heddle-opt %t.mlir --heddle-insert-barriers 2>&1 | FileCheck %s --check-prefix=NOCHIP
// RUN: %fails1 heddle-opt %t.mlir --heddle-insert-barriers=target=gfx9000 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %fails1 heddle-opt %t.mlir --heddle-insert-barriers=target=host 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: %fails1 heddle-opt %t.mlir --heddle-ttg-to-simt=target=gfx942 2>&1 | FileCheck %s --check-prefix=TTGIR
// RUN: %fails1 heddle-opt %s --heddle-insert-barriers 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: %fails1 heddle-opt %s --heddle-place-shared-memory --heddle-verify-hazards 2>&1 | FileCheck %s --check-prefix=HAZARD
// PLACE: error: 'simt.alloc' op has no place in shared memory: run place-shared-memory first
// HAZARD: error: a load from shared memory reads bytes of shared memory that a store to shared memory writes before: a barrier is missing between them
// HAZARD: note: the access before
// NOCHIP: error: pass `heddle-insert-barriers` needs a chip: `heddle-insert-barriers{target=gfx942}`, or `simt.target` on the module
// UNKNOWN: error: {{.*}}gfx9000
// HOST: error: pass `heddle-insert-barriers` is for GPUs, not for `host`
// TTGIR: error: pass `heddle-ttg-to-simt` is for TTGIR: the module has no `ttg.target`
#rows = #simt.linear<register = [[1]], lane = [[2], [4], [8], [16], [32], [64]], warp = [[128], [256]], shape = [512]>
#transposed = #simt.linear<register = [[256]], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128]], shape = [512]>
!row = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func public @through_shared(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %o = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32, #rows>
    %w = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32, #transposed>
    %x = simt.buffer_load %p[%o] by 2 : !tt.ptr<f32>, tensor<512xi32, #rows> -> tensor<512xf32, #rows>
    %row = simt.alloc : !row
    simt.store_shared %x, %row : tensor<512xf32, #rows>, !row
    // BARRIERS: simt.alloc at 0 :
    // BARRIERS: simt.store_shared
    // BARRIERS-NEXT: simt.barrier
    // BARRIERS-NEXT: simt.load_shared
    %y = simt.load_shared %row : !row -> tensor<512xf32, #transposed>
    simt.buffer_store %y, %out[%w] by 1 : tensor<512xf32, #transposed>, !tt.ptr<f32>, tensor<512xi32, #transposed>
    tt.return
  }
}
// THREADS: llvm.func {{.*}}@through_shared
// THREADS-NOT: simt.
// LLVM: llvm.store
// LLVM-NOT: scf.
// ASM: buffer_load_dwordx2
// ASM: ds_write_b64
// ASM: s_barrier
// ASM: ds_read
// ASM: buffer_store_dword
// Layouts are of the module's warps.
// RUN: sed 's/simt.warps = 4/simt.warps = 2/' %s > %t.mlir && %fails1 heddle-opt %t.mlir --heddle-place-shared-memory 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS: error: 'tt.make_range' op has a tile over 64 lanes and 4 warps; a warp has 64 lanes, the block 2 warps
