// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the functions of blockKernel() compute: small kernels on the simulated gfx942 and gfx950, against numbers
// computed by hand.
#include "frontend/build/Block.h"
#include "tests/executors/Executor.h"
#include "tests/reference/TestSupport.h"
#include <algorithm>
#include <numeric>

namespace heddle::build_test {
using namespace heddle::build;
using heddle::reference::bufferOf;
using heddle::reference::scalarI32;
using heddle::reference::valuesOf;

namespace {

class OnChip : public testing::TestWithParam<const char *> {
protected:
  /// Runs a kernel of `x` and of `out`, which has as many elements, and returns what it left in `out`.
  template <class F>
  std::vector<int32_t> run(std::vector<int32_t> x, F body, int warps = 4) {
    std::vector<reference::Argument> arguments{bufferOf(x), bufferOf(std::vector<int32_t>(x.size()))};
    std::string text =
        blockKernel("k", {.chip = GetParam(), .warps = warps}, {aligned("x"), aligned("out")}, body).text();
    executors::makeExecutor(std::string("sim:") + GetParam())->run(text, {}, arguments);
    return valuesOf<int32_t>(arguments[1]);
  }
  bool isGfx950() const { return std::string(GetParam()) == "gfx950"; }
};
INSTANTIATE_TEST_SUITE_P(Chips, OnChip, testing::Values("gfx942", "gfx950"),
                         [](const auto &info) { return std::string(info.param); });

/// What gfx942 has no instructions for.
class OnGfx950 : public OnChip {};
INSTANTIATE_TEST_SUITE_P(Chips, OnGfx950, testing::Values("gfx950"),
                         [](const auto &info) { return std::string(info.param); });

using I = std::vector<int32_t>;

const BlockedLayout line{{1}, {64}, {4}, {0}};
const BlockedLayout square{{1, 4}, {4, 16}, {4, 1}, {1, 0}};
const SwizzledSharedLayout plain{1, 1, 1, {0}};
const SwizzledSharedLayout swizzled{4, 1, 8, {1, 0}};

/// 0, 1, 2, ...
I numbers(size_t count) {
  I values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// Offsets of a tile of `rows` x `columns`, row-major.
template <int64_t rows, int64_t columns>
Tile<i32, rows, columns> offsetsIn(const Layout &layout) {
  return column(range<rows>(SliceLayout{1, layout})) * int32_t(columns) + row(range<columns>(SliceLayout{0, layout}));
}

I map(const I &values, int32_t (*function)(int32_t)) {
  I result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), function);
  return result;
}

} // namespace

TEST_P(OnChip, open_tiles_and_conversions) {
  auto out = run(numbers(256), [](Pointer<i32> x, Pointer<i32> out) {
    auto i = range<256>(line);
    auto open = range<256>() * 2;
    BlockedLayout wide{{2}, {64}, {4}, {0}};
    store(out + range<256>(wide), convert(load(x + i), wide) + open);
  });
  EXPECT_EQ(out, map(numbers(256), [](int32_t i) { return 3 * i; }));
}

TEST_P(OnChip, stores_transposes_and_slices_of_shared_memory) {
  auto out = run(numbers(64 * 64), [](Pointer<i32> x, Pointer<i32> out) {
    auto at = offsetsIn<64, 64>(square);
    auto memory = allocateShared(load(x + at), swizzled);
    auto half = memory.trans().slice<32, 64>({32, 0});
    auto parts = offsetsIn<32, 64>(square);
    bufferStore(out, parts, half.load(square));
    bufferStore(out, parts + 32 * 64, memory.slice<32, 64>({0, 0}).load(square));
  });
  for (int r = 0; r < 32; ++r)
    for (int c = 0; c < 64; ++c) {
      ASSERT_EQ(out[size_t(r * 64 + c)], c * 64 + r + 32);
      ASSERT_EQ(out[size_t((r + 32) * 64 + c)], r * 64 + c);
    }
}

TEST_P(OnChip, transposed_tiles) {
  auto out = run(numbers(32 * 64), [](Pointer<i32> x, Pointer<i32> out) {
    auto transposed = trans(load(x + offsetsIn<32, 64>(square)));
    store(out + offsetsIn<64, 32>(BlockedLayout{{4, 1}, {16, 4}, {1, 4}, {0, 1}}), transposed);
    static_assert(std::is_same_v<decltype(transposed), Tile<i32, 64, 32>>);
  });
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 32; ++c)
      ASSERT_EQ(out[size_t(r * 32 + c)], c * 64 + r);
}

TEST_P(OnChip, gather_and_scatter_in_shared_memory) {
  auto out = run(numbers(256), [](Pointer<i32> x, Pointer<i32> out) {
    auto i = range<256>(line);
    auto memory = allocateShared<i32, 256>(plain);
    memory.scatter(255 - i, load(x + i) * 10, axis<0>());
    store(out + i, memory.gather(i ^ 1, axis<0>()));
  });
  EXPECT_EQ(out, map(numbers(256), [](int32_t i) { return (255 - (i ^ 1)) * 10; }));
}

// Three slots, one copy ahead of what is read.
TEST_P(OnChip, copies_through_a_ring) {
  auto out = run(numbers(1024), [](Pointer<i32> x, Pointer<i32> out) {
    auto i = range<256>(line);
    auto ring = allocateShared<i32, 3, 256>(plain);
    bufferLoadToShared(ring.index(0), x, i);
    asyncCommit();
    forRange(0, 3, 1, [&](Scalar<i32> k) {
      bufferLoadToShared(ring.index((k + 1) % 3), x + (k + 1) * 256, i, i < 100);
      asyncCommit();
      asyncWait(1);
      bufferStore(out + k * 256, i, ring.index(k % 3).loadRelaxed(line));
    });
    asyncWait(0);
    bufferStore(out + 768, i, ring.index(0).loadRelaxed(line));
  });
  // masked elements of a copy by a buffer are zero
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(out[size_t(i)], i < 256 || i % 256 < 100 ? i : 0) << i;
}

TEST_P(OnChip, copies_by_pointers_keep_what_is_masked) {
  auto out = run(numbers(256), [](Pointer<i32> x, Pointer<i32> out) {
    auto i = range<256>(line);
    auto memory = allocateShared(full<i32, 256>(-1, line), plain);
    globalLoadToShared(memory, x + i, i < 128);
    asyncCommit();
    asyncWait(0);
    store(out + i, memory.load(line));
  });
  EXPECT_EQ(out, map(numbers(256), [](int32_t i) { return i < 128 ? i : -1; }));
}

TEST_P(OnChip, buffer_loads_and_stores) {
  auto out = run(numbers(256), [](Pointer<i32> x, Pointer<i32> out) {
    auto i = range<256>(line);
    auto v = bufferLoad(x, i, i < 64) + bufferLoad(x, i, i < 128, 1000, Cache::Streaming);
    bufferStore(out, i, v, i != 5);
  });
  I expected = map(numbers(256), [](int32_t i) { return i < 64 ? 2 * i : i < 128 ? i : 1000; });
  expected[5] = 0;
  EXPECT_EQ(out, expected);
}

TEST_P(OnChip, buffer_atomics) {
  auto out = run(numbers(256), [](Pointer<i32> x, Pointer<i32> out) {
    auto i = range<256>(line);
    auto old = bufferAtomicAdd(x, i, 100, i < 200);
    bufferAtomicMax(x, i, 150);
    bufferAtomicMin(x, i, 290);
    bufferAtomicOr(x, i, 1024);
    bufferAtomicAnd(x, i, 4095);
    bufferAtomicXor(x, i, 2048);
    auto last = bufferAtomicExchange(x, i, 7);
    auto swapped = bufferAtomicCompareAndSwap(x, i, 7, 8);
    bufferStore(out, i, select(i < 200, old, 0) + last * 1000 + swapped * 10 + bufferLoad(x, i));
  });
  for (int i = 0; i < 256; ++i) {
    int old = i < 200 ? i : 0, value = i < 200 ? i + 100 : i;
    value = std::min(std::max(value, 150), 290) | 1024;
    value = (value & 4095) ^ 2048;
    ASSERT_EQ(out[size_t(i)], old + value * 1000 + 7 * 10 + 8) << i;
  }
}

TEST_P(OnChip, reductions_and_warps) {
  auto out = run(numbers(64 * 64), [](Pointer<i32> x, Pointer<i32> out) {
    auto v = load(x + offsetsIn<64, 64>(square));
    auto sums = sum(v, axis<1>());
    store(out + range<64>(), sums);
    auto first = range<64>(SliceLayout{1, square});
    store(out + 64 + first, max(v, axis<1>()) - argmax(v, axis<1>()));
    when(warpId() == 0, [&] { store(out + 128 + full<i32>(0), 9); });
  });
  for (int r = 0; r < 64; ++r) {
    ASSERT_EQ(out[size_t(r)], r * 64 * 64 + 63 * 32);
    ASSERT_EQ(out[size_t(64 + r)], r * 64);
  }
  EXPECT_EQ(out[128], 9);
}

TEST_P(OnChip, matmuls) {
  MfmaLayout results{isGfx950() ? 4 : 3, {16, 16, isGfx950() ? 32 : 16}, true, {2, 2}};
  int kWidth = isGfx950() ? 8 : 4;
  auto out = run(numbers(64 * 64), [&](Pointer<i32> x, Pointer<i32> out) {
    auto v = cast<f16>(load(x + offsetsIn<64, 64>(square)) & 7);
    auto memory = allocateShared(v, swizzled);
    auto a = memory.load(DotOperandLayout{0, results, kWidth});
    auto b = memory.trans().load(DotOperandLayout{1, results, kWidth});
    scheduleBarrier();
    bufferStore(out, offsetsIn<64, 64>(results), cast<i32>(mfma(a, b, full<f32, 64, 64>(1))));
  });
  // each row is 0 ... 7 eight times
  EXPECT_EQ(out, I(64 * 64, 8 * 140 + 1));
}

TEST_P(OnGfx950, matmuls_with_scales) {
  MfmaLayout results{4, {16, 16, 128}, true, {2, 2}};
  auto out = run(numbers(64 * 128), [&](Pointer<i32> x, Pointer<i32> out) {
    auto v = cast<f8E4M3FN>(cast<f32>(load(x + offsetsIn<64, 128>(square)) & 3));
    auto memory = allocateShared(v, swizzled);
    auto a = memory.load(DotOperandLayout{0, results, 16});
    auto b = memory.trans().load(DotOperandLayout{1, results, 16});
    auto scale = full<i8, 64, 4>(128, square); // 2
    bufferStore(out, offsetsIn<64, 64>(results),
                cast<i32>(mfmaScaled(a, scale, ScaledFormat::E4M3, b, Absent(), ScaledFormat::E4M3,
                                     zeros<f32, 64, 64>(results))));
  });
  out.resize(64 * 64);
  EXPECT_EQ(out, I(64 * 64, 2 * 32 * (1 + 4 + 9)));
}

TEST_P(OnChip, stages_of_a_pipeline) {
  auto body = [](Pointer<i32> x, Pointer<i32> out) {
    BlockedLayout eightWarps{{1}, {64}, {8}, {0}};
    auto i = range<256>(eightWarps);
    auto total = forRange(0, 4, 1, zeros<i32, 256>(eightWarps), [&](Scalar<i32> k, auto total) {
      auto v = bufferLoad(x + k * 256, i);
      stageBorder("memory", 1);
      total = total + v * v;
      stageBorder("arithmetic", 0);
      return total;
    });
    bufferStore(out, i, total);
  };
  auto out = run(numbers(1024), body, /*warps=*/8);
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(out[size_t(i)], i * i + (i + 256) * (i + 256) + (i + 512) * (i + 512) + (i + 768) * (i + 768));
}

// What only the compiler finds names the line of C++ too.
TEST_P(OnChip, a_layout_of_other_warps) {
  int expected = 0;
  std::string message = reference::errorOf([&] {
    run(numbers(256), [&](Pointer<i32> x, Pointer<i32> out) {
      expected = __LINE__ + 1;
      auto i = range<256>(BlockedLayout{{1}, {64}, {2}, {0}});
      store(out + i, load(x + i));
    });
  });
  EXPECT_NE(message.find("BlockTest.cpp:" + std::to_string(expected) + ":"), std::string::npos) << message;
  EXPECT_NE(message.find("is of 2 warps of 64 threads, the module of 4 of 64"), std::string::npos) << message;
}

} // namespace heddle::build_test
