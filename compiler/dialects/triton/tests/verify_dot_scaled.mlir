// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules D2 and D10 to D12: dot_scaled. Two e2m1 values share a byte.

tt.func @d10(%a: tensor<32x64xf16>, %c: tensor<32x32xf32>, %b: tensor<64x32xf16>) {
  // expected-error @+1 {{lhs format 'e4m3' cannot be stored as 'f16'}}
  %0 = tt.dot_scaled %a, %b, %c lhs = e4m3 rhs = fp16 {fastMath = false} : tensor<32x64xf16> * tensor<64x32xf16> -> tensor<32x32xf32>
  tt.return
}
// -----
tt.func @d11(%a: tensor<32x64xi8>, %c: tensor<32x32xf32>, %b: tensor<64x32xi8>) {
  // expected-error @+1 {{'rhs_k_pack = false' is for e2m1 only, but the format is 'e5m2'}}
  %0 = tt.dot_scaled %a, %b, %c lhs = e4m3 rhs = e5m2 {fastMath = false, rhs_k_pack = false} : tensor<32x64xi8> * tensor<64x32xi8> -> tensor<32x32xf32>
  tt.return
}
// -----
tt.func @d2_packed(%a: tensor<32x64xi8>, %c: tensor<32x32xf32>, %b: tensor<64x32xi8>) {
  // expected-error @+1 {{operand shapes 32x64 and 64x32 do not agree on K (64 and 128)}}
  %0 = tt.dot_scaled %a, %b, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<32x64xi8> * tensor<64x32xi8> -> tensor<32x32xf32>
  tt.return
}
// -----
tt.func @d12_lhs(%a: tensor<32x64xi8>, %s: tensor<32x8xi8>, %c: tensor<32x32xf32>, %b: tensor<64x32xi8>) {
  // expected-error @+1 {{lhs scale of type 'tensor<32x8xi8>' does not fit 32 rows of 64 elements with one scale per 32 or 16}}
  %0 = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = e4m3 {fastMath = false} : tensor<32x64xi8>, tensor<32x8xi8> * tensor<64x32xi8> -> tensor<32x32xf32>
  tt.return
}
// -----
tt.func @d12_rhs(%a: tensor<16x64xi8>, %s: tensor<4x32xf8E4M3FN>, %c: tensor<16x32xf32>, %b: tensor<32x32xi8>) {
  // expected-error @+1 {{rhs scale of type 'tensor<4x32xf8E4M3FN>' does not fit 32 rows of 64 elements with one scale per 32 or 16}}
  %0 = tt.dot_scaled %a, %b scale %s, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<16x64xi8> * tensor<32x32xi8>, tensor<4x32xf8E4M3FN> -> tensor<16x32xf32>
  tt.return
}
