// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules K1 to K9: tensor descriptors.

tt.func @k1(%d: !tt.tensordesc<4x16xf16>, %i: i32) {
  // expected-error @+1 {{has 1 coordinates for a descriptor of rank 2}}
  %0 = tt.descriptor_load %d[%i] : !tt.tensordesc<4x16xf16> -> tensor<4x16xf16>
  tt.return
}
// -----
tt.func @k1_lists(%p: !tt.ptr<f16>, %n: i32, %s: i64) {
  // expected-error @+1 {{the list of strides has 2 values, that of sizes has 1}}
  %0 = tt.make_tensor_descriptor %p, [%n], [%s, %s] : <f16>, <4x16xf16>
  tt.return
}
// -----
tt.func @k2(%p: !tt.ptr<f16>, %n: i32, %s: i64) {
  // expected-error @+1 {{descriptor has elements of type 'f32', but the pointee has 'f16'}}
  %0 = tt.make_tensor_descriptor %p, [%n], [%s] : <f16>, <16xf32>
  tt.return
}
// -----
tt.func @k3(%p: !tt.ptr<i8>, %n: i32, %s: i64) {
  // expected-error @+1 {{cannot pad elements of type 'ui8' by NaN}}
  %0 = tt.make_tensor_descriptor %p, [%n], [%s] {padding = 2 : i32} : <i8>, <16xui8>
  tt.return
}
// -----
tt.func @k4(%d: !tt.tensordesc<1x4x16xf16>, %i: i32, %v: tensor<8x16xf16>) {
  // expected-error @+1 {{block shape 1x4x16 and tile shape 8x16 differ}}
  tt.descriptor_store %d[%i, %i, %i], %v : !tt.tensordesc<1x4x16xf16>, tensor<8x16xf16>
  tt.return
}
// -----
tt.func @k5(%d: !tt.tensordesc<16xf16>, %i: i32, %v: tensor<16xf16>) {
  // expected-error @+1 {{'xor' works on integers, not on 'f16'}}
  tt.descriptor_reduce xor, %d[%i], %v : !tt.tensordesc<16xf16>, tensor<16xf16>
  tt.return
}
// -----
tt.func @k6(%d: !tt.tensordesc<2x16xf16>, %r: tensor<8xi32>, %i: i32) {
  // expected-error @+1 {{needs a descriptor whose block is one row, but its shape is 2x16}}
  %0 = tt.descriptor_gather %d[%r, %i] : (!tt.tensordesc<2x16xf16>, tensor<8xi32>, i32) -> tensor<8x16xf16>
  tt.return
}
// -----
tt.func @k7(%d: !tt.tensordesc<1x16xf16>, %r: tensor<4xi32>, %i: i32) {
  // expected-error @+1 {{needs at least 8 row numbers in one dimension, but they have type 'tensor<4xi32>'}}
  %0 = tt.descriptor_gather %d[%r, %i] : (!tt.tensordesc<1x16xf16>, tensor<4xi32>, i32) -> tensor<4x16xf16>
  tt.return
}
// -----
tt.func @k8(%d: !tt.tensordesc<1x16xf16>, %r: tensor<8xi32>, %i: i32, %v: tensor<16x16xf16>) {
  // expected-error @+1 {{tile shape is 16x16, but 8 rows of block 1x16 give 8x16}}
  tt.descriptor_scatter %d[%r, %i], %v : !tt.tensordesc<1x16xf16>, tensor<8xi32>, i32, tensor<16x16xf16>
  tt.return
}
// -----
tt.func @k9_columns(%d: !tt.tensordesc<1x8xf16>, %r: tensor<8xi32>, %i: i32) {
  // expected-error @+1 {{needs rows of at least 16 elements of type 'f16', but the block has 8}}
  %0 = tt.descriptor_gather %d[%r, %i] : (!tt.tensordesc<1x8xf16>, tensor<8xi32>, i32) -> tensor<8x8xf16>
  tt.return
}
// -----
tt.func @k9_bits(%d: !tt.tensordesc<1x16xf64>, %r: tensor<8xi32>, %i: i32) {
  // expected-error @+1 {{works on elements of at most 32 bits, but 'f64' has 64}}
  %0 = tt.descriptor_gather %d[%r, %i] : (!tt.tensordesc<1x16xf64>, tensor<8xi32>, i32) -> tensor<8x16xf64>
  tt.return
}
