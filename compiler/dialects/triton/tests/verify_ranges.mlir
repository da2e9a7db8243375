// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S15 to S21: make_range, gather, histogram.

tt.func @s15() {
  // expected-error @+1 {{result type 'tensor<4xi64>' is not a one-dimensional tile of i32}}
  %0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi64>
  tt.return
}
// -----
tt.func @s16_order() {
  // expected-error @+1 {{'start' 4 is not below 'end' -4}}
  %0 = tt.make_range {end = -4 : i32, start = 4 : i32} : tensor<8xi32>
  tt.return
}
// -----
tt.func @s16_size() {
  // expected-error @+1 {{the range from 0 to 8 has 8 values, but the result has 4}}
  %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<4xi32>
  tt.return
}
// -----
tt.func @s17(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{ranks of source shape 4x8 and index shape 4 differ}}
  %0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @s18(%x: tensor<4x8xf32>, %i: tensor<4x4xi32>) {
  // expected-error @+1 {{source shape 4x8 and index shape 4x4 differ in dimension 1, which is not the axis 0}}
  %0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x4xi32>) -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @s19(%x: tensor<4x8xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{result shape is 4x8, but the operands give 2x8}}
  %0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<2x8xi32>) -> tensor<4x8xf32>
  tt.return
}
// -----
tt.func @s20(%x: tensor<4xi32>) {
  // expected-error @+1 {{result type 'tensor<2x2xi32>' is not a one-dimensional tile of i32}}
  %0 = tt.histogram %x : tensor<4xi32> -> tensor<2x2xi32>
  tt.return
}
// -----
tt.func @s21(%x: tensor<4xi32>, %m: tensor<8xi1>) {
  // expected-error @+1 {{shapes of mask 'tensor<8xi1>' and source 'tensor<4xi32>' differ}}
  %0 = "tt.histogram"(%x, %m) : (tensor<4xi32>, tensor<8xi1>) -> tensor<2xi32>
  tt.return
}
