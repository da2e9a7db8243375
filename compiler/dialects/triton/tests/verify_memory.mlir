// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules M1 to M10: loads and stores.

tt.func @m1_result(%p: tensor<4x!tt.ptr<f32>>) {
  // expected-error @+1 {{result type 'tensor<4xf16>' does not fit pointer type 'tensor<4x!tt.ptr<f32>>', which needs 'tensor<4xf32>'}}
  %0 = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<4x!tt.ptr<f32>>) -> tensor<4xf16>
  tt.return
}
// -----
tt.func @m1_store(%p: !tt.ptr<f32>, %v: i32) {
  // expected-error @+1 {{value type 'i32' does not fit pointer type '!tt.ptr<f32>', which needs 'f32'}}
  "tt.store"(%p, %v) : (!tt.ptr<f32>, i32) -> ()
  tt.return
}
// -----
tt.func @m2(%p: tensor<4x!tt.ptr<f32>>, %m: tensor<8xi1>) {
  // expected-error @+1 {{mask type 'tensor<8xi1>' does not fit pointer type 'tensor<4x!tt.ptr<f32>>', which needs 'tensor<4xi1>'}}
  %0 = "tt.load"(%p, %m) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4x!tt.ptr<f32>>, tensor<8xi1>) -> tensor<4xf32>
  tt.return
}
// -----
// expected-note @+1 {{prior use here}}
tt.func @m2_in_short_text(%p: tensor<4x!tt.ptr<f32>>, %m: tensor<8xi1>) {
  // expected-error @+1 {{expects different type than prior uses: 'tensor<4xi1>' vs 'tensor<8xi1>'}}
  %0 = tt.load %p, %m : tensor<4x!tt.ptr<f32>>
  tt.return
}
// -----
tt.func @m3(%p: tensor<4x!tt.ptr<f32>>) {
  // expected-error @+1 {{'boundaryCheck' needs a block pointer, but the pointer has type 'tensor<4x!tt.ptr<f32>>'}}
  %0 = tt.load %p {boundaryCheck = array<i32: 0>} : tensor<4x!tt.ptr<f32>>
  tt.return
}
// -----
tt.func @m4(%p: !tt.ptr<tensor<4xf32>>, %m: tensor<4xi1>) {
  // expected-error @+1 {{an access through block pointer '!tt.ptr<tensor<4xf32>>' takes 'boundaryCheck', not a mask}}
  %0 = tt.load %p, %m : !tt.ptr<tensor<4xf32>>
  tt.return
}
// -----
tt.func @m5(%p: !tt.ptr<tensor<4xf32>>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'boundaryCheck' [0, 1] does not name dimensions of a block of rank 1, each at most once}}
  tt.store %p, %v {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<4xf32>>
  tt.return
}
// -----
tt.func @m6(%p: !tt.ptr<f32>, %v: f32) {
  // expected-error @+1 {{has a value for masked elements, but no mask}}
  %0 = "tt.load"(%p, %v) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (!tt.ptr<f32>, f32) -> f32
  tt.return
}
// -----
tt.func @m7(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{'padding' needs a block pointer, but the pointer has type '!tt.ptr<f32>'}}
  %0 = tt.load %p {padding = 1 : i32} : !tt.ptr<f32>
  tt.return
}
// -----
tt.func @m8(%p: !tt.ptr<tensor<4xi32>>) {
  // expected-error @+1 {{cannot pad elements of type 'i32' by NaN}}
  %0 = tt.load %p {boundaryCheck = array<i32: 0>, padding = 2 : i32} : !tt.ptr<tensor<4xi32>>
  tt.return
}
// -----
tt.func @m9(%p: !tt.ptr<i32>) {
  // expected-error @+1 {{has the cache hints #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal> and also 'cacheModifier' = cg, 'evictionPolicy' = evict_normal: give them once}}
  %0 = tt.load %p cacheModifier = cg {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>} : !tt.ptr<i32>
  tt.return
}
// -----
tt.func @m9_store(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{has the cache hints #tt.cache_policy<cache_modifier = wt, eviction_policy = evict_normal> and also 'cacheModifier' = none, 'evictionPolicy' = evict_last}}
  tt.store %p, %v evictionPolicy = evict_last {cachePolicy = #tt.cache_policy<cache_modifier = wt, eviction_policy = evict_normal>} : !tt.ptr<i32>
  tt.return
}
// -----
tt.func @m10_store(%p: tensor<4x!tt.ptr<i32, "constant">>, %v: tensor<4xi32>) {
  // expected-error @+1 {{writes through '!tt.ptr<i32, "constant">', a pointer to constant memory}}
  tt.store %p, %v : tensor<4x!tt.ptr<i32, "constant">>
  tt.return
}
// -----
tt.func @m10_atomic(%p: !tt.ptr<i32, "constant">, %v: i32) {
  // expected-error @+1 {{writes through '!tt.ptr<i32, "constant">', a pointer to constant memory}}
  %0 = tt.atomic_rmw add, relaxed, gpu, %p, %v : (!tt.ptr<i32, "constant">, i32) -> i32
  tt.return
}
