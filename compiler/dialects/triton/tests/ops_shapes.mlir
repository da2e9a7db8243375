// RUN: python3 %S/round_trip.py %s
// Shape changes.
tt.func @shapes(%s: f32, %p: !tt.ptr<i8>, %t: tensor<4x8xf32>, %u: tensor<4x8x2xi32>, %i: tensor<2x8xi32>) {
  %0 = tt.splat %s : f32 -> tensor<1x1xf32>
  %1 = tt.splat %p : !tt.ptr<i8> -> tensor<16x!tt.ptr<i8>>
  %2 = tt.unsplat %0 : tensor<1x1xf32>
  %3 = tt.expand_dims %t {axis = 2 : i32} : tensor<4x8xf32> -> tensor<4x8x1xf32>
  %4 = tt.broadcast %3 : tensor<4x8x1xf32> -> tensor<4x8x16xf32>
  %5 = tt.reshape %t : tensor<4x8xf32> -> tensor<2x2x2x4xf32>
  %6 = tt.reshape %t allow_reorder : tensor<4x8xf32> -> tensor<32xf32>
  %7 = tt.reshape %t efficient_layout : tensor<4x8xf32> -> tensor<32xf32>
  %8 = tt.reshape %t allow_reorder efficient_layout {kept = 1 : i32} : tensor<4x8xf32> -> tensor<32xf32>
  %9 = tt.trans %u {order = array<i32: 2, 0, 1>} : tensor<4x8x2xi32> -> tensor<2x4x8xi32>
  %10 = tt.join %t, %t : tensor<4x8xf32> -> tensor<4x8x2xf32>
  %11, %12 = tt.split %u : tensor<4x8x2xi32> -> tensor<4x8xi32>
  %13 = tt.cat %6, %6 : tensor<32xf32> -> tensor<64xf32>
  %14 = tt.make_range {end = 128 : i32, start = 64 : i32} : tensor<64xi32>
  %15 = tt.gather %t[%i] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
  %16 = tt.gather %t[%i] {axis = 0 : i32, efficient_layout} : (tensor<4x8xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
  %17 = tt.histogram %14 : tensor<64xi32> -> tensor<16xi32>
  %18 = arith.constant dense<true> : tensor<64xi1>
  %19 = tt.histogram %14, %18 : tensor<64xi32> -> tensor<1xi32>
  tt.return
}
tt.func @one_element(%x: tensor<2xf32>) -> tensor<f32> {
  %0, %1 = tt.split %x : tensor<2xf32> -> tensor<f32>
  %2 = tt.unsplat %0 : tensor<f32>
  tt.return %1 : tensor<f32>
}
// Sorting views 2^20 elements as twenty dimensions.
tt.func @rank_20(%x: tensor<1048576xi32>) -> tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xi32> {
  %0 = tt.reshape %x : tensor<1048576xi32> -> tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xi32>
  tt.return %0 : tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xi32>
}
