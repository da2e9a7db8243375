// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S13 to S25, and S72.

// expected-error @+1 {{padding of 0 elements after each 4}}
tt.func private @s13(!simt.shared<1 * 8xf16, offset = [[1], [2], [4]], pad = [4:0]>)
// -----
// expected-error @+1 {{`border` is neither `of`, `pad` nor `part`}}
tt.func private @s13_word(!simt.shared<1 * 8xf16, offset = [[1], [2], [4]], border = [4:1]>)
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s14(%r: !simt.shared<2 * 8xf16, offset = [[1], [2], [4]]>) {
  // expected-error @+1 {{accesses 2 tiles at once: say which, by a stage}}
  %0 = simt.load_shared %r : !simt.shared<2 * 8xf16, offset = [[1], [2], [4]]> -> tensor<8xf16, #rows>
  tt.return
}
// -----
tt.func @s15(%r: !simt.shared<2 * 8xf16, offset = [[1], [2], [4]]>, %s: i32) {
  // expected-error @+1 {{'simt.index' op takes}}
  %0 = simt.index %r[%s] : !simt.shared<2 * 8xf16, offset = [[1], [2], [4]]> -> !simt.shared<1 * 8xbf16, offset = [[1], [2], [4]]>
  tt.return
}
// -----
tt.func @s16(%r: !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>) {
  // expected-error @+1 {{takes 4 elements from 2 on of axis 0: it must be a multiple of 4}}
  %0 = simt.subslice %r[2] : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]> -> !simt.shared<1 * 4xf16, offset = [[1], [2], [4]], of = [8]>
  tt.return
}
// -----
tt.func @s17(%r: !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>) {
  // expected-error @+1 {{reads 32 bytes in a memory object of 16}}
  %0 = simt.view %r : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]> -> !simt.shared<1 * 8xi32, offset = [[1], [2], [4]]>
  tt.return
}
// -----
tt.func @s18(%r: !simt.shared<1 * 8xf16, offset = [[1], [2], [4]], pad = [4:2]>) {
  // expected-error @+1 {{reads elements of 4 bytes in a padded memory object}}
  %0 = simt.view %r : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]], pad = [4:2]> -> !simt.shared<1 * 4xi32, offset = [[1], [2]]>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s19(%p: !tt.ptr<f32>, %o: tensor<8xi32, #rows>) {
  // expected-error @+1 {{'simt.buffer_load' op accesses}}
  %0 = simt.buffer_load %p[%o] by 1 : !tt.ptr<f32>, tensor<8xi32, #rows> -> tensor<8xf16, #rows>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s20(%p: !tt.ptr<f32>, %o: tensor<8xi32, #rows>) {
  // expected-error @+1 {{accesses 4 elements of 'f32' at once in a tile with 2 registers}}
  %0 = simt.buffer_load %p[%o] by 4 : !tt.ptr<f32>, tensor<8xi32, #rows> -> tensor<8xf32, #rows>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s21(%p: !tt.ptr<f32>, %o: tensor<8xi32, #rows>, %v: tensor<8xf32, #rows>) {
  // expected-error @+1 {{for masked elements of}}
  %0 = simt.buffer_load %p[%o] else %v : tensor<8xf32, #rows> by 1 : !tt.ptr<f32>, tensor<8xi32, #rows> -> tensor<8xf32, #rows>
  tt.return
}
// -----
#rows = #simt.linear<register = [[0, 1]], lane = [[1, 0]], warp = [], shape = [2, 2]>
tt.func @s22(%a: tensor<2x2xf16, #rows>, %c: tensor<2x2xf32>) {
  // expected-error @+1 {{'simt.dot' op multiplies}}
  %0 = simt.dot %a, %a, %c : tensor<2x2xf16, #rows> * tensor<2x2xf16, #rows> -> tensor<2x2xf32>
  tt.return
}
// -----
#rows = #simt.linear<register = [[0, 1]], lane = [[1, 0]], warp = [], shape = [2, 2]>
tt.func @s23(%a: tensor<2x2xf16, #rows>, %c: tensor<2x2xf32, #rows>) {
  // expected-error @+1 {{with an instruction of 16x16x16}}
  %0 = simt.dot %a, %a, %c by <16, 16, 16, transposed = true> : tensor<2x2xf16, #rows> * tensor<2x2xf16, #rows> -> tensor<2x2xf32, #rows>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1], [2]], lane = [[4]], warp = [], shape = [8]>
tt.func @s24(%t: tensor<8xf16, #rows>) {
  // expected-error @+1 {{whose threads hold other elements}}
  %0 = simt.extract_slice %t[2] : tensor<8xf16, #rows> -> tensor<4xf16, #simt.linear<register = [[1], [2]], lane = [[0]], warp = [], shape = [4]>>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1], [2]], lane = [[4]], warp = [], shape = [8]>
tt.func @s25(%t: tensor<8xf16, #rows>) {
  // expected-error @+1 {{whose threads hold other elements}}
  %0 = simt.extract_slice %t[4] : tensor<8xf16, #rows> -> tensor<4xf16, #simt.linear<register = [[1], [2]], lane = [[0]], warp = [], shape = [4]>>
  tt.return
}

// -----

#rows = #simt.linear<register = [[0, 1]], lane = [[1, 0]], warp = [], shape = [2, 2]>
tt.func @s23_none(%a: tensor<2x2xf16, #rows>, %c: tensor<2x2xf32, #rows>) {
  // expected-error @+1 {{with an instruction of 2x2x0}}
  %0 = simt.dot %a, %a, %c by <2, 2, 0, transposed = true> : tensor<2x2xf16, #rows> * tensor<2x2xf16, #rows> -> tensor<2x2xf32, #rows>
  tt.return
}

// -----

#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s72(%p: !tt.ptr<i32>, %o: tensor<8xi32, #rows>) {
  // expected-error @+1 {{'simt.buffer_atomic_rmw' op has the result 'tensor<8xi64,}}
  %0 = simt.buffer_atomic_rmw add, relaxed, gpu, %p[%o], %o : !tt.ptr<i32>, tensor<8xi32, #rows>, tensor<8xi32, #rows> -> tensor<8xi64, #rows>
  tt.return
}

// -----

#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s72_kind(%p: !tt.ptr<i32>, %o: tensor<8xi32, #rows>) {
  // expected-error @+1 {{'simt.buffer_atomic_rmw' op has kind 'fadd' for elements of 'i32'}}
  simt.buffer_atomic_rmw fadd, relaxed, gpu, %p[%o], %o : !tt.ptr<i32>, tensor<8xi32, #rows>, tensor<8xi32, #rows>
  tt.return
}
