// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matmul of examples/gemm_async_double.py in C++: layouts, two rings of shared memory, and copies straight to them
// one iteration ahead, for gfx950.
#include "examples/builder/Kernels.h"
#include "frontend/build/Block.h"

using namespace heddle::build;

template <int64_t M, int64_t N, int64_t K>
static Program matmul() {
  MfmaLayout results{.version = 4, .instruction = {16, 16, 32}, .transposed = true, .warpsPerBlock = {2, 2}};
  DotOperandLayout operandA{0, results, 8}, operandB{1, results, 8};
  BlockedLayout copyA{.sizePerThread = {1, 8}, .threadsPerWarp = {8, 8}, .warpsPerBlock = {4, 1}, .order = {1, 0}};
  BlockedLayout copyB{.sizePerThread = {1, 8}, .threadsPerWarp = {4, 16}, .warpsPerBlock = {4, 1}, .order = {1, 0}};
  PaddedSharedLayout sharedA{.padding = {{512, 16}}, .shape = {M, K}, .order = {1, 0}};
  SwizzledSharedLayout sharedB{.vec = 8, .perPhase = 1, .maxPhase = 4, .order = {1, 0}};

  auto kernel = [&](Pointer<f16> a, Pointer<f16> b, Pointer<f16> c, Scalar<i32> rows, Scalar<i32> columns,
                    Scalar<i32> inner) {
    auto am = column(programId(0) * M + range<M>(SliceLayout{1, copyA}));
    auto ak = row(range<K>(SliceLayout{0, copyA}));
    auto bk = column(range<K>(SliceLayout{1, copyB}));
    auto bn = row(programId(1) * N + range<N>(SliceLayout{0, copyB}));
    // The arguments are multiples of 8, so that a lane's 8 elements are inside or outside together.
    auto offsetsA = am * inner + ak;
    auto offsetsB = bk * columns + bn;
    auto tilesA = allocateShared<f16, 2, M, K>(sharedA);
    auto tilesB = allocateShared<f16, 2, K, N>(sharedB);

    auto copy = [&](Scalar<i32> step) {
      auto left = inner - step * K;
      bufferLoadToShared(tilesA.index(step % 2), a + step * K, offsetsA, am < rows && ak < left);
      bufferLoadToShared(tilesB.index(step % 2), b + step * K * columns, offsetsB, bk < left && bn < columns);
      asyncCommit();
    };
    auto multiply = [&](Scalar<i32> step, auto sum) {
      auto x = tilesA.index(step % 2).loadRelaxed(operandA);
      auto y = tilesB.index(step % 2).loadRelaxed(operandB);
      return mfma(x, y, sum);
    };

    auto last = ceilDivide(inner, K) - 1;
    copy(full<i32>(0));
    auto sum = forRange(0, last, 1, zeros<f32, M, N>(results), [&](Scalar<i32> k, auto sum) {
      copy(k + 1);
      asyncWait(1);
      return multiply(k, sum);
    });
    asyncWait(0);
    sum = multiply(last, sum);

    auto cm = column(programId(0) * M + range<M>(SliceLayout{1, results}));
    auto cn = row(programId(1) * N + range<N>(SliceLayout{0, results}));
    bufferStore(c, cm * columns + cn, cast<f16>(sum), cm < rows && cn < columns);
  };
  return blockKernel(
      "matmul_async", {.chip = "gfx950", .warps = 4},
      {aligned("a"), aligned("b"), aligned("c"), "M", Argument("N").divisibleBy(16), Argument("K").divisibleBy(16)},
      kernel);
}

Program heddle::examples::matmulAsync() {
  return matmul<64, 128, 64>();
}
