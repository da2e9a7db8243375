// RUN: heddle-opt %s --heddle-expand-descriptors --split-input-file --verify-diagnostics

// expected-error @+2 {{argument 1 of `kernel` is a tensor descriptor}}
// expected-note @+1 {{pass it with its sizes (i32) and strides (i64) as the arguments after it, or pass pointer, shape and strides, and call `make_tensor_descriptor` in the kernel}}
tt.func public @kernel(%n: i32, %d: !tt.tensordesc<tensor<8x8xf32>> {tt.nv_tma_desc = 1 : i32}) {
  tt.return
}

// -----

// expected-error @+2 {{argument 0 of `missing_stride` is a tensor descriptor}}
// expected-note @+1 {{pass it with its sizes (i32) and strides (i64)}}
tt.func public @missing_stride(%d: !tt.tensordesc<tensor<8x8xf32>>, %m: i32, %n: i32, %s: i64, %p: !tt.ptr<f32>) {
  tt.return
}

// -----

// expected-error @+2 {{argument 0 of `helper` is a tensor descriptor}}
// expected-note @+1 {{inline calls before (`heddle-inline-calls`)}}
tt.func private @helper(%d: !tt.tensordesc<tensor<8x8xf32>>) {
  tt.return
}

// -----

tt.func @increment(%a: !tt.ptr<i32>, %m: i32, %i: i32, %v: tensor<8xi32>) {
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %a, [%m], [%one] : !tt.ptr<i32>, <tensor<8xui32>>
  // expected-error @+1 {{descriptor reduction `inc` of 'ui32' is not supported}}
  tt.descriptor_reduce inc, %d[%i], %v : !tt.tensordesc<tensor<8xui32>>, tensor<8xi32>
  tt.return
}

// -----

tt.func @float_maximum(%a: !tt.ptr<f16>, %m: i32, %i: i32, %v: tensor<8xf16>) {
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %a, [%m], [%one] : !tt.ptr<f16>, <tensor<8xf16>>
  // expected-error @+1 {{descriptor reduction `max` of 'f16' is not supported}}
  tt.descriptor_reduce max, %d[%i], %v : !tt.tensordesc<tensor<8xf16>>, tensor<8xf16>
  tt.return
}
