// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules X1 to X5: matmuls with scales.

#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x1(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op multiplies 'tensor<16x128xf8E4M3FN,}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e4m3, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x1_results(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf16, #d>) {
  // expected-error @+1 {{op multiplies 'tensor<16x128xf8E4M3FN,}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf16, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x2(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has a of format e5m2 in 'f8E4M3FN': formats are e4m3, e5m2 and e2m1}}
  %0 = simt.dot_scaled %a as e5m2 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x2_format(%a: tensor<16x128xi8, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has a of format e2m3 in 'i8': formats are e4m3, e5m2 and e2m1}}
  %0 = simt.dot_scaled %a as e2m3 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xi8, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x3(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi16, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{as scales of a, which has 16 times 128 elements, 32 to a scale of i8}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi16, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x4(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{with an instruction of 16x16x32: it is 16x16x128 or 32x32x64, and divides the tiles}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <16, 16, 32, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x4_tiles(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{with an instruction of 32x32x64: it is 16x16x128 or 32x32x64, and divides the tiles}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <32, 32, 64, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
#wide = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 32], [0, 64]], warp = [], shape = [16, 128]>
tt.func @x5(%a: tensor<16x128xf8E4M3FN, #wide>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has a in 'tensor<16x128xf8E4M3FN,}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #wide>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
#rows = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0], [0, 0]], warp = [], shape = [16, 4]>
tt.func @x5_scales(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #rows>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has scales of a in 'tensor<16x4xi8,}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #rows> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
tt.func @x5_results(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %s: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has d in 'tensor<16x16xf32,}}
  %0 = simt.dot_scaled %a as e4m3 scale %s, %b as e2m1, %c by <16, 16, 128, transposed = false> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
// -----
// Each warp holds all rows of a, and has results of its own.
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64], [16, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [[0, 0]], shape = [32, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [[0, 0]], shape = [64, 16]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [[16, 0]], shape = [32, 16]>
tt.func @x5_warps(%a: tensor<32x128xi8, #a>, %b: tensor<64x16xi8, #b>, %c: tensor<32x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has a in 'tensor<32x128xi8,}}
  %0 = simt.dot_scaled %a as e4m3, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<32x128xi8, #a> * tensor<64x16xi8, #b> -> tensor<32x16xf32, #d>
  tt.return
}
// -----
// A thread lacks the second half of the rows of its results.
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [[16, 0]], shape = [32, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [[0, 0]], shape = [64, 16]>
#d = #simt.linear<register = [[0, 1], [0, 2], [16, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [[16, 0]], shape = [32, 16]>
tt.func @x5_rows(%a: tensor<32x128xi8, #a>, %b: tensor<64x16xi8, #b>, %c: tensor<32x16xf32, #d>) {
  // expected-error @+1 {{'simt.dot_scaled' op has a in 'tensor<32x128xi8,}}
  %0 = simt.dot_scaled %a as e4m3, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<32x128xi8, #a> * tensor<64x16xi8, #b> -> tensor<32x16xf32, #d>
  tt.return
}
