// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules of NVIDIA's encodings and of what takes them.

// expected-error @+1 {{`nvidia_mma` of version 3 with instrShape [16, 4, 16] and warpsPerCTA [4, 1]: it is [16, N, K], N from 8 to 256}}
tt.func private @n2(tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 4, 16]}>>)
// -----
// Layouts of conversions, which no matmul leaves.
tt.func private @n2_warps_along_n(tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [1, 4], instrShape = [16, 32, 16]}>>)
// -----
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 32, 16]}>
#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func private @n15(%a: !ttg.memdesc<64x16xf16, #rows, #smem>, %b: !ttg.memdesc<16x64xf16, #columns, #smem>, %c: tensor<64x64xf32, #mma>) {
  // expected-error @+1 {{it is `nvidia_mma` of version 3, with 4 warps or a multiple along M}}
  %d = ttng.warp_group_dot %a, %b, %c : !ttg.memdesc<64x16xf16, #rows, #smem> * !ttg.memdesc<16x64xf16, #columns, #smem> -> tensor<64x64xf32, #mma>
  tt.return
}
// -----
// Elements of other sizes than the layout's, which counts in its own.
tt.func private @n14(!ttg.memdesc<16x128xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>, #ttg.shared_memory>)
// -----
// expected-error @+1 {{rows of 64 elements in #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>: a row has 128 or more}}
tt.func private @n14_short(!ttg.memdesc<16x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>, #ttg.shared_memory>)
// -----
#half = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
tt.func private @n9(%x: !tt.tensordesc<16x64xf16, #half>, %tile: !ttg.memdesc<16x64xf16, #half, #smem, mutable>, %i: i32) {
  // expected-error @+1 {{bulk copies take `#ttg.nvmma_shared` with the `elementBitWidth` of the elements}}
  ttng.async_tma_copy_local_to_global %x[%i, %i] %tile : !tt.tensordesc<16x64xf16, #half>, !ttg.memdesc<16x64xf16, #half, #smem, mutable>
  tt.return
}
// -----
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func private @n9_other_swizzle(%x: !tt.tensordesc<16x64xf16, #wide>, %tile: !ttg.memdesc<16x64xf16, #narrow, #smem, mutable>, %i: i32) {
  // expected-error @+1 {{copies a block in #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}> to or from a memory object in #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>}}
  ttng.async_tma_copy_local_to_global %x[%i, %i] %tile : !tt.tensordesc<16x64xf16, #wide>, !ttg.memdesc<16x64xf16, #narrow, #smem, mutable>
  tt.return
}
