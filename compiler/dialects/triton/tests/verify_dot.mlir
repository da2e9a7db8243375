// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules D1 to D9: dot.

tt.func @d1(%a: tensor<4xf16>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{shapes 4, 4 and 4x4 are not all of rank 2 or all of rank 3}}
  %0 = tt.dot %a, %a, %c : tensor<4xf16> * tensor<4xf16> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @d2(%a: tensor<64x32xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{operand shapes 64x32 and 64x64 do not agree on K (32 and 64)}}
  %0 = tt.dot %a, %b, %c : tensor<64x32xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  tt.return
}
// -----
tt.func @d3(%a: tensor<64x32xf16>, %b: tensor<32x16xf16>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{operand and result shapes 32x16 and 64x64 do not agree on N (16 and 64)}}
  %0 = tt.dot %a, %b, %c : tensor<64x32xf16> * tensor<32x16xf16> -> tensor<64x64xf32>
  tt.return
}
// -----
tt.func @d4(%a: tensor<2x16x16xf16>, %b: tensor<4x16x16xf16>, %c: tensor<2x16x16xf32>) {
  // expected-error @+1 {{operand shapes 2x16x16 and 4x16x16 do not agree on the batch (2 and 4)}}
  %0 = tt.dot %a, %b, %c : tensor<2x16x16xf16> * tensor<4x16x16xf16> -> tensor<2x16x16xf32>
  tt.return
}
// -----
tt.func @d5(%a: tensor<16x16xf16>, %c: tensor<16x16xf16>) {
  // expected-error @+1 {{accumulator type 'tensor<16x16xf16>' is not the result type 'tensor<16x16xf32>'}}
  %0 = "tt.dot"(%a, %a, %c) : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf32>
  tt.return
}
// -----
tt.func @d6(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{cannot multiply elements of type 'f16' and 'bf16'}}
  %0 = tt.dot %a, %b, %c : tensor<16x16xf16> * tensor<16x16xbf16> -> tensor<16x16xf32>
  tt.return
}
// -----
tt.func @d7(%a: tensor<16x16xi8>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{cannot accumulate products of 'i8' in 'f32'}}
  %0 = tt.dot %a, %a, %c : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xf32>
  tt.return
}
// -----
tt.func @d8(%a: tensor<16x16xf16, "a layout">, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{only one of 'tensor<16x16xf16, "a layout">' and 'tensor<16x16xf16>' has an encoding}}
  %0 = tt.dot %a, %b, %c : tensor<16x16xf16, "a layout"> * tensor<16x16xf16> -> tensor<16x16xf32>
  tt.return
}
// -----
tt.func @d9(%a: tensor<16x16xf8E5M2>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{'maxNumImpreciseAcc' is -1, but a count is not negative}}
  %0 = tt.dot %a, %a, %c {maxNumImpreciseAcc = -1 : i32} : tensor<16x16xf8E5M2> * tensor<16x16xf8E5M2> -> tensor<16x16xf32>
  tt.return
}
