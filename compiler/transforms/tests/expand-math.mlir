// RUN: heddle-opt %s --heddle-expand-math | FileCheck %s
// RUN: heddle-opt %s --heddle-expand-math > %t.once && heddle-opt %t.once --heddle-expand-math | diff %t.once -

// 2^x: bounds, nearest integer by the sum with a large number, a polynomial, two powers of two.
// CHECK-LABEL: llvm.func @exp2
// CHECK: arith.cmpf olt
// CHECK: arith.select
// CHECK: arith.select
// CHECK: arith.constant dense<0x4B4000FE>
// CHECK: %[[R:.*]] = arith.subf
// CHECK-COUNT-6: math.fma
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: math.
llvm.func @exp2(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp2 %x : vector<16xf32>
  llvm.return %y : vector<16xf32>
}

// Narrow floats are computed in f32; 1 / sqrt(x) in two correctly rounded steps.
// CHECK-LABEL: llvm.func @narrow
// CHECK: %[[W:.*]] = arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: %[[S:.*]] = math.sqrt %[[W]] : vector<16xf32>
// CHECK: %[[Q:.*]] = arith.divf %{{.*}}, %[[S]] : vector<16xf32>
// CHECK: arith.truncf %[[Q]] : vector<16xf32> to vector<16xbf16>
llvm.func @narrow(%x: vector<16xbf16>) -> vector<16xbf16> {
  %y = math.rsqrt %x : vector<16xbf16>
  llvm.return %y : vector<16xbf16>
}

// Huge f64 angles are reduced in integers, when there are any. Scalars take the same way.
// CHECK-LABEL: llvm.func @sin
// CHECK: vector.reduction <and>
// CHECK: scf.if
// CHECK: arith.muli
// CHECK-LABEL: llvm.func @sin_scalar
// CHECK-NOT: vector
// CHECK: scf.if
llvm.func @sin(%x: vector<8xf64>) -> vector<8xf64> {
  %y = math.sin %x : vector<8xf64>
  llvm.return %y : vector<8xf64>
}
llvm.func @sin_scalar(%x: f64) -> f64 {
  %y = math.sin %x : f64
  llvm.return %y : f64
}

// What the processor has an instruction for stays, and so do tiles.
// CHECK-LABEL: llvm.func @kept
// CHECK: math.floor
// CHECK: math.absf
// CHECK: math.fma
// CHECK-LABEL: tt.func @tile
// CHECK: math.exp %{{.*}} : tensor<64xf32>
llvm.func @kept(%x: vector<16xf32>) -> vector<16xf32> {
  %a = math.floor %x : vector<16xf32>
  %b = math.absf %a : vector<16xf32>
  %c = math.fma %a, %b, %x : vector<16xf32>
  llvm.return %c : vector<16xf32>
}
tt.func @tile(%x: tensor<64xf32>) {
  %y = math.exp %x : tensor<64xf32>
  tt.return
}
