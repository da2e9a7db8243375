// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// A ring of two padded tiles: a tile of it, a part of that, the same bytes transposed; buffer accesses; a matrix product.
#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
#half = #simt.linear<register = [[0, 1]], lane = [[0, 2], [1, 0], [2, 0], [4, 0], [0, 0]], warp = [], shape = [8, 4]>
!ring = !simt.shared<2 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], pad = [16:2]>
!tile = !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], pad = [16:2]>
!part = !simt.shared<1 * 8x4xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], of = [8, 8], pad = [16:2]>
!columns = !simt.shared<1 * 8x8xf16, offset = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], pad = [16:2]>

// CHECK-LABEL: tt.func @views
tt.func @views(%s: i32, %t: tensor<8x8xf16, #rows>) {
  // CHECK: simt.alloc : !simt.shared<2 * 8x8xf16, offset = {{.*}}, pad = [16:2]>
  %ring = simt.alloc : !ring
  // CHECK: simt.index %{{.*}}[%{{.*}}] : !simt.shared<2 * {{.*}}> -> !simt.shared<1 *
  %tile = simt.index %ring[%s] : !ring -> !tile
  // CHECK: simt.subslice %{{.*}}[0, 4] : {{.*}} -> !simt.shared<1 * 8x4xf16, offset = {{.*}}, of = [8, 8], pad = [16:2]>
  %part = simt.subslice %tile[0, 4] : !tile -> !part
  // CHECK: simt.view %{{.*}} : {{.*}} -> !simt.shared<1 * 8x8xf16, offset = {{\[\[}}1, 0], {{.*}}
  %columns = simt.view %tile : !tile -> !columns
  // CHECK: simt.store_shared %{{.*}}, %{{[0-9]+}} :
  simt.store_shared %t, %columns : tensor<8x8xf16, #rows>, !columns
  // CHECK: simt.barrier
  simt.barrier
  // CHECK: simt.load_shared %{{[0-9]+}} : {{.*}} -> tensor<8x4xf16
  %0 = simt.load_shared %part : !part -> tensor<8x4xf16, #half>
  tt.return
}

// CHECK-LABEL: tt.func @buffers
tt.func @buffers(%p: !tt.ptr<f16>, %q: !tt.ptr<i32>, %o: tensor<8x8xi32, #rows>, %m: tensor<8x8xi1, #rows>, %t: tensor<8x8xf16, #rows>) {
  // CHECK: simt.buffer_load %{{.*}}[%{{.*}}] by 2 : !tt.ptr<f16>, tensor<8x8xi32, #linear> -> tensor<8x8xf16, #linear>
  %0 = simt.buffer_load %p[%o] by 2 : !tt.ptr<f16>, tensor<8x8xi32, #rows> -> tensor<8x8xf16, #rows>
  // CHECK: simt.buffer_load %{{.*}}[%{{.*}}] if %{{.*}} : tensor<8x8xi1, #linear> else %{{.*}} : tensor<8x8xf16, #linear> by 1 {cache = 5 : i32}
  %1 = simt.buffer_load %p[%o] if %m : tensor<8x8xi1, #rows> else %t : tensor<8x8xf16, #rows> by 1 {cache = 5 : i32} : !tt.ptr<f16>, tensor<8x8xi32, #rows> -> tensor<8x8xf16, #rows>
  // CHECK: simt.buffer_store %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} : tensor<8x8xi1, #linear> by 2 :
  simt.buffer_store %t, %p[%o] if %m : tensor<8x8xi1, #rows> by 2 : tensor<8x8xf16, #rows>, !tt.ptr<f16>, tensor<8x8xi32, #rows>
  // CHECK: simt.buffer_atomic_rmw max, relaxed, gpu, %{{.*}}[%{{.*}}], %{{.*}} if %{{.*}} : tensor<8x8xi1, #linear> : !tt.ptr<i32>, tensor<8x8xi32, #linear>, tensor<8x8xi32, #linear> -> tensor<8x8xi32, #linear>
  %old = simt.buffer_atomic_rmw max, relaxed, gpu, %q[%o], %o if %m : tensor<8x8xi1, #rows> : !tt.ptr<i32>, tensor<8x8xi32, #rows>, tensor<8x8xi32, #rows> -> tensor<8x8xi32, #rows>
  // CHECK: simt.buffer_atomic_rmw add, release, cta, %{{.*}}[%{{.*}}], %{{.*}} : !tt.ptr<i32>, tensor<8x8xi32, #linear>, tensor<8x8xi32, #linear>{{$}}
  simt.buffer_atomic_rmw add, release, cta, %q[%o], %old : !tt.ptr<i32>, tensor<8x8xi32, #rows>, tensor<8x8xi32, #rows>
  tt.return
}

// CHECK-LABEL: tt.func @products
tt.func @products(%a: tensor<16x16xf16, #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>>, %c: tensor<16x16xf32, #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>>) {
  // CHECK: simt.dot %{{.*}}, %{{.*}}, %{{.*}} by <16, 16, 16, transposed = true> :
  %0 = simt.dot %a, %a, %c by <16, 16, 16, transposed = true> : tensor<16x16xf16, #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>> * tensor<16x16xf16, #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>> -> tensor<16x16xf32, #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>>
  tt.return
}

// CHECK-LABEL: tt.func @parts
tt.func @parts(%t: tensor<8xf16, #simt.linear<register = [[1], [4]], lane = [[2]], warp = [], shape = [8]>>) {
  // CHECK: simt.extract_slice %{{.*}}[4] : tensor<8xf16, #{{.*}}> -> tensor<4xf16, #{{.*}}>
  %0 = simt.extract_slice %t[4] : tensor<8xf16, #simt.linear<register = [[1], [4]], lane = [[2]], warp = [], shape = [8]>> -> tensor<4xf16, #simt.linear<register = [[1]], lane = [[2]], warp = [], shape = [4]>>
  tt.return
}
