// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// A tile's type says which element each register of each lane and warp holds.

// CHECK: #[[A:linear[0-9]*]] = #simt.linear<register = {{\[}}[0, 1]], lane = {{\[}}[0, 2], [1, 0]], warp = [], shape = [2, 4]>
#a = #simt.linear<register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [], shape = [2, 4]>
#b = #simt.linear<register = [[1, 0]], lane = [[0, 1], [0, 2]], warp = [], shape = [2, 4]>

// CHECK-LABEL: @convert
tt.func @convert(%x: tensor<2x4xf32, #a>) -> tensor<2x4xf32, #b> {
  // CHECK: simt.convert_layout %{{.*}} : tensor<2x4xf32, #[[A]]> -> tensor<2x4xf32, #linear{{.*}}>
  %y = simt.convert_layout %x : tensor<2x4xf32, #a> -> tensor<2x4xf32, #b>
  tt.return %y : tensor<2x4xf32, #b>
}
