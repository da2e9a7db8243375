// `--check`: the number of a tile that nothing proves to be in range is asserted. Without it a wrong one reaches other bytes.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: heddle compile %s --kernel given --check --to check-rings 2>err.txt | FileCheck %s --check-prefix=GIVEN
// RUN: FileCheck %s --check-prefix=SAYS <err.txt
// SAYS: warning: {{.*}}check-rings.mlir: on gfx950 `--check` asserts numbers of rings only; `heddle check` finds accesses outside of buffers
// GIVEN: %[[IN:.*]] = arith.cmpi ult, %arg2, %c2_i32
// GIVEN-NEXT: tt.assert %[[IN]], "the number of a tile is not in 0 to 1: its ring has 2 tiles"
// GIVEN-NEXT: simt.index %{{.*}}[%arg2]
// GIVEN-NOT: tt.assert
// RUN: heddle compile %s --kernel given --to check-rings | FileCheck %s --check-prefix=NONE
// RUN: heddle compile %s --kernel counted --check --to check-rings | FileCheck %s --check-prefix=NONE
// NONE: simt.index
// NONE-NOT: tt.assert
// A number that begins at -1 is none of the ring's before it has been stepped.
// RUN: heddle compile %s --kernel early --check --to check-rings 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: scf.for {{.*}} iter_args(%[[AT:.*]] = %c-1_i32)
// EARLY: %[[IN:.*]] = arith.cmpi ult, %[[AT]], %c2_i32
// EARLY-NEXT: tt.assert %[[IN]]
// EARLY-NEXT: simt.index %{{.*}}[%[[AT]]]
// EARLY-NOT: tt.assert

// An assertion is a barrier, which half of the warps cannot have.
// RUN: sed 's/^    ttg.local_store .v, .tile/    amdg.cond_barrier \x25half\n&/; s/^  tt.func.*i32) {/&\n    \x25half = arith.constant true/' %s > half.mlir
// RUN: heddle compile half.mlir --kernel given --check --to check-rings 2>&1 >/dev/null | FileCheck %s --check-prefix=HALF
// HALF: warning: {{.*}}the number of a tile is not checked: an assertion is a barrier of the block, and this kernel has barriers of a part of its warps
// RUN: heddle compile %s --kernel given --check -o given.hpkg && heddle inspect given.hpkg | FileCheck %s --check-prefix=ROW
// ROW: checked {{ *}}yes: numbers of rings of shared memory
// RUN: heddle run given.hpkg --device sim:gfx950 --check --grid 1 --arg x=rand:f32[256]:1 --arg out=f32[256] --arg n=1
// RUN: %fails2 heddle run given.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[256]:1 --arg out=f32[256] --arg n=2 2>&1 | FileCheck %s --check-prefix=FAILED
// RUN: %fails2 heddle run given.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[256]:1 --arg out=f32[256] --arg n=-1 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED: check-rings.mlir:[[#]]:{{.*}} error: {{.*}}the number of a tile is not in 0 to 1: its ring has 2 tiles

#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @given(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #b>
    %ring = ttg.local_alloc : () -> !ttg.memdesc<2x256xf32, #s, #smem, mutable>
    %v = amdg.buffer_load %x[%o] : !tt.ptr<f32> -> tensor<256xf32, #b>
    %tile = ttg.memdesc_index %ring[%n] : !ttg.memdesc<2x256xf32, #s, #smem, mutable> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
    ttg.local_store %v, %tile : tensor<256xf32, #b> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
    %w = ttg.local_load %tile : !ttg.memdesc<256xf32, #s, #smem, mutable> -> tensor<256xf32, #b>
    amdg.buffer_store %w, %out[%o] : !tt.ptr<f32> -> tensor<256xf32, #b>
    tt.return
  }
  tt.func public @counted(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %o = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #b>
    %ring = ttg.local_alloc : () -> !ttg.memdesc<2x256xf32, #s, #smem, mutable>
    %v = amdg.buffer_load %x[%o] : !tt.ptr<f32> -> tensor<256xf32, #b>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %slot = arith.remsi %i, %c2 : i32
      %tile = ttg.memdesc_index %ring[%slot] : !ttg.memdesc<2x256xf32, #s, #smem, mutable> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
      ttg.local_store %v, %tile : tensor<256xf32, #b> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
      %w = ttg.local_load %tile : !ttg.memdesc<256xf32, #s, #smem, mutable> -> tensor<256xf32, #b>
      amdg.buffer_store %w, %out[%o] : !tt.ptr<f32> -> tensor<256xf32, #b>
    }
    tt.return
  }
  tt.func public @early(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %before = arith.constant -1 : i32
    %o = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #b>
    %ring = ttg.local_alloc : () -> !ttg.memdesc<2x256xf32, #s, #smem, mutable>
    %v = amdg.buffer_load %x[%o] : !tt.ptr<f32> -> tensor<256xf32, #b>
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%at = %before) -> (i32) : i32 {
      %tile = ttg.memdesc_index %ring[%at] : !ttg.memdesc<2x256xf32, #s, #smem, mutable> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
      ttg.local_store %v, %tile : tensor<256xf32, #b> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
      %more = arith.addi %at, %c1 : i32
      %next = arith.remsi %more, %c2 : i32
      %following = ttg.memdesc_index %ring[%next] : !ttg.memdesc<2x256xf32, #s, #smem, mutable> -> !ttg.memdesc<256xf32, #s, #smem, mutable>
      %w = ttg.local_load %following : !ttg.memdesc<256xf32, #s, #smem, mutable> -> tensor<256xf32, #b>
      amdg.buffer_store %w, %out[%o] : !tt.ptr<f32> -> tensor<256xf32, #b>
      scf.yield %next : i32
    }
    tt.return
  }
}
