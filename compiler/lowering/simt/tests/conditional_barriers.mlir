// Barriers of some warps. They order nothing; after one of them warps are a barrier apart, and it takes two barriers to
// order what another warp accesses. In code it is a branch around an instruction.
// RUN: split-file %s %t && cd %t
// RUN: heddle-opt good.mlir --heddle-insert-barriers --heddle-verify-hazards | FileCheck %s
// RUN: heddle compile good.mlir --target gfx942 --from simplify-layouts --to asm | FileCheck %s --check-prefix=ASM
// RUN: %fails1 heddle-opt one.mlir --heddle-verify-hazards 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: heddle-opt two.mlir --heddle-verify-hazards -o /dev/null
// RUN: %fails1 heddle-opt lanes.mlir --heddle-insert-barriers 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: %fails1 heddle-opt loop.mlir --heddle-insert-barriers 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: %fails1 heddle-opt branch.mlir --heddle-insert-barriers 2>&1 | FileCheck %s --check-prefix=BRANCH
// RUN: %fails1 heddle-opt vote.mlir --heddle-insert-barriers 2>&1 | FileCheck %s --check-prefix=VOTE
// RUN: heddle compile nvidia.mlir --target sm_90 --from simplify-layouts --to asm | FileCheck %s --check-prefix=NVIDIA
// ONE: error: a load from shared memory reads bytes of shared memory that a store to shared memory writes before: a barrier is missing between them
// LANES: lanes.mlir:6:5: error: 'simt.cond_barrier' op has a condition that may differ among the threads of a warp; compute it of `simt.warp_id` and values that all threads share
// LOOP: loop.mlir:6:7: error: 'simt.cond_barrier' op stands in a loop: how many barriers warps are apart after it is not known
// BRANCH: branch.mlir:6:7: error: 'simt.cond_barrier' op stands in a branch that not all threads take
// VOTE: vote.mlir:4:5: error: 'simt.atomic_wait' op exchanges values at barriers of the block, in a function in which conditional barriers keep warps apart
// VOTE: note: the conditional barrier
// NVIDIA: setp.ne.b32 [[OTHERS:%p[0-9]+]], %r{{[0-9]+}}, 32;
// NVIDIA-NEXT: @[[OTHERS]] bra
// NVIDIA-NEXT: bar.sync 0;
//--- good.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [0], [0]], shape = [128]>
!tile = !simt.shared<1 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
module attributes {simt.target = "gfx942", simt.warps = 8 : i64} {
  tt.func public @good(%p: !tt.ptr<f32>) {
    %four = arith.constant 4 : i32
    %warp = simt.warp_id
    %late = arith.cmpi sge, %warp, %four : i32
    %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
    %x = arith.sitofp %range : tensor<128xi32, #l> to tensor<128xf32, #l>
    %m = simt.alloc at 0 : !tile
    // CHECK: simt.store_shared
    // CHECK-NEXT: simt.cond_barrier
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.load_shared
    // ASM: v_readfirstlane_b32
    // ASM: s_cbranch
    // ASM: s_barrier
    // ASM: s_barrier
    // ASM: s_barrier
    // ASM: ds_read
    simt.store_shared %x, %m : tensor<128xf32, #l>, !tile
    simt.cond_barrier %late
    %y = simt.load_shared %m : !tile -> tensor<128xf32, #l>
    simt.buffer_store %y, %p[%range] by 1 : tensor<128xf32, #l>, !tt.ptr<f32>, tensor<128xi32, #l>
    tt.return
  }
}
//--- one.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0]], shape = [64]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func @one(%x: tensor<64xf32, #l>, %bit: i1) {
    %m = simt.alloc at 0 : !tile
    simt.cond_barrier %bit
    simt.store_shared %x, %m : tensor<64xf32, #l>, !tile
    simt.barrier
    %y = simt.load_shared %m : !tile -> tensor<64xf32, #l>
    tt.return
  }
}
//--- two.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0]], shape = [64]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func @two(%x: tensor<64xf32, #l>, %bit: i1) {
    %m = simt.alloc at 0 : !tile
    simt.cond_barrier %bit
    simt.store_shared %x, %m : tensor<64xf32, #l>, !tile
    simt.barrier
    simt.barrier
    %y = simt.load_shared %m : !tile -> tensor<64xf32, #l>
    tt.return
  }
}
//--- lanes.mlir
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @lanes() {
    %c1 = arith.constant 1 : i32
    %id = tt.extern_elementwise {libname = "", libpath = "", pure = true, symbol = "__heddle_gettid"} : () -> i32
    %bit = arith.cmpi eq, %id, %c1 : i32
    simt.cond_barrier %bit
    tt.return
  }
}
//--- loop.mlir
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @loop(%n: i32, %bit: i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.cond_barrier %bit
    }
    tt.return
  }
}
//--- branch.mlir
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @branch(%n: i32, %yes: i1) {
    %warp = simt.warp_id
    %bit = arith.cmpi eq, %n, %warp : i32
    scf.if %bit {
      simt.cond_barrier %yes
    }
    tt.return
  }
}
//--- vote.mlir
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @vote(%p: !tt.ptr<i32>, %v: i32, %bit: i1) {
    simt.cond_barrier %bit
    simt.atomic_wait acquire, gpu, %p, %v : !tt.ptr<i32>
    tt.return
  }
}
//--- nvidia.mlir
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func public @nvidia() {
    %c1 = arith.constant 1 : i32
    %warp = simt.warp_id
    %bit = arith.cmpi eq, %warp, %c1 : i32
    simt.cond_barrier %bit
    tt.return
  }
}
