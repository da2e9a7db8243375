// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules T1 to T6: what can be a tile, a pointer, a descriptor.

tt.func @t1_power_of_two(%x: f32) {
  // expected-error @+1 {{result 0 of type 'tensor<48xf32>' has a dimension of 48, but the dimensions of a tile are powers of two}}
  %0 = tt.splat %x : f32 -> tensor<48xf32>
  tt.return
}
// -----
tt.func @t1_static(%x: f32) {
  // expected-error @+1 {{has a dynamic dimension}}
  %0 = tt.splat %x : f32 -> tensor<?xf32>
  tt.return
}
// -----
tt.func @t1_other_dialects() {
  // expected-error @+1 {{'arith.constant' op result 0 of type 'tensor<3xi32>' has a dimension of 3}}
  %0 = arith.constant dense<1> : tensor<3xi32>
  tt.return
}
// -----
// expected-error @+1 {{block argument 0 of type 'tensor<0xi32>' has a dimension of 0}}
tt.func @t1_arguments(%x: tensor<0xi32>) {
  tt.return
}
// -----
tt.func @t7(%x: f32) {
  // expected-error @+1 {{result 0 of type 'tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>' has 25 dimensions, but a tile has at most 24}}
  %0 = tt.splat %x : f32 -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  tt.return
}
// -----
tt.func @t2_too_large(%x: f32) {
  // expected-error @+1 {{result 0 of type 'tensor<2048x1024xf32>' has more than 1048576 elements}}
  %0 = tt.splat %x : f32 -> tensor<2048x1024xf32>
  tt.return
}
// -----
tt.func @t3_block_pointers_in_a_tile(%x: !tt.ptr<tensor<4xf32>>) {
  // expected-error @+1 {{has block pointers as elements, but the pointers in a tile point to scalars}}
  %0 = tt.splat %x : !tt.ptr<tensor<4xf32>> -> tensor<4x!tt.ptr<tensor<4xf32>>>
  tt.return
}
// -----
// expected-error @+1 {{a pointer cannot point to 'index', only to a scalar of the language or a block of them}}
tt.func private @t4_pointee(!tt.ptr<index>)
// -----
// expected-error @+1 {{a pointer cannot point to 'si32'}}
tt.func private @t4_pointee_is_signless(!tt.ptr<si32>)
// -----
// expected-error @+1 {{pointee 'tensor<6xf32>' has a dimension of 6}}
tt.func private @t4_block(!tt.ptr<tensor<6xf32>>)
// -----
// expected-error @+1 {{address space -1 of a pointer is negative}}
tt.func private @t5_address_space(!tt.ptr<f32, -1>)
// -----
// expected-error @+1 {{"shared" is no address space: "global", "constant", "descriptor" or a number}}
tt.func private @word_of_an_address_space(!tt.ptr<f32, "shared">)
// -----
// expected-error @+1 {{block of a tensor descriptor has 6 dimensions, not 1 to 5}}
tt.func private @t6_rank(!tt.tensordesc<1x1x1x1x1x16xf16>)
// -----
// expected-error @+1 {{block 'tensor<24xf16>' of a tensor descriptor has a dimension of 24}}
tt.func private @t6_power_of_two(!tt.tensordesc<tensor<24xf16>>)
// -----
// expected-error @+1 {{block of a tensor descriptor cannot hold elements of type '!tt.ptr<f16>'}}
tt.func private @t6_element(!tt.tensordesc<tensor<16x!tt.ptr<f16>>>)
