// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Exchanges among the threads of a block through scratch memory: a tile in parts, reductions and scans that warps share,
// a matmul element by element, a print.
#rows = #simt.linear<register = [[0, 1], [4, 0]], lane = [[0, 2], [1, 0], [2, 0]], warp = [[0, 4]], shape = [8, 8]>
#columns = #simt.linear<register = [[0, 4], [4, 0]], lane = [[0, 1], [0, 2], [1, 0]], warp = [[2, 0]], shape = [8, 8]>
!half = !simt.shared<1 * 8x8xf32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], part = [[4, 0]]>

// CHECK-LABEL: tt.func @parts
tt.func @parts(%x: tensor<8x8xf32, #rows>) {
  // CHECK: simt.alloc scratch at 16 : !simt.shared<1 * 8x8xf32, offset = {{.*}}, part = {{\[\[}}4, 0]]>
  %m = simt.alloc scratch at 16 : !half
  simt.store_shared %x, %m : tensor<8x8xf32, #rows>, !half
  // CHECK: simt.barrier warp
  simt.barrier warp
  // CHECK-NEXT: simt.barrier warp copies
  simt.barrier warp copies
  // CHECK-NEXT: simt.barrier shared
  simt.barrier shared
  %upper = simt.load_shared %m : !half -> tensor<8x8xf32, #columns>
  // CHECK: simt.store_shared %{{.*}}, %{{.*}} part 1 :
  simt.store_shared %x, %m part 1 : tensor<8x8xf32, #rows>, !half
  // CHECK: simt.load_shared %{{.*}} part 1 rest %{{.*}} :
  %y = simt.load_shared %m part 1 rest %upper : !half -> tensor<8x8xf32, #columns>
  tt.return
}

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [[8]], shape = [16]>
#warps = #simt.linear<register = [], lane = [[0], [0]], warp = [[1]], shape = [2]>
#all = #simt.linear<register = [[1]], lane = [[0], [0]], warp = [[0]], shape = [2]>
#threads = #simt.linear<register = [], lane = [[1], [2]], warp = [[4]], shape = [8]>

// CHECK-LABEL: tt.func @warps
tt.func @warps(%x: tensor<16xf32, #line>, %parts: tensor<2xf32, #all>) {
  // CHECK: simt.reduce_warps %{{.*}} along 0 : tensor<16xf32, #linear{{[0-9]*}}> -> tensor<2xf32
  // CHECK: simt.yield %{{.*}} : f32
  %sum = simt.reduce_warps %x along 0 : tensor<16xf32, #line> -> tensor<2xf32, #warps> {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    simt.yield %both : f32
  }
  // CHECK: simt.scan_warps %{{.*}} along 0 : tensor<16xf32, {{.*}} -> tensor<16xf32, {{.*}} before tensor<8xf32, {{.*}} totals tensor<2xf32
  %scanned, %before, %totals = simt.scan_warps %x along 0
      : tensor<16xf32, #line> -> tensor<16xf32, #line> before tensor<8xf32, #threads> totals tensor<2xf32, #warps> {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    simt.yield %both : f32
  }
  // CHECK: simt.join_scan %{{.*}} before %{{.*}} totals %{{.*}} along 0 : tensor<16xf32, {{.*}} before tensor<8xf32, {{.*}} totals tensor<2xf32, {{.*}} -> tensor<16xf32
  %scan = simt.join_scan %scanned before %before totals %parts along 0
      : tensor<16xf32, #line> before tensor<8xf32, #threads> totals tensor<2xf32, #all> -> tensor<16xf32, #line> {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    simt.yield %both : f32
  }
  tt.return
}

#up = #simt.linear<register = [], lane = [[1], [2]], warp = [[0]], shape = [4]>
#square = #simt.linear<register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [[2, 0]], shape = [4, 4]>
#rowSums = #simt.linear<register = [], lane = [[0], [1]], warp = [[2]], shape = [4]>

// CHECK-LABEL: tt.func @combinations
tt.func @combinations(%x: tensor<4x4xf32, #square>, %k: tensor<4x4xi32, #square>, %n: tensor<4xi32, #up>, %m: tensor<4xi1, #up>) {
  // CHECK: simt.reduce %{{.*}}, %{{.*}} along 1 : tensor<4x4xf32, {{.*}}, tensor<4x4xi32, {{.*}} -> tensor<4xf32, {{.*}}, tensor<4xi32
  %best, %where = simt.reduce %x, %k along 1
      : tensor<4x4xf32, #square>, tensor<4x4xi32, #square> -> tensor<4xf32, #rowSums>, tensor<4xi32, #rowSums> {
  ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
    %first = arith.cmpf ogt, %a, %b : f32
    %value = arith.select %first, %a, %b : f32
    %place = arith.select %first, %i, %j : i32
    simt.yield %value, %place : f32, i32
  }
  // CHECK: simt.reduce %{{.*}} along 0 : tensor<4xi32, {{.*}} -> i32
  %sum = simt.reduce %n along 0 : tensor<4xi32, #up> -> i32 {
  ^bb0(%a: i32, %b: i32):
    %both = arith.addi %a, %b : i32
    simt.yield %both : i32
  }
  // CHECK: simt.scan %{{.*}} along 1 reverse : tensor<4x4xf32, {{.*}} -> tensor<4x4xf32
  %scan = simt.scan %x along 1 reverse : tensor<4x4xf32, #square> -> tensor<4x4xf32, #square> {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    simt.yield %both : f32
  }
  // CHECK: simt.histogram %{{.*}} if %{{.*}} : tensor<4xi32, {{.*}} -> tensor<4xi32
  %counts = simt.histogram %n if %m : tensor<4xi32, #up> -> tensor<4xi32, #up>
  // CHECK: simt.gather %{{.*}}[%{{.*}}] along 1 : tensor<4x4xf32, {{.*}}, tensor<4x4xi32, {{.*}} -> tensor<4x4xf32
  %picked = simt.gather %x[%k] along 1 : tensor<4x4xf32, #square>, tensor<4x4xi32, #square> -> tensor<4x4xf32, #square>
  tt.return
}

!a = !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], part = [[0, 4]]>
!b = !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], part = [[4, 0]]>

// CHECK-LABEL: tt.func @product
tt.func @product(%c: tensor<8x8xf32, #rows>) {
  %a = simt.alloc scratch : !a
  %b = simt.alloc scratch : !b
  // CHECK: simt.dot_scratch %{{.*}}, %{{.*}}, %{{.*}} : !simt.shared
  %d = simt.dot_scratch %a, %b, %c : !a, !b -> tensor<8x8xf32, #rows>
  // CHECK: simt.print_room 64 lines, 280 bytes
  %room = simt.print_room 64 lines, 280 bytes
  // CHECK: simt.print "d" hex at %{{.*}} {isSigned = array<i32: 0>} : %{{.*}} : tensor<8x8xf32
  simt.print "d" hex at %room {isSigned = array<i32: 0>} : %d : tensor<8x8xf32, #rows>
  // CHECK: simt.print "done" at %{{.*}} {isSigned = array<i32>}
  simt.print "done" at %room {isSigned = array<i32>}
  tt.return
}
