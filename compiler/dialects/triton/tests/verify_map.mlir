// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules R4, R5 and R7 to R9: map_elementwise.

tt.func @r7(%x: tensor<4xf32>) {
  // expected-error @+1 {{'pack' is 3, but must be a power of two that divides the 4 elements of 'tensor<4xf32>'}}
  %0 = "tt.map_elementwise"(%x) <{pack = 3 : i32}> ({
  ^bb0(%a: f32):
    tt.map_elementwise.return %a : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @r8(%x: tensor<4xf32>) {
  // expected-error @+1 {{shapes of result 0 of type 'tensor<2xf32>' and operand 0 of type 'tensor<4xf32>' differ}}
  %0 = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
  ^bb0(%a: f32):
    tt.map_elementwise.return %a : f32
  }) : (tensor<4xf32>) -> tensor<2xf32>
  tt.return
}
// -----
tt.func @r4_packs(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{region argument 1 has type 'i32', but operand 0 has elements of type 'f32'}}
  %0 = "tt.map_elementwise"(%x, %y) <{pack = 2 : i32}> ({
  ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
    tt.map_elementwise.return %a, %c : f32, f32
  }) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @r5_packs(%x: tensor<4xf32>) {
  // expected-error @+1 {{region returns 1 values, but 1 results need 2}}
  %0 = "tt.map_elementwise"(%x) <{pack = 2 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    tt.map_elementwise.return %a : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @r9(%x: tensor<4xf32>, %p: !tt.ptr<f32>) {
  // expected-error @+1 {{region writes memory by 'tt.store'}}
  %0 = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
  ^bb0(%a: f32):
    tt.store %p, %a : !tt.ptr<f32>
    tt.map_elementwise.return %a : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  tt.return
}
