// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules B1 to B4: block pointers of older text.

tt.func @b1(%p: !tt.ptr<f32>, %n: i64, %i: i32) {
  // expected-error @+1 {{has 1 sizes for a block of rank 2}}
  %0 = tt.make_tensor_ptr %p, [%n], [%n], [%i] {order = array<i32: 0>} : !tt.ptr<tensor<4x4xf32>>
  tt.return
}
// -----
tt.func @b1_lists(%p: !tt.ptr<f32>, %n: i64, %i: i32) {
  // expected-error @+1 {{the list of strides has 1 values, that of sizes has 3}}
  %0 = tt.make_tensor_ptr %p, [%n, %n, %n], [%n], [%i, %i] {order = array<i32: 1, 0>} : !tt.ptr<tensor<4x4xf32>>
  tt.return
}
// -----
tt.func @b2(%p: !tt.ptr<f32>, %n: i64, %i: i32) {
  // expected-error @+1 {{'order' [1] is not a permutation of the 1 dimensions of the block}}
  %0 = tt.make_tensor_ptr %p, [%n], [%n], [%i] {order = array<i32: 1>} : !tt.ptr<tensor<4xf32>>
  tt.return
}
// -----
tt.func @b3(%p: !tt.ptr<f16>, %n: i64, %i: i32) {
  // expected-error @+1 {{base type '!tt.ptr<f16>' does not fit result type '!tt.ptr<tensor<4xf32>>', which needs '!tt.ptr<f32>'}}
  %0 = "tt.make_tensor_ptr"(%p, %n, %n, %i) {order = array<i32: 0>} : (!tt.ptr<f16>, i64, i64, i32) -> !tt.ptr<tensor<4xf32>>
  tt.return
}
// -----
tt.func @b4(%p: !tt.ptr<tensor<4xf32>>, %i: i32) {
  // expected-error @+1 {{result type '!tt.ptr<tensor<8xf32>>' is not the pointer's type '!tt.ptr<tensor<4xf32>>'}}
  %0 = "tt.advance"(%p, %i) : (!tt.ptr<tensor<4xf32>>, i32) -> !tt.ptr<tensor<8xf32>>
  tt.return
}
