// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk tensor copies: what they move, where the swizzle puts it, and what is found where a wait, an order or a number
// of bytes is wrong.
#include "support/TestError.h"
#include "tests/thread_interpreter/TestKernel.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace heddle;
using namespace heddle::threads;

namespace {

const char *operations = R"(
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d(ptr addrspace(3), ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.3d(ptr addrspace(3), ptr addrspace(3), ptr, i32, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.tensor.reduce.add.tile.2d(ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.tensor.reduce.max.tile.2d(ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.tensor.reduce.xor.tile.2d(ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.bulk.wait.group(i32)
declare void @llvm.nvvm.cp.async.bulk.wait.group.read(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.fence.mbarrier_init.release.cluster()
declare void @llvm.nvvm.bar.warp.sync(i32)
define internal void @wait(ptr addrspace(3) %object, i32 %parity) {
  br label %poll
poll:
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) %object, i32 %parity)
  br i1 %done, label %end, label %poll
end:
  ret void
}
)";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// A tensor without gaps; sizes and box innermost first.
template <class T>
TensorMap mapOf(std::vector<T> &values, TensorElement element, std::vector<uint32_t> sizes, std::vector<uint16_t> box,
                uint8_t swizzle = 0) {
  TensorMap map;
  map.address = reinterpret_cast<uint64_t>(values.data());
  map.element = element;
  map.rank = uint8_t(sizes.size());
  map.swizzle = swizzle;
  uint64_t stride = sizeof(T);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    map.strideBytes[axis] = stride;
    stride *= map.sizes[axis] = sizes[axis];
    map.box[axis] = box[axis];
  }
  return map;
}

/// Numbers at an address that a tensor may have.
template <class T>
class Tensor {
public:
  explicit Tensor(size_t count, T first = 0) : memory(count + 16 / sizeof(T)), size(count) {
    std::iota(data(), data() + count, first);
  }
  T *data() { return memory.data() + (-reinterpret_cast<uint64_t>(memory.data()) & 15) / sizeof(T); }
  T &operator[](size_t i) { return data()[i]; }
  TensorMap map(TensorElement element, std::vector<uint32_t> sizes, std::vector<uint16_t> box, uint8_t swizzle = 0) {
    TensorMap map = mapOf(memory, element, std::move(sizes), std::move(box), swizzle);
    map.address = reinterpret_cast<uint64_t>(data());
    return map;
  }
  void addTo(TestKernel &kernel, const char *name) { kernel.interpreter->addMemory(data(), size * sizeof(T), name); }

private:
  std::vector<T> memory;
  size_t size;
};

//===-- Loads ----------------------------------------------------------------------------------------------------===//

// One thread copies 4096 bytes; 64 threads wait, and each gives 64 of them as they lie in shared memory.
const char *load = R"(
@full = internal addrspace(3) global i64 undef, align 8
@tile = internal addrspace(3) global [4096 x i8] undef, align 1024
define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %x, i32 %y, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %tid, 64
  %mine = getelementptr i8, ptr addrspace(3) @tile, i32 %first
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %begun
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()
  br label %begun
begun:
  ; before
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %isFirst, label %copy, label %copied
copy:
  %state = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 4096)
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d(ptr addrspace(3) @tile, ptr addrspace(3) @full, ptr %map, i32 %x, i32 %y, i64 0, i1 false)
  br label %copied
copied:
  ; begun
  call void @wait(ptr addrspace(3) @full, i32 0)
  ; waited
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %first
  %v = load <16 x i32>, ptr addrspace(3) %mine, align 16
  store <16 x i32> %v, ptr addrspace(1) %to, align 4
  ret void
})";

const std::string waitFull = "call void @wait(ptr addrspace(3) @full, i32 0)";
const std::string barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
const std::string expectBytes =
    "@llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 4096)";

constexpr uint32_t rows = 100, columns = 72; // of the tensor

Report runLoad(const std::string &text, Tensor<uint16_t> &in, std::vector<uint16_t> &out, const TensorMap &map,
               int32_t x = 0, int32_t y = 0, Options options = {}) {
  TestKernel kernel(operations + text, options);
  in.addTo(kernel, "in");
  out.assign(2048, 7);
  return kernel.run(1, 64, {kernel.buffer(out, "out"), uint32_t(x), uint32_t(y)}, 0, {map});
}

Report runLoad(const std::string &text) {
  Tensor<uint16_t> in(rows * columns);
  std::vector<uint16_t> out;
  return runLoad(text, in, out, in.map(TensorElement::F16, {columns, rows}, {64, 32}, 128));
}

/// Where the hardware puts the byte `at` of a box at a multiple of 1024. PTX ISA, "Swizzling modes": in rows of 128
/// bytes the 16-byte pieces are permuted by the number of the row among 8, of 64 by that of a pair of rows among 4, of
/// 32 by that of four rows among 2.
uint32_t swizzled(uint32_t at, uint32_t swizzle) {
  uint32_t line = at / 128, inLine = at % 128, span = swizzle / 16;
  if (span < 2)
    return at;
  uint32_t piece = inLine / 16;
  return line * 128 + (piece / span * span + (piece % span ^ line % span)) * 16 + at % 16;
}

TEST(BulkCopies, LoadsABoxWithZerosOutside) {
  Tensor<uint16_t> in(rows * columns, 1);
  std::vector<uint16_t> out;
  for (uint8_t swizzle : {0, 32, 64, 128})
    for (auto [x, y] : {std::pair(0, 0), {8, 16}, {64, 90}, {-3, -5}, {72, 0}, {0, 100}, {-64, 0}}) {
      uint32_t width = swizzle ? swizzle / 2 : 64, height = 2048 / width;
      Report report =
          runLoad(load, in, out,
                  in.map(TensorElement::F16, {columns, rows}, {uint16_t(width), uint16_t(height)}, swizzle), x, y);
      ASSERT_TRUE(report.clean()) << report.text();
      for (uint32_t i = 0; i < 2048; ++i) {
        int64_t row = y + int64_t(i / width), column = x + int64_t(i % width);
        bool isInside = row >= 0 && row < rows && column >= 0 && column < columns;
        ASSERT_EQ(out[swizzled(2 * i, swizzle) / 2], isInside ? in[size_t(row * columns + column)] : 0)
            << int(swizzle) << " " << x << " " << y << " " << i;
      }
    }
}

TEST(BulkCopies, LoadsThreeAxesWithStrides) {
  Tensor<uint16_t> in(8 * 20 * 64, 1);
  std::vector<uint16_t> out;
  TensorMap map = in.map(TensorElement::F16, {64, 20, 8}, {32, 8, 8});
  map.sizes[1] = 10; // of 20
  std::string text =
      replaced(replaced(replaced(load, "tile.2d", "tile.3d"), "i32 %x, i32 %y, i64", "i32 %x, i32 %y, i32 2, i64"),
               "; before", "");
  Report report = runLoad(text, in, out, map, 16, 5);
  ASSERT_TRUE(report.clean()) << report.text();
  for (uint32_t i = 0; i < 2048; ++i) {
    uint32_t column = 16 + i % 32, row = 5 + i / 32 % 8, plane = 2 + i / 256;
    ASSERT_EQ(out[i], row < 10 && plane < 8 ? in[plane * 20 * 64 + row * 64 + column] : 0) << i;
  }
}

TEST(BulkCopies, AMissingWaitIsFound) {
  Report report = runLoad(replaced(load, waitFull, ""));
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight)) << report.text();
  EXPECT_TRUE(report.has(FindingKind::UnfinishedCopy)) << report.text();
  EXPECT_CONTAINS(report.text(), "by thread 0 of block (0, 0, 0): the block ends before a thread has waited for the "
                                 "mbarrier at byte 0 of shared memory, whose phase 0 has 1 of 1 arrivals and copies of "
                                 "4096 of 4096 bytes");
  // One warp waits, the other one does not.
  std::string half =
      replaced(replaced(load, "; begun", "%waits = icmp ult i32 %tid, 32\n  br i1 %waits, label %w, label %r\nw:"),
               "; waited", "br label %r\nr:");
  report = runLoad(half);
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight) || report.has(FindingKind::SharedRace)) << report.text();
  // The barrier of the block hands the knowledge on.
  report = runLoad(replaced(half, "br label %r\nr:", "br label %r\nr:\n  " + barrier + " ;"));
  EXPECT_TRUE(report.clean()) << report.text();
}

TEST(BulkCopies, WrongNumbersOfBytesEndTheRun) {
  // Without expected bytes the phase ends at the arrival, or never.
  std::string arrive = "@llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @full)";
  Report report = runLoad(replaced(load, expectBytes, arrive));
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight)) << report.text();
  EXPECT_CONTAINS(report.text(), "whose phase 1 has 0 of 1 arrivals and copies of 4096 of 0 bytes");
  report =
      runLoad(replaced(replaced(load, "%state = call i64 " + expectBytes, ""),
                       "br label %copied\ncopied:", "%state = call i64 " + arrive + "\n  br label %copied\ncopied:"));
  EXPECT_TRUE(report.has(FindingKind::BarrierFault)) << report.text();
  EXPECT_CONTAINS(report.error, "64 threads of block (0, 0, 0) wait at the mbarrier at byte 0 of shared memory, whose "
                                "phase 0 has 1 of 1 arrivals and copies of 4096 of 0 bytes");
  for (const char *bytes : {"4095", "8192"})
    EXPECT_CONTAINS(runLoad(replaced(load, expectBytes, replaced(expectBytes, "4096", bytes))).error,
                    std::string("copies of 4096 of ") + bytes + " bytes");
  EXPECT_CONTAINS(runLoad(replaced(load, expectBytes, replaced(expectBytes, "4096", "1048576"))).error,
                  "1048576 more bytes at the mbarrier");
  // The bytes may be expected apart from the arrival, after the copy too.
  std::string expectApart =
      "call void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 4096)";
  std::string apart = replaced(replaced(load, "%state = call i64 " + expectBytes, ""), "br label %copied\ncopied:",
                               expectApart + "\n  %state = call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr "
                                             "addrspace(3) @full, i32 1)\n  br label %copied\ncopied:");
  report = runLoad(apart);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_CONTAINS(
      runLoad(replaced(load, "br label %copied\ncopied:", expectApart + "\n  br label %copied\ncopied:")).error,
      "no arrival is left that holds the phase");
}

TEST(BulkCopies, WhoWritesTheTargetIsOrdered) {
  std::string store = "store i32 1, ptr addrspace(3) %mine";
  EXPECT_TRUE(runLoad(replaced(load, "; before", store)).clean());
  EXPECT_TRUE(runLoad(replaced(load, "; begun", store)).has(FindingKind::CopyInFlight));
  EXPECT_TRUE(runLoad(replaced(load, "; waited", store)).clean());
  // Warp 1 writes at its begin, and arrives at no barrier before the copy.
  std::string unordered = replaced(load, barrier, "");
  unordered = replaced(unordered, "; before",
                       "%late = icmp ugt i32 %tid, 31\n  br i1 %late, label %s, label %n\ns:\n  " + store +
                           "\n  br label %end\nend:\n  ret void\nn:");
  Report report = runLoad(unordered);
  EXPECT_TRUE(report.has(FindingKind::SharedRace) || report.has(FindingKind::CopyInFlight)) << report.text();
}

TEST(BulkCopies, Faults) {
  Tensor<uint16_t> in(rows * columns);
  std::vector<uint16_t> out;
  auto errorOf = [&](const std::string &text, const TensorMap &map) { return runLoad(text, in, out, map).error; };
  TensorMap good = in.map(TensorElement::F16, {columns, rows}, {64, 32}, 128);
  EXPECT_CONTAINS(errorOf(load, in.map(TensorElement::F16, {columns, rows, 1}, {64, 32, 1})),
                  "a copy of 2 axes, and the tensor map has 3");
  TensorMap larger = in.map(TensorElement::F16, {columns, rows + 1}, {64, 32}, 128);
  EXPECT_CONTAINS(runLoad(load, in, out, larger, 0, 90).error, "are outside device memory");
  EXPECT_CONTAINS(errorOf(load, in.map(TensorElement::F16, {columns, rows}, {4, 32})), "rows of 8, and a swizzle of 0");
  EXPECT_CONTAINS(errorOf(replaced(load, "ptr addrspace(3) @full, ptr %map", "ptr addrspace(3) @tile, ptr %map"), good),
                  "no mbarrier is initialised at byte");
  EXPECT_CONTAINS(errorOf(replaced(load, "ptr addrspace(3) @tile, ptr addrspace(3) @full, ptr %map",
                                   "ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @tile, i32 64), ptr "
                                   "addrspace(3) @full, ptr %map"),
                          good),
                  "is not a multiple of 128");
  EXPECT_CONTAINS(errorOf(replaced(load, "@full, ptr %map", "@full, ptr null"), good),
                  "address 0x0 is none of the launch's 1 tensor maps");
  EXPECT_CONTAINS(errorOf(replaced(load, "i32 1)", "i32 2)"), good),
                  "has 1 of 2 arrivals and copies of 4096 of 4096 bytes");
  EXPECT_CONTAINS(
      errorOf(replaced(load, "br label %copied\ncopied:",
                       "call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @full, i32 "
                       "1)\n  br label %copied\ncopied:"),
              good),
      "1 arrivals at the mbarrier at byte 0 of shared memory, whose phase 0 has 1 of 1 arrivals");
  EXPECT_CONTAINS(errorOf(replaced(load, "br label %copied\ncopied:",
                                   "call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @full)\n  br label "
                                   "%copied\ncopied:"),
                          good),
                  "copies of 4096 of 4096 bytes");
}

TEST(BulkCopies, ParametersByValueAreTensorMaps) {
  TestKernel kernel(operations + std::string(load));
  EXPECT_CONTAINS(messageOf([&] { kernel.run(1, 64, {0, 0, 0}); }),
                  "the launch has 0 tensor maps, and the kernel has 1 parameters by value");
  TestKernel other(operations + replaced(load, "byval([128 x i8])", "byval([64 x i8])"));
  EXPECT_CONTAINS(messageOf([&] { other.run(1, 64, {0, 0, 0}); }), "which have 128 bytes");
  TestKernel copied(operations + replaced(load, " \"nvvm.grid_constant\"", ""));
  EXPECT_CONTAINS(messageOf([&] { copied.run(1, 64, {0, 0, 0}); }),
                  "a tensor map that is no grid constant: NVPTX would copy it to local memory");
}

// The last thread writes the tensor where the copy reads it.
TEST(BulkCopies, WhoHasWaitedMayWriteTheTensor) {
  auto run = [&](const std::string &place) {
    Options options;
    options.deviceRaces = true;
    std::string text = replaced(load, "%out, i32 %x", "%out, ptr addrspace(1) %in, i32 %x");
    TestKernel kernel(operations + replaced(text, place, R"(
  %isLast = icmp eq i32 %tid, 63
  br i1 %isLast, label %change, label %changed
change:
  store i32 0, ptr addrspace(1) %in
  br label %changed
changed:)"),
                      options);
    Tensor<uint16_t> in(rows * columns);
    in.addTo(kernel, "in");
    std::vector<uint16_t> out(2048);
    TensorMap map = in.map(TensorElement::F16, {columns, rows}, {64, 32});
    return kernel.run(1, 64, {kernel.buffer(out, "out"), reinterpret_cast<uint64_t>(in.data()), 0, 0}, 0, {map});
  };
  EXPECT_TRUE(run("; waited").clean()) << run("; waited").text();
  EXPECT_TRUE(run("; begun").has(FindingKind::DeviceRace));
}

//===-- A ring of tiles ------------------------------------------------------------------------------------------===//

// A thread of warp 0 copies a tile for each step, 32 rows of 8 words, warp 1 adds them up; its lanes give a tile back
// by one arrival for all.
const char *ring = R"(
@full = internal addrspace(3) global i64 undef, align 8
@empty = internal addrspace(3) global i64 undef, align 8
@tile = internal addrspace(3) global [1024 x i8] undef, align 128
define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %steps, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %begun
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 32)
  br label %begun
begun:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %consumes = icmp ugt i32 %tid, 31
  br i1 %consumes, label %consume, label %elect
elect:
  br i1 %isFirst, label %produce, label %end
produce:
  %i = phi i32 [ 0, %elect ], [ %i1, %produce ]
  %i1 = add i32 %i, 1
  %used = and i32 %i1, 1
  call void @wait(ptr addrspace(3) @empty, i32 %used)
  call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 1024)
  %row = mul i32 %i, 32
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d(ptr addrspace(3) @tile, ptr addrspace(3) @full, ptr %map, i32 0, i32 %row, i64 0, i1 false)
  %moreTiles = icmp ult i32 %i1, %steps
  br i1 %moreTiles, label %produce, label %end
consume:
  %j = phi i32 [ 0, %begun ], [ %j1, %given ]
  %sum = phi <8 x i32> [ zeroinitializer, %begun ], [ %total, %given ]
  %j1 = add i32 %j, 1
  %parity = and i32 %j, 1
  call void @wait(ptr addrspace(3) @full, i32 %parity)
  %p = getelementptr <8 x i32>, ptr addrspace(3) @tile, i32 %lane
  %v = load <8 x i32>, ptr addrspace(3) %p, align 16
  %total = add <8 x i32> %sum, %v
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %gives = icmp eq i32 %lane, 0
  br i1 %gives, label %give, label %given
give:
  call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @empty, i32 32)
  br label %given
given:
  %moreReads = icmp ult i32 %j1, %steps
  br i1 %moreReads, label %consume, label %store
store:
  %to = getelementptr <8 x i32>, ptr addrspace(1) %out, i32 %lane
  store <8 x i32> %total, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
})";

Report runRing(const std::string &text, std::vector<uint32_t> &out, unsigned quantum = 256) {
  constexpr uint32_t steps = 5;
  Options options;
  options.quantum = quantum;
  TestKernel kernel(operations + text, options);
  Tensor<uint32_t> in(steps * 256);
  in.addTo(kernel, "in");
  out.assign(256, 0);
  TensorMap map = in.map(TensorElement::I32, {8, 32 * steps}, {8, 32});
  Report report = kernel.run(1, 64, {kernel.buffer(out), steps}, 0, {map});
  if (report.clean())
    for (uint32_t i = 0; i < 256; ++i)
      EXPECT_EQ(out[i], steps * i + 256 * (steps * (steps - 1) / 2));
  return report;
}

TEST(BulkCopies, ProducerAndConsumer) {
  std::vector<uint32_t> out;
  for (unsigned quantum : {4u, 256u}) {
    Report report = runRing(ring, out, quantum);
    EXPECT_TRUE(report.clean()) << report.text();
    for (const char *missing :
         {"call void @wait(ptr addrspace(3) @full, i32 %parity)", "call void @wait(ptr addrspace(3) @empty, i32 %used)",
          "call void @llvm.nvvm.bar.warp.sync(i32 -1)"})
      EXPECT_FALSE(runRing(replaced(ring, missing, ""), out, quantum).clean()) << missing;
  }
  // Arrivals that are too few, or too many for one phase.
  EXPECT_CONTAINS(
      runRing(replaced(ring, "@empty, i32 32)\n  br label %begun", "@empty, i32 33)\n  br label %begun"), out).error,
      "whose phase 0 has 32 of 33 arrivals");
  EXPECT_CONTAINS(
      runRing(replaced(ring, "@empty, i32 32)\n  br label %given", "@empty, i32 33)\n  br label %given"), out).error,
      "33 arrivals at the mbarrier at byte 8 of shared memory, whose phase 0 has 0 of 32 arrivals: 1 to 32 "
      "are left");
}

//===-- Stores ---------------------------------------------------------------------------------------------------===//

// 32 threads write rows of 8 words, and one stores the box, once in each block.
const char *store = R"(
@tile = internal addrspace(3) global [1024 x i8] undef, align 128
define ptx_kernel void @kernel(i32 %x, i32 %y, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr <8 x i32>, ptr addrspace(3) @tile, i32 %tid
  %n = mul i32 %tid, 8
  %v0 = insertelement <8 x i32> undef, i32 %n, i32 0
  %v1 = shufflevector <8 x i32> %v0, <8 x i32> undef, <8 x i32> zeroinitializer
  %v = add <8 x i32> %v1, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  store <8 x i32> %v, ptr addrspace(3) %p, align 16
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %copy, label %copied
copy:
  call void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3) @tile, ptr %map, i32 %x, i32 %y, i64 0, i1 false)
  call void @llvm.nvvm.cp.async.bulk.commit.group()
  ; begun
  call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)
  ; waited
  br label %copied
copied:
  ret void
})";

const std::string waitRead = "call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)";
const std::string storeCall = "@llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d";

Report runStore(const std::string &text, Tensor<uint32_t> &out, int32_t x = 0, int32_t y = 0, uint32_t blocks = 1,
                TensorElement element = TensorElement::I32) {
  Options options;
  options.deviceRaces = true;
  TestKernel kernel(operations + text, options);
  out.addTo(kernel, "out");
  return kernel.run(blocks, 32, {uint32_t(x), uint32_t(y)}, 0, {out.map(element, {12, 40}, {8, 32})});
}

void expectStored(Tensor<uint32_t> &out, int32_t x, int32_t y, const std::function<uint32_t(uint32_t, uint32_t)> &of) {
  for (int32_t row = 0; row < 40; ++row)
    for (int32_t column = 0; column < 12; ++column) {
      bool isInside = row >= y && row < y + 32 && column >= x && column < x + 8;
      auto before = uint32_t(row * 12 + column);
      ASSERT_EQ(out[before], isInside ? of(before, uint32_t((row - y) * 8 + column - x)) : before)
          << row << " " << column;
    }
}

TEST(BulkCopies, StoresWhatIsInside) {
  for (auto [x, y] : {std::pair(0, 0), {4, 8}, {8, 20}, {12, 0}}) {
    Tensor<uint32_t> out(480);
    Report report = runStore(store, out, x, y);
    ASSERT_TRUE(report.clean()) << report.text();
    expectStored(out, x, y, [](uint32_t, uint32_t value) { return value; });
  }
  Tensor<uint32_t> other(480); // hardware has an illegal instruction there
  EXPECT_NE(runStore(store, other, -2, 3).text().find("begins at no negative coordinate"), std::string::npos);
  // Two waits; the source may be written after the first.
  Tensor<uint32_t> out(480);
  Report report = runStore(replaced(store, "; waited",
                                    "store i32 9, ptr addrspace(3) %p\n  call void "
                                    "@llvm.nvvm.cp.async.bulk.wait.group(i32 0)"),
                           out);
  ASSERT_TRUE(report.clean()) << report.text();
  expectStored(out, 0, 0, [](uint32_t, uint32_t value) { return value; });
}

TEST(BulkCopies, SourcesOfStoresStayUntilTheWait) {
  Tensor<uint32_t> out(480);
  Report report = runStore(replaced(store, "; begun", "store i32 9, ptr addrspace(3) %p"), out);
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight)) << report.text();
  report = runStore(replaced(store, waitRead, "call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 1)"), out);
  EXPECT_TRUE(report.has(FindingKind::UnfinishedCopy)) << report.text();
  report = runStore(replaced(store, waitRead, ""), out);
  EXPECT_TRUE(report.has(FindingKind::UnfinishedCopy)) << report.text();
  EXPECT_CONTAINS(report.text(), "by thread 0 of block (0, 0, 0): the block ends before the thread has waited for the "
                                 "copy's group, which reads shared memory");
  expectStored(out, 0, 0, [](uint32_t, uint32_t value) { return value; });
  report = runStore(replaced(store, "call void @llvm.nvvm.cp.async.bulk.commit.group()", ""), out);
  EXPECT_TRUE(report.has(FindingKind::UnfinishedCopy)) << report.text();
  report = runStore(replaced(store, barrier, ""), out);
  EXPECT_TRUE(report.has(FindingKind::SharedRace)) << report.text();
}

TEST(BulkCopies, ReductionsOfTwoBlocksDoNotRace) {
  std::string reduces = "@llvm.nvvm.cp.async.bulk.tensor.reduce.";
  Tensor<uint32_t> out(480), other(480), third(480), numbers(480);
  Report report = runStore(replaced(store, storeCall, reduces + "add.tile.2d"), out, 4, 8, 2);
  EXPECT_TRUE(report.clean()) << report.text();
  expectStored(out, 4, 8, [](uint32_t before, uint32_t value) { return before + 2 * value; });
  report = runStore(replaced(store, storeCall, reduces + "max.tile.2d"), other, 0, 4, 2);
  EXPECT_TRUE(report.clean()) << report.text();
  expectStored(other, 0, 4, [](uint32_t before, uint32_t value) { return std::max(before, value); });
  report = runStore(replaced(store, storeCall, reduces + "xor.tile.2d"), third, 0, 0, 1);
  EXPECT_TRUE(report.clean()) << report.text();
  expectStored(third, 0, 0, [](uint32_t before, uint32_t value) { return before ^ value; });
  EXPECT_TRUE(runStore(store, out, 0, 0, 2).has(FindingKind::DeviceRace));
  EXPECT_CONTAINS(
      runStore(replaced(store, storeCall, reduces + "max.tile.2d"), numbers, 0, 0, 1, TensorElement::F32).error,
      "elements of the tensor map's type have no such reduction");
}

TEST(BulkCopies, ReductionsOfFloats) {
  std::string text = replaced(store, storeCall, "@llvm.nvvm.cp.async.bulk.tensor.reduce.add.tile.2d");
  text =
      replaced(text, "store <8 x i32> %v, ptr", "%f = uitofp <8 x i32> %v to <8 x float>\n  store <8 x float> %f, ptr");
  TestKernel kernel(operations + text);
  Tensor<float> out(480);
  out.addTo(kernel, "out");
  Report report = kernel.run(3, 32, {0, 0}, 0, {out.map(TensorElement::F32, {12, 40}, {8, 32})});
  ASSERT_TRUE(report.clean()) << report.text();
  for (uint32_t i = 0; i < 480; ++i)
    EXPECT_EQ(out[i], i % 12 < 8 && i / 12 < 32 ? float(i + 3 * (i / 12 * 8 + i % 12)) : float(i)) << i;
}

} // namespace
