// Reads of shared memory that stand before the one reader, blocks that no path reaches, fences and assertions in branches.
// RUN: split-file %s %t && cd %t
// RUN: heddle compile any.mlir --target gfx942 --from simplify-layouts -o any.hpkg
// RUN: heddle compile dead.mlir --target gfx942 --from simplify-layouts -o dead.hpkg
// RUN: %fails2 heddle compile fence.mlir --target gfx942 --from simplify-layouts 2>&1 | FileCheck %s --check-prefix=FENCE
// RUN: %fails2 heddle compile apart.mlir --target gfx942 --from simplify-layouts 2>&1 | FileCheck %s --check-prefix=APART
// RUN: heddle run scan.ttir --grid 1 --arg out=i32[1024] --arg n=0 --out out=scanned.npy
// RUN: heddle run scan.ttir --device sim:gfx942 --grid 1 --arg out=i32[1024] --arg n=0 --compare out=@scanned.npy
// RUN: %fails2 heddle run scan.ttir --device sim:gfx942 --grid 1 --arg out=i32[1024] --arg n=1 2>&1 | FileCheck %s --check-prefix=SCAN
// RUN: heddle run owner.ttir --grid 1 --arg x=rand:i32[512]:3 --arg out=i32[1] --arg out2=i32[512] --arg n=100000 --out out2=host.npy
// RUN: heddle run owner.ttir --device sim:gfx942 --grid 1 --arg x=rand:i32[512]:3 --arg out=i32[1] --arg out2=i32[512] --arg n=100000 --compare out2=@host.npy
// FENCE: error: a fence releases global memory that a store may have accessed
// APART: error: 'tt.assert' exchanges values at barriers of the block, in a function in which conditional barriers keep warps apart
// SCAN: not sorted
//--- any.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [], shape = [64]>
#r = #simt.linear<register = [[1], [2]], lane = [[0],[0],[0],[0],[0],[0]], warp = [], shape = [4]>
#s = #simt.linear<register = [], lane = [[1], [2], [0], [0], [0], [0]], warp = [], shape = [4]>
!tile = !simt.shared<1 * 4xi1, offset = [[1], [2]]>
module attributes {simt.target = "gfx942", simt.warps = 1 : i64} {
  tt.func public @any(%p: !tt.ptr<i32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32, #s>
    %ns = tt.splat %n : i32 -> tensor<4xi32, #s>
    %m = arith.cmpi slt, %o, %ns : tensor<4xi32, #s>
    %t = simt.alloc : !tile
    simt.store_shared %m, %t : tensor<4xi1, #s>, !tile
    %l = simt.load_shared %t : !tile -> tensor<4xi1, #r>
    %any = "simt.reduce"(%l) <{axis = 0 : i64}> ({
    ^bb0(%a: i1, %b: i1):
      %q = arith.ori %a, %b : i1
      simt.yield %q : i1
    }) : (tensor<4xi1, #r>) -> i1
    %w = arith.extui %any : i1 to i32
    simt.store %p, %w : !tt.ptr<i32>
    tt.return
  }
}
//--- dead.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64]], shape = [128]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @dead(%out: !tt.ptr<i32>, %n: i32) {
    %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
    %base = tt.splat %out : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %places = tt.addptr %base, %range : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>
    simt.store %places, %range : tensor<128x!tt.ptr<i32>, #l>
    tt.return
  ^dead:
    tt.return
  }
}
//--- fence.mlir
// fences in a divergent branch
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64]], shape = [128]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @st(%p: !tt.ptr<i32>, %flag: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %o = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
    %w = simt.warp_id
    %d = arith.cmpi eq, %w, %c0 : i32
    %base = tt.splat %p : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %places = tt.addptr %base, %o : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>
    simt.store %places, %o : tensor<128x!tt.ptr<i32>, #l>
    scf.if %d {
      simt.fence release, gpu
      simt.atomic_store relaxed, gpu, %flag, %one : !tt.ptr<i32>
    }
    tt.return
  }
}
//--- apart.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128]], shape = [256]>
!tile = !simt.shared<1 * 256xi32, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func public @cb(%p: !tt.ptr<i32>, %out: !tt.ptr<i32>, %n: i32) {
    %c2 = arith.constant 2 : i32
    %w = simt.warp_id
    %late = arith.cmpi sge, %w, %c2 : i32
    %early = arith.cmpi slt, %w, %c2 : i32
    %o = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #l>
    %x = arith.constant dense<255> : tensor<256xi32, #l>
    %r = arith.xori %o, %x : tensor<256xi32, #l>
    %t = simt.alloc : !tile
    %u = arith.cmpi sgt, %n, %c2 : i32
    scf.if %u {
      simt.cond_barrier %late
      scf.yield
    }
    simt.store_shared %o, %t : tensor<256xi32, #l>, !tile
    %g = simt.gather_shared %t[%r] along 0 : !tile, tensor<256xi32, #l> -> tensor<256xi32, #l>
    %c1000 = arith.constant 1000 : i32
    %h = "tt.map_elementwise"(%g) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      %big = arith.cmpi sgt, %a, %c2 : i32
      scf.if %big {
        %ok = arith.cmpi slt, %a, %c1000 : i32
        tt.assert %ok, "too large" : i1
      }
      tt.map_elementwise.return %a : i32
    }) : (tensor<256xi32, #l>) -> tensor<256xi32, #l>
    %f = arith.addi %h, %h : tensor<256xi32, #l>
    scf.if %u {
      simt.cond_barrier %early
      scf.yield
    }
    simt.buffer_store %f, %out[%o] by 1 : tensor<256xi32, #l>, !tt.ptr<i32>, tensor<256xi32, #l>
    tt.return
  }
}
//--- scan.ttir
tt.func public @sa(%out: !tt.ptr<i32>, %n: i32) {
  %range = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %ns = tt.splat %n : i32 -> tensor<512xi32>
  %v = arith.xori %range, %ns : tensor<512xi32>
  %last = "tt.scan"(%v) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: i32, %b: i32):
    %ok = arith.cmpi slt, %a, %b : i32
    tt.assert %ok, "not sorted" : i1
    tt.scan.return %b : i32
  }) : (tensor<512xi32>) -> tensor<512xi32>
  %first = "tt.scan"(%v) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%a: i32, %b: i32):
    %ok = arith.cmpi sgt, %a, %b : i32
    tt.assert %ok, "not sorted backwards" : i1
    tt.scan.return %b : i32
  }) : (tensor<512xi32>) -> tensor<512xi32>
  %bo = tt.splat %out : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %po = tt.addptr %bo, %range : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %po, %last : tensor<512x!tt.ptr<i32>>
  %c512 = arith.constant dense<512> : tensor<512xi32>
  %pq = tt.addptr %po, %c512 : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %pq, %first : tensor<512x!tt.ptr<i32>>
  tt.return
}
//--- owner.ttir
tt.func public @ra(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>, %out2: !tt.ptr<i32>, %n: i32) {
  %range = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %bx = tt.splat %x : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %px = tt.addptr %bx, %range : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %v = tt.load %px : tensor<512x!tt.ptr<i32>>
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %q = arith.addi %a, %b : i32
    %ok = arith.cmpi slt, %q, %n : i32
    tt.assert %ok, "sum too large" : i1
    tt.reduce.return %q : i32
  }) : (tensor<512xi32>) -> i32
  tt.store %out, %s : !tt.ptr<i32>
  %c3 = arith.constant dense<3> : tensor<512xi32>
  %v3 = arith.muli %v, %range : tensor<512xi32>
  %s2 = "tt.reduce"(%v3) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %q = arith.addi %a, %b : i32
    tt.reduce.return %q : i32
  }) : (tensor<512xi32>) -> i32
  %sp = tt.splat %s2 : i32 -> tensor<512xi32>
  %bo = tt.splat %out2 : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %po = tt.addptr %bo, %range : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %sc = "tt.scan"(%v3) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%a: i32, %b: i32):
    %q = arith.addi %a, %b : i32
    tt.scan.return %q : i32
  }) : (tensor<512xi32>) -> tensor<512xi32>
  %r = arith.addi %sp, %sc : tensor<512xi32>
  tt.store %po, %r : tensor<512x!tt.ptr<i32>>
  tt.return
}
