// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules V1 to V21.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// expected-error @+1 {{a memory object holds elements of whole bytes, not 'i1'}}
tt.func private @v1(!ttg.memdesc<8x8xi1, #shared, #smem>)
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
// expected-error @+1 {{a memory object has a layout of shared memory, not}}
tt.func private @v2(!ttg.memdesc<8x8xf16, #blocked, #smem>)
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// expected-error @+1 {{a layout of 2 axes for a memory object of 4}}
tt.func private @v3(!ttg.memdesc<2x2x8x8xf16, #shared, #smem>)
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// expected-error @+1 {{axis 1 of a memory object of 3x48x64 has a size that is no power of two}}
tt.func private @v4(!ttg.memdesc<3x48x64xf16, #shared, #smem>)
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// expected-error @+1 {{a view of 8x8 in an allocation of 8x4}}
tt.func private @v5(!ttg.memdesc<8x8xf16, #shared, #smem, mutable, 8x4>)
// -----
#padded = #ttg.padded_shared<[64:+4] {order = [1, 0], shape = [8, 16]}>
#smem = #ttg.shared_memory
// expected-error @+1 {{padding for 8x16 in a memory object of 8x8}}
tt.func private @v6(!ttg.memdesc<8x8xf16, #padded, #smem>)
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v7(%m: !ttg.memdesc<8x8xf16, #shared, #smem>) {
  // expected-error @+1 {{moves 8x8 elements of 'bf16' to or from a memory object of 8x8 elements of 'f16'}}
  %0 = ttg.local_load %m : !ttg.memdesc<8x8xf16, #shared, #smem> -> tensor<8x8xbf16, #blocked>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v8() {
  // expected-error @+1 {{makes an immutable memory object with nothing in it}}
  %0 = ttg.local_alloc : () -> !ttg.memdesc<8x8xf16, #shared, #smem>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v9(%t: tensor<8x8xf16, #blocked>, %m: !ttg.memdesc<8x8xf16, #shared, #smem>) {
  // expected-error @+1 {{writes to an immutable memory object}}
  ttg.local_store %t, %m : tensor<8x8xf16, #blocked> -> !ttg.memdesc<8x8xf16, #shared, #smem>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v10(%m: !ttg.memdesc<2x8x8xf16, #shared, #smem>, %i: i32) {
  // expected-error @+1 {{takes a slot of}}
  %0 = ttg.memdesc_index %m[%i] : !ttg.memdesc<2x8x8xf16, #shared, #smem> -> !ttg.memdesc<8x16xf16, #shared, #smem>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v11(%m: !ttg.memdesc<8x8xf16, #shared, #smem>) {
  // expected-error @+1 {{at 2 coordinates out of}}
  %0 = ttg.memdesc_subslice %m[0, 0] : !ttg.memdesc<8x8xf16, #shared, #smem> -> !ttg.memdesc<8x4xbf16, #shared, #smem, 8x8>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v12(%m: !ttg.memdesc<8x8xf16, #shared, #smem>) {
  // expected-error @+1 {{takes 4 elements from 2 on of axis 1: it must be a multiple of 4}}
  %0 = ttg.memdesc_subslice %m[0, 2] : !ttg.memdesc<8x8xf16, #shared, #smem> -> !ttg.memdesc<8x4xf16, #shared, #smem, 8x8>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v13(%m: !ttg.memdesc<8x16xf16, #shared, #smem>) {
  // expected-error @+1 {{'ttg.memdesc_trans' op makes}}
  %0 = ttg.memdesc_trans %m {order = array<i32: 1, 0>} : !ttg.memdesc<8x16xf16, #shared, #smem> -> !ttg.memdesc<8x16xf16, #shared, #smem>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v14(%m: !ttg.memdesc<8x16xf16, #shared, #smem>) {
  // expected-error @+1 {{'ttg.memdesc_reshape' op makes}}
  %0 = ttg.memdesc_reshape %m : !ttg.memdesc<8x16xf16, #shared, #smem> -> !ttg.memdesc<8x8xf16, #shared, #smem>
  tt.return
}
// -----
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v15(%m: !ttg.memdesc<8x16xf16, #shared, #smem>) {
  // expected-error @+1 {{reads 512 bytes in a memory object of 256}}
  %0 = ttg.memdesc_reinterpret %m : !ttg.memdesc<8x16xf16, #shared, #smem> -> !ttg.memdesc<8x16xi32, #shared, #smem>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
tt.func @v16(%t: tensor<8x8xf16, #blocked>) {
  // expected-error @+1 {{'ttg.convert_layout' op makes}}
  %0 = ttg.convert_layout %t : tensor<8x8xf16, #blocked> -> tensor<8x16xf16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v17(%m: !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, %i: tensor<8x8xi32, #blocked>) {
  // expected-error @+1 {{takes an index along axis 2 of a memory object of 8x8}}
  %0 = ttg.local_gather %m[%i] {axis = 2 : i32} : !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, tensor<8x8xi32, #blocked> -> tensor<8x8xf16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v17_indices(%m: !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, %i: tensor<8x4xi32, #blocked>, %v: tensor<8x8xf16, #blocked>) {
  // expected-error @+1 {{has indices 'tensor<8x4xi32}}
  ttg.local_scatter %m[%i], %v {axis = 0 : i32} : !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, tensor<8x4xi32, #blocked>, tensor<8x8xf16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v18(%m: !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, %i: tensor<16x8xi32, #blocked>) {
  // expected-error @+1 {{to or from a memory object of 8x8 elements of 'f16'}}
  %0 = ttg.local_gather %m[%i] {axis = 1 : i32} : !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, tensor<16x8xi32, #blocked> -> tensor<16x8xf16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v9_scatter(%m: !ttg.memdesc<8x8xf16, #shared, #smem>, %i: tensor<8x8xi32, #blocked>, %v: tensor<8x8xf16, #blocked>) {
  // expected-error @+1 {{writes to an immutable memory object}}
  ttg.local_scatter %m[%i], %v {axis = 0 : i32} : !ttg.memdesc<8x8xf16, #shared, #smem>, tensor<8x8xi32, #blocked>, tensor<8x8xf16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v19(%m: !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, %i: tensor<8x8xi32, #blocked>, %v: tensor<8x8xf16, #blocked>) {
  // expected-error @+1 {{updates with 'tensor<8x8xf16}}
  %0 = ttg.local_atomic_scatter_rmw fadd, %m[%i], %v {axis = 0 : i32} : (!ttg.memdesc<8x8xf16, #shared, #smem, mutable>, tensor<8x8xf16, #blocked>, tensor<8x8xi32, #blocked>) -> tensor<8x8xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v20(%m: !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, %i: tensor<8x8xi32, #blocked>, %v: tensor<8x8xf16, #blocked>) {
  // expected-error @+1 {{has kind 'max' for elements of 'f16'}}
  %0 = ttg.local_atomic_scatter_rmw max, %m[%i], %v {axis = 0 : i32} : (!ttg.memdesc<8x8xf16, #shared, #smem, mutable>, tensor<8x8xf16, #blocked>, tensor<8x8xi32, #blocked>) -> tensor<8x8xf16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v9_copy(%m: !ttg.memdesc<8x8xf16, #shared, #smem>, %p: tensor<8x8x!tt.ptr<f16>, #blocked>) {
  // expected-error @+1 {{writes to an immutable memory object}}
  %0 = ttg.async_copy_global_to_local %p, %m : tensor<8x8x!tt.ptr<f16>, #blocked> -> <8x8xf16, #shared, #smem>
  tt.return
}
// -----
tt.func private @v21_groups() {
  // expected-error @+1 {{leaves -1 groups of copies in flight: give 0 or more}}
  %w = ttg.async_wait {num = -1 : i32}
  tt.return
}
// -----
tt.func private @v21_instructions() {
  // expected-error @+1 {{leaves -2 instructions of copies in flight: give 0 or more}}
  %w = amdg.async_wait {num_inst = -2 : i32}
  tt.return
}
