// RUN: heddle-opt %s --heddle-expand-block-pointers --split-input-file --verify-diagnostics

// expected-error @+2 {{argument 0 of `kernel` is a block pointer}}
// expected-note @+1 {{pass base, shape and strides, and form the block pointer in the kernel}}
tt.func public @kernel(%p: !tt.ptr<tensor<8xf32>>) {
  tt.return
}

// -----

// expected-error @+2 {{argument 1 of `helper` is a block pointer}}
// expected-note @+1 {{inline calls before (`heddle-inline-calls`)}}
tt.func private @helper(%n: i32, %p: !tt.ptr<tensor<8xf32>>) {
  tt.return
}

// -----

tt.func @no_nan(%a: !tt.ptr<i32>, %m: i64, %o: i32) {
  %p = tt.make_tensor_ptr %a, [%m], [%m], [%o] {order = array<i32: 0>} : <tensor<8xi32>>
  // expected-error @+1 {{NaN padding of a block of 'i32', which has no NaN}}
  %v = tt.load %p {boundaryCheck = array<i32: 0>, padding = 2 : i32} : !tt.ptr<tensor<8xi32>>
  tt.return
}

// -----

tt.func @no_such_dimension(%a: !tt.ptr<i32>, %m: i64, %o: i32) {
  %p = tt.make_tensor_ptr %a, [%m], [%m], [%o] {order = array<i32: 0>} : <tensor<8xi32>>
  // expected-error @+1 {{`boundaryCheck` names dimension 1 of a block of rank 1}}
  %v = tt.load %p {boundaryCheck = array<i32: 1>} : !tt.ptr<tensor<8xi32>>
  tt.return
}
