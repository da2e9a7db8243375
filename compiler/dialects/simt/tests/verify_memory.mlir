// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules of accesses to global memory by pointers (SimtAccess.cpp).

tt.func @s29(%p: tensor<4x!tt.ptr<f32>>) {
  // expected-error @+1 {{along axis 0: its tiles have layouts}}
  %0 = simt.load %p : tensor<4x!tt.ptr<f32>>
  tt.return
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [], warp = [], shape = [4]>
tt.func @s29_axis(%p: tensor<4x!tt.ptr<f32>, #l>) {
  // expected-error @+1 {{along axis 1}}
  %0 = simt.load %p by 2 along 1 : tensor<4x!tt.ptr<f32>, #l>
  tt.return
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [], warp = [], shape = [4]>
#m = #simt.linear<register = [[2], [1]], lane = [], warp = [], shape = [4]>
tt.func @s30(%p: tensor<4x!tt.ptr<f32>, #l>, %v: tensor<4xf32, #m>) {
  // expected-error @+1 {{accesses 'tensor<4xf32, #simt.linear<register = [[1], [2]], lane = [], warp = [], shape = [4]>>' through its pointers, and has 'tensor<4xf32, #simt.linear<register = [[2], [1]]}}
  "simt.store"(%p, %v) : (tensor<4x!tt.ptr<f32>, #l>, tensor<4xf32, #m>) -> ()
  tt.return
}

// -----

tt.func @s30_mask(%p: !tt.ptr<f32>, %v: f32, %m: i32) {
  // expected-error @+1 {{operand #2 must be}}
  "simt.store"(%p, %v, %m) : (!tt.ptr<f32>, f32, i32) -> ()
  tt.return
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [], warp = [], shape = [4]>
tt.func @s30_scalar(%p: tensor<4x!tt.ptr<f32>, #l>, %v: tensor<4xf32, #l>, %m: i1) {
  // expected-error @+1 {{has a mask of 'i1' where 'tensor<4xi1}}
  "simt.store"(%p, %v, %m) : (tensor<4x!tt.ptr<f32>, #l>, tensor<4xf32, #l>, i1) -> ()
  tt.return
}

// -----

#l = #simt.linear<register = [[2], [1]], lane = [], warp = [], shape = [4]>
tt.func @s31(%p: tensor<4x!tt.ptr<f32>, #l>) {
  // expected-error @+1 {{accesses 2 elements of 'f32' at once: it takes a power of two, 4 at most, and the layout has 1 contiguous registers along axis 0}}
  %0 = simt.load %p by 2 : tensor<4x!tt.ptr<f32>, #l>
  tt.return
}

// -----

tt.func @s31_scalar(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{accesses 2 elements of 'i32' at once}}
  simt.atomic_rmw add, relaxed, gpu, %p, %v by 2 : !tt.ptr<i32>
  tt.return
}

// -----

tt.func @s32(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{has 'i32' for masked elements, and no mask}}
  %0 = simt.load %p else %v : !tt.ptr<i32>
  tt.return
}

// -----

#l = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [8, 0]], warp = [], shape = [16, 16]>
tt.func @s33(%a: tensor<16x16xf16, #l>, %c: tensor<16x16xf32, #l>) {
  // expected-error @+1 {{has no instruction, is not by warp groups and leaves 1 matmuls pending}}
  %0 = simt.dot %a, %a, %c pending 1 : tensor<16x16xf16, #l> * tensor<16x16xf16, #l> -> tensor<16x16xf32, #l>
  tt.return
}
