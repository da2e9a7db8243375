// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Global memory: by pointers, with what is known of their width.
#rows = #simt.linear<register = [[0, 1], [0, 2]], lane = [[0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], shape = [16, 8]>

// CHECK-LABEL: tt.func @tiles
tt.func @tiles(%p: tensor<16x8x!tt.ptr<f16>, #rows>, %m: tensor<16x8xi1, #rows>, %o: tensor<16x8xf16, #rows>) {
  // CHECK: simt.load %{{[a-z0-9]+}} : tensor<16x8x!tt.ptr<f16>
  %0 = simt.load %p : tensor<16x8x!tt.ptr<f16>, #rows>
  // CHECK: simt.load %{{.*}} if %{{.*}} else %{{.*}} by 4 along 1 {cache = 2 : i32, isVolatile} : tensor<16x8x!tt.ptr<f16>
  %1 = simt.load %p if %m else %o by 4 along 1 {cache = 2 : i32, isVolatile} : tensor<16x8x!tt.ptr<f16>, #rows>
  // CHECK: simt.store %{{.*}}, %{{.*}} if %{{.*}} by 2 along 1 : tensor<16x8x!tt.ptr<f16>
  simt.store %p, %0 if %m by 2 along 1 : tensor<16x8x!tt.ptr<f16>, #rows>
  // CHECK: simt.atomic_rmw fadd, relaxed, gpu, %{{.*}}, %{{.*}} by 2 along 1 : tensor<16x8x!tt.ptr<f16>, #linear>{{$}}
  simt.atomic_rmw fadd, relaxed, gpu, %p, %1 by 2 along 1 : tensor<16x8x!tt.ptr<f16>, #rows>
  tt.return
}

// CHECK-LABEL: tt.func @scalars
tt.func @scalars(%p: !tt.ptr<i32>, %v: i32) {
  // CHECK: simt.load %{{.*}} {isInvariant} : !tt.ptr<i32>
  %0 = simt.load %p {isInvariant} : !tt.ptr<i32>
  // CHECK: simt.atomic_rmw add, acq_rel, gpu, %{{.*}}, %{{.*}} : !tt.ptr<i32> -> i32
  %1 = simt.atomic_rmw add, acq_rel, gpu, %p, %0 : !tt.ptr<i32> -> i32
  // CHECK: simt.store %{{.*}}, %{{.*}} : !tt.ptr<i32>
  simt.store %p, %1 : !tt.ptr<i32>
  tt.return
}

#dot = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>

// CHECK-LABEL: tt.func @products
tt.func @products(%a: tensor<16x16xf16, #dot>, %c: tensor<16x16xf32, #dot>, %f: tensor<16x16xf8E4M3FN, #dot>) {
  // CHECK: simt.dot %{{.*}}, %{{.*}}, %{{.*}} warp_groups pending 1 :
  %0 = simt.dot %a, %a, %c warp_groups pending 1 : tensor<16x16xf16, #dot> * tensor<16x16xf16, #dot> -> tensor<16x16xf32, #dot>
  // CHECK: simt.dot %{{.*}}, %{{.*}}, %{{.*}} by <16, 16, 16, transposed = true, as = f16> :
  %1 = simt.dot %f, %f, %c by <16, 16, 16, transposed = true, as = f16> : tensor<16x16xf8E4M3FN, #dot> * tensor<16x16xf8E4M3FN, #dot> -> tensor<16x16xf32, #dot>
  tt.return
}
