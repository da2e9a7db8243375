// RUN: heddle-opt %s --heddle-expand-descriptors | FileCheck %s
// RUN: heddle-opt %s --heddle-expand-descriptors > %t.once && heddle-opt %t.once --heddle-expand-descriptors | diff %t.once -

// A leading dimension of size 1 is dropped by the load and added by the store; both dimensions are bounded.
// CHECK-LABEL: @copy
// CHECK: %[[P:.*]] = tt.addptr {{.*}} : tensor<1x16x!tt.ptr<f16>>, tensor<1x16xi64>
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: %[[MASK:.*]] = arith.andi {{.*}} : tensor<1x16xi1>
// CHECK: %[[NAN:.*]] = arith.constant dense<0x7E00> : tensor<1x16xf16>
// CHECK: %[[V:.*]] = tt.load %{{.*}}, %[[MASK]], %[[NAN]] cacheModifier = ca : tensor<1x16x!tt.ptr<f16>>
// CHECK: %[[FLAT:.*]] = tt.reshape %[[V]] : tensor<1x16xf16> -> tensor<16xf16>
// CHECK: %[[BACK:.*]] = tt.reshape %[[FLAT]] : tensor<16xf16> -> tensor<1x16xf16>
// CHECK: tt.store %{{.*}}, %[[BACK]], %{{.*}} : tensor<1x16x!tt.ptr<f16>>
// CHECK-NOT: tensordesc
tt.func @copy(%a: !tt.ptr<f16>, %m: i32, %s: i64, %i: i32) {
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %a, [%m, %m], [%s, %one] {padding = 2 : i32} : !tt.ptr<f16>, <tensor<1x16xf16>>
  %v = tt.descriptor_load %d[%i, %i] cacheModifier = ca : !tt.tensordesc<tensor<1x16xf16>> -> tensor<16xf16>
  tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<1x16xf16>>, tensor<16xf16>
  tt.return
}

// CHECK-LABEL: @rows
// CHECK: arith.extsi %arg2 : tensor<32xi16> to tensor<32xi64>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
// CHECK: %[[V:.*]] = tt.load %{{.*}}, %{{.*}}, %[[ZERO]] : tensor<32x64x!tt.ptr<f32>>
// CHECK: tt.store %{{.*}}, %[[V]], %{{.*}} : tensor<32x64x!tt.ptr<f32>>
tt.func @rows(%a: !tt.ptr<f32>, %m: i32, %r: tensor<32xi16>, %s: i64, %y: i32) {
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %a, [%m, %m], [%s, %one] : !tt.ptr<f32>, <tensor<1x64xf32>>
  %v = tt.descriptor_gather %d[%r, %y] : (!tt.tensordesc<tensor<1x64xf32>>, tensor<32xi16>, i32) -> tensor<32x64xf32>
  tt.descriptor_scatter %d[%r, %y], %v : !tt.tensordesc<tensor<1x64xf32>>, tensor<32xi16>, i32, tensor<32x64xf32>
  tt.return
}

// A descriptor that the kernel is given: its base, and the sizes and strides after it.
// CHECK-LABEL: @given(
// CHECK-SAME: %[[BASE:.*]]: !tt.ptr<f16>, %[[M:.*]]: i32, %[[N:.*]]: i32, %[[S:.*]]: i64, %[[U:.*]]: i64, %{{.*}}: i32)
// CHECK-DAG: tt.splat %[[BASE]]
// CHECK-DAG: tt.splat %[[S]]
// CHECK: tt.load
tt.func public @given(%d: !tt.tensordesc<tensor<8x16xf16>>, %m: i32, %n: i32, %s: i64, %u: i64, %i: i32) {
  %v = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<8x16xf16>> -> tensor<8x16xf16>
  tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<8x16xf16>>, tensor<8x16xf16>
  tt.return
}

// The sign of a minimum is that of the descriptor's element.
// CHECK-LABEL: @reductions
// CHECK: tt.atomic_rmw fadd, relaxed, gpu
// CHECK: tt.atomic_rmw min, relaxed, gpu
// CHECK: tt.atomic_rmw umax, relaxed, gpu
// CHECK: tt.atomic_rmw xor, relaxed, gpu
tt.func @reductions(%a: !tt.ptr<f32>, %b: !tt.ptr<i32>, %m: i32, %i: i32, %v: tensor<64xf32>, %w: tensor<64xi32>) {
  %one = arith.constant 1 : i64
  %f = tt.make_tensor_descriptor %a, [%m], [%one] : !tt.ptr<f32>, <tensor<64xf32>>
  %s = tt.make_tensor_descriptor %b, [%m], [%one] : !tt.ptr<i32>, <tensor<64xsi32>>
  %u = tt.make_tensor_descriptor %b, [%m], [%one] : !tt.ptr<i32>, <tensor<64xui32>>
  tt.descriptor_reduce add, %f[%i], %v : !tt.tensordesc<tensor<64xf32>>, tensor<64xf32>
  tt.descriptor_reduce min, %s[%i], %w : !tt.tensordesc<tensor<64xsi32>>, tensor<64xi32>
  tt.descriptor_reduce max, %u[%i], %w : !tt.tensordesc<tensor<64xui32>>, tensor<64xi32>
  tt.descriptor_reduce xor, %s[%i], %w : !tt.tensordesc<tensor<64xsi32>>, tensor<64xi32>
  tt.return
}

// A descriptor per group, carried by nested loops; its padding is carried too.
// CHECK-LABEL: @carried
// CHECK: scf.for {{.*}} -> (!tt.ptr<f32>, i32, i64, i1)
// CHECK: scf.for {{.*}} -> (!tt.ptr<f32>, i32, i64, i1)
// CHECK: %[[NEW:.*]]:4 = scf.if %{{.*}} -> (!tt.ptr<f32>, i32, i64, i1)
// CHECK: %[[OTHER:.*]] = arith.select %[[NEW]]#3
// CHECK: tt.load %{{.*}}, %{{.*}}, %[[OTHER]]
tt.func @carried(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %m: i32, %n: i32, %c: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %a, [%m], [%one] : !tt.ptr<f32>, <tensor<8xf32>>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%d0 = %d) -> (!tt.tensordesc<tensor<8xf32>>) : i32 {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%d1 = %d0) -> (!tt.tensordesc<tensor<8xf32>>) : i32 {
      %e = scf.if %c -> (!tt.tensordesc<tensor<8xf32>>) {
        %f = tt.make_tensor_descriptor %b, [%m], [%one] {padding = 2 : i32} : !tt.ptr<f32>, <tensor<8xf32>>
        scf.yield %f : !tt.tensordesc<tensor<8xf32>>
      } else {
        scf.yield %d1 : !tt.tensordesc<tensor<8xf32>>
      }
      %v = tt.descriptor_load %e[%j] : !tt.tensordesc<tensor<8xf32>> -> tensor<8xf32>
      tt.descriptor_store %d0[%i], %v : !tt.tensordesc<tensor<8xf32>>, tensor<8xf32>
      scf.yield %e : !tt.tensordesc<tensor<8xf32>>
    }
    scf.yield %s : !tt.tensordesc<tensor<8xf32>>
  }
  tt.return
}
