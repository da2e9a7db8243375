// Two pipelines one after the other: the groups stay a stage apart where that is ordered, with a barrier between where one more is
// needed; else all warps are aligned between. Results are those without pipelines, and clean.
// RUN: heddle compile %s --kernel apart --target gfx950 --from simplify-layouts --to verify-hazards | FileCheck %s
// RUN: heddle compile %s --kernel further --target gfx950 --from simplify-layouts --to verify-hazards | FileCheck %s --check-prefix=FURTHER
// RUN: heddle compile %s --kernel aligned --target gfx950 --from simplify-layouts --to verify-hazards | FileCheck %s --check-prefix=ALIGNED
// DEFINE: %{kernel} = apart
// DEFINE: %{arguments} = --grid 1 --arg x=rand:f32[512]:1 --arg out=f32[512] --arg n=5
// DEFINE: %{compile} = heddle compile %s --kernel %{kernel} --target gfx950 --from simplify-layouts
// DEFINE: %{compare} = heddle simulate %t.on.hpkg %{arguments} --out out=%t.on.npy && heddle simulate %t.off.hpkg %{arguments} --out out=%t.off.npy && cmp %t.on.npy %t.off.npy && heddle check %t.on.hpkg %{arguments}
// RUN: %{compile} -o %t.on.hpkg && %{compile} --warp-pipeline off -o %t.off.hpkg && %{compare} | FileCheck %s --check-prefix=CLEAN
// REDEFINE: %{kernel} = further
// RUN: %{compile} -o %t.on.hpkg && %{compile} --warp-pipeline off -o %t.off.hpkg && %{compare} | FileCheck %s --check-prefix=CLEAN
// REDEFINE: %{kernel} = aligned
// RUN: %{compile} -o %t.on.hpkg && %{compile} --warp-pipeline off -o %t.off.hpkg && %{compare} | FileCheck %s --check-prefix=CLEAN
// CLEAN: {{^}}clean
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<4 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  // What the second pipeline reads was there before the first.
  // CHECK: simt.shift_warps
  // CHECK-NEXT: simt.set_priority 1
  // CHECK: simt.barrier shared
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: simt.set_priority 1
  // CHECK-NEXT: scf.for
  // CHECK: simt.align_warps
  tt.func public @apart(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #r>
    %from = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #l>
    %to = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #r>
    %v = simt.buffer_load %x[%from] by 1 : !tt.ptr<f32>, tensor<512xi32, #l> -> tensor<512xf32, #l>
    %ring = simt.alloc : !ring
    %tile = simt.alloc : !tile
    simt.store_shared %v, %ring[%c0] : tensor<512xf32, #l>, !ring
    simt.store_shared %v, %ring[%c1] : tensor<512xf32, #l>, !ring
    simt.store_shared %v, %tile : tensor<512xf32, #l>, !tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<512xf32, #r>) : i32 {
      %read = arith.remsi %i, %c4 : i32
      %ahead = arith.addi %i, %c2 : i32
      %write = arith.remsi %ahead, %c4 : i32
      %y = simt.stage "memory" priority 1 -> tensor<512xf32, #r> {
        %y = simt.load_shared %ring[%read] : !ring -> tensor<512xf32, #r>
        simt.store_shared %v, %ring[%write] : tensor<512xf32, #l>, !ring
        simt.yield %y : tensor<512xf32, #r>
      }
      %t = simt.stage "sums" priority 0 -> tensor<512xf32, #r> {
        %t = arith.addf %s, %y : tensor<512xf32, #r>
        simt.yield %t : tensor<512xf32, #r>
      }
      scf.yield %t : tensor<512xf32, #r>
    }
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%s = %sum) -> (tensor<512xf32, #r>) : i32 {
      %y = simt.stage "read" priority 1 -> tensor<512xf32, #r> {
        %y = simt.load_shared %tile : !tile -> tensor<512xf32, #r>
        simt.yield %y : tensor<512xf32, #r>
      }
      %t = simt.stage "sums" priority 0 -> tensor<512xf32, #r> {
        %t = arith.addf %s, %y : tensor<512xf32, #r>
        simt.yield %t : tensor<512xf32, #r>
      }
      scf.yield %t : tensor<512xf32, #r>
    }
    simt.buffer_store %all, %out[%to] by 1 : tensor<512xf32, #r>, !tt.ptr<f32>, tensor<512xi32, #r>
    tt.return
  }

  // The first stage of the second pipeline reads what the last one of the first writes.
  // FURTHER: simt.shift_warps
  // FURTHER: scf.yield
  // FURTHER-NEXT: }
  // FURTHER-NEXT: simt.schedule_barrier 0
  // FURTHER-NEXT: simt.barrier bare
  // FURTHER-NEXT: simt.schedule_barrier 0
  // FURTHER-NEXT: simt.set_priority 1
  // FURTHER-NEXT: scf.for
  // FURTHER: simt.align_warps
  tt.func public @further(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #r>
    %from = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #l>
    %to = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #r>
    %v = simt.buffer_load %x[%from] by 1 : !tt.ptr<f32>, tensor<512xi32, #l> -> tensor<512xf32, #l>
    %tile = simt.alloc : !tile
    simt.store_shared %v, %tile : tensor<512xf32, #l>, !tile
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%s = %v) -> (tensor<512xf32, #l>) : i32 {
      %t = simt.stage "sums" priority 1 -> tensor<512xf32, #l> {
        %t = arith.addf %s, %v : tensor<512xf32, #l>
        simt.yield %t : tensor<512xf32, #l>
      }
      simt.stage "write" priority 0 {
        simt.store_shared %t, %tile : tensor<512xf32, #l>, !tile
      }
      scf.yield %t : tensor<512xf32, #l>
    }
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<512xf32, #r>) : i32 {
      %y = simt.stage "read" priority 1 -> tensor<512xf32, #r> {
        %y = simt.load_shared %tile : !tile -> tensor<512xf32, #r>
        simt.yield %y : tensor<512xf32, #r>
      }
      %t = simt.stage "sums" priority 0 -> tensor<512xf32, #r> {
        %t = arith.addf %s, %y : tensor<512xf32, #r>
        simt.yield %t : tensor<512xf32, #r>
      }
      scf.yield %t : tensor<512xf32, #r>
    }
    simt.buffer_store %all, %out[%to] by 1 : tensor<512xf32, #r>, !tt.ptr<f32>, tensor<512xi32, #r>
    tt.return
  }

  // What stands between the two is read by the second.
  // ALIGNED: simt.shift_warps
  // ALIGNED: scf.for
  // ALIGNED: simt.align_warps
  // ALIGNED: simt.store_shared
  // ALIGNED: simt.barrier shared
  // ALIGNED-NEXT: simt.shift_warps
  // ALIGNED: scf.for
  // ALIGNED: simt.align_warps
  tt.func public @aligned(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #r>
    %from = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #l>
    %to = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #r>
    %v = simt.buffer_load %x[%from] by 1 : !tt.ptr<f32>, tensor<512xi32, #l> -> tensor<512xf32, #l>
    %tile = simt.alloc : !tile
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%s = %v) -> (tensor<512xf32, #l>) : i32 {
      %t = simt.stage "sums" priority 1 -> tensor<512xf32, #l> {
        %t = arith.addf %s, %v : tensor<512xf32, #l>
        simt.yield %t : tensor<512xf32, #l>
      }
      simt.stage "bubble" priority 0 {
      }
      scf.yield %t : tensor<512xf32, #l>
    }
    simt.store_shared %last, %tile : tensor<512xf32, #l>, !tile
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<512xf32, #r>) : i32 {
      %y = simt.stage "read" priority 1 -> tensor<512xf32, #r> {
        %y = simt.load_shared %tile : !tile -> tensor<512xf32, #r>
        simt.yield %y : tensor<512xf32, #r>
      }
      %t = simt.stage "sums" priority 0 -> tensor<512xf32, #r> {
        %t = arith.addf %s, %y : tensor<512xf32, #r>
        simt.yield %t : tensor<512xf32, #r>
      }
      scf.yield %t : tensor<512xf32, #r>
    }
    simt.buffer_store %all, %out[%to] by 1 : tensor<512xf32, #r>, !tt.ptr<f32>, tensor<512xi32, #r>
    tt.return
  }
}
