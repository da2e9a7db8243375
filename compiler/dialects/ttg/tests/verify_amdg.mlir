// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules F1 to F11, and V9.
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f1(%p: !tt.ptr<f16>, %o: tensor<64xi32, #blocked>) {
  // expected-error @+1 {{accesses elements of 'f32' through a pointer to 'f16'}}
  %0 = amdg.buffer_load %p[%o] : !tt.ptr<f16> -> tensor<64xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#wide = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f2(%p: !tt.ptr<f32>, %o: tensor<64xi32, #wide>) {
  // expected-error @+1 {{has offsets}}
  %0 = "amdg.buffer_load"(%p, %o) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (!tt.ptr<f32>, tensor<64xi32, #wide>) -> tensor<64xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f3(%p: !tt.ptr<f32>, %o: tensor<64xi32, #blocked>, %v: tensor<64xf32, #blocked>) {
  // expected-error @+1 {{has a value for masked elements and no mask}}
  %0 = "amdg.buffer_load"(%p, %o, %v) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}> : (!tt.ptr<f32>, tensor<64xi32, #blocked>, tensor<64xf32, #blocked>) -> tensor<64xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f4(%p: !tt.ptr<f32>, %o: tensor<64xi32, #blocked>, %v: tensor<64xf32, #blocked>) {
  // expected-error @+1 {{has kind 'add' for elements of 'f32'}}
  %0 = amdg.buffer_atomic_rmw add, relaxed, gpu, %v, %p[%o] : !tt.ptr<f32> -> tensor<64xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f5(%v: tensor<64xf32, #blocked>) {
  // expected-error @+1 {{takes elements 56 to 71 of axis 0, which has 64}}
  %0 = amdg.extract_slice %v [56] : tensor<64xf32, #blocked> to tensor<16xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f6(%v: tensor<16xf32, #blocked>) {
  // expected-error @+1 {{of 2 parts of}}
  %0 = amdg.concat %v, %v : tensor<16xf32, #blocked>, tensor<16xf32, #blocked> -> tensor<64xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f7(%v: tensor<16xf32, #blocked>) {
  // expected-error @+1 {{which has one}}
  %0 = gluon.set_auto_layout %v : tensor<16xf32, #blocked> -> tensor<16xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
tt.func @f8(%v: tensor<16xf32, #blocked>) {
  // expected-error @+1 {{'amdg.in_thread_transpose' op makes}}
  %0 = amdg.in_thread_transpose %v : tensor<16xf32, #blocked> -> tensor<32xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @f1_copy(%m: !ttg.memdesc<8x8xf32, #shared, #smem, mutable>, %p: !tt.ptr<i32>, %o: tensor<8x8xi32, #blocked>) {
  // expected-error @+1 {{accesses elements of 'f32' through a pointer to 'i32'}}
  %0 = amdg.buffer_load_to_local %p[%o] into %m : !tt.ptr<i32>[tensor<8x8xi32, #blocked>]  -> <8x8xf32, #shared, #smem, mutable>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @v9_copy(%m: !ttg.memdesc<8x8xi32, #shared, #smem>, %p: !tt.ptr<i32>, %o: tensor<8x8xi32, #blocked>) {
  // expected-error @+1 {{writes to an immutable memory object}}
  %0 = amdg.buffer_load_to_local %p[%o] into %m : !tt.ptr<i32>[tensor<8x8xi32, #blocked>]  -> <8x8xi32, #shared, #smem>
  tt.return
}
// -----
tt.func @f9_words() {
  // expected-error @+1 {{has the mask `valu|mfma`: it is a number from 0 to 4095, or words with | between them: none,}}
  amdg.schedule_fence valu|mfma
  tt.return
}
// -----
tt.func @f9_number() {
  // expected-error @+1 {{has the mask `-1`: it is a number from 0 to 4095}}
  amdg.schedule_fence -1
  tt.return
}
// -----
#mma = #ttg.amd_mfma<{version = 4, warpsPerCTA = [1, 1], instrShape = [16, 16, 128], isTransposed = true}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @f10_a(%m: !ttg.memdesc<128x32xi8, #shared, #smem>) {
  // expected-error @+1 {{reads 'tensor<64x64xi8, #ttg.dot_op<{opIdx = 0, parent = #ttg.amd_mfma<{version = 4, warpsPerCTA = [1, 1], instrShape = [16, 16, 128], isTransposed = true}>, kWidth = 16}>>' from '!ttg.memdesc<128x32xi8, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory>': what is packed along M there is 256x16 bytes packed along K}}
  %0 = amdg.local_load_packed_transposed %m : !ttg.memdesc<128x32xi8, #shared, #smem> -> tensor<64x64xi8, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 16}>>
  tt.return
}
// -----
#mma = #ttg.amd_mfma<{version = 4, warpsPerCTA = [1, 1], instrShape = [16, 16, 128], isTransposed = true}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @f10_b(%m: !ttg.memdesc<32x128xi8, #shared, #smem>) {
  // expected-error @+1 {{what is packed along N there is 16x256 bytes packed along K}}
  %0 = amdg.local_load_packed_transposed %m : !ttg.memdesc<32x128xi8, #shared, #smem> -> tensor<64x64xi8, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 16}>>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @f10_either(%m: !ttg.memdesc<128x32xi8, #shared, #smem>) {
  // expected-error @+1 {{what is packed along the other axis there is 256x16 or 64x64 bytes packed along K}}
  %0 = amdg.local_load_packed_transposed %m : !ttg.memdesc<128x32xi8, #shared, #smem> -> tensor<128x32xi8, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @f10_elements(%m: !ttg.memdesc<128x32xi16, #shared, #smem>) {
  // expected-error @+1 {{4-bit elements are packed in bytes, `i8`}}
  %0 = amdg.local_load_packed_transposed %m : !ttg.memdesc<128x32xi16, #shared, #smem> -> tensor<64x64xi16, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @f10_rank(%m: !ttg.memdesc<2x128x32xi8, #shared, #smem>) {
  // expected-error @+1 {{it takes a tile of two axes or more that has an even number of elements along K}}
  %0 = amdg.local_load_packed_transposed %m : !ttg.memdesc<2x128x32xi8, #shared, #smem> -> tensor<64x64xi8, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
tt.func @f11(%a: tensor<16x16xf32, #ttg.dot_op<{opIdx = 0, parent = #blocked}>>, %b: tensor<16x16xf32, #ttg.dot_op<{opIdx = 1, parent = #blocked}>>, %c: tensor<16x16xf32, #blocked>) {
  // expected-error @+1 {{has `amdg.cd_regclass` "agpr": it is "a" (AGPRs) or "v" (VGPRs), on `tt.dot` and `tt.dot_scaled`}}
  %0 = tt.dot %a, %b, %c {amdg.cd_regclass = "agpr"} : tensor<16x16xf32, #ttg.dot_op<{opIdx = 0, parent = #blocked}>> * tensor<16x16xf32, #ttg.dot_op<{opIdx = 1, parent = #blocked}>> -> tensor<16x16xf32, #blocked>
  tt.return
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [1], order = [0]}>
tt.func @f11_operation(%x: tensor<64xf32, #blocked>) {
  // expected-error @+1 {{has `amdg.cd_regclass` "a": it is}}
  %0 = arith.addf %x, %x {amdg.cd_regclass = "a"} : tensor<64xf32, #blocked>
  tt.return
}
