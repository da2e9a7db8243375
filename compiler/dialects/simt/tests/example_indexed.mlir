// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Shared memory by an index along one axis, and of packed elements; a tile made of parts; the number of the warp.
#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
#wide = #simt.linear<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [16, 8]>
!tile = !simt.shared<1 * 8x8xi32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>

// CHECK-LABEL: tt.func @indexed
tt.func @indexed(%m: !tile, %i: tensor<8x8xi32, #rows>, %k: tensor<8x8xi1, #rows>) {
  // CHECK: simt.gather_shared %{{.*}}[%{{.*}}] along 0 : !simt.shared<{{.*}}>, tensor<8x8xi32, #linear> -> tensor<8x8xi32
  %0 = simt.gather_shared %m[%i] along 0 : !tile, tensor<8x8xi32, #rows> -> tensor<8x8xi32, #rows>
  // CHECK: simt.scatter_shared %{{.*}}, %{{.*}}[%{{.*}}] along 1 : tensor<8x8xi32, #linear>, !simt.shared<
  simt.scatter_shared %0, %m[%i] along 1 : tensor<8x8xi32, #rows>, !tile, tensor<8x8xi32, #rows>
  // CHECK: simt.update_shared add, %{{.*}}, %{{.*}}[%{{.*}}] along 0 : {{.*}}tensor<8x8xi32, #linear>{{$}}
  simt.update_shared add, %0, %m[%i] along 0 : tensor<8x8xi32, #rows>, !tile, tensor<8x8xi32, #rows>
  // CHECK: simt.update_shared max, %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} : tensor<8x8xi1, #linear> along 0 : {{.*}} -> tensor<8x8xi32
  %1 = simt.update_shared max, %0, %m[%i] if %k : tensor<8x8xi1, #rows> along 0 : tensor<8x8xi32, #rows>, !tile, tensor<8x8xi32, #rows> -> tensor<8x8xi32, #rows>
  // CHECK: simt.concat %{{.*}}, %{{.*}} : tensor<8x8xi32, #linear>, tensor<8x8xi32, #linear> -> tensor<16x8xi32
  %2 = simt.concat %0, %1 : tensor<8x8xi32, #rows>, tensor<8x8xi32, #rows> -> tensor<16x8xi32, #wide>
  // CHECK: simt.warp_id
  %3 = simt.warp_id
  tt.return
}

#packed = #simt.linear<register = [[1, 0]], lane = [[2, 0], [0, 1], [0, 2], [0, 4], [0, 8]], warp = [], shape = [4, 16]>

// CHECK-LABEL: tt.func @repacked
tt.func @repacked(%m: !simt.shared<1 * 8x8xi8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>) {
  // CHECK: simt.load_repacked %{{.*}} : !simt.shared<1 * 8x8xi8, {{.*}}> -> tensor<4x16xi8, #linear{{[0-9]*}}>
  %0 = simt.load_repacked %m : !simt.shared<1 * 8x8xi8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]> -> tensor<4x16xi8, #packed>
  tt.return
}
