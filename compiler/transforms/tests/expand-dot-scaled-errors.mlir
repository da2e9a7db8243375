// RUN: heddle-opt %s --heddle-expand-dot-scaled --split-input-file --verify-diagnostics

tt.func @e3m2(%a: tensor<16x32xi8>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{lhs element format `e3m2` is not supported}}
  %d = tt.dot_scaled %a, %b, %c lhs = e3m2 rhs = bf16 {fastMath = true} : tensor<16x32xi8> * tensor<32x8xbf16> -> tensor<16x8xf32>
  tt.return
}

// -----

tt.func @double(%a: tensor<16x32xbf16>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf64>) {
  // expected-error @+1 {{a scaled product is formed in f32, but the accumulator is of 'f64'}}
  %d = tt.dot_scaled %a, %b, %c lhs = bf16 rhs = bf16 {fastMath = true} : tensor<16x32xbf16> * tensor<32x8xbf16> -> tensor<16x8xf64>
  tt.return
}
