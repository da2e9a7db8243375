// Memory objects that a condition chooses live to the end of the function, and their addresses are selected.
// RUN: heddle-opt %s --heddle-place-shared-memory | FileCheck %s
// RUN: heddle compile %s --target gfx942 --from simplify-layouts --to asm | FileCheck %s --check-prefix=ASM
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128]], shape = [256]>
!tile = !simt.shared<1 * 256xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func public @chosen(%p: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %c = arith.cmpi sgt, %n, %zero : i32
    %o = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #l>
    %x = simt.buffer_load %p[%o] by 1 : !tt.ptr<f32>, tensor<256xi32, #l> -> tensor<256xf32, #l>
    // CHECK: simt.alloc at 0
    %a = simt.alloc : !tile
    simt.store_shared %x, %a : tensor<256xf32, #l>, !tile
    // CHECK: simt.alloc at 1024
    %b = simt.alloc : !tile
    simt.store_shared %x, %b : tensor<256xf32, #l>, !tile
    %m = arith.select %c, %a, %b : !tile
    // CHECK: simt.alloc at 2048
    %d = simt.alloc : !tile
    simt.store_shared %x, %d : tensor<256xf32, #l>, !tile
    %y = simt.load_shared %m : !tile -> tensor<256xf32, #l>
    %z = simt.load_shared %d : !tile -> tensor<256xf32, #l>
    %sum = arith.addf %y, %z : tensor<256xf32, #l>
    simt.buffer_store %sum, %out[%o] by 1 : tensor<256xf32, #l>, !tt.ptr<f32>, tensor<256xi32, #l>
    tt.return
  }
}
// ASM: s_cselect_b32
// ASM: ds_read
