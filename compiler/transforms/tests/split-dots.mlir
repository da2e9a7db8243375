// RUN: heddle-opt %s --heddle-split-dots="as-tf32=true bf16-parts=3" | FileCheck %s
// RUN: heddle-opt %s --heddle-split-dots="bf16-parts=2" | FileCheck --check-prefix=TWO %s
// RUN: heddle-opt %s --heddle-split-dots | FileCheck --check-prefix=NONE %s

// Each operand is 11 bits and the rest; the product of both rests is left out. An infinity times a
// rest of 0 is NaN, in the small sum alone. A NaN stays one: its quiet bit is among the 11.
// CHECK-LABEL: @tf32x3
// CHECK: arith.constant dense<4194304> : tensor<16x32xi32>
// CHECK: arith.cmpf uno, %arg0, %arg0
// CHECK: arith.constant dense<-8192> : tensor<16x32xi32>
// CHECK: %[[A:.*]] = arith.bitcast %{{.*}} : tensor<16x32xi32> to tensor<16x32xf32>
// CHECK: %[[AREST:.*]] = arith.select
// CHECK: arith.constant dense<-8192> : tensor<32x16xi32>
// CHECK: %[[B:.*]] = arith.bitcast %{{.*}} : tensor<32x16xi32> to tensor<32x16xf32>
// CHECK: %[[BREST:.*]] = arith.select
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
// CHECK: %[[D:.*]] = tt.dot %[[A]], %[[BREST]], %[[ZERO]], inputPrecision = tf32
// CHECK: %[[E:.*]] = tt.dot %[[AREST]], %[[B]], %[[D]], inputPrecision = tf32
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[E]], %[[E]]
// CHECK: %[[SMALL:.*]] = arith.select %[[NAN]], %[[ZERO]], %[[E]]
// CHECK: %[[SUM:.*]] = arith.addf %arg2, %[[SMALL]]
// CHECK: tt.dot %[[A]], %[[B]], %[[SUM]], inputPrecision = tf32
// TWO-LABEL: @tf32x3
// TWO: tt.dot %arg0, %arg1, %arg2, inputPrecision = tf32x3
tt.func @tf32x3(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x16xf32>, %p: tensor<16x16x!tt.ptr<f32>>) {
  %d = tt.dot %a, %b, %c, inputPrecision = tf32x3 : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
  tt.store %p, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: @bf16x3
// CHECK-COUNT-3: tt.dot {{.*}} : tensor<16x32xbf16> * tensor<32x16xbf16> -> tensor<16x16xf32>
// CHECK-NOT: tt.dot
// TWO-LABEL: @bf16x3
// TWO-COUNT-3: tt.dot {{.*}} : tensor<16x32xbf16>
// NONE-LABEL: @bf16x3
// NONE: tt.dot %arg0, %arg1, %arg2, inputPrecision = bf16x3
tt.func @bf16x3(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x16xf32>, %p: tensor<16x16x!tt.ptr<f32>>) {
  %d = tt.dot %a, %b, %c, inputPrecision = bf16x3 : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
  tt.store %p, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: @bf16x6
// CHECK-COUNT-6: tt.dot {{.*}} : tensor<16x32xbf16> * tensor<32x16xbf16> -> tensor<16x16xf32>
// CHECK-NOT: tt.dot
// TWO-LABEL: @bf16x6
// TWO: tt.dot %arg0, %arg1, %arg2, inputPrecision = bf16x6
tt.func @bf16x6(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x16xf32>, %p: tensor<16x16x!tt.ptr<f32>>) {
  %d = tt.dot %a, %b, %c, inputPrecision = bf16x6 : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
  tt.store %p, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
