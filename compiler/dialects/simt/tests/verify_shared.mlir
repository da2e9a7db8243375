// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S1 to S11, S75 and S76.
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>

tt.func @s1(%t: tensor<8xf16, #rows>) {
  // expected-error @+1 {{'simt.convert_layout' op turns a tile of 'tensor<8xf16,}}
  %0 = simt.convert_layout %t : tensor<8xf16, #rows> -> tensor<8xf32, #rows>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s2(%t: tensor<8xf16>) {
  // expected-error @+1 {{'simt.convert_layout' op is between tiles with layouts, not 'tensor<8xf16>'}}
  %0 = simt.convert_layout %t : tensor<8xf16> -> tensor<8xf16, #rows>
  tt.return
}
// -----
// expected-error @+1 {{a ring has one stage or more, not 0}}
tt.func private @s3(!simt.shared<0 * 8xf16, offset = [[1], [2], [4]]>)
// -----
// expected-error @+1 {{a ring holds elements of whole bytes, not 'i4'}}
tt.func private @s3_element(!simt.shared<1 * 8xi4, offset = [[1], [2], [4]]>)
// -----
// expected-error @+1 {{the offsets of a ring are the elements of its tile, one to one}}
tt.func private @s4(!simt.shared<1 * 8xf16, offset = [[1], [2], [2]]>)
// -----
// expected-error @+1 {{the offsets of a ring are the elements of its tile, one to one}}
tt.func private @s4_copies(!simt.shared<1 * 8xf16, offset = [[1], [2], [4], [0]]>)
// -----
// expected-error @+1 {{a basis of offset does not fit the shape}}
tt.func private @s4_basis(!simt.shared<1 * 8xf16, offset = [[1], [2], [8]]>)
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s5(%s: i32, %t: tensor<8xf32, #rows>) {
  %ring = simt.alloc : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  // expected-error @+1 {{'simt.store_shared' op moves 'tensor<8xf32,}}
  simt.store_shared %t, %ring[%s] : tensor<8xf32, #rows>, !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  tt.return
}
// -----
tt.func @s5_no_layout(%s: i32) {
  %ring = simt.alloc : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  // expected-error @+1 {{'simt.load_shared' op takes tiles with layouts, not 'tensor<8xf16>'}}
  %0 = simt.load_shared %ring[%s] : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]> -> tensor<8xf16>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
#other = #simt.linear<register = [[4]], lane = [[1], [2]], warp = [], shape = [8]>
tt.func @s6(%s: i32, %p: tensor<8x!tt.ptr<f16>, #rows>, %m: tensor<8xi1, #other>) {
  %ring = simt.alloc : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  // expected-error @+1 {{'simt.async_copy' op has a mask 'tensor<8xi1,}}
  simt.async_copy %p to %ring[%s] if %m : tensor<8xi1, #other> by 2 : tensor<8x!tt.ptr<f16>, #rows>, !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s7(%s: i32, %p: tensor<8x!tt.ptr<f16>, #rows>) {
  %ring = simt.alloc : !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  // expected-error @+1 {{copies 4, 8 or 16 bytes at once, not 1 elements of 'f16'}}
  simt.async_copy %p to %ring[%s] by 1 : tensor<8x!tt.ptr<f16>, #rows>, !simt.shared<1 * 8xf16, offset = [[1], [2], [4]]>
  tt.return
}
// -----
#rows = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s8(%s: i32, %p: tensor<8x!tt.ptr<f16>, #rows>) {
  %ring = simt.alloc : !simt.shared<1 * 8xf16, offset = [[2], [1], [4]]>
  // expected-error @+1 {{copies 2 elements at once, which are not contiguous in the ring}}
  simt.async_copy %p to %ring[%s] by 2 : tensor<8x!tt.ptr<f16>, #rows>, !simt.shared<1 * 8xf16, offset = [[2], [1], [4]]>
  tt.return
}
// -----
tt.func @s9() {
  // expected-error @+1 {{'simt.async_wait' op leaves -1 groups pending}}
  simt.async_wait -1
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s10(%s: i32, %c: tensor<64x16xf32, #sums>, %a: !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>) {
  // expected-error @+1 {{'simt.dot_shared' op multiplies 64x16 by 64x16 into 'tensor<64x16xf32,}}
  %d = simt.dot_shared %a[%s], %a[%s], %c : !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]> -> tensor<64x16xf32, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s10_types(%s: i32, %c: tensor<64x16xf16, #sums>, %a: !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>) {
  // expected-error @+1 {{multiplies matrices of elements of one size into f32, or of i8 into i32, with a layout}}
  %d = simt.dot_shared %a[%s], %a[%s], %c : !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]> -> tensor<64x16xf16, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s11(%s: i32, %c: tensor<64x16xf32, #sums>, %a: !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, %b: !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]>) {
  // expected-error @+1 {{reads rows swizzled over 32, 64 or 128 bytes, or of 16 bytes, not '!simt.shared<1 * 16x16xf16,}}
  %d = simt.dot_shared %a[%s], %b[%s], %c : !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]> -> tensor<64x16xf32, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s12(%c: tensor<64x16xf32, #sums>) {
  // expected-error @+1 {{leaves a product pending, which arith.addf uses}}
  %d = simt.dot_wait %c pending 1 : tensor<64x16xf32, #sums>
  %e = arith.addf %d, %d : tensor<64x16xf32, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s12_negative(%c: tensor<64x16xf32, #sums>) {
  // expected-error @+1 {{leaves -1 matmuls pending}}
  %d = simt.dot_wait %c pending -1 : tensor<64x16xf32, #sums>
  tt.return
}

// -----

tt.func @s40() {
  // expected-error @+1 {{begins at byte 24: it must be a multiple of 16}}
  %0 = simt.alloc at 24 : !simt.shared<1 * 4xf32, offset = [[1], [2]]>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s75(%s: i32, %c: tensor<64x16xf32, #sums>, %a: !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, %b: !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]>) {
  // expected-error @+1 {{has no number for its left operand, which is in shared memory}}
  %d = simt.dot_shared %a, %b[%s], %c : !simt.shared<1 * 64x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>, !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s75_registers(%s: i32, %c: tensor<64x16xf32, #sums>, %a: tensor<64x16xf16, #sums>, %b: !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]>) {
  // expected-error @+1 {{has its left operand in registers, with a number or transposed}}
  %d = simt.dot_shared %a[%s], %b[%s], %c : tensor<64x16xf16, #sums>, !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
#rows = #simt.linear<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s76(%s: i32, %c: tensor<64x16xf32, #sums>, %a: tensor<64x16xf16, #rows>, %b: !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]>) {
  // expected-error @+1 {{has a left operand in registers whose layout is not that of the instruction: 'tensor<64x16xf16,}}
  %d = simt.dot_shared %a, %b[%s], %c : tensor<64x16xf16, #rows>, !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  tt.return
}
// -----
#sums = #simt.linear<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], shape = [64, 16]>
tt.func @s12_too_many_pending(%s: i32, %c: tensor<64x16xf32, #sums>, %p: tensor<64x16xf16, #sums>, %b: !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]>) {
  %f = simt.dot_shared %p, %b[%s], %c : tensor<64x16xf16, #sums>, !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  %g = simt.dot_shared %p, %b[%s], %c : tensor<64x16xf16, #sums>, !simt.shared<1 * 16x16xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]> -> tensor<64x16xf32, #sums>
  // expected-error @+1 {{leaves a product pending, which arith.addf uses}}
  %0 = simt.dot_wait %f pending 2 : tensor<64x16xf32, #sums>
  %1 = arith.addf %0, %0 : tensor<64x16xf32, #sums>
  %2 = simt.dot_wait %g : tensor<64x16xf32, #sums>
  tt.return
}
