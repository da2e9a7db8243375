// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The TTGIR that blockKernel() emits, and the faults that show when such a kernel is built. What the functions compute
// is tested in tests/builder.
#include "frontend/build/Block.h"
#include "support/TestError.h"

using namespace heddle;
using namespace heddle::build;

static const BlockedLayout line{{4}, {64}, {4}, {0}};
static const BlockedLayout tile{{1, 8}, {8, 8}, {4, 1}, {1, 0}};
static const BlockedLayout other{{1, 4}, {4, 16}, {4, 1}, {1, 0}};
static const MfmaLayout results{4, {16, 16, 32}, true, {2, 2}};
static const SwizzledSharedLayout swizzled{8, 1, 8, {1, 0}};

template <class F>
static std::string textOf(F body) {
  return blockKernel("k", {.chip = "gfx950", .warps = 4}, {"x", "n"}, body).text(false);
}
template <class F>
static std::string faultOf(F body) {
  std::string message = messageOf([&] { textOf(body); });
  EXPECT_CONTAINS(message, "BlockTest.cpp:");
  return message;
}

static Tile<i32, 64, 64> square(const Layout &layout) {
  return column(range<64>(SliceLayout{1, layout})) * 64 + row(range<64>(SliceLayout{0, layout}));
}

//===-- Text -----------------------------------------------------------------------------------------------------===//

TEST(BlockText, module_and_layouts) {
  std::string text = textOf([](Pointer<f32> x, Scalar<i32> n) {
    auto i = range<1024>(line);
    store(x + i, load(x + i, i < n) * 2, i < n);
  });
  EXPECT_EQ(text,
            R"(#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
    %cst = arith.constant dense<2.000000e+00> : tensor<1024xf32, #blocked>
    %0 = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %2 = tt.addptr %1, %0 : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %3 = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %4 = arith.cmpi slt, %0, %3 : tensor<1024xi32, #blocked>
    %5 = tt.load %2, %4 : tensor<1024x!tt.ptr<f32>, #blocked>
    %6 = arith.mulf %5, %cst : tensor<1024xf32, #blocked>
    tt.store %2, %6, %4 : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
)");
}

TEST(BlockText, kinds_of_layouts) {
  std::string text = textOf([](Pointer<f16> x, Scalar<i32>) {
    MfmaLayout wide{3, {32, 32, 8}, false, {4, 1}, {1, 2}};
    auto a = allocateShared<f16, 64, 64>(swizzled);
    auto b = allocateShared<f16, 64, 64>(PaddedSharedLayout{{{256, 8}, {1024, 16}}, {64, 64}, {1, 0}});
    auto c = allocateShared<i8, 2, 4>(SharedLinearLayout{{{0, 1}, {1, 0}, {0, 2}}});
    b.store(a.load(wide));
    a.store(b.load(DotOperandLayout{1, wide, 4}));
    c.store(
        zeros<i8, 2, 4>(LinearLayout{{{0, 1}}, {{1, 0}, {0, 2}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}));
    (void)x;
  });
  for (const char *part : {
           "#ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [32, 32, 8], isTransposed = false, "
           "tilesPerWarp = [1, 2]}>",
           "#ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>",
           "#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [0, 2], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], "
           "[0, 0]], block = []}>",
           "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
           "#ttg.padded_shared<[256:+8, 1024:+16] {order = [1, 0], shape = [64, 64]}>",
           "#ttg.shared_linear<{offset = [[0, 1], [1, 0], [0, 2]]}, alignment = 16>",
       })
    EXPECT_CONTAINS(text, part);
}

TEST(BlockText, memory_objects_and_views) {
  std::string text = textOf([](Pointer<f16> x, Scalar<i32> n) {
    auto ring = allocateShared<f16, 3, 64, 64>(swizzled);
    auto slot = ring.index(n % 3);
    auto part = slot.slice<64, 32>({0, 32});
    part.reinterpret<f16, 32, 64>(swizzled).store(zeros<f16, 32, 64>(tile));
    slot.store(slot.trans().loadRelaxed(tile));
    store(x + square(tile), allocateShared(slot.load(tile), swizzled).load(tile));
    slot.deallocate();
  });
  for (const char *part : {
           "ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>",
           "[%1] : !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, "
           "mutable>",
           "[0, 32] : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, "
           "mutable, 64x64>",
           "{order = array<i32: 1, 0>} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, "
           "#shared1, #smem, mutable>",
           "order = [0, 1]}>",
           "{ttg.amdg.syncedViaAsyncWait = true}",
           "ttg.memdesc_reinterpret",
           "ttg.local_alloc %",
           "ttg.local_dealloc",
       })
    EXPECT_CONTAINS(text, part);
}

TEST(BlockText, copies_and_buffers) {
  std::string text = textOf([](Pointer<i32> x, Scalar<i32> n) {
    auto memory = allocateShared<i32, 64, 64>(swizzled);
    auto offsets = square(tile);
    bufferLoadToShared(memory, x, offsets, offsets < n, 7, Cache::Global);
    asyncCommit();
    globalLoadToShared(memory, x + offsets, offsets < n, 0, {.cache = Cache::Streaming, .isVolatile = true});
    asyncCommit();
    asyncWait(1);
    auto v = bufferLoad(x, offsets, offsets < n, 1, Cache::Volatile);
    bufferStore(x, offsets, v + bufferAtomicAdd(x, offsets, v, offsets < n, Order::Relaxed), true, Cache::Streaming);
    bufferAtomicCompareAndSwap(x, offsets, 0, v, Order::Acquire, Scope::Program);
  });
  for (const char *part : {
           "other = %cst_2 cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal> into %",
           "ttg.async_commit_group",
           "ttg.async_copy_global_to_local",
           "{cachePolicy = #tt.cache_policy<cache_modifier = cs, eviction_policy = evict_normal>, isVolatile = true}",
           "ttg.async_wait {num = 1 : i32}",
           "{cachePolicy = #tt.cache_policy<cache_modifier = cv, eviction_policy = evict_normal>} : !tt.ptr<i32> -> "
           "tensor<64x64xi32, #blocked>",
           "amdg.buffer_atomic_rmw add, relaxed, gpu, %",
           "amdg.buffer_store %",
           "amdg.buffer_atomic_cas acquire, cta, %",
       })
    EXPECT_CONTAINS(text, part);
}

TEST(BlockText, matmuls_and_schedules) {
  std::string text = textOf([](Pointer<f16> x, Scalar<i32> n) {
    auto memory = allocateShared<f16, 64, 64>(swizzled);
    auto bytes = allocateShared<i8, 64, 64>(swizzled);
    forRange(0, n, 1, zeros<f32, 64, 64>(results), [&](Scalar<i32>, auto sum) {
      auto a = memory.load(DotOperandLayout{0, results, 8}), b = memory.load(DotOperandLayout{1, results, 8});
      scheduleBarrier();
      scheduleBarrier("valu|ds_read");
      setPriority(3);
      sum = mfma(a, b, sum);
      stageBorder("products", 1);
      auto packed = bytes.load(DotOperandLayout{0, results, 16});
      debugBarrier();
      return mfmaScaled(packed, zeros<i8, 64, 2>(tile), ScaledFormat::E4M3, trans(convert(packed, tile)), Absent(),
                        ScaledFormat::E5M2, sum);
    });
    store(x + warpId(), 0);
  });
  for (const char *part : {
           "rocdl.sched.barrier none\n",
           "rocdl.sched.barrier valu|ds_read\n",
           "rocdl.s.setprio 3",
           "rocdl.sched.barrier none {triton.warp_pipeline.border = \"products\", triton.warp_pipeline.priority = 1 : "
           "i32}",
           "ttg.barrier all",
           "tt.dot %",
           "lhs = e4m3 rhs = e5m2 {fastMath = false}",
           "ttg.warp_id",
       })
    EXPECT_CONTAINS(text, part);
  EXPECT_EQ(text.find("inputPrecision"), std::string::npos);
}

// As in Gluon: what has no layout gets that of the tile that it is used with.
TEST(BlockText, open_tiles_take_the_layout_of_their_use) {
  std::string text = textOf([](Pointer<i32> x, Scalar<i32> n) {
    auto i = range<1024>(line);
    auto open = range<1024>() + 1;
    store(x + i, select(i < n, open, full<i32, 1024>(n)) + maximum(range<1024>(), i));
  });
  EXPECT_CONTAINS(text,
                  "gluon.set_auto_layout %2 : tensor<1024xi32, #gluon.auto_encoding> -> tensor<1024xi32, #blocked>");
  EXPECT_CONTAINS(text, "tt.splat %n : i32 -> tensor<1024xi32, #blocked>");
  EXPECT_CONTAINS(text, "arith.maxsi %0, %0 : tensor<1024xi32, #blocked>");
}

TEST(BlockText, shapes_change_layouts) {
  std::string text = textOf([](Pointer<i32> x, Scalar<i32>) {
    auto s = square(tile);
    auto sums = sum(s, axis<0>());
    store(x + trans(square(tile)), trans(s));
    store(x + range<64>(), sums);
  });
  EXPECT_CONTAINS(text, "-> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>");
  EXPECT_CONTAINS(text, "sizePerThread = [8, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 4], order = [0, 1]}>");
}

TEST(BlockText, kernels_without_a_block_have_no_layouts) {
  std::string text = kernel("k", {"x"}, [](Pointer<i32> x) { store(x + range<64>(), 1); }).text(false);
  EXPECT_EQ(text.find("#"), std::string::npos) << text;
  EXPECT_EQ(text.find("ttg"), std::string::npos) << text;
}

//===-- Faults ---------------------------------------------------------------------------------------------------===//

TEST(BlockFaults, operands_of_different_layouts) {
  int expected = 0;
  Error error = errorOf([&] {
    textOf([&](Pointer<i32> x, Scalar<i32>) {
      auto a = square(tile), b = square(other);
      expected = __LINE__ + 1;
      store(x + a, a + b);
    });
  });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "BlockTest.cpp:" + std::to_string(expected) + ":");
  EXPECT_CONTAINS(
      error.what(),
      "the operands have different layouts: `#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], "
      "warpsPerCTA = [4, 1], order = [1, 0]}>` and `#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = "
      "[4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>`");
  ASSERT_EQ(error.notes.size(), 1u);
  EXPECT_CONTAINS(error.notes[0], "convert(x, layout)");
  // and with the conversion it is none
  EXPECT_CONTAINS(textOf([](Pointer<i32> x, Scalar<i32>) { store(x + square(tile), convert(square(other), tile)); }),
                  "ttg.convert_layout");
}

// Each function whose operands are used together.
TEST(BlockFaults, all_kinds_of_operands) {
  const char *message = "the operands have different layouts";
  auto with = [&](auto function) {
    EXPECT_CONTAINS(faultOf([&](Pointer<f32> x, Scalar<i32> n) {
                      auto a = square(tile), b = square(other);
                      auto p = cast<f32>(a), q = cast<f32>(b);
                      function(x, a, b, p, q);
                      (void)n;
                    }),
                    message);
  };
  with([](auto, auto a, auto b, auto, auto) { (void)(a < b); });
  with([](auto, auto a, auto b, auto p, auto) { select(b < 1, p, p), (void)a; });
  with([](auto, auto, auto, auto p, auto q) { fusedMultiplyAdd(p, p, q); });
  with([](auto, auto, auto, auto p, auto q) { clamp(p, 0, q); });
  with([](auto x, auto a, auto b, auto, auto) { load(x + a, b < 1); });
  with([](auto x, auto a, auto, auto, auto q) { store(x + a, q); });
  with([](auto x, auto a, auto, auto, auto q) { atomicAdd(x + a, q); });
  with([](auto x, auto a, auto, auto p, auto q) { atomicCompareAndSwap(x + a, p, q); });
  with([](auto x, auto a, auto b, auto, auto) { x + a + b; });
  with([](auto x, auto a, auto b, auto, auto) { bufferLoad(x, a, b < 1); });
  with([](auto x, auto a, auto, auto, auto q) { bufferStore(x, a, q); });
  with([](auto x, auto a, auto, auto, auto q) { bufferAtomicAdd(x, a, q); });
  with([](auto x, auto a, auto, auto p, auto q) { bufferAtomicCompareAndSwap(x, a, p, q); });
  with([](auto x, auto a, auto b, auto, auto) {
    bufferLoadToShared(allocateShared<f32, 64, 64>(swizzled), x, a, b < 1);
  });
  with([](auto x, auto a, auto b, auto, auto) {
    globalLoadToShared(allocateShared<f32, 64, 64>(swizzled), x + a, b < 1);
  });
  with([](auto, auto a, auto, auto, auto q) { allocateShared<f32, 64, 64>(swizzled).scatter(a, q, axis<0>()); });
  with([](auto, auto, auto, auto p, auto q) {
    reduce(carry(p, q), axis<0>(), [](auto a, auto b, auto c, auto d) { return carry(a + c, b + d); });
  });
}

TEST(BlockFaults, carried_layouts) {
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32> n) {
                    forRange(0, n, 1, square(tile), [](Scalar<i32>, auto) { return square(other); });
                  }),
                  "value 0 has the layout `#ttg.blocked<{sizePerThread = [1, 8]");
  EXPECT_CONTAINS(
      faultOf([](Pointer<i32>, Scalar<i32> n) {
        forRange(0, n, 1, carry(n, zeros<i32, 64, 64>()),
                 [](Scalar<i32>, auto m, auto sum) { return carry(m, sum + square(other)); });
      }),
      "value 1 has the layout `#gluon.auto_encoding` at first, and then `#ttg.blocked<{sizePerThread = [1, 4]");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32> n) {
                    when(n < 0, [] { return square(tile); }, [] { return square(other); });
                  }),
                  "give the first one the layout, as in zeros<f32, 64, 64>(layout)");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32> n) {
                    whileLoop(
                        carry(n, square(tile)), [](auto m, auto) { return m > 0; },
                        [](auto m, auto) { return carry(m - 1, square(other)); });
                  }),
                  "value 1 has the layout");
}

TEST(BlockFaults, layouts_of_shapes) {
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { column(range<64>(SliceLayout{0, tile})); }),
                  "a dimension is inserted at axis 1 of a tile in `#ttg.slice<{dim = 0, parent = #ttg.blocked<{");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { column(range<64>(line)); }),
                  "give the tile the layout SliceLayout{1, L}, where L is the layout of the result");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { range<64>(tile); }), "a layout of 2 axes for a tile of 1");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) {
                    allocateShared<f16, 64, 64>(swizzled).load(BlockedLayout{{1}, {64}, {4}, {0}});
                  }),
                  "a layout of 1 axes for a memory object of 2");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { trans(square(results)); }),
                  "convert it to a BlockedLayout or a LinearLayout before");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { sum(square(tile)); }),
                  "reshape, or a reduction over all elements of several dimensions, is in a blockKernel()");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { join(range<64>(), range<64>()); }),
                  "join is in a blockKernel(), where its result has no layout that follows from its operands");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { split(zeros<i32, 64, 2>()); }),
                  "split is in a blockKernel()");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { concatenate(range<64>(), range<64>()); }),
                  "concatenate is in a blockKernel()");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { histogram<8>(range<64>()); }),
                  "histogram is in a blockKernel()");
}

TEST(BlockFaults, rules_of_layouts) {
  auto allocate = [](SharedLayout layout) {
    return faultOf([=](Pointer<i32>, Scalar<i32>) { allocateShared<f16, 64, 64>(layout); });
  };
  auto ranges = [](Layout layout) { return faultOf([=](Pointer<i32>, Scalar<i32>) { range<64>(layout); }); };
  EXPECT_CONTAINS(ranges(BlockedLayout{{3}, {64}, {4}, {0}}), "sizePerThread");
  EXPECT_CONTAINS(ranges(BlockedLayout{{1, 1}, {64}, {4}, {0}}), "`sizePerThread` is of 2 axes, `threadsPerWarp` of 1");
  EXPECT_CONTAINS(ranges(SliceLayout{2, tile}), "slice dim 2 of a layout of 2 axes");
  EXPECT_CONTAINS(ranges(DotOperandLayout{2, results, 8}), "opIdx is 2, not 0 or 1");
  EXPECT_CONTAINS(ranges(MfmaLayout{5, {16, 16, 32}, true, {2, 2}}), "version 5 of matrix instructions");
  EXPECT_CONTAINS(ranges(LinearLayout{{{0, 1}}, {{1}}, {}}), "a layout has bases of 2 and of 1 coordinates");
  EXPECT_CONTAINS(allocate(PaddedSharedLayout{{{512, 16}}, {32, 64}, {1, 0}}),
                  "padding for 32x64 in a memory object of 64x64");
  EXPECT_CONTAINS(allocate(SwizzledSharedLayout{8, 3, 4, {1, 0}}), "perPhase");
  EXPECT_CONTAINS(allocate(SharedLinearLayout{{{1}}, 3}), "alignment");
}

TEST(BlockFaults, memory_objects) {
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { allocateShared<f16, 64, 64>(swizzled).index(0); }),
                  "a memory object whose layout is of all its dimensions has no slots");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { allocateShared<f16, 2, 64, 64>(swizzled).trans<0, 2, 1>(); }),
                  "a ring cannot be transposed");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) {
                    auto part = allocateShared<f16, 64, 64>(swizzled).slice<32, 64>({16, 0});
                    part.store(part.load(tile));
                  }),
                  "'ttg.memdesc_subslice' op");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { asyncWait(-1); }), "asyncWait leaves -1 groups in flight");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { stageBorder("a", 4); }), "priorities are 0 to 3");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { setPriority(-1); }),
                  "waves of priority -1\npriorities are 0 to 3");
  EXPECT_CONTAINS(faultOf([](Pointer<i32>, Scalar<i32>) { scheduleBarrier("mfma"); }),
                  "scheduleBarrier lets `mfma` pass, which is no kind of instructions");
  for (const char *kinds : {"", "valu|", "|valu", "4096"})
    EXPECT_CONTAINS(faultOf([&](Pointer<i32>, Scalar<i32>) { scheduleBarrier(kinds); }), "is no kind of instructions");
}

TEST(BlockFaults, layouts_without_a_block) {
  auto fault = [](auto function) {
    return messageOf([&] { kernel("k", {"x"}, [&](Pointer<i32> x) { function(x); }); });
  };
  EXPECT_CONTAINS(fault([](auto) { range<64>(line); }), "a layout is in a kernel(), whose tiles have no layouts");
  EXPECT_CONTAINS(fault([](auto) { allocateShared<i32, 64, 64>(swizzled); }),
                  "use blockKernel(), whose tiles have layouts");
  EXPECT_CONTAINS(fault([](auto) { asyncCommit(); }), "asyncCommit is in a kernel()");
  EXPECT_CONTAINS(fault([](auto) { asyncWait(0); }), "asyncWait is in a kernel()");
  EXPECT_CONTAINS(fault([](auto x) { bufferLoad(x, range<64>()); }), "bufferLoad is in a kernel()");
  EXPECT_CONTAINS(fault([](auto x) { bufferStore(x, range<64>(), 1); }), "bufferStore is in a kernel()");
  EXPECT_CONTAINS(fault([](auto x) { bufferAtomicOr(x, range<64>(), 1); }), "a buffer atomic is in a kernel()");
  EXPECT_CONTAINS(fault([](auto) { scheduleBarrier(); }), "scheduleBarrier is in a kernel()");
  EXPECT_CONTAINS(fault([](auto) { setPriority(1); }), "setPriority is in a kernel()");
  EXPECT_CONTAINS(fault([](auto) { warpId(); }), "warpId is in a kernel()");
}

TEST(BlockFaults, warps) {
  for (int warps : {0, 3, 32})
    EXPECT_CONTAINS(messageOf([&] { blockKernel("k", {.chip = "gfx942", .warps = warps}, {"n"}, [](Scalar<i32>) {}); }),
                    "a block of " + std::to_string(warps) + " warps");
}
