// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules G1 to G11.

// expected-error @+1 {{`sizePerThread` has 3, which is no power of two}}
tt.func private @g1(tensor<8xf32, #ttg.blocked<{sizePerThread = [3], threadsPerWarp = [64], warpsPerCTA = [1], order = [0]}>>)
// -----
// expected-error @+1 {{`order` is [1, 1] for 2 axes}}
tt.func private @g2(tensor<8x8xf32, #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 1]}>>)
// -----
// expected-error @+1 {{`sizePerThread` is of 2 axes, `threadsPerWarp` of 1, `warpsPerCTA` of 2}}
tt.func private @g3(tensor<8x8xf32, #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [64], warpsPerCTA = [1, 1], order = [1, 0]}>>)
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
// expected-error @+1 {{slice dim 2 of a layout of 2 axes}}
tt.func private @g4(tensor<8xf32, #ttg.slice<{dim = 2, parent = #blocked}>>)
// -----
// expected-error @+1 {{which is no layout of tiles}}
tt.func private @g4_parent(tensor<8xf32, #ttg.slice<{dim = 0, parent = #ttg.shared_memory}>>)
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
// expected-error @+1 {{opIdx is 2, not 0 or 1}}
tt.func private @g5(tensor<8x8xf32, #ttg.dot_op<{opIdx = 2, parent = #blocked}>>)
// -----
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 16, 16], isTransposed = true}>
// expected-error @+1 {{say how many elements along K a lane holds}}
tt.func private @g6(tensor<16x16xf16, #ttg.dot_op<{opIdx = 0, parent = #mma}>>)
// -----
// expected-error @+1 {{version 5 of matrix instructions is none of 1 to 4; gfx942 has 3, gfx950 4}}
tt.func private @g7(tensor<16x16xf16, #ttg.amd_mfma<{version = 5, warpsPerCTA = [1, 1], instrShape = [16, 16, 16], isTransposed = true}>>)
// -----
// expected-error @+1 {{`instrShape` is [16, 32, 8]}}
tt.func private @g8(tensor<16x16xf16, #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 32, 8], isTransposed = true}>>)
// -----
// expected-error @+1 {{`isTransposed` is true for `instrShape` [4, 64, 64]: results of 64 x 4 are transposed, of 4 x 64 not}}
tt.func private @g8_transposed(tensor<4x64xf32, #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [4, 64, 64], isTransposed = true}>>)
// -----
// expected-error @+1 {{`elementBitWidth` is 16, not 32 or 64}}
tt.func private @g9(tensor<16x16xf16, #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 16, 16], isTransposed = true, elementBitWidth = 16}>>)
// -----
// expected-error @+1 {{two bits of registers, lanes and warps move along axis 0 by 1: each moves by another power of two}}
tt.func private @g10(tensor<4xf16, #ttg.linear<{register = [[1], [1]], lane = [], warp = [], block = []}>>)
// -----
// expected-error @+1 {{expected `block`}}
tt.func private @g10_block(tensor<4xf16, #ttg.linear<{register = [[1], [2]], lane = [], warp = []}>>)
// -----
#smem = #ttg.shared_memory
// expected-error @+1 {{-4 elements of padding after 64}}
tt.func private @g11(!ttg.memdesc<8x8xf16, #ttg.padded_shared<[64:+-4] {order = [1, 0], shape = [8, 8]}>, #smem>)
// -----
// expected-error @+1 {{unknown `colour`}}
tt.func private @unknown_key(tensor<8xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [1], order = [0], colour = 1}>>)
// -----
// expected-error @+1 {{`CGALayout` is of clusters of blocks, which are not compiled: give `num_ctas` 1}}
tt.func private @clusters(tensor<8xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [1], order = [0], CGALayout = [[1]]}>>)
// -----
// expected-error @+1 {{the number 3 of a basis is neither 0 nor a power of two below 1048576}}
tt.func private @g10_number(tensor<4xf16, #ttg.linear<{register = [[3]], lane = [], warp = [], block = []}>>)
// -----
// expected-error @+1 {{the number -1 of a basis is not from 0 to 1048575}}
tt.func private @generic_number(tensor<4xf16, #ttg.generic_linear<{register = [[-1]], lane = [], warp = [], block = []}>>)
// -----
// expected-error @+1 {{a number of registers, lanes or warps has 21 bits: it has at most 20}}
tt.func private @g10_bits(tensor<4xf16, #ttg.generic_linear<{register = [[0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0]], lane = [], warp = [], block = []}>>)
