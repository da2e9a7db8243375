// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S of Simt.cpp, and layouts that are none.

#a = #simt.linear<register = [[1]], lane = [], warp = [], shape = [2]>
#b = #simt.linear<register = [[1], [2]], lane = [], warp = [], shape = [4]>
tt.func @s1(%x: tensor<2xf32, #a>) {
  // expected-error @+1 {{turns a tile of}}
  %y = simt.convert_layout %x : tensor<2xf32, #a> -> tensor<4xf32, #b>
  tt.return
}

// -----

#a = #simt.linear<register = [[1]], lane = [], warp = [], shape = [2]>
tt.func @s2(%x: tensor<2xf32, #a>) {
  // expected-error @+1 {{is between tiles with layouts, not}}
  %y = simt.convert_layout %x : tensor<2xf32, #a> -> tensor<2xf32>
  tt.return
}

// -----

// expected-error @+1 {{dimension 0 has size 3, which is no power of two}}
#a = #simt.linear<register = [[1]], lane = [], warp = [], shape = [3]>

// -----

// expected-error @+1 {{a basis of lane does not fit the shape}}
#a = #simt.linear<register = [[1]], lane = [[2]], warp = [], shape = [2]>

// -----

// expected-error @+1 {{a basis of register does not fit the shape}}
#a = #simt.linear<register = [[1, 0]], lane = [], warp = [], shape = [2]>

// -----

#a = #simt.linear<register = [[1]], lane = [], warp = [], shape = [2]>
// expected-error @+1 {{a tile of 4 elements has a layout of 2}}
tt.func @s41_shape(%x: tensor<4xf32, #a>) {
  tt.return
}

// -----

#a = #simt.linear<register = [[1]], lane = [[1]], warp = [], shape = [4]>
// expected-error @+1 {{a tile of 4 elements has a layout that leaves some of them to no thread}}
tt.func @s41(%x: tensor<4xf32, #a>) {
  tt.return
}
