// A copy straight to LDS goes past LDS operations that its wave has issued: where no other wave accesses those bytes, a
// barrier of the warp orders them, and waits.
// RUN: heddle compile %s --target gfx950 --from simplify-layouts --to insert-barriers | FileCheck %s
// RUN: heddle compile %s --target gfx950 --from simplify-layouts --to asm | FileCheck %s --check-prefix=ASM
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [], shape = [64]>
!tile = !simt.shared<1 * 64xi32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx950", simt.warps = 1 : i64} {
  tt.func public @copies_after_warps(%p: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
    %o = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #l>
    %x = simt.buffer_load %p[%o] by 1 : !tt.ptr<i32>, tensor<64xi32, #l> -> tensor<64xi32, #l>
    %tile = simt.alloc : !tile
    simt.store_shared %x, %tile : tensor<64xi32, #l>, !tile
    // CHECK: simt.store_shared
    // CHECK-NEXT: simt.barrier warp copies
    // CHECK-NEXT: simt.async_buffer_copy
    // ASM: ds_write_b32
    // ASM-NOT: lds
    // ASM: s_waitcnt {{.*}}lgkmcnt(0)
    // ASM: buffer_load_dword {{.*}} lds
    simt.async_buffer_copy %out[%o] to %tile by 1 : !tt.ptr<i32>, tensor<64xi32, #l>, !tile
    simt.async_commit
    simt.async_wait 0
    %y = simt.load_shared %tile : !tile -> tensor<64xi32, #l>
    simt.buffer_store %y, %out[%o] by 1 : tensor<64xi32, #l>, !tt.ptr<i32>, tensor<64xi32, #l>
    tt.return
  }
}

// Barriers of the text are checked alike.
// RUN: heddle compile %s --target gfx950 --from simplify-layouts --to insert-barriers -o %t.mlir
// RUN: heddle compile %t.mlir --target gfx950 --from insert-barriers --to verify-hazards | FileCheck %s
// RUN: sed 's/barrier warp copies/barrier warp/' %t.mlir > %t.weak.mlir
// RUN: %fails2 heddle compile %t.weak.mlir --target gfx950 --from insert-barriers 2>&1 | FileCheck %s --check-prefix=WEAK
// WEAK: error: {{.*}}an asynchronous copy writes bytes of shared memory that a store to shared memory writes before: a barrier is missing between them
