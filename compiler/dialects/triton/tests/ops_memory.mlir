// RUN: python3 %S/round_trip.py %s
// Pointers, loads, stores, atomics: every keyword.
tt.func @pointers(%a: i64, %p: !tt.ptr<f32>, %t: tensor<64x!tt.ptr<f16>>, %o: tensor<64xi64>) {
  %0 = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>
  %1 = tt.int_to_ptr %o : tensor<64xi64> -> tensor<64x!tt.ptr<f32, 3>>
  %2 = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
  %3 = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i8>
  %4 = tt.addptr %p, %a : !tt.ptr<f32>, i64
  %5 = tt.addptr %t, %o : tensor<64x!tt.ptr<f16>>, tensor<64xi64>
  tt.return
}
tt.func @loads(%p: !tt.ptr<!tt.ptr<f32>>, %t: tensor<64x!tt.ptr<f16>>, %m: tensor<64xi1>, %v: tensor<64xf16>, %c: i1, %q: !tt.ptr<i1, 3>) {
  %0 = tt.load %p : !tt.ptr<!tt.ptr<f32>>
  %1 = tt.load %q, %c, %c : !tt.ptr<i1, 3>
  %2 = tt.load %t, %m : tensor<64x!tt.ptr<f16>>
  %3 = tt.load %t, %m, %v cacheModifier = ca : tensor<64x!tt.ptr<f16>>
  %4 = tt.load %t cacheModifier = cg evictionPolicy = evict_first : tensor<64x!tt.ptr<f16>>
  %5 = tt.load %t evictionPolicy = evict_last {isVolatile = true} : tensor<64x!tt.ptr<f16>>
  %6 = tt.load %t cacheModifier = cv : tensor<64x!tt.ptr<f16>>
  tt.store %p, %0 : !tt.ptr<!tt.ptr<f32>>
  tt.store %t, %v : tensor<64x!tt.ptr<f16>>
  tt.store %t, %v, %m cacheModifier = wb : tensor<64x!tt.ptr<f16>>
  tt.store %t, %v cacheModifier = cs evictionPolicy = evict_first : tensor<64x!tt.ptr<f16>>
  tt.store %t, %v cacheModifier = wt : tensor<64x!tt.ptr<f16>>
  tt.return
}
tt.func @atomics(%p: tensor<4x!tt.ptr<i32>>, %v: tensor<4xi32>, %m: tensor<4xi1>, %q: !tt.ptr<f32>, %f: f32, %c: i1) {
  %0 = tt.atomic_rmw and, relaxed, gpu, %p, %v, %m : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>
  %1 = tt.atomic_rmw or, acquire, cta, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %2 = tt.atomic_rmw xor, release, sys, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %3 = tt.atomic_rmw add, acq_rel, gpu, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %4 = tt.atomic_rmw max, acq_rel, gpu, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %5 = tt.atomic_rmw min, acq_rel, gpu, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %6 = tt.atomic_rmw umax, acq_rel, gpu, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %7 = tt.atomic_rmw umin, acq_rel, gpu, %p, %v : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  %8 = tt.atomic_rmw fadd, acq_rel, gpu, %q, %f, %c : (!tt.ptr<f32>, f32, i1) -> f32
  %9 = tt.atomic_rmw exch, acq_rel, gpu, %q, %f : (!tt.ptr<f32>, f32) -> f32
  %10 = tt.atomic_cas acquire, gpu, %q, %f, %f : (!tt.ptr<f32>, f32, f32) -> f32
  tt.return
}
tt.func @atomic_accesses(%p: tensor<4x!tt.ptr<f32>>, %v: tensor<4xf32>, %m: tensor<4xi1>, %q: !tt.ptr<i32>, %w: i32, %c: i1) {
  %0 = tt.atomic_load relaxed, sys, %p, %m : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>) -> tensor<4xf32>
  %1 = tt.atomic_load acquire, gpu, %q, %c : (!tt.ptr<i32>, i1) -> i32
  %2 = tt.atomic_load acquire, cta, %q : (!tt.ptr<i32>) -> i32
  tt.atomic_store relaxed, cta, %p, %v, %m : tensor<4x!tt.ptr<f32>>
  tt.atomic_store release, sys, %q, %w, %c : !tt.ptr<i32>
  tt.atomic_store release, gpu, %q, %w : !tt.ptr<i32>
  tt.return
}
tt.func @polls(%p: tensor<4x!tt.ptr<i32>>, %e: tensor<4xi32>, %n: i64) {
  %0 = tt.atomic_poll acquire, gpu, %p, %e : tensor<4x!tt.ptr<i32>>, tensor<4xi32> -> tensor<4xi1>
  %1 = tt.atomic_poll relaxed, cta, %p, %e timeout %n : tensor<4x!tt.ptr<i32>>, tensor<4xi32> -> tensor<4xi1>
  tt.return
}
tt.func @cache_policies(%t: tensor<64x!tt.ptr<f16>>, %m: tensor<64xi1>, %v: tensor<64xf16>, %d: !tt.tensordesc<tensor<64xf16>>, %i: i32) {
  %0 = tt.load %t, %m, %v {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>} : tensor<64x!tt.ptr<f16>>
  %1 = tt.load %t {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>, isVolatile = true} : tensor<64x!tt.ptr<f16>>
  tt.store %t, %v, %m {cachePolicy = #tt.cache_policy<cache_modifier = wt, eviction_policy = evict_first>} : tensor<64x!tt.ptr<f16>>
  %2 = tt.descriptor_load %d[%i] {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>} : !tt.tensordesc<tensor<64xf16>> -> tensor<64xf16>
  tt.return
}
tt.func @spaces(%c: !tt.ptr<f32, "constant">, %d: !tt.ptr<i8, "descriptor">, %t: tensor<64x!tt.ptr<f32, "constant">>) {
  %0 = tt.load %c : !tt.ptr<f32, "constant">
  %1 = tt.load %t : tensor<64x!tt.ptr<f32, "constant">>
  tt.return
}
tt.func @poll(%p: !tt.ptr<i64>, %e: i64, %n: i64) {
  %0 = tt.atomic_poll acquire, gpu, %p, %e : !tt.ptr<i64>, i64 -> i1
  %1 = tt.atomic_poll relaxed, sys, %p, %e timeout %n : !tt.ptr<i64>, i64 -> i1
  tt.return
}
