// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S1 to S14: splat to cat.

tt.func @s1(%x: f32) {
  // expected-error @+1 {{element types 'f32' of the source and 'i32' of the result differ}}
  %0 = tt.splat %x : f32 -> tensor<4xi32>
  tt.return
}
// -----
tt.func @s2(%x: tensor<4xf32>) {
  // expected-error @+1 {{'axis' is 2, but must be at least 0 and below 2}}
  %0 = tt.expand_dims %x {axis = 2 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  tt.return
}
// -----
tt.func @s3(%x: tensor<1x2xf32>) {
  // expected-error @+1 {{needs a source of 1 element, but 'tensor<1x2xf32>' has 2}}
  %0 = tt.unsplat %x : tensor<1x2xf32>
  tt.return
}
// -----
tt.func @s4(%x: tensor<4xf32>) {
  // expected-error @+1 {{result shape is 1x4, but the operands give 4x1}}
  %0 = tt.expand_dims %x {axis = 1 : i32} : tensor<4xf32> -> tensor<1x4xf32>
  tt.return
}
// -----
tt.func @s5(%x: tensor<4xf32>) {
  // expected-error @+1 {{ranks of source shape 4 and result shape 4x4 differ (1 and 2)}}
  %0 = tt.broadcast %x : tensor<4xf32> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @s6(%x: tensor<2x1xf32>) {
  // expected-error @+1 {{changes dimension 0 from 2 to 4, but only dimensions of 1 can grow}}
  %0 = tt.broadcast %x : tensor<2x1xf32> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @s7(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{source shape 4x4 has 16 elements, result shape 8 has 8}}
  %0 = tt.reshape %x : tensor<4x4xf32> -> tensor<8xf32>
  tt.return
}
// -----
tt.func @s8(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{only one of 'tensor<4x4xf32>' and 'tensor<16xf32, "a layout">' has an encoding}}
  %0 = tt.reshape %x : tensor<4x4xf32> -> tensor<16xf32, "a layout">
  tt.return
}
// -----
tt.func @s9(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'order' [1, 1] is not a permutation of the 2 dimensions of the source}}
  %0 = tt.trans %x {order = array<i32: 1, 1>} : tensor<4x8xf32> -> tensor<8x4xf32>
  tt.return
}
// -----
tt.func @s10(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result shape is 4x8, but the operands give 8x4}}
  %0 = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<4x8xf32>
  tt.return
}
// -----
tt.func @s11(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @+1 {{operand types 'tensor<4xf32>' and 'tensor<4xf16>' differ}}
  %0 = "tt.join"(%x, %y) : (tensor<4xf32>, tensor<4xf16>) -> tensor<4x2xf32>
  tt.return
}
// -----
tt.func @s12(%x: tensor<4xf32>) {
  // expected-error @+1 {{result shape is 8, but the operands give 4x2}}
  %0 = tt.join %x, %x : tensor<4xf32> -> tensor<8xf32>
  tt.return
}
// -----
tt.func @s13(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{needs a source whose last dimension is 2, but its shape is 2x4}}
  %0, %1 = tt.split %x : tensor<2x4xf32> -> tensor<2x2xf32>
  tt.return
}
// -----
tt.func @s14(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result shape is 4x16, but the operands give 8x8}}
  %0 = tt.cat %x, %x : tensor<4x8xf32> -> tensor<4x16xf32>
  tt.return
}
