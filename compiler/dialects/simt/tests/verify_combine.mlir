// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules of reductions, scans, histograms and gathers: S47, S48 and S50 for whole ones, S62 to S65.

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s47_reduce(%x: tensor<8xf32, #line>) {
  // expected-error @+1 {{'simt.reduce' op combines 1 tiles along axis 1 of 'tensor<8xf32,}}
  %sum = simt.reduce %x along 1 : tensor<8xf32, #line> -> f32 {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s48_reduce(%x: tensor<8xf32, #line>) {
  // expected-error @+1 {{'simt.reduce' op has a region that does not make 1 elements of twice as many}}
  %sum = simt.reduce %x along 0 : tensor<8xf32, #line> -> f32 {
  ^bb0(%a: i32, %b: i32):
    simt.yield %a : i32
  }
  tt.return
}

// -----

#mixed = #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>
tt.func @s50_scan(%x: tensor<8xf32, #mixed>) {
  // expected-error @+1 {{'simt.scan' op scans 'tensor<8xf32, #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>>', whose elements do not count registers first, then lanes, then warps along axis 0}}
  %scan = simt.scan %x along 0 : tensor<8xf32, #mixed> -> tensor<8xf32, #mixed> {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }
  tt.return
}

// -----

#square = #simt.linear<register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [[2, 0]], shape = [4, 4]>
#other = #simt.linear<register = [], lane = [[1], [2]], warp = [[0]], shape = [4]>
tt.func @s62(%x: tensor<4x4xf32, #square>) {
  // expected-error @+1 {{along axis 1: a tile of each, without the axis, is left, in the layout #simt.linear<register = [], lane = [[0], [1]], warp = [[2]], shape = [4]>}}
  %sum = simt.reduce %x along 1 : tensor<4x4xf32, #square> -> tensor<4xf32, #other> {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s62_scalar(%x: tensor<8xf32, #line>) {
  // expected-error @+1 {{'simt.reduce' op leaves 'i32' of 'tensor<8xf32, #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>>' along axis 0: a scalar of each tile's element type is left}}
  %sum = simt.reduce %x along 0 : tensor<8xf32, #line> -> i32 {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
#other = #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>
tt.func @s63(%x: tensor<8xf32, #line>) {
  // expected-error @+1 {{'simt.scan' op scans 'tensor<8xf32, #simt.linear<register = [[1]]}}
  %scan = simt.scan %x along 0 : tensor<8xf32, #line> -> tensor<8xf32, #other> {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s64(%x: tensor<8xi32, #line>) {
  // expected-error @+1 {{: both have one dimension and a layout}}
  %counts = simt.histogram %x : tensor<8xi32, #line> -> tensor<4xi32>
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
#other = #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>
tt.func @s64_mask(%x: tensor<8xi32, #line>, %m: tensor<8xi1, #other>) {
  // expected-error @+1 {{under a mask of 'tensor<8xi1, #simt.linear<register = [[4]]}}
  %counts = "simt.histogram"(%x, %m) : (tensor<8xi32, #line>, tensor<8xi1, #other>) -> tensor<8xi32, #line>
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s65(%x: tensor<8xf32, #line>, %i: tensor<8xi32, #line>) {
  // expected-error @+1 {{along axis 1 of 'tensor<8xf32}}
  %picked = simt.gather %x[%i] along 1 : tensor<8xf32, #line>, tensor<8xi32, #line> -> tensor<8xf32, #line>
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s65_result(%x: tensor<8xf32, #line>, %i: tensor<8xi32, #line>) {
  // expected-error @+1 {{'simt.gather' op takes 'tensor<8xi32,}}
  %picked = simt.gather %x[%i] along 0 : tensor<8xf32, #line>, tensor<8xi32, #line> -> tensor<8xi32, #line>
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s47_large_axis(%x: tensor<8xf32, #line>) {
  // expected-error @+1 {{'simt.reduce' op combines 1 tiles along axis 4294967296 of 'tensor<8xf32,}}
  %sum = simt.reduce %x along 4294967296 : tensor<8xf32, #line> -> f32 {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  }
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s70(%x: tensor<8xf32, #line>, %p: !tt.ptr<f32>) {
  %sum = simt.reduce %x along 0 : tensor<8xf32, #line> -> f32 {
  ^bb0(%a: f32, %b: f32):
    // expected-error @+1 {{'simt.store' op stands in the region of 'simt.reduce', which computes scalars and neither accesses memory nor exchanges}}
    simt.store %p, %a : !tt.ptr<f32>
    simt.yield %a : f32
  }
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s70_tile(%x: tensor<8xf32, #line>) {
  %sum = simt.scan %x along 0 : tensor<8xf32, #line> -> tensor<8xf32, #line> {
  ^bb0(%a: f32, %b: f32):
    // expected-error @+1 {{'arith.addf' op stands in the region of 'simt.scan', which computes scalars and neither accesses memory nor exchanges}}
    %y = arith.addf %x, %x : tensor<8xf32, #line>
    simt.yield %a : f32
  }
  tt.return
}
