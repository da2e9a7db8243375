// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S42 to S57.

// expected-error @+1 {{memory for 2 parts of a tile, one after the other, has one stage and no padding, not 2 stages and 0 paddings}}
tt.func private @s42(!simt.shared<2 * 8xf16, offset = [[1], [2]], part = [[4]]>)
// -----
// expected-error @+1 {{a basis of part does not fit the shape}}
tt.func private @s42_basis(!simt.shared<1 * 8xf16, offset = [[1], [2]], part = [[8]]>)
// -----
#rows = #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>
!half = !simt.shared<1 * 8xf16, offset = [[1], [2]], part = [[4]]>
tt.func @s43(%x: tensor<8xf16, #rows>, %m: !half) {
  // expected-error @+1 {{'simt.store_shared' op moves part 2 of a tile that has 2}}
  simt.store_shared %x, %m part 2 : tensor<8xf16, #rows>, !half
  tt.return
}
// -----
#rows = #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>
!whole = !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
tt.func @s44(%x: tensor<8xf16, #rows>, %m: !whole) {
  // expected-error @+1 {{'simt.load_shared' op reads one of 1 parts of 'tensor<8xf16,}}
  %0 = simt.load_shared %m rest %x : !whole -> tensor<8xf16, #rows>
  tt.return
}
// -----
#lanes = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
!half = !simt.shared<1 * 8xf16, offset = [[1], [2]], part = [[4]]>
tt.func @s45(%m: !half) {
  // expected-error @+1 {{'simt.load_shared' op reads a part of 'tensor<8xf16,}}
  %0 = simt.load_shared %m : !half -> tensor<8xf16, #lanes>
  tt.return
}
// -----
!half = !simt.shared<1 * 8xf16, offset = [[1], [2]], part = [[4]]>
!bytes = !simt.shared<1 * 8xi8, offset = [[1], [2], [4]]>
tt.func @s46(%m: !half) {
  // expected-error @+1 {{'simt.view' op takes memory for 2 parts of a tile, one after the other}}
  %0 = simt.view %m : !half -> !bytes
  tt.return
}
// -----
#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [[8]], shape = [16]>
#warps = #simt.linear<register = [], lane = [[0], [0]], warp = [[1]], shape = [2]>
tt.func @s47(%x: tensor<16xf32, #line>) {
  // expected-error @+1 {{'simt.reduce_warps' op combines 1 tiles along axis 1 of 'tensor<16xf32,}}
  %sum = "simt.reduce_warps"(%x) <{axis = 1 : i64}> ({
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }) : (tensor<16xf32, #line>) -> tensor<2xf32, #warps>
  tt.return
}
// -----
#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [[8]], shape = [16]>
#warps = #simt.linear<register = [], lane = [[0], [0]], warp = [[1]], shape = [2]>
tt.func @s48(%x: tensor<16xf32, #line>) {
  // expected-error @+1 {{'simt.reduce_warps' op has a region that does not make 1 elements of twice as many, and end by 'simt.yield'}}
  %sum = "simt.reduce_warps"(%x) <{axis = 0 : i64}> ({
  ^bb0(%a: f32, %b: f32):
    tt.return
  }) : (tensor<16xf32, #line>) -> tensor<2xf32, #warps>
  tt.return
}
// -----
#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [[8]], shape = [16]>
#lanes = #simt.linear<register = [], lane = [[1], [0]], warp = [[0]], shape = [2]>
tt.func @s49(%x: tensor<16xf32, #line>) {
  // expected-error @+1 {{'simt.reduce_warps' op leaves another layout where its warps leave}}
  %sum = "simt.reduce_warps"(%x) <{axis = 0 : i64}> ({
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }) : (tensor<16xf32, #line>) -> tensor<2xf32, #lanes>
  tt.return
}
// -----
#mixed = #simt.linear<register = [[8]], lane = [[1], [2]], warp = [[4]], shape = [16]>
#warps = #simt.linear<register = [], lane = [[0], [0]], warp = [[1]], shape = [2]>
tt.func @s50(%x: tensor<16xf32, #mixed>) {
  // expected-error @+1 {{whose elements do not count registers first, then lanes, then warps along axis 0}}
  %scanned, %totals = "simt.scan_warps"(%x) <{axis = 0 : i64, resultSegmentSizes = array<i32: 1, 0, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }) : (tensor<16xf32, #mixed>) -> (tensor<16xf32, #mixed>, tensor<2xf32, #warps>)
  tt.return
}
// -----
#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [[8]], shape = [16]>
#warps = #simt.linear<register = [], lane = [[0], [0]], warp = [[1]], shape = [2]>
tt.func @s51(%x: tensor<16xf32, #line>) {
  // expected-error @+1 {{'simt.scan_warps' op leaves other layouts than the scan of 'tensor<16xf32,}}
  %scanned, %totals = "simt.scan_warps"(%x) <{axis = 0 : i64, resultSegmentSizes = array<i32: 1, 0, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }) : (tensor<16xf32, #line>) -> (tensor<16xf32, #line>, tensor<2xf32, #warps>)
  tt.return
}
// -----
#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [[8]], shape = [16]>
#warps = #simt.linear<register = [], lane = [[0], [0]], warp = [[1]], shape = [2]>
#threads = #simt.linear<register = [], lane = [[1], [2]], warp = [[4]], shape = [8]>
tt.func @s52(%x: tensor<16xf32, #line>, %before: tensor<8xf32, #threads>, %totals: tensor<2xf32, #warps>) {
  // expected-error @+1 {{'simt.join_scan' op joins other layouts than the scan of 'tensor<16xf32,}}
  %scan = "simt.join_scan"(%x, %before, %totals) <{axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }) : (tensor<16xf32, #line>, tensor<8xf32, #threads>, tensor<2xf32, #warps>) -> tensor<16xf32, #line>
  tt.return
}
// -----
#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
!a = !simt.shared<1 * 8x4xf16, offset = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]]>
!b = !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s53(%a: !a, %b: !b, %c: tensor<8x8xf32, #rows>) {
  // expected-error @+1 {{'simt.dot_scratch' op multiplies '!simt.shared<1 * 8x4xf16,}}
  %d = simt.dot_scratch %a, %b, %c : !a, !b -> tensor<8x8xf32, #rows>
  tt.return
}
// -----
#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
!a = !simt.shared<1 * 8x8xf16, offset = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4]]>
!b = !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s54(%a: !a, %b: !b, %c: tensor<8x8xf32, #rows>) {
  // expected-error @+1 {{which do not lie row-major in as many parts along K}}
  %d = simt.dot_scratch %a, %b, %c : !a, !b -> tensor<8x8xf32, #rows>
  tt.return
}
// -----
tt.func @s55(%x: f32, %at: i64) {
  // expected-error @+1 {{'simt.print' op prints 1 values to 2 places, and says of 1 whether they are signed}}
  simt.print "x" at %at, %at {isSigned = array<i32: 0>} : %x : f32
  tt.return
}
// -----
tt.func @s56() {
  // expected-error @+1 {{'simt.barrier' op is both of each warp and for shared memory alone}}
  simt.barrier warp shared
  tt.return
}
// -----
tt.func @s56_copies() {
  // expected-error @+1 {{'simt.barrier' op has `copies` without `warp`: other barriers are for copies already}}
  simt.barrier copies
  tt.return
}
// -----
tt.func @s56_bare() {
  // expected-error @+1 {{'simt.barrier' op is `bare`, which orders nothing, and of another kind as well}}
  simt.barrier shared bare
  tt.return
}
// -----
tt.func @s57() {
  // expected-error @+1 {{'simt.async_wait' op leaves -1 instructions in flight}}
  simt.async_wait 0 instructions -1
  tt.return
}
