// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Buffer accesses and what else is AMD's own or the front end's, as Triton 3.9 prints it.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory

// CHECK-LABEL: tt.func @buffers
tt.func @buffers(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>, %o: tensor<16x64xi32, #blocked>, %m: tensor<16x64xi1, #blocked>, %v: tensor<16x64xf32, #blocked>, %s: i32) {
  // CHECK: amdg.buffer_load %{{.*}}[%{{.*}}] : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  %0 = amdg.buffer_load %p[%o] : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  // CHECK: amdg.buffer_load %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} stride = %{{.*}} {{.*}}cachePolicy
  %1 = amdg.buffer_load %p[%o], %m, %v stride = %s {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>, contiguity = 4 : i32} : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  // CHECK: amdg.buffer_store %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  amdg.buffer_store %v, %p[%o], %m : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  // CHECK: amdg.buffer_atomic_rmw fadd, relaxed, gpu, %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  %2 = amdg.buffer_atomic_rmw fadd, relaxed, gpu, %v, %p[%o], %m : !tt.ptr<f32> -> tensor<16x64xf32, #blocked>
  // CHECK: amdg.buffer_atomic_cas acq_rel, gpu, %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] : !tt.ptr<i32> -> tensor<16x64xi32, #blocked>
  %3 = amdg.buffer_atomic_cas acq_rel, gpu, %o, %o, %q[%o] : !tt.ptr<i32> -> tensor<16x64xi32, #blocked>
  %tile = ttg.local_alloc : () -> !ttg.memdesc<16x64xf32, #shared, #smem, mutable>
  // CHECK: amdg.buffer_load_to_local %{{.*}}[%{{.*}}] mask = %{{.*}} other = %{{.*}} into %{{.*}} {contiguity = 4 : i32} : !tt.ptr<f32>[tensor<16x64xi32, #blocked>] tensor<16x64xf32, #blocked> -> <16x64xf32, #shared, #smem, mutable>
  %4 = amdg.buffer_load_to_local %p[%o] mask = %m other = %v into %tile {contiguity = 4 : i32} : !tt.ptr<f32>[tensor<16x64xi32, #blocked>] tensor<16x64xf32, #blocked> -> <16x64xf32, #shared, #smem, mutable>
  // CHECK: amdg.buffer_load_to_local %{{.*}}[%{{.*}}] cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal> into
  %5 = amdg.buffer_load_to_local %p[%o] cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal> into %tile : !tt.ptr<f32>[tensor<16x64xi32, #blocked>]  -> <16x64xf32, #shared, #smem, mutable>
  // CHECK: amdg.async_wait {num_inst = 4 : i32}
  %6 = amdg.async_wait {num_inst = 4 : i32}
  tt.return
}

// CHECK-LABEL: tt.func @registers
tt.func @registers(%v: tensor<16x64xf32, #blocked>, %b: tensor<16x64xi8, #blocked>, %f: tensor<16x64xf8E4M3FN, #blocked>, %h: tensor<16x64xbf16, #blocked>, %c: i1) {
  // CHECK: amdg.extract_slice %{{.*}} [0, 32] : tensor<16x64xf32, #blocked> to tensor<16x32xf32, #blocked>
  %0 = amdg.extract_slice %v [0, 32] : tensor<16x64xf32, #blocked> to tensor<16x32xf32, #blocked>
  // CHECK: amdg.concat %{{.*}}, %{{.*}} : tensor<16x32xf32, #blocked>, tensor<16x32xf32, #blocked> -> tensor<16x64xf32, #blocked>
  %1 = amdg.concat %0, %0 : tensor<16x32xf32, #blocked>, tensor<16x32xf32, #blocked> -> tensor<16x64xf32, #blocked>
  // CHECK: amdg.in_thread_transpose
  %2 = amdg.in_thread_transpose %v : tensor<16x64xf32, #blocked> -> tensor<16x64xf32, #blocked>
  // CHECK: amdg.scaled_upcast_fp8 %{{.*}} scale
  %3 = amdg.scaled_upcast_fp8 %f scale %b : tensor<16x64xf8E4M3FN, #blocked>, tensor<16x64xi8, #blocked> -> tensor<16x64xbf16, #blocked>
  // CHECK: amdg.scaled_upcast_fp4
  %4 = amdg.scaled_upcast_fp4 %b scale %b {axis = 1 : i32} : tensor<16x64xi8, #blocked>, tensor<16x64xi8, #blocked> -> tensor<16x128xbf16, #blocked>
  // CHECK: amdg.scaled_downcast_fp8
  %5 = amdg.scaled_downcast_fp8 %h scale %b {axis = 1 : i32} : tensor<16x64xbf16, #blocked>, tensor<16x64xi8, #blocked> -> tensor<16x64xf8E4M3FN, #blocked>
  // CHECK: amdg.scaled_downcast_fp4
  %6 = amdg.scaled_downcast_fp4 %h scale %b {axis = 1 : i32} : tensor<16x64xbf16, #blocked>, tensor<16x64xi8, #blocked> -> tensor<16x32xi8, #blocked>
  %tile = ttg.local_alloc : () -> !ttg.memdesc<128x32xi8, #shared, #smem, mutable>
  // CHECK: amdg.local_load_packed_transposed
  %7 = amdg.local_load_packed_transposed %tile : !ttg.memdesc<128x32xi8, #shared, #smem, mutable> -> tensor<64x64xi8, #blocked>
  // CHECK: amdg.cond_barrier
  amdg.cond_barrier %c
  // CHECK: amdg.schedule_fence none {triton.warp_pipeline.border = "memory", triton.warp_pipeline.priority = 1 : i32}
  amdg.schedule_fence none {triton.warp_pipeline.border = "memory", triton.warp_pipeline.priority = 1 : i32}
  // CHECK: amdg.schedule_fence mfma_wmma|valu
  amdg.schedule_fence mfma_wmma|valu
  tt.return
}

// CHECK-LABEL: tt.func @layouts
tt.func @layouts(%x: tensor<64xi32, #gluon.auto_encoding>, %y: tensor<64xi32, #gluon.coalesced_encoding>) {
  // CHECK: gluon.set_auto_layout %{{.*}} : tensor<64xi32, #gluon.auto_encoding> -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %0 = gluon.set_auto_layout %x : tensor<64xi32, #gluon.auto_encoding> -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  tt.return
}
