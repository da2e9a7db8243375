// RUN: python3 %S/round_trip.py %s
// dot and dot_scaled: every precision and format.
tt.func @dot(%a: tensor<2x16x32xf32>, %b: tensor<2x32x16xf32>, %c: tensor<2x16x16xf32>, %h: tensor<16x16xf16>, %i: tensor<16x16xi8>, %k: tensor<16x16xi32>) {
  %0 = tt.dot %a, %b, %c : tensor<2x16x32xf32> * tensor<2x32x16xf32> -> tensor<2x16x16xf32>
  %1 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<2x16x32xf32> * tensor<2x32x16xf32> -> tensor<2x16x16xf32>
  %2 = tt.dot %a, %b, %c, inputPrecision = tf32x3 : tensor<2x16x32xf32> * tensor<2x32x16xf32> -> tensor<2x16x16xf32>
  %3 = tt.dot %a, %b, %c, inputPrecision = bf16x3 : tensor<2x16x32xf32> * tensor<2x32x16xf32> -> tensor<2x16x16xf32>
  %4 = tt.dot %a, %b, %c, inputPrecision = bf16x6 : tensor<2x16x32xf32> * tensor<2x32x16xf32> -> tensor<2x16x16xf32>
  %5 = tt.dot %h, %h, %h, inputPrecision = tf32 : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf16>
  %6 = tt.dot %i, %i, %k : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  tt.return
}
tt.func @fp8(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x16xf8E5M2>, %c: tensor<16x16xf32>) {
  %0 = tt.dot %a, %b, %c, inputPrecision = tf32 {maxNumImpreciseAcc = 1073741824 : i32} : tensor<16x32xf8E4M3FN> * tensor<32x16xf8E5M2> -> tensor<16x16xf32>
  tt.return
}
tt.func @scaled(%a: tensor<16x64xi8>, %b: tensor<64x16xi8>, %as: tensor<16x2xi8>, %bs: tensor<16x2xi8>, %c: tensor<16x16xf32>, %h: tensor<64x16xbf16>, %g: tensor<64x16xf16>, %e: tensor<16x64xf8E5M2>) {
  %0 = tt.dot_scaled %a scale %as, %b scale %bs, %c lhs = e4m3 rhs = e5m2 {fastMath = false} : tensor<16x64xi8>, tensor<16x2xi8> * tensor<64x16xi8>, tensor<16x2xi8> -> tensor<16x16xf32>
  %1 = tt.dot_scaled %a scale %as, %h, %c lhs = e2m3 rhs = bf16 {fastMath = true} : tensor<16x64xi8>, tensor<16x2xi8> * tensor<64x16xbf16> -> tensor<16x16xf32>
  %2 = tt.dot_scaled %e, %g, %c lhs = e5m2 rhs = fp16 {fastMath = false} : tensor<16x64xf8E5M2> * tensor<64x16xf16> -> tensor<16x16xf32>
  %3 = tt.dot_scaled %a, %b scale %bs, %c lhs = e3m2 rhs = e4m3 {fastMath = false} : tensor<16x64xi8> * tensor<64x16xi8>, tensor<16x2xi8> -> tensor<16x16xf32>
  tt.return
}
// Two e2m1 values a byte: along K, or along M and N.
tt.func @packed(%a: tensor<16x64xi8>, %b: tensor<64x16xi8>, %s: tensor<16x8xf8E4M3FN>, %c: tensor<16x16xf32>, %am: tensor<16x64xi8>, %bn: tensor<64x8xi8>, %d: tensor<32x16xf32>) {
  %0 = tt.dot_scaled %a scale %s, %b scale %s, %c lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<16x64xi8>, tensor<16x8xf8E4M3FN> * tensor<64x16xi8>, tensor<16x8xf8E4M3FN> -> tensor<16x16xf32>
  %1 = tt.dot_scaled %am, %bn, %d lhs = e2m1 rhs = e2m1 {fastMath = false, lhs_k_pack = false, rhs_k_pack = false} : tensor<16x64xi8> * tensor<64x8xi8> -> tensor<32x16xf32>
  tt.return
}
