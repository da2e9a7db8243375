// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S34 to S39: shared memory by an index, tiles made of parts; S74: packed elements.

#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
!tile = !simt.shared<1 * 8x8xi32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s34(%m: !tile, %i: tensor<8x8xi32, #rows>) {
  // expected-error @+1 {{takes an index along axis 2 of}}
  %0 = simt.gather_shared %m[%i] along 2 : !tile, tensor<8x8xi32, #rows> -> tensor<8x8xi32, #rows>
  tt.return
}

// -----

#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
!tile = !simt.shared<1 * 8x8xi32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s34_indices(%m: !tile, %i: tensor<8x8xi32, #rows>, %v: tensor<8x8xf32, #rows>) {
  // expected-error @+1 {{moves 'tensor<8x8xf32}}
  simt.scatter_shared %v, %m[%i] along 0 : tensor<8x8xf32, #rows>, !tile, tensor<8x8xi32, #rows>
  tt.return
}

// -----

#wide = #simt.linear<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [16, 8]>
!tile = !simt.shared<1 * 8x8xi32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s35(%m: !tile, %i: tensor<16x8xi32, #wide>) {
  // expected-error @+1 {{takes 16 elements along axis 0 of a memory object with 8}}
  %0 = simt.gather_shared %m[%i] along 1 : !tile, tensor<16x8xi32, #wide> -> tensor<16x8xi32, #wide>
  tt.return
}

// -----

#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
#wide = #simt.linear<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [16, 8]>
!tile = !simt.shared<1 * 8x8xi32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s36(%m: !tile, %i: tensor<8x8xi32, #rows>, %k: tensor<16x8xi1, #wide>) {
  // expected-error @+1 {{has a mask 'tensor<16x8xi1}}
  simt.update_shared add, %i, %m[%i] if %k : tensor<16x8xi1, #wide> along 0 : tensor<8x8xi32, #rows>, !tile, tensor<8x8xi32, #rows>
  tt.return
}

// -----

#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
!tile = !simt.shared<1 * 8x8xi32, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s37(%m: !tile, %i: tensor<8x8xi32, #rows>) {
  // expected-error @+1 {{has kind 'fadd' for elements of 'i32'}}
  simt.update_shared fadd, %i, %m[%i] along 0 : tensor<8x8xi32, #rows>, !tile, tensor<8x8xi32, #rows>
  tt.return
}

// -----

#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
#wide = #simt.linear<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [16, 8]>
tt.func @s38(%i: tensor<8x8xi32, #rows>) {
  // expected-error @+1 {{of 3 parts of}}
  %0 = simt.concat %i, %i, %i : tensor<8x8xi32, #rows>, tensor<8x8xi32, #rows>, tensor<8x8xi32, #rows> -> tensor<16x8xi32, #wide>
  tt.return
}

// -----

#wide = #simt.linear<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [16, 8]>
#columns = #simt.linear<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
tt.func @s39(%i: tensor<8x8xi32, #columns>) {
  // expected-error @+1 {{whose threads hold other elements}}
  %0 = simt.concat %i, %i : tensor<8x8xi32, #columns>, tensor<8x8xi32, #columns> -> tensor<16x8xi32, #wide>
  tt.return
}

// -----

#rows = #simt.linear<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], shape = [16, 8]>
!tile = !simt.shared<1 * 8x8xi8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s74_shape(%m: !tile) {
  // expected-error @+1 {{makes 'tensor<16x8xi8, #simt.linear<}}
  %0 = simt.load_repacked %m : !tile -> tensor<16x8xi8, #rows>
  tt.return
}

// -----

#rows = #simt.linear<register = [[1, 0]], lane = [[2, 0], [0, 1], [0, 2], [0, 4], [0, 8]], warp = [], shape = [4, 16]>
!tile = !simt.shared<1 * 8x8xi16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
tt.func @s74_element(%m: !tile) {
  // expected-error @+1 {{the result has bytes as the memory object, twice as many along one axis and half as many along another}}
  %0 = simt.load_repacked %m : !tile -> tensor<4x16xi16, #rows>
  tt.return
}
