// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules E1 to E11 and P1: conversions, external code, printing.

tt.func @e1(%p: tensor<4x!tt.ptr<f32>>, %o: tensor<8xi32>) {
  // expected-error @+1 {{operand 1 of type 'tensor<8xi32>' and operand 0 of type 'tensor<4x!tt.ptr<f32>>' differ in shape (8 and 4)}}
  %0 = tt.addptr %p, %o : tensor<4x!tt.ptr<f32>>, tensor<8xi32>
  tt.return
}
// -----
tt.func @e1_scalar(%x: tensor<4xi64>) {
  // expected-error @+1 {{result 0 of type '!tt.ptr<f32>' and operand 0 of type 'tensor<4xi64>' differ in shape (scalar and 4)}}
  %0 = tt.int_to_ptr %x : tensor<4xi64> -> !tt.ptr<f32>
  tt.return
}
// -----
tt.func @e2(%p: !tt.ptr<tensor<4xf32>>, %o: i32) {
  // expected-error @+1 {{cannot work on the block pointer '!tt.ptr<tensor<4xf32>>'}}
  %0 = tt.addptr %p, %o : !tt.ptr<tensor<4xf32>>, i32
  tt.return
}
// -----
tt.func @e3(%p: !tt.ptr<f32>, %o: i32) {
  // expected-error @+1 {{result type '!tt.ptr<f16>' is not the pointer's type '!tt.ptr<f32>'}}
  %0 = "tt.addptr"(%p, %o) : (!tt.ptr<f32>, i32) -> !tt.ptr<f16>
  tt.return
}
// -----
tt.func @e4(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{cannot turn '!tt.ptr<f32>' into 'i64': a pointer can only become another pointer}}
  %0 = tt.bitcast %p : !tt.ptr<f32> -> i64
  tt.return
}
// -----
tt.func @e5(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{cannot move a pointer from address space 1 to 3}}
  %0 = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32, 3>
  tt.return
}
// -----
tt.func @e6(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot turn 'f32' into 'i16': they have 32 and 16 bits}}
  %0 = tt.bitcast %x : tensor<4xf32> -> tensor<4xi16>
  tt.return
}
// -----
tt.func @e7(%x: tensor<4xf32>) {
  // expected-error @+1 {{from 'f32' to 'f8E4M3FN' loses bits and needs a 'rounding'}}
  %0 = tt.fp_to_fp %x : tensor<4xf32> -> tensor<4xf8E4M3FN>
  tt.return
}
// -----
tt.func @e8(%x: tensor<4xf8E5M2>) {
  // expected-error @+1 {{from 'f8E5M2' to 'f32' loses no bits, so it takes no 'rounding'}}
  %0 = tt.fp_to_fp %x, rounding = rtz : tensor<4xf8E5M2> -> tensor<4xf32>
  tt.return
}
// -----
tt.func @e9(%x: f32) {
  // expected-error @+1 {{has an empty 'symbol'}}
  %0 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = ""} : (f32) -> f32
  tt.return
}
// -----
tt.func @e10(%x: tensor<4xi8>) {
  // expected-error @+1 {{the 4 elements of 'tensor<4xi8>' are not a multiple of 'packed_element' = 8}}
  %0 = tt.elementwise_inline_asm "" {constraints = "=r,r", packed_element = 8 : i32, pure = true} %x : tensor<4xi8> -> tensor<4xi8>
  tt.return
}
// -----
tt.func @e10_positive(%x: i8) {
  // expected-error @+1 {{'packed_element' is 0, but at least one element is passed at a time}}
  %0 = tt.elementwise_inline_asm "" {constraints = "=r,r", packed_element = 0 : i32, pure = true} %x : i8 -> i8
  tt.return
}
// -----
tt.func @e11(%x: tensor<4xf16>) {
  // expected-error @+1 {{divides f32, not 'f16'}}
  %0 = tt.approx_divf %x, %x : tensor<4xf16>
  tt.return
}
// -----
tt.func @p1(%x: i8) {
  // expected-error @+1 {{prints 1 values, but 'isSigned' has 2}}
  tt.print "x" {hex = false, isSigned = array<i32: 0, 1>} : %x : i8
  tt.return
}
