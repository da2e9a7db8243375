// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// NVIDIA's encodings, Hopper's matmuls of warp groups, barrier objects, bulk copies and specialised warps, as Triton 3.9 prints them.
// Descriptors are printed as Triton 3.6 does, with `tensor<...>`; both forms are read.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mma2 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 2, 2], instrShape = [1, 16, 8]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#turned = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#line = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32, rank = 1}>
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// CHECK-DAG: #mma{{[0-9]*}} = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK-DAG: #mma{{[0-9]*}} = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 2, 2], instrShape = [1, 16, 8]}>
// CHECK-DAG: #shared{{[0-9]*}} = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
// CHECK-DAG: #shared{{[0-9]*}} = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
// CHECK-DAG: #shared{{[0-9]*}} = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32, rank = 1}>

// CHECK-LABEL: tt.func @layouts
tt.func @layouts(%x: tensor<4x32x32xf32, #mma2>, %y: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>,
                 %z: tensor<64x32xf8E5M2, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>>) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xi8, #turned, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<256xf32, #line, #smem, mutable>
  tt.return
}

// CHECK-LABEL: tt.func @matmuls
tt.func @matmuls(%l: tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, %c: tensor<64x64xf32, #mma>, %use: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  // CHECK: ttng.fence_async_shared {bCluster = false}
  ttng.fence_async_shared {bCluster = false}
  // CHECK: ttng.warp_group_dot %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {inputPrecision = 0 : i32, isAsync = true, maxNumImpreciseAcc = 32 : i32} : !ttg.memdesc<64x64xf16, #shared{{[0-9]*}}, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared{{[0-9]*}}, #smem, mutable> -> tensor<64x64xf32, #mma{{[0-9]*}}>
  %d = ttng.warp_group_dot %a, %a, %c, %use {inputPrecision = 0 : i32, isAsync = true, maxNumImpreciseAcc = 32 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
  // CHECK: ttng.warp_group_dot %{{.*}}, %{{.*}}, %{{[^ ,]*}} : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma{{[0-9]*}}, kWidth = 2}>> * !ttg.memdesc<
  %e = ttng.warp_group_dot %l, %a, %d : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
  // CHECK: ttng.warp_group_dot_wait %{{.*}} {pendings = 0 : i32} : tensor<64x64xf32, #mma{{[0-9]*}}>
  %f = ttng.warp_group_dot_wait %e {pendings = 0 : i32} : tensor<64x64xf32, #mma>
  // CHECK: %{{.*}}:2 = ttng.warp_group_dot_wait %{{.*}}, %{{.*}} {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma{{[0-9]*}}>, !ttg.memdesc<64x64xf16
  %g:2 = ttng.warp_group_dot_wait %f, %a {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  tt.return
}

// CHECK-LABEL: tt.func @barriers
tt.func @barriers(%phase: i32, %p: i1) {
  %tile = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  %ring = ttg.local_alloc : () -> !ttg.memdesc<3x1xi64, #word, #smem, mutable>
  %b = ttg.memdesc_index %ring[%phase] : !ttg.memdesc<3x1xi64, #word, #smem, mutable> -> !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.init_barrier %{{.*}}, 128 : !ttg.memdesc<1xi64,
  ttng.init_barrier %b, 128 : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.barrier_expect %{{.*}}, 8192, %{{.*}} : !ttg.memdesc<1xi64,
  ttng.barrier_expect %b, 8192, %p : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.arrive_barrier %{{.*}}, 2 : !ttg.memdesc<1xi64,
  ttng.arrive_barrier %b, 2 : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.arrive_barrier %{{.*}}, 1, %{{.*}} : !ttg.memdesc<1xi64,
  ttng.arrive_barrier %b, 1, %p : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.async_copy_mbarrier_arrive %{{[^ ]*}} : !ttg.memdesc<1xi64,
  ttng.async_copy_mbarrier_arrive %b : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.async_copy_mbarrier_arrive %{{.*}} {noIncrement} : !ttg.memdesc<1xi64,
  ttng.async_copy_mbarrier_arrive %b {noIncrement} : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.wait_barrier %{{[^ ,]*}}, %{{[^ ,]*}} : !ttg.memdesc<1xi64, #shared{{[0-9]*}}, #smem, mutable>{{$}}
  ttng.wait_barrier %b, %phase : !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.wait_barrier %{{[^ ,]*}}, %{{[^ ,]*}} deps %{{[^ ,]*}}, %{{[^ ,]*}} : !ttg.memdesc<1xi64, {{.*}}>, !ttg.memdesc<64x64xf16, {{.*}}>, !ttg.memdesc<64x64xf16,
  ttng.wait_barrier %b, %phase deps %tile, %tile : !ttg.memdesc<1xi64, #word, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  // CHECK: ttng.wait_barrier %{{[^ ,]*}}, %{{[^ ,]*}}, %{{[^ ,]*}} deps %{{[^ ,]*}} : !ttg.memdesc<1xi64,
  ttng.wait_barrier %b, %phase, %p deps %tile : !ttg.memdesc<1xi64, #word, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  // CHECK: ttng.inval_barrier %{{.*}} : !ttg.memdesc<1xi64,
  ttng.inval_barrier %b : !ttg.memdesc<1xi64, #word, #smem, mutable>
  tt.return
}

// CHECK-LABEL: tt.func @bulk_copies
// CHECK-SAME: !tt.tensordesc<tensor<64x64xf16, #shared{{[0-9]*}}>>
// CHECK-SAME: !tt.tensordesc<tensor<64x32xsi8, #shared{{[0-9]*}}>>
tt.func @bulk_copies(%x: !tt.tensordesc<64x64xf16, #shared>, %n: !tt.tensordesc<64x32xsi8, #turned>, %row: i32, %p: i1) {
  %tile = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  %bytes = ttg.local_alloc : () -> !ttg.memdesc<64x32xi8, #turned, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #word, #smem, mutable>
  // CHECK: ttng.async_tma_copy_global_to_local %{{.*}}[%{{.*}}, %{{.*}}] %{{.*}}, %{{.*}}, %{{.*}} : !tt.tensordesc<tensor<64x64xf16, #shared{{[0-9]*}}>>, !ttg.memdesc<1xi64, {{.*}}> -> !ttg.memdesc<64x64xf16,
  ttng.async_tma_copy_global_to_local %x[%row, %row] %tile, %b, %p : !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<1xi64, #word, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  // CHECK: ttng.async_tma_copy_global_to_local {{.*}} {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>, isVolatile = true} :
  ttng.async_tma_copy_global_to_local %n[%row, %row] %bytes, %b, %p {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>, isVolatile = true} : !tt.tensordesc<64x32xsi8, #turned>, !ttg.memdesc<1xi64, #word, #smem, mutable> -> !ttg.memdesc<64x32xi8, #turned, #smem, mutable>
  // CHECK: ttng.async_tma_copy_local_to_global %{{.*}}[%{{.*}}, %{{.*}}] %{{.*}} : !tt.tensordesc<tensor<64x64xf16, #shared{{[0-9]*}}>>, !ttg.memdesc<64x64xf16,
  ttng.async_tma_copy_local_to_global %x[%row, %row] %tile : !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  // CHECK: ttng.async_tma_reduce add, %{{.*}}[%{{.*}}, %{{.*}}] %{{.*}} : !tt.tensordesc<tensor<64x64xf16, #shared{{[0-9]*}}>>, !ttg.memdesc<64x64xf16,
  ttng.async_tma_reduce add, %x[%row, %row] %tile : !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  // CHECK: ttng.async_tma_store_wait {pendings = 1 : i32, read_only}
  ttng.async_tma_store_wait {pendings = 1 : i32, read_only}
  // CHECK: ttng.async_tma_store_wait {pendings = 0 : i32}
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}

// CHECK-LABEL: tt.func @specialised
tt.func @specialised(%p: !tt.ptr<f32>, %n: i32, %t: tensor<64x64xf32, #mma>) {
  // CHECK: %{{.*}}:2 = ttg.warp_specialize(%{{.*}}, %{{.*}}) attributes {requestedRegisters = array<i32: 168, 24>}
  %r:2 = ttg.warp_specialize(%p, %n) attributes {requestedRegisters = array<i32: 168, 24>}
  // CHECK-NEXT: default {
  default {
    // CHECK-NEXT: ttg.warp_yield %{{.*}}, %{{.*}} : tensor<64x64xf32, #mma{{[0-9]*}}>, i32
    ttg.warp_yield %t, %n : tensor<64x64xf32, #mma>, i32
  }
  // CHECK: partition0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: i32) num_warps(4) {
  partition0(%q: !tt.ptr<f32>, %m: i32) num_warps(4) {
    // CHECK: arith.muli
    %twice = arith.muli %m, %m : i32
    // CHECK-NEXT: ttg.warp_return
    ttg.warp_return
  }
  // CHECK: partition1(%{{.*}}: !tt.ptr<f32>, %{{.*}}: i32) num_warps(1) {
  partition1(%q: !tt.ptr<f32>, %m: i32) num_warps(1) {
    ttg.warp_return
  // CHECK: } : (!tt.ptr<f32>, i32) -> (tensor<64x64xf32, #mma{{[0-9]*}}>, i32)
  } : (!tt.ptr<f32>, i32) -> (tensor<64x64xf32, #mma>, i32)
  // CHECK: ttg.warp_specialize(){{$}}
  ttg.warp_specialize()
  // CHECK-NEXT: default {
  default {
    // CHECK-NEXT: ttg.warp_yield{{$}}
    ttg.warp_yield
  }
  // CHECK: partition0() num_warps(2) {
  partition0() num_warps(2) {
    ttg.warp_return
  // CHECK: } : () -> ()
  } : () -> ()
  tt.return
}
