// RUN: python3 %S/round_trip.py --other-spelling %s
// RUN: heddle-opt %s | FileCheck %s
// Text of other versions and in generic form, and how it is printed.

// CHECK-LABEL: tt.func @generic
tt.func @generic(%p: !tt.ptr<i32>, %c: i32, %b: i1, %t: tensor<4x!tt.ptr<f32>>, %m: tensor<4xi1>, %s: i64) {
  // CHECK: tt.atomic_cas acq_rel, gpu, %{{.*}}, %{{.*}}, %{{.*}} : (!tt.ptr<i32>, i32, i32) -> i32
  %0 = "tt.atomic_cas"(%p, %c, %c) {sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32, i32) -> i32
  // CHECK: tt.atomic_rmw umin, release, sys
  %1 = "tt.atomic_rmw"(%p, %c, %b) <{atomic_rmw_op = 9 : i32, sem = 3 : i32, scope = 3 : i32}> : (!tt.ptr<i32>, i32, i1) -> i32
  // CHECK: tt.load %{{.*}}, %{{.*}} cacheModifier = cg evictionPolicy = evict_last {isVolatile = true}
  %2 = "tt.load"(%t, %m) {cache = 3 : i32, evict = 3 : i32, isVolatile = true, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>) -> tensor<4xf32>
  // CHECK: tt.load %{{.*}} cacheModifier = ca evictionPolicy = evict_first :
  %3 = tt.load %t evictionPolicy = evict_first cacheModifier = ca : tensor<4x!tt.ptr<f32>>
  // CHECK: tt.get_program_id z : i32
  %4 = "tt.get_program_id"() <{axis = 2 : i32}> : () -> i32
  // CHECK: tt.store %{{.*}}, %{{.*}} {ignore_cta} : !tt.ptr<i32>
  tt.store %p, %c {ignore_cta} : !tt.ptr<i32>
  // CHECK: tt.load %{{.*}} {cachePolicy = #tt.cache_policy<cache_modifier = cv, eviction_policy = evict_normal>} : tensor
  %6 = "tt.load"(%t) <{cachePolicy = #tt.cache_policy<cache_modifier = cv, eviction_policy = evict_normal>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<4x!tt.ptr<f32>>) -> tensor<4xf32>
  // CHECK: tt.atomic_load acquire, sys, %{{.*}}, %{{.*}} : (!tt.ptr<i32>, i1) -> i32
  %7 = "tt.atomic_load"(%p, %b) <{sem = 2 : i32, scope = 3 : i32}> : (!tt.ptr<i32>, i1) -> i32
  // CHECK: tt.atomic_store release, gpu, %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<i32>
  "tt.atomic_store"(%p, %c, %b) <{sem = 3 : i32, scope = 1 : i32}> : (!tt.ptr<i32>, i32, i1) -> ()
  tt.return
}

// CHECK-LABEL: tt.func @older
tt.func @older(%x: tensor<4x8xf32>, %p: !tt.ptr<f32>, %n: i64, %i: i32) {
  // CHECK: "tt.reduce"(%{{.*}}) <{axis = 1 : i32}> ({
  // CHECK: }) : (tensor<4x8xf32>) -> tensor<4xf32>
  %0 = "tt.reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  }) {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4xf32>
  // CHECK: "tt.scan"(%{{.*}}) <{axis = 0 : i32, reverse = true}> ({
  // CHECK: }) {kept} :
  %1 = "tt.scan"(%x) ({
  ^bb0(%a: f32, %b: f32):
    tt.scan.return %a : f32
  }) {axis = 0 : i32, kept, reverse = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: tt.reshape %{{.*}} allow_reorder : tensor<4x8xf32> -> tensor<32xf32>
  %2 = tt.reshape %x {allow_reorder = true} : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: tt.reshape %{{.*}} : tensor<4x8xf32> -> tensor<32xf32>
  %3 = tt.reshape %x {allow_reorder = false} : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: tt.make_tensor_ptr %{{.*}}, [%{{.*}}], [%{{.*}}], [%{{.*}}] {order = array<i32: 0>} : <tensor<4xf32>>
  %4 = tt.make_tensor_ptr %p, [%n], [%n], [%i] {order = array<i32: 0>} : !tt.ptr<tensor<4xf32>>
  // CHECK: tt.advance %{{.*}}, [%{{.*}}] : <tensor<4xf32>>
  %5 = tt.advance %4, [%i] : !tt.ptr<tensor<4xf32>>
  tt.return
}

// CHECK-LABEL: tt.func @newer(%{{.*}}: !tt.tensordesc<tensor<4x16xsi8>>, %{{.*}}: !tt.tensordesc<tensor<4x16xf16, "shared">>)
tt.func @newer(%d: !tt.tensordesc<4x16xsi8>, %e: !tt.tensordesc<4x16xf16, "shared">) {
  tt.return
}

// CHECK-LABEL: tt.func @spaces(%{{.*}}: !tt.ptr<f16>, %{{.*}}: !tt.ptr<f16, "constant">, %{{.*}}: !tt.ptr<f16, 3>)
tt.func @spaces(%a: !tt.ptr<f16, "global">, %b: !tt.ptr<f16, 4>, %c: !tt.ptr<f16, 3>) {
  tt.return
}

// CHECK-LABEL: tt.func @types(%{{.*}}: !tt.ptr<f16>
tt.func @types(%p: !tt.ptr<f16, 1>, %n: i32, %s: i64) {
  // CHECK: tt.make_tensor_descriptor %{{.*}}, [%{{.*}}], [%{{.*}}] : <f16>, <tensor<64xf16>>
  %0 = tt.make_tensor_descriptor %p, [%n], [%s] : !tt.ptr<f16>, !tt.tensordesc<tensor<64xf16>>
  // CHECK: tt.make_tensor_descriptor %{{.*}}, [%{{.*}}], [%{{.*}}] : <f16>, <tensor<64xf16>>
  %1 = tt.make_tensor_descriptor %p, [%n], [%s] : <f16>, <64xf16>
  // CHECK: tt.call @plain.name() : () -> ()
  tt.call @"plain.name"() : () -> ()
  tt.return
}
tt.func private @"plain.name"()
