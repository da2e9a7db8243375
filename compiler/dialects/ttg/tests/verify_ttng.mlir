// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules N1 to N14 of NVIDIA's encodings and operations.
// expected-error @+1 {{`nvidia_mma` of version 5: sm_90 has versions 2 (`mma.sync`) and 3 (`wgmma`)}}
tt.func private @n1(tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 5, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>>)
// -----
// expected-error @+1 {{with instrShape [16, 512, 16] and warpsPerCTA [4, 1]: it is [16, N, K], N from 8 to 256}}
tt.func private @n2(tensor<64x512xf32, #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 512, 16]}>>)
// -----
// expected-error @+1 {{`nvidia_mma` of version 2 with instrShape [16, 16] and warpsPerCTA [2, 2]: it is [16, 8], with as many numbers as axes}}
tt.func private @n2_mma_sync(tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 16]}>>)
// -----
// expected-error @+1 {{with instrShape [2, 16, 8] and warpsPerCTA [1, 2, 2]: it is [16, 8]}}
tt.func private @n2_rank(tensor<4x32x32xf32, #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 2, 2], instrShape = [2, 16, 8]}>>)
// -----
// expected-error @+1 {{`warpsPerCTA` has 3, which is no power of two}}
tt.func private @n2_powers(tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [3, 1], instrShape = [16, 64, 16]}>>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{`swizzlingByteWidth` is 16: it is 0, 32, 64 or 128}}
tt.func private @n3(!ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 16, transposed = false, elementBitWidth = 16}>, #smem>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{`elementBitWidth` is 4: it is 8, 16, 32 or 64}}
tt.func private @n3_element(!ttg.memdesc<64x64xi8, #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 4}>, #smem>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{`rank` is 1 of a transposed layout: it is 1 to 5}}
tt.func private @n3_rank(!ttg.memdesc<64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = true, elementBitWidth = 16, rank = 1}>, #smem>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{`fp4Padded` is for Blackwell's matmuls with scales: sm_90 has none}}
tt.func private @n3_padded(!ttg.memdesc<64x128xi8, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true}>, #smem>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{rows of 32 elements in #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>: a row has 64 or more}}
tt.func private @n14(!ttg.memdesc<64x32xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #smem>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{rows of 16 elements in #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>}}
tt.func private @n14_transposed(!ttg.memdesc<16x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>, #smem>)
// -----
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n4(%a: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @+1 {{multiplies}}
  %0 = ttng.warp_group_dot %a, %a, %c : !ttg.memdesc<64x32xf16, #shared, #smem, mutable> * !ttg.memdesc<64x32xf16, #shared, #smem, mutable> -> tensor<64x32xf32, #mma>
  tt.return
}
// -----
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n4_element(%a: tensor<64x64xf32, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>>, %b: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @+1 {{multiplies}}
  %0 = ttng.warp_group_dot %a, %b, %c : tensor<64x64xf32, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>> * !ttg.memdesc<64x32xf16, #shared, #smem, mutable> -> tensor<64x32xf32, #mma>
  tt.return
}
// -----
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
tt.func @n5(%c: tensor<64x32xf32, #mma>) {
  // expected-error @+1 {{leaves -1 matmuls of warp groups in flight: give 0 or more}}
  %0 = ttng.warp_group_dot_wait %c {pendings = -1 : i32} : tensor<64x32xf32, #mma>
  tt.return
}
// -----
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
tt.func @n5_results(%c: tensor<64x32xf32, #mma>) {
  // expected-error @+1 {{all of {inputs, outputs} have same type}}
  %0 = "ttng.warp_group_dot_wait"(%c, %c) <{pendings = 0 : i32}> : (tensor<64x32xf32, #mma>, tensor<64x32xf32, #mma>) -> tensor<64x32xf32, #mma>
  tt.return
}
// -----
tt.func @n5_copies() {
  // expected-error @+1 {{leaves -2 bulk copies in flight: give 0 or more}}
  ttng.async_tma_store_wait {pendings = -2 : i32}
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n6(%b: !ttg.memdesc<2xi64, #word, #smem, mutable>) {
  // expected-error @+1 {{takes '!ttg.memdesc<2xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>' as a barrier object, which is `!ttg.memdesc<1xi64, ..., mutable>`}}
  ttng.init_barrier %b, 1 : !ttg.memdesc<2xi64, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n6_immutable(%b: !ttg.memdesc<1xi64, #word, #smem>, %p: i32) {
  // expected-error @+1 {{'ttng.wait_barrier' op takes}}
  ttng.wait_barrier %b, %p : !ttg.memdesc<1xi64, #word, #smem>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n6_inval(%b: !ttg.memdesc<1xi32, #word, #smem, mutable>) {
  // expected-error @+1 {{'ttng.inval_barrier' op takes}}
  ttng.inval_barrier %b : !ttg.memdesc<1xi32, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n6_arrive(%b: !ttg.memdesc<1xi32, #word, #smem, mutable>) {
  // expected-error @+1 {{'ttng.arrive_barrier' op takes}}
  ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi32, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n6_async_copies(%b: !ttg.memdesc<1xi32, #word, #smem, mutable>) {
  // expected-error @+1 {{'ttng.async_copy_mbarrier_arrive' op takes}}
  ttng.async_copy_mbarrier_arrive %b : !ttg.memdesc<1xi32, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n6_expect(%b: !ttg.memdesc<1xi32, #word, #smem, mutable>, %p: i1) {
  // expected-error @+1 {{'ttng.barrier_expect' op takes}}
  ttng.barrier_expect %b, 16, %p : !ttg.memdesc<1xi32, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n7(%b: !ttg.memdesc<1xi64, #word, #smem, mutable>) {
  // expected-error @+1 {{counts 0: a barrier object counts 1 to 1048575}}
  ttng.init_barrier %b, 0 : !ttg.memdesc<1xi64, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n7_arrive(%b: !ttg.memdesc<1xi64, #word, #smem, mutable>) {
  // expected-error @+1 {{counts -1: a barrier object counts 1 to 1048575}}
  ttng.arrive_barrier %b, -1 : !ttg.memdesc<1xi64, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @n7_bytes(%b: !ttg.memdesc<1xi64, #word, #smem, mutable>, %p: i1) {
  // expected-error @+1 {{counts 1048576: a barrier object counts 1 to 1048575}}
  ttng.barrier_expect %b, 1048576, %p : !ttg.memdesc<1xi64, #word, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n8(%x: !tt.tensordesc<64x32xf16, #shared>, %t: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<1xi64, #word, #smem, mutable>, %i: i32, %p: i1) {
  // expected-error @+1 {{has 1 coordinates for a block of 2 axes}}
  ttng.async_tma_copy_global_to_local %x[%i] %t, %b, %p : !tt.tensordesc<64x32xf16, #shared>, !ttg.memdesc<1xi64, #word, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n8_shape(%x: !tt.tensordesc<32x32xf16, #shared>, %t: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %i: i32) {
  // expected-error @+1 {{copies between a block of 32x32 elements of 'f16' and a memory object of 64x32 elements of 'f16'}}
  ttng.async_tma_copy_local_to_global %x[%i, %i] %t : !tt.tensordesc<32x32xf16, #shared>, !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n8_element(%x: !tt.tensordesc<64x32xbf16, #shared>, %t: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %i: i32) {
  // expected-error @+1 {{elements of 'bf16' and a memory object of 64x32 elements of 'f16'}}
  ttng.async_tma_reduce add, %x[%i, %i] %t : !tt.tensordesc<64x32xbf16, #shared>, !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
  tt.return
}
// -----
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @unsigned_order(%x: !tt.tensordesc<64x32xui16, #shared>, %t: !ttg.memdesc<64x32xi16, #shared, #smem, mutable>, %i: i32) {
  // expected-error @+1 {{has kind 'max' of unsigned elements: bulk copies compare signed ones here}}
  ttng.async_tma_reduce max, %x[%i, %i] %t : !tt.tensordesc<64x32xui16, #shared>, !ttg.memdesc<64x32xi16, #shared, #smem, mutable>
  tt.return
}
// -----
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n9(%x: !tt.tensordesc<64x32xf16, #shared>, %t: !ttg.memdesc<64x32xf16, #plain, #smem, mutable>, %i: i32) {
  // expected-error @+1 {{bulk copies take `#ttg.nvmma_shared`}}
  ttng.async_tma_copy_local_to_global %x[%i, %i] %t : !tt.tensordesc<64x32xf16, #shared>, !ttg.memdesc<64x32xf16, #plain, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n10(%x: !tt.tensordesc<64x32xf16, #shared>, %t: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<1xi64, #word, #smem, mutable>, %i: i32, %p: i1) {
  // expected-error @+1 {{copies to several blocks of a cluster, which are not compiled: leave `multicast` out}}
  ttng.async_tma_copy_global_to_local %x[%i, %i] %t, %b, %p {multicast} : !tt.tensordesc<64x32xf16, #shared>, !ttg.memdesc<1xi64, #word, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n11(%x: !tt.tensordesc<64x32xf16, #shared>, %t: !ttg.memdesc<64x32xf16, #shared, #smem>, %b: !ttg.memdesc<1xi64, #word, #smem, mutable>, %i: i32, %p: i1) {
  // expected-error @+1 {{writes to an immutable memory object}}
  ttng.async_tma_copy_global_to_local %x[%i, %i] %t, %b, %p : !tt.tensordesc<64x32xf16, #shared>, !ttg.memdesc<1xi64, #word, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem>
  tt.return
}
// -----
#word = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @n6_copy(%x: !tt.tensordesc<64x32xf16, #shared>, %t: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<1xi32, #word, #smem, mutable>, %i: i32, %p: i1) {
  // expected-error @+1 {{'ttng.async_tma_copy_global_to_local' op takes}}
  ttng.async_tma_copy_global_to_local %x[%i, %i] %t, %b, %p : !tt.tensordesc<64x32xf16, #shared>, !ttg.memdesc<1xi32, #word, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
  tt.return
}
// -----
tt.func @n12() {
  // expected-error @+1 {{has partition 0 of 3 warps: give 1, 2, 4, 8 or 16}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(3) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
// -----
tt.func @n12_many() {
  // expected-error @+1 {{has partition 1 of 32 warps: give 1, 2, 4, 8 or 16}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  }
  partition1() num_warps(32) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
// -----
tt.func @n12_captures(%n: i32) {
  // expected-error @+1 {{has partition 0 with 0 arguments for 1 captured values, or of other types}}
  ttg.warp_specialize(%n)
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : (i32) -> ()
  tt.return
}
// -----
tt.func @n12_types(%n: i32) {
  // expected-error @+1 {{has partition 0 with 1 arguments for 1 captured values, or of other types}}
  ttg.warp_specialize(%n)
  default {
    ttg.warp_yield
  }
  partition0(%m: i64) num_warps(1) {
    ttg.warp_return
  } : (i32) -> ()
  tt.return
}
// -----
tt.func @n12_end() {
  // expected-error @+1 {{has partition 0 that does not end with `ttg.warp_return`}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_yield
  } : () -> ()
  tt.return
}
// -----
tt.func @n12_registers() {
  // expected-error @+1 {{has 1 partitions and registers for 3}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 24, 24>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
// -----
tt.func @n12_numbers() {
  // expected-error @+1 {{has 1 partitions and numbers of warps for 2}}
  "ttg.warp_specialize"() <{partitionNumWarps = array<i32: 1, 1>}> ({
    "ttg.warp_yield"() : () -> ()
  }, {
    "ttg.warp_return"() : () -> ()
  }) : () -> ()
  tt.return
}
// -----
tt.func @n13(%n: i32) {
  // expected-error @+1 {{has 1 results: the default region ends with a `ttg.warp_yield` of as many, of their types}}
  %0 = ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : () -> i32
  tt.return
}
// -----
tt.func @n13_types(%n: i32) {
  // expected-error @+1 {{has 1 results: the default region ends with}}
  %0 = ttg.warp_specialize()
  default {
    ttg.warp_yield %n : i32
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : () -> i64
  tt.return
}
// -----
tt.func @n13_end() {
  // expected-error @+1 {{has 0 results: the default region ends with}}
  ttg.warp_specialize()
  default {
    ttg.warp_return
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
