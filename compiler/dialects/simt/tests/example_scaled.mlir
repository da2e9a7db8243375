// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Elements of 8 bits by elements of 4, two of which share a byte. A lane has 16 bytes of a row of A, or of a column of B,
// twice where they are 32 elements; and the scale of the block of 32 of its number.
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#scales = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 4]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>

// CHECK-LABEL: tt.func @product
tt.func @product(%a: tensor<16x128xf8E4M3FN, #a>, %b: tensor<64x16xi8, #b>, %as: tensor<16x4xi8, #scales>, %bs: tensor<16x4xi8, #scales>, %c: tensor<16x16xf32, #d>) {
  // CHECK: %[[X:.*]] = simt.dot_scaled %arg0 as e4m3 scale %arg2, %arg1 as e2m1 scale %arg3, %arg4 by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #{{.*}}>, tensor<16x4xi8, #{{.*}}> * tensor<64x16xi8, #{{.*}}>, tensor<16x4xi8, #{{.*}}> -> tensor<16x16xf32, #{{.*}}>
  %x = simt.dot_scaled %a as e4m3 scale %as, %b as e2m1 scale %bs, %c by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a>, tensor<16x4xi8, #scales> * tensor<64x16xi8, #b>, tensor<16x4xi8, #scales> -> tensor<16x16xf32, #d>
  // CHECK: %[[Y:.*]] = simt.dot_scaled %arg0 as e4m3, %arg1 as e2m1 scale %arg3, %[[X]] by
  %y = simt.dot_scaled %a as e4m3, %b as e2m1 scale %bs, %x by <16, 16, 128, transposed = true> : tensor<16x128xf8E4M3FN, #a> * tensor<64x16xi8, #b>, tensor<16x4xi8, #scales> -> tensor<16x16xf32, #d>
  // CHECK: %[[BITS:.*]] = tt.bitcast %arg0
  %bits = tt.bitcast %a : tensor<16x128xf8E4M3FN, #a> -> tensor<16x128xi8, #a>
  // CHECK: simt.dot_scaled %[[BITS]] as e5m2, %arg1 as e2m1, %[[Y]] by
  %z = simt.dot_scaled %bits as e5m2, %b as e2m1, %y by <16, 16, 128, transposed = true> : tensor<16x128xi8, #a> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
  tt.return
}
