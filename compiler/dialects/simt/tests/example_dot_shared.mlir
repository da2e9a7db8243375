// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Groups of four warps multiply what lies in shared memory, as rows of 32 bytes that are swizzled in eights.
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>

// CHECK-LABEL: tt.func @product
tt.func @product(%c: tensor<64x16xf32, #sums>, %s: i32, %adds: i1) {
  %a = simt.alloc : !simt.shared<2 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>
  %b = simt.alloc : !simt.shared<2 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]>
  // CHECK: %[[D:.*]] = simt.dot_shared %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] transposed, %{{.*}} : !simt.shared<2 * 64x16xf16,
  %d = simt.dot_shared %a[%s], %b[%s] transposed, %c : !simt.shared<2 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<2 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  // CHECK-NEXT: simt.dot_wait %[[D]] : tensor<64x16xf32
  %0 = simt.dot_wait %d : tensor<64x16xf32, #sums>
  // CHECK: simt.dot_shared %{{.*}}, %{{.*}}[%{{.*}}] transposed, %{{.*}} : tensor<64x16xf16,
  %p = arith.truncf %0 : tensor<64x16xf32, #sums> to tensor<64x16xf16, #sums>
  %e = simt.dot_shared %p, %b[%s] transposed, %0 : tensor<64x16xf16, #sums>, !simt.shared<2 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  %1 = simt.dot_wait %e : tensor<64x16xf32, #sums>
  // The first is over when no more than the one after it is pending.
  %f = simt.dot_shared %a[%s], %b[%s] transposed, %c : !simt.shared<2 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<2 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  %g = simt.dot_shared %p, %b[%s] transposed, %c : tensor<64x16xf16, #sums>, !simt.shared<2 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  // CHECK: simt.dot_wait %{{.*}} pending 1
  %2 = simt.dot_wait %f pending 1 : tensor<64x16xf32, #sums>
  %h = arith.addf %2, %2 : tensor<64x16xf32, #sums>
  %3 = simt.dot_wait %g : tensor<64x16xf32, #sums>
  // The sum is begun from 0 where a bit is not set.
  // CHECK: simt.dot_shared %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] transposed, %{{.*}} if %{{.*}} : !simt.shared<2 * 64x16xf16,
  %i = simt.dot_shared %a[%s], %b[%s] transposed, %3 if %adds : !simt.shared<2 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<2 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  %4 = simt.dot_wait %i : tensor<64x16xf32, #sums>
  tt.return
}
