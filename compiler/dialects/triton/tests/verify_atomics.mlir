// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules A1 to A9, and M1, M2 and E1 where atomics obey them.

tt.func @a1(%p: !tt.ptr<tensor<4xi32>>, %v: i32) {
  // expected-error @+1 {{cannot work on the block pointer '!tt.ptr<tensor<4xi32>>'}}
  %0 = tt.atomic_rmw add, relaxed, gpu, %p, %v : (!tt.ptr<tensor<4xi32>>, i32) -> i32
  tt.return
}
// -----
tt.func @a2(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{'fadd' works on floats of 16 to 64 bits, not on 'i32'}}
  %0 = tt.atomic_rmw fadd, relaxed, gpu, %p, %v : (!tt.ptr<i32>, i32) -> i32
  tt.return
}
// -----
tt.func @a3(%p: !tt.ptr<i1>, %v: i1) {
  // expected-error @+1 {{'exch' works on numbers of 8 to 64 bits, not on 'i1'}}
  %0 = tt.atomic_rmw exch, relaxed, gpu, %p, %v : (!tt.ptr<i1>, i1) -> i1
  tt.return
}
// -----
tt.func @a4(%p: tensor<4x!tt.ptr<f32>>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'max' works on integers of 8 to 64 bits, not on 'f32'}}
  %0 = tt.atomic_rmw max, relaxed, gpu, %p, %v : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @a5(%p: !tt.ptr<i8>, %v: i8) {
  // expected-error @+1 {{works on numbers of 16, 32 or 64 bits, not on 'i8'}}
  %0 = tt.atomic_cas relaxed, gpu, %p, %v, %v : (!tt.ptr<i8>, i8, i8) -> i8
  tt.return
}
// -----
tt.func @a6(%p: !tt.ptr<i8>, %v: i8) {
  // expected-error @+1 {{polls integers of 16, 32 or 64 bits, not 'i8'}}
  %0 = tt.atomic_poll acquire, gpu, %p, %v : !tt.ptr<i8>, i8 -> i1
  tt.return
}
// -----
tt.func @a7_load(%p: !tt.ptr<i32>) {
  // expected-error @+1 {{is 'release', but can only be 'relaxed' or 'acquire'}}
  %0 = tt.atomic_load release, gpu, %p : (!tt.ptr<i32>) -> i32
  tt.return
}
// -----
tt.func @a7_store(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{is 'acq_rel', but can only be 'relaxed' or 'release'}}
  tt.atomic_store acq_rel, gpu, %p, %v : !tt.ptr<i32>
  tt.return
}
// -----
tt.func @a7_poll(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{is 'acq_rel', but can only be 'relaxed' or 'acquire'}}
  %0 = tt.atomic_poll acq_rel, gpu, %p, %v : !tt.ptr<i32>, i32 -> i1
  tt.return
}
// -----
tt.func @a8_load(%p: !tt.ptr<i1>) {
  // expected-error @+1 {{works on numbers of 8 to 64 bits, not on 'i1'}}
  %0 = tt.atomic_load relaxed, gpu, %p : (!tt.ptr<i1>) -> i1
  tt.return
}
// -----
tt.func @a8_store(%p: tensor<4x!tt.ptr<!tt.ptr<f32>>>, %v: tensor<4x!tt.ptr<f32>>) {
  // expected-error @+1 {{works on numbers of 8 to 64 bits, not on '!tt.ptr<f32>'}}
  tt.atomic_store relaxed, gpu, %p, %v : tensor<4x!tt.ptr<!tt.ptr<f32>>>
  tt.return
}
// -----
tt.func @a9(%p: tensor<4x!tt.ptr<i32>>, %v: tensor<4xi32>) {
  // expected-error @+1 {{result type 'i1' does not fit pointer type 'tensor<4x!tt.ptr<i32>>', which needs 'tensor<4xi1>'}}
  %0 = tt.atomic_poll acquire, gpu, %p, %v : tensor<4x!tt.ptr<i32>>, tensor<4xi32> -> i1
  tt.return
}
// -----
tt.func @m1_of_poll(%p: tensor<4x!tt.ptr<i32>>, %v: i32) {
  // expected-error @+1 {{expected type 'i32' does not fit pointer type 'tensor<4x!tt.ptr<i32>>', which needs 'tensor<4xi32>'}}
  %0 = tt.atomic_poll acquire, gpu, %p, %v : tensor<4x!tt.ptr<i32>>, i32 -> tensor<4xi1>
  tt.return
}
// -----
tt.func @e1_of_atomic_load(%p: tensor<4x!tt.ptr<i32>>, %m: i1) {
  // expected-error @+1 {{operand 1 of type 'i1' and operand 0 of type 'tensor<4x!tt.ptr<i32>>' differ in shape (scalar and 4)}}
  %0 = tt.atomic_load relaxed, gpu, %p, %m : (tensor<4x!tt.ptr<i32>>, i1) -> tensor<4xi32>
  tt.return
}
// -----
tt.func @m1_of_cas(%p: !tt.ptr<i32>, %v: i32, %w: i64) {
  // expected-error @+1 {{value type 'i64' does not fit pointer type '!tt.ptr<i32>', which needs 'i32'}}
  %0 = tt.atomic_cas relaxed, gpu, %p, %v, %w : (!tt.ptr<i32>, i32, i64) -> i32
  tt.return
}
// -----
tt.func @e1_of_mask(%p: !tt.ptr<i32>, %v: i32, %m: tensor<4xi1>) {
  // expected-error @+1 {{operand 2 of type 'tensor<4xi1>' and operand 0 of type '!tt.ptr<i32>' differ in shape (4 and scalar)}}
  %0 = tt.atomic_rmw add, relaxed, gpu, %p, %v, %m : (!tt.ptr<i32>, i32, tensor<4xi1>) -> i32
  tt.return
}
