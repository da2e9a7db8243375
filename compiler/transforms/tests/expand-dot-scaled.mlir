// RUN: heddle-opt %s --heddle-expand-dot-scaled | FileCheck %s
// RUN: heddle-opt %s --heddle-expand-dot-scaled=keep-blocks=true | FileCheck --check-prefix=KEPT %s
// RUN: heddle-opt %s --heddle-expand-dot-scaled > %t.once && heddle-opt %t.once --heddle-expand-dot-scaled | diff %t.once -

// fp8 with E8M0 scales on the left, packed e2m1 with fp8 scales on the right.
// CHECK-LABEL: @mixed
// CHECK: %[[A:.*]] = tt.fp_to_fp %arg0 : tensor<16x64xf8E4M3FN> -> tensor<16x64xf32>
// CHECK: %[[E:.*]] = arith.extui %arg1 : tensor<16x2xi8> to tensor<16x2xi32>
// CHECK: arith.shli %[[E]]
// CHECK: arith.constant dense<4194304>
// CHECK: arith.constant dense<2143289344>
// CHECK: %[[SA:.*]] = arith.bitcast %{{.*}} : tensor<16x2xi32> to tensor<16x2xf32>
// CHECK: tt.expand_dims %[[SA]] {axis = 2 : i32} : tensor<16x2xf32> -> tensor<16x2x1xf32>
// CHECK: tt.broadcast %{{.*}} : tensor<16x2x1xf32> -> tensor<16x2x32xf32>
// CHECK: %[[SAK:.*]] = tt.reshape %{{.*}} : tensor<16x2x32xf32> -> tensor<16x64xf32>
// CHECK: %[[L:.*]] = arith.mulf %[[A]], %[[SAK]] : tensor<16x64xf32>
// CHECK: %[[J:.*]] = tt.join %{{.*}}, %{{.*}} : tensor<32x8xf32> -> tensor<32x8x2xf32>
// CHECK: %[[X:.*]] = tt.trans %[[J]] {order = array<i32: 0, 2, 1>} : tensor<32x8x2xf32> -> tensor<32x2x8xf32>
// CHECK: %[[B:.*]] = tt.reshape %[[X]] : tensor<32x2x8xf32> -> tensor<64x8xf32>
// CHECK: %[[SB:.*]] = tt.fp_to_fp %arg3 : tensor<8x4xf8E4M3FN> -> tensor<8x4xf32>
// CHECK: %[[SBK:.*]] = tt.trans %{{.*}} {order = array<i32: 1, 0>} : tensor<8x64xf32> -> tensor<64x8xf32>
// CHECK: %[[R:.*]] = arith.mulf %[[B]], %[[SBK]] : tensor<64x8xf32>
// CHECK: tt.dot %[[L]], %[[R]], %arg4 : tensor<16x64xf32> * tensor<64x8xf32> -> tensor<16x8xf32>
// CHECK-NOT: dot_scaled
tt.func @mixed(%a: tensor<16x64xf8E4M3FN>, %as: tensor<16x2xi8>, %b: tensor<32x8xi8>, %bs: tensor<8x4xf8E4M3FN>,
               %c: tensor<16x8xf32>, %p: tensor<16x8x!tt.ptr<f32>>) {
  %d = tt.dot_scaled %a scale %as, %b scale %bs, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<16x64xf8E4M3FN>, tensor<16x2xi8> * tensor<32x8xi8>, tensor<8x4xf8E4M3FN> -> tensor<16x8xf32>
  tt.store %p, %d : tensor<16x8x!tt.ptr<f32>>
  tt.return
}

// e2m1 packed along M and N; no scales; a narrow accumulator.
// CHECK-LABEL: @packed_rows
// CHECK: %[[C:.*]] = arith.extf %{{.*}} : tensor<16x8xbf16> to tensor<16x8xf32>
// CHECK: %[[J:.*]] = tt.join %{{.*}} : tensor<8x32xf32> -> tensor<8x32x2xf32>
// CHECK: %[[X:.*]] = tt.trans %[[J]] {order = array<i32: 0, 2, 1>}
// CHECK: %[[L:.*]] = tt.reshape %[[X]] : tensor<8x2x32xf32> -> tensor<16x32xf32>
// CHECK: %[[K:.*]] = tt.join %{{.*}} : tensor<32x4xf32> -> tensor<32x4x2xf32>
// CHECK: %[[R:.*]] = tt.reshape %[[K]] : tensor<32x4x2xf32> -> tensor<32x8xf32>
// CHECK: %[[D:.*]] = tt.dot %[[L]], %[[R]], %[[C]]
// CHECK: arith.truncf %[[D]] : tensor<16x8xf32> to tensor<16x8xbf16>
tt.func @packed_rows(%a: tensor<8x32xi8>, %b: tensor<32x4xi8>, %c: tensor<16x8xbf16>, %p: tensor<16x8x!tt.ptr<bf16>>) {
  %d = tt.dot_scaled %a, %b, %c lhs = e2m1 rhs = e2m1 {fastMath = false, lhs_k_pack = false, rhs_k_pack = false} : tensor<8x32xi8> * tensor<32x4xi8> -> tensor<16x8xbf16>
  tt.store %p, %d : tensor<16x8x!tt.ptr<bf16>>
  tt.return
}

// Raw bytes take the named format; bf16 is extended. In a nested loop.
// CHECK-LABEL: @raw
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[F:.*]] = tt.bitcast %{{.*}} : tensor<16x32xi8> -> tensor<16x32xf8E5M2>
// CHECK: tt.fp_to_fp %[[F]] : tensor<16x32xf8E5M2> -> tensor<16x32xf32>
// CHECK: arith.extf %{{.*}} : tensor<32x8xbf16> to tensor<32x8xf32>
tt.func @raw(%a: tensor<16x32xi8>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<16x8xf32>) : i32 {
      %d = tt.dot_scaled %a, %b, %acc lhs = e5m2 rhs = bf16 {fastMath = true} : tensor<16x32xi8> * tensor<32x8xbf16> -> tensor<16x8xf32>
      scf.yield %d : tensor<16x8xf32>
    }
  }
  tt.return
}

// With keep-blocks those are left that matrix instructions with scales multiply: 16x16x128 or 32x32x64 divide the tiles, and
// scales are of E8M0.
// KEPT-LABEL: @kept
// KEPT-COUNT-2: tt.dot_scaled
// KEPT-NOT: tt.dot_scaled
// CHECK-LABEL: @kept
tt.func @kept(%a: tensor<32x128xf8E4M3FN>, %as: tensor<32x4xi8>, %b: tensor<64x32xi8>, %bs: tensor<32x8xf8E4M3FN>, %c: tensor<32x32xf32>,
              %short: tensor<32x64xi8>, %shorter: tensor<64x32xi8>, %few: tensor<64x16xi8>, %d: tensor<32x16xf32>, %p: tensor<32x32x!tt.ptr<f32>>, %q: tensor<32x16x!tt.ptr<f32>>) {
  %0 = tt.dot_scaled %a scale %as, %b, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<32x128xf8E4M3FN>, tensor<32x4xi8> * tensor<64x32xi8> -> tensor<32x32xf32>
  %1 = tt.dot_scaled %short, %shorter, %0 lhs = e5m2 rhs = e5m2 {fastMath = false} : tensor<32x64xi8> * tensor<64x32xi8> -> tensor<32x32xf32>
  %2 = tt.dot_scaled %a, %b scale %bs, %1 lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<32x128xf8E4M3FN> * tensor<64x32xi8>, tensor<32x8xf8E4M3FN> -> tensor<32x32xf32>
  %3 = tt.dot_scaled %short, %few, %d lhs = e5m2 rhs = e5m2 {fastMath = false} : tensor<32x64xi8> * tensor<64x16xi8> -> tensor<32x16xf32>
  tt.store %p, %2 : tensor<32x32x!tt.ptr<f32>>
  tt.store %q, %3 : tensor<32x16x!tt.ptr<f32>>
  tt.return
}
