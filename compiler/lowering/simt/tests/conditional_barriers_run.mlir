// Two groups of four warps, a barrier apart, write a tile of LDS for each other. With one barrier between the store and the
// load, which the simulator runs as well, the first group reads before the second one has written.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: heddle compile %s --target gfx942 --from place-shared-memory -o two.hpkg
// RUN: heddle check two.hpkg --grid 1 --arg x=rand:f32[512]:7 --arg out=f32[512]
// RUN: heddle run two.hpkg --device sim:gfx942 --grid 1 --arg x=rand:f32[512]:7 --arg out=f32[512] --out out=out.npy --out x=x.npy
// RUN: %numpy_python -c "import numpy as np; x = np.load('x.npy'); assert (np.load('out.npy') == np.concatenate([x[256:], x[:256]])).all()"
// RUN: heddle compile %s --target gfx942 --from place-shared-memory --to insert-barriers | grep -n "simt.barrier" | count 2
// RUN: heddle compile %s --target gfx942 --from place-shared-memory --to insert-barriers | awk '!/simt.barrier/ || !n++' > one.mlir
// RUN: heddle compile one.mlir --target gfx942 --from verify-hazards -o one.hpkg
// RUN: %fails1 heddle check one.hpkg --grid 1 --arg arg0=rand:f32[512]:7 --arg arg1=f32[512] 2>&1 | FileCheck %s
// CHECK: lds-race
#own = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx942", simt.warps = 8 : i64} {
  tt.func public @groups(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %four = arith.constant 4 : i32
    %half = arith.constant dense<256> : tensor<512xi32, #own>
    %warp = simt.warp_id
    %late = arith.cmpi sge, %warp, %four : i32
    %early = arith.cmpi slt, %warp, %four : i32
    %range = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32, #own>
    %other = arith.xori %range, %half : tensor<512xi32, #own>
    %own = simt.buffer_load %x[%range] by 1 : !tt.ptr<f32>, tensor<512xi32, #own> -> tensor<512xf32, #own>
    %tile = simt.alloc at 0 : !tile
    simt.cond_barrier %late
    simt.store_shared %own, %tile : tensor<512xf32, #own>, !tile
    %given = simt.gather_shared %tile[%other] along 0 : !tile, tensor<512xi32, #own> -> tensor<512xf32, #own>
    simt.cond_barrier %early
    simt.buffer_store %given, %out[%range] by 1 : tensor<512xf32, #own>, !tt.ptr<f32>, tensor<512xi32, #own>
    tt.return
  }
}
