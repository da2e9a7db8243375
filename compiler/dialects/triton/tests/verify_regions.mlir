// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules R1 to R6: reduce and scan.

tt.func @r1() {
  // expected-error @+1 {{'tt.reduce' op has no operands}}
  "tt.reduce"() <{axis = 0 : i32}> ({
    "tt.reduce.return"() : () -> ()
  }) : () -> ()
  tt.return
}
// -----
tt.func @r2(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{operand 1 of type 'tensor<8xf32>' and operand 0 of type 'tensor<4xf32>' differ in shape}}
  %0:2 = "tt.scan"(%x, %y) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tt.scan.return %a, %b : f32, f32
  }) : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>)
  tt.return
}
// -----
tt.func @r3(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{has 2 operands but 1 results}}
  %0 = "tt.reduce"(%x, %y) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4xf32>, tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @r4_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{region takes 1 arguments, but 1 operands need 2}}
  %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @r4_order(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{region argument 1 has type 'f32', but operand 1 has elements of type 'i32'}}
  %0:2 = "tt.reduce"(%x, %y) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    tt.reduce.return %a, %c : f32, i32
  }) : (tensor<4xf32>, tensor<4xi32>) -> (f32, i32)
  tt.return
}
// -----
tt.func @r5_return(%x: tensor<4xf32>) {
  // expected-error @+1 {{region does not end by 'tt.scan.return'}}
  %0 = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @r5_type(%x: tensor<4xf32>, %i: i32) {
  // expected-error @+1 {{region returns value 0 of type 'i32', but result 0 has elements of type 'f32'}}
  %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %i : i32
  }) : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @r6_reduce(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result 0 has type 'tensor<8xf32>', but operand 0 of type 'tensor<4x8xf32>' gives 4 of 'f32'}}
  %0 = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4x8xf32>) -> tensor<8xf32>
  tt.return
}
