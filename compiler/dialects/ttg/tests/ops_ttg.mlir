// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Memory objects, their views and copies, as Triton 3.9 prints them.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 4, warpsPerCTA = [4, 1], instrShape = [32, 32, 16], isTransposed = true, tilesPerWarp = [1, 2]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]], block = []}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#rotating = #ttg.amd_rotating_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>
#padded = #ttg.padded_shared<[64:+4, 128:+8] {order = [1, 0], shape = [32, 64]}>
#bases = #ttg.padded_shared<[64:+4] {offset = [[0, 1], [1, 0]], block = []}>
#offsets = #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0]]}, alignment = 16>
#smem = #ttg.shared_memory

// CHECK: #linear1 = #ttg.linear<{register = {{.}}[0, 1], [0, 0], [0, 2]], lane = {{.}}[0, 4], [2, 0]], warp = {{.}}[1, 0]], block = []}>

// CHECK-LABEL: tt.func @memory
tt.func @memory(%t: tensor<32x64xf16, #blocked>, %i: i32) {
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<3x32x64xf16, #shared, #smem, mutable>
  %ring = ttg.local_alloc : () -> !ttg.memdesc<3x32x64xf16, #shared, #smem, mutable>
  // CHECK: ttg.local_alloc %{{.*}} {alignment = 16 : i32} : (tensor<32x64xf16, #blocked>) -> !ttg.memdesc<32x64xf16, #shared{{.*}}, #smem>
  %filled = ttg.local_alloc %t {alignment = 16 : i32} : (tensor<32x64xf16, #blocked>) -> !ttg.memdesc<32x64xf16, #padded, #smem>
  // CHECK: ttg.memdesc_index %{{.*}}[%{{.*}}] : !ttg.memdesc<3x32x64xf16, {{.*}}> -> !ttg.memdesc<32x64xf16,
  %slot = ttg.memdesc_index %ring[%i] : !ttg.memdesc<3x32x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<32x64xf16, #shared, #smem, mutable>
  // CHECK: ttg.memdesc_subslice %{{.*}}[0, 32] : {{.*}} -> !ttg.memdesc<32x32xf16, #shared, #smem, mutable, 32x64>
  %half = ttg.memdesc_subslice %slot[0, 32] : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<32x32xf16, #shared, #smem, mutable, 32x64>
  // CHECK: ttg.memdesc_trans %{{.*}} {order = array<i32: 1, 0>}
  %trans = ttg.memdesc_trans %slot {order = array<i32: 1, 0>} : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #rotating, #smem, mutable>
  // CHECK: ttg.memdesc_reshape
  %reshaped = ttg.memdesc_reshape %slot : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
  // CHECK: ttg.memdesc_reinterpret
  %words = ttg.memdesc_reinterpret %slot : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<32x32xi32, #shared, #smem, mutable>
  // CHECK: ttg.local_store %{{.*}}, %{{.*}} : tensor<32x64xf16, #blocked> -> !ttg.memdesc<
  ttg.local_store %t, %slot : tensor<32x64xf16, #blocked> -> !ttg.memdesc<32x64xf16, #shared, #smem, mutable>
  // CHECK: ttg.local_load %{{.*}} : {{.*}} -> tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>>
  %x = ttg.local_load %half : !ttg.memdesc<32x32xf16, #shared, #smem, mutable, 32x64> -> tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>>
  // CHECK: ttg.convert_layout %{{.*}} : {{.*}} -> tensor<32x32xf16, #linear>
  %y = ttg.convert_layout %x : tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>> -> tensor<32x32xf16, #linear>
  // CHECK: ttg.local_dealloc
  ttg.local_dealloc %ring : !ttg.memdesc<3x32x64xf16, #shared, #smem, mutable>
  // CHECK: ttg.barrier local|global_read
  ttg.barrier local|global_read
  // CHECK: ttg.warp_id
  %w = ttg.warp_id
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x2xf16, #bases, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<2x4xf16, #offsets, #smem, mutable>
  tt.return
}

// CHECK-LABEL: tt.func @copies
tt.func @copies(%p: tensor<32x64x!tt.ptr<f16>, #blocked>, %m: tensor<32x64xi1, #blocked>, %t: tensor<32x64xf16, #blocked>, %j: tensor<32x64xi32, #blocked>) {
  %tile = ttg.local_alloc : () -> !ttg.memdesc<32x64xf16, #shared, #smem, mutable>
  // CHECK: ttg.async_copy_global_to_local %{{.*}}, %{{.*}} mask %{{.*}} other %{{.*}} {{.*}} : tensor<32x64x!tt.ptr<f16>, #blocked> -> <32x64xf16, #shared, #smem, mutable>
  %c = ttg.async_copy_global_to_local %p, %tile mask %m other %t {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>, contiguity = 8 : i32} : tensor<32x64x!tt.ptr<f16>, #blocked> -> <32x64xf16, #shared, #smem, mutable>
  // CHECK: ttg.async_commit_group tokens
  %g = ttg.async_commit_group tokens %c
  // CHECK: ttg.async_wait %{{.*}} {num = 1 : i32}
  %w = ttg.async_wait %g {num = 1 : i32}
  // CHECK: ttg.local_load %{{.*}} token %{{.*}} :
  %x = ttg.local_load %tile token %w : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> -> tensor<32x64xf16, #blocked>
  // CHECK: ttg.local_gather %{{.*}}[%{{.*}}] {axis = 0 : i32}
  %q = ttg.local_gather %tile[%j] {axis = 0 : i32} : !ttg.memdesc<32x64xf16, #shared, #smem, mutable>, tensor<32x64xi32, #blocked> -> tensor<32x64xf16, #blocked>
  // CHECK: ttg.local_scatter %{{.*}}[%{{.*}}], %{{.*}} {axis = 0 : i32}
  ttg.local_scatter %tile[%j], %x {axis = 0 : i32} : !ttg.memdesc<32x64xf16, #shared, #smem, mutable>, tensor<32x64xi32, #blocked>, tensor<32x64xf16, #blocked>
  // CHECK: ttg.local_atomic_scatter_rmw fadd, %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} {axis = 0 : i32}
  %o = ttg.local_atomic_scatter_rmw fadd, %tile[%j], %x, %m {axis = 0 : i32} : (!ttg.memdesc<32x64xf16, #shared, #smem, mutable>, tensor<32x64xf16, #blocked>, tensor<32x64xi32, #blocked>, tensor<32x64xi1, #blocked>) -> tensor<32x64xf16, #blocked>
  tt.return
}

// Bits that overlap or move along two axes are read as ones that do not: here the second register bit adds what others add, and is 0.
// CHECK-LABEL: tt.func private @generic(tensor<4x8xi32, #linear{{[0-9]*}}>)
#generic = #ttg.generic_linear<{register = [[0, 1], [0, 3], [0, 2]], lane = [[1, 4], [2, 0]], warp = [[1, 0]], block = []}>
tt.func private @generic(tensor<4x8xi32, #generic>)

// CHECK-LABEL: tt.func @registers
tt.func @registers(%x: tensor<32x64xi8, #blocked>, %i: tensor<32x64xi32, #blocked>) {
  // CHECK: ttg.fp4_to_fp %{{.*}} {axis = 1 : i32}
  %f = ttg.fp4_to_fp %x {axis = 1 : i32} : tensor<32x64xi8, #blocked> -> tensor<32x128xbf16, #blocked>
  // CHECK: ttg.inline_asm "v_mov_b32 $0, $1" {constraints = "=v,v", pure = true} %{{.*}} : (tensor<32x64xi32, #blocked>) -> tensor<32x64xi32, #blocked>
  %r = ttg.inline_asm "v_mov_b32 $0, $1" {constraints = "=v,v", pure = true} %i : (tensor<32x64xi32, #blocked>) -> tensor<32x64xi32, #blocked>
  tt.return
}
