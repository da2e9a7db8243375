// A barrier of each warp waits for LDS only where a copy straight to LDS comes to the bytes accessed before it: other
// objects may be copied to in the same loop.
// RUN: heddle compile %s --target gfx950 --from simplify-layouts --to insert-barriers | FileCheck %s
// RUN: heddle compile %s --target gfx950 --from simplify-layouts --to asm | FileCheck %s --check-prefix=ASM
// ASM: ds_write_b32
// ASM-NOT: lgkmcnt
// ASM: ds_read_b32
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [], shape = [64]>
#r = #simt.linear<register = [], lane = [[32], [1], [2], [4], [8], [16]], warp = [], shape = [64]>
!tile = !simt.shared<1 * 64xi32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx950", simt.warps = 1 : i64} {
  tt.func public @warps_beside_copies(%p: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
    %o = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #l>
    %q = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #r>
    %x = simt.buffer_load %p[%o] by 1 : !tt.ptr<i32>, tensor<64xi32, #l> -> tensor<64xi32, #l>
    %ring = simt.alloc : !tile
    %tile = simt.alloc : !tile
    simt.async_buffer_copy %p[%o] to %ring by 1 : !tt.ptr<i32>, tensor<64xi32, #l>, !tile
    simt.async_commit
    simt.store_shared %x, %tile : tensor<64xi32, #l>, !tile
    // CHECK: simt.store_shared
    // CHECK-NEXT: simt.barrier warp{{$}}
    // CHECK-NEXT: simt.load_shared
    %y = simt.load_shared %tile : !tile -> tensor<64xi32, #r>
    simt.buffer_store %y, %out[%q] by 1 : tensor<64xi32, #r>, !tt.ptr<i32>, tensor<64xi32, #r>
    simt.async_wait 0
    %z = simt.load_shared %ring : !tile -> tensor<64xi32, #l>
    simt.buffer_store %z, %out[%o] by 1 : tensor<64xi32, #l>, !tt.ptr<i32>, tensor<64xi32, #l>
    tt.return
  }
}
