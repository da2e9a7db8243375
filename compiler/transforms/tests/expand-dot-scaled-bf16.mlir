// RUN: heddle-opt %s --heddle-expand-dot-scaled=as-bf16=true | FileCheck %s

// The product of e2m1 and its scale is exact in bf16: the upper half of the bits of f32. bf16 stays as it is.
// CHECK-LABEL: @bf16
// CHECK: %[[P:.*]] = arith.mulf %{{.*}} : tensor<64x16xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[P]] : tensor<64x16xf32> to tensor<64x16xi32>
// CHECK: %[[UPPER:.*]] = arith.shrui %[[BITS]]
// CHECK: %[[SHORT:.*]] = arith.trunci %[[UPPER]] : tensor<64x16xi32> to tensor<64x16xi16>
// CHECK: %[[B:.*]] = arith.bitcast %[[SHORT]] : tensor<64x16xi16> to tensor<64x16xbf16>
// CHECK: tt.dot %arg0, %[[B]], %arg3 : tensor<16x64xbf16> * tensor<64x16xbf16> -> tensor<16x16xf32>
tt.func @bf16(%a: tensor<16x64xbf16>, %b: tensor<32x16xi8>, %bs: tensor<16x2xi8>, %c: tensor<16x16xf32>, %p: tensor<16x16x!tt.ptr<f32>>) {
  %d = tt.dot_scaled %a, %b scale %bs, %c lhs = bf16 rhs = e2m1 {fastMath = true} : tensor<16x64xbf16> * tensor<32x16xi8>, tensor<16x2xi8> -> tensor<16x16xf32>
  tt.store %p, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// f16 is the sum of two tiles of bf16, the second of which is 0 beside an infinity. A NaN is made quiet.
// CHECK-LABEL: @f16
// CHECK: %[[WIDE:.*]] = arith.extf %arg0 : tensor<16x64xf16> to tensor<16x64xf32>
// CHECK: arith.cmpf uno, %[[WIDE]], %[[WIDE]]
// CHECK: %[[QUIET:.*]] = arith.select %{{.*}} : tensor<16x64xi1>, tensor<16x64xi32>
// CHECK: %[[A:.*]] = arith.bitcast %[[QUIET]] : tensor<16x64xi32> to tensor<16x64xf32>
// CHECK: %[[HIGH:.*]] = arith.bitcast %{{.*}} : tensor<16x64xi16> to tensor<16x64xbf16>
// CHECK: %[[REST:.*]] = arith.subf %[[A]], %{{.*}} : tensor<16x64xf32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[REST]]
// CHECK: %[[LOW:.*]] = arith.bitcast %{{.*}} : tensor<16x64xi16> to tensor<16x64xbf16>
// CHECK: %[[B:.*]] = arith.bitcast %{{.*}} : tensor<64x16xi16> to tensor<64x16xbf16>
// CHECK: %[[D:.*]] = tt.dot %[[LOW]], %[[B]], %{{.*}}
// CHECK: %[[SMALL:.*]] = arith.select %{{.*}}, %{{.*}}, %[[D]]
// CHECK: %[[SUM:.*]] = arith.addf %arg3, %[[SMALL]]
// CHECK: tt.dot %[[HIGH]], %[[B]], %[[SUM]]
tt.func @f16(%a: tensor<16x64xf16>, %b: tensor<64x16xf8E4M3FN>, %bs: tensor<16x2xi8>, %c: tensor<16x16xf32>, %p: tensor<16x16x!tt.ptr<f32>>) {
  %d = tt.dot_scaled %a, %b scale %bs, %c lhs = fp16 rhs = e4m3 {fastMath = false} : tensor<16x64xf16> * tensor<64x16xf8E4M3FN>, tensor<16x2xi8> -> tensor<16x16xf32>
  tt.store %p, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
