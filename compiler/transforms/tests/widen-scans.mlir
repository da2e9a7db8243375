// RUN: heddle-opt %s --heddle-widen-scans | FileCheck %s

// A recurrence of bf16: both operands and the region become f32.
// CHECK-LABEL: @recurrence
// CHECK: %[[A:.*]] = arith.extf %arg0 : tensor<8x16xbf16> to tensor<8x16xf32>
// CHECK: %[[B:.*]] = arith.extf %arg1 : tensor<8x16xbf16> to tensor<8x16xf32>
// CHECK: %[[R:.*]]:2 = "tt.scan"(%[[A]], %[[B]]) <{axis = 1 : i32, reverse = true}>
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
// CHECK: arith.truncf %[[R]]#1 : tensor<8x16xf32> to tensor<8x16xbf16>
tt.func @recurrence(%a: tensor<8x16xbf16>, %b: tensor<8x16xbf16>, %p: tensor<8x16x!tt.ptr<bf16>>) {
  %r:2 = "tt.scan"(%a, %b) <{axis = 1 : i32, reverse = true}> ({
  ^bb0(%a1: bf16, %b1: bf16, %a2: bf16, %b2: bf16):
    %product = arith.mulf %a1, %a2 : bf16
    %moved = arith.mulf %b1, %a2 : bf16
    %sum = arith.addf %moved, %b2 : bf16
    tt.scan.return %product, %sum : bf16, bf16
  }) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
  tt.store %p, %r#1 : tensor<8x16x!tt.ptr<bf16>>
  tt.return
}

// What does not round stays, and what is f32.
// CHECK-LABEL: @kept
// CHECK-NOT: arith.extf
tt.func @kept(%h: f16, %a: tensor<16xf16>, %b: tensor<16xf32>, %p: tensor<16x!tt.ptr<f16>>, %q: tensor<16x!tt.ptr<f32>>) {
  %m = "tt.scan"(%a) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%x: f16, %y: f16):
    %most = arith.maximumf %x, %y : f16
    tt.scan.return %most : f16
  }) : (tensor<16xf16>) -> tensor<16xf16>
  %s = "tt.scan"(%b) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    tt.scan.return %sum : f32
  }) : (tensor<16xf32>) -> tensor<16xf32>
  %c = "tt.scan"(%a) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%x: f16, %y: f16):
    %scaled = arith.mulf %x, %h : f16
    %scaledSum = arith.addf %scaled, %y : f16
    tt.scan.return %scaledSum : f16
  }) : (tensor<16xf16>) -> tensor<16xf16>
  tt.store %p, %m : tensor<16x!tt.ptr<f16>>
  tt.store %p, %c : tensor<16x!tt.ptr<f16>>
  tt.store %q, %s : tensor<16x!tt.ptr<f32>>
  tt.return
}
