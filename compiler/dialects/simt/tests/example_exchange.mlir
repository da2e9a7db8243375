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
  // CHECK: "simt.reduce_warps"
  %sum = "simt.reduce_warps"(%x) <{axis = 0 : i64}> ({
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    tt.reduce.return %both : f32
  }) : (tensor<16xf32, #line>) -> tensor<2xf32, #warps>
  // CHECK: "simt.scan_warps"
  %scanned, %before, %totals = "simt.scan_warps"(%x) <{axis = 0 : i64, resultSegmentSizes = array<i32: 1, 1, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    tt.scan.return %both : f32
  }) : (tensor<16xf32, #line>) -> (tensor<16xf32, #line>, tensor<8xf32, #threads>, tensor<2xf32, #warps>)
  // CHECK: "simt.join_scan"
  %scan = "simt.join_scan"(%scanned, %before, %parts) <{axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    tt.scan.return %both : f32
  }) : (tensor<16xf32, #line>, tensor<8xf32, #threads>, tensor<2xf32, #all>) -> tensor<16xf32, #line>
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
