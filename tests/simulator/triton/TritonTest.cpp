// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine code that Triton 3.6 made of the corpus, on the simulator, against the host's code of the same Triton IR:
// both chips, results early and late, arguments preloaded and not. In passing, what its waits wait for is held against
// the static analysis.
#include "examples/builder/PlainKernels.h"
#include "tests/executors/Executor.h"
#include "tests/reference/TestSupport.h"
#include "tests/simulator/kernels/SimulatedKernel.h"
#include "tests/simulator/triton/WaitWatcher.h"
#include <cmath>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

using namespace reference;
using plain::numbers;

/// How far apart results may be that two compilers sum and round in their own order; null: the same bytes.
struct Output {
  size_t argument;
  const FloatFormat *format = nullptr;
  double absolute = 0, relative = 0;
};

struct Kernel {
  std::string name;
  std::vector<Output> outputs;
  /// What Triton's metadata calls `shared`; the code object does not say it.
  uint32_t ldsBytes = 0, ldsBytesOfGfx942 = ldsBytes;
};

struct Way {
  Policy policy;
  bool preloads;
};
constexpr Way ways[] = {{Policy::Earliest, true}, {Policy::Latest, true}, {Policy::Latest, false}};

constexpr uint32_t warps = 4; // Triton's default, with which the corpus was compiled

std::string bytesOf(const void *bytes, size_t size) {
  return {static_cast<const char *>(bytes), size};
}

/// The arguments after a run of the kernel's code object.
std::vector<Argument> simulate(const Kernel &kernel, const std::string &chip, Way way, Grid grid,
                               std::vector<Argument> arguments) {
  SimulatedObject object("triton/" + kernel.name + "." + chip + ".hsaco");
  object.options.policy = way.policy;
  object.options.preloads = way.preloads;
  object.options.instructionLimit = 50'000'000;
  const AmdKernel &found = object.simulator.object().kernel("");
  WaitWatcher watcher;
  if (way.policy == Policy::Latest) // where nothing is over before a wait forces it
    object.watcher = &watcher;
  std::vector<uint64_t> addresses;
  std::vector<std::string> bytes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    addresses.push_back(arguments[i].isBuffer ? object.buffer(arguments[i].bytes, "argument " + std::to_string(i))
                                              : arguments[i].bits);
    bytes.push_back(bytesOf(&addresses.back(), found.arguments.at(i).sizeBytes));
  }
  // Two more, for scratch in global memory and for profiles, stay null: these kernels have neither.
  object.runBytes("",
                  {.groups = {uint32_t(grid.x), uint32_t(grid.y), uint32_t(grid.z)},
                   .items = {warps * waveLanes},
                   .dynamicLdsBytes = chip == "gfx942" ? kernel.ldsBytesOfGfx942 : kernel.ldsBytes},
                  bytes);
  auto possible = possibleWaits(object.simulator.object(), found);
  for (const auto &[wait, operations] : watcher.seen)
    for (uint64_t operation : operations)
      EXPECT_TRUE(possible[wait - object.watchedBase].contains(operation - object.watchedBase))
          << fmt::format("the analysis does not know that the wait at 0x{:x} waits for 0x{:x}",
                         wait - object.watchedBase, operation - object.watchedBase);
  EXPECT_EQ(watcher.seen.empty(), way.policy != Policy::Latest);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isBuffer)
      arguments[i].bytes = object.read<uint8_t>(addresses[i]);
  return arguments;
}

void expectClose(const Output &output, const Argument &actual, const Argument &expected) {
  if (!output.format) {
    EXPECT_EQ(actual.bytes, expected.bytes) << "argument " << output.argument;
    return;
  }
  std::vector<double> values = floatsOf(*output.format, actual), wanted = floatsOf(*output.format, expected);
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(values[i], wanted[i], output.absolute + output.relative * std::fabs(wanted[i]))
        << "argument " << output.argument << ", element " << i;
}

class Triton : public testing::Test {
protected:
  void compare(const Kernel &kernel, Grid grid, const std::vector<Argument> &arguments) {
    std::vector<Argument> expected = arguments;
    host->run(readCorpus(kernel.name + ".gfx942.ttir"), grid, expected);
    for (std::string chip : {"gfx942", "gfx950"})
      for (Way way : ways) {
        SCOPED_TRACE(kernel.name + " on " + chip + (way.policy == Policy::Latest ? ", latest" : ", earliest") +
                     (way.preloads ? "" : ", nothing preloaded"));
        std::vector<Argument> actual = simulate(kernel, chip, way, grid, arguments);
        for (const Output &output : kernel.outputs)
          expectClose(output, actual.at(output.argument), expected.at(output.argument));
      }
  }

  static int32_t tilesOf(int size, int tile) { return (size + tile - 1) / tile; }

  std::unique_ptr<executors::Executor> host = executors::makeExecutor("host");
};

TEST_F(Triton, VectorAdd) {
  for (int n : {1, 1023, 1500})
    compare({"vector_add", {{2}}}, {tilesOf(n, 1024) + 1},
            {floatsAs(formatF32, numbers(n, 1)), floatsAs(formatF32, numbers(n, 2)), zeros<float>(n), scalarI32(n)});
}

TEST_F(Triton, RowSoftmax) {
  struct Size {
    int rows, columns, stride, programs;
  };
  for (auto [rows, columns, stride, programs] : {Size{3, 100, 112, 2}, {9, 1023, 1023, 4}, {1, 1, 1, 1}})
    compare({"row_softmax", {{0, &formatF32, 1e-7, 1e-6}}, 16}, {programs},
            {zeros<float>(rows * stride), floatsAs(formatF32, numbers(rows * stride, 3)), scalarI32(stride),
             scalarI32(stride), scalarI32(rows), scalarI32(columns)});
}

struct MatrixSize {
  int M, N, K;
};

TEST_F(Triton, Matmul) {
  for (auto [M, N, K] : {MatrixSize{70, 80, 40}, {1, 1, 1}, {300, 130, 257}}) {
    SCOPED_TRACE(M);
    compare({"matmul_f16", {{2, &formatF16, 1e-5, 1.0 / 2048}}, 8192, 4096}, {tilesOf(M, 64) * tilesOf(N, 64)},
            {floatsAs(formatF16, numbers(M * K, 4)), floatsAs(formatF16, numbers(K * N, 5)), zeros<uint16_t>(M * N),
             scalarI32(M), scalarI32(N), scalarI32(K), scalarI32(K), scalarI32(N), scalarI32(N)});
  }
}

TEST_F(Triton, SplitKMatmul) {
  for (auto [M, N, K] : {MatrixSize{20, 40, 150}, {1, 1, 1}, {96, 128, 511}})
    for (std::string order : {"relaxed", "acq_rel"})
      compare({"split_k_matmul_" + order, {{2}}, 8192}, {tilesOf(M, 32), tilesOf(N, 64), 4}, // sums are exact
              {floatsAs(formatBF16, numbers(M * K, 6)), floatsAs(formatBF16, numbers(K * N, 7)), zeros<float>(M * N),
               scalarI32(M), scalarI32(N), scalarI32(K)});
}

TEST_F(Triton, LayerNorm) {
  struct Size {
    int rows, N, stride;
  };
  for (auto [rows, N, stride] : {Size{2, 1100, 1104}, {1, 1, 1}, {7, 1024, 1024}})
    compare({"layer_norm", {{1, &formatBF16, 1e-5, 1.0 / 128}, {4, &formatF32, 1e-6}, {5, &formatF32, 0, 1e-5}}, 2048},
            {rows},
            {floatsAs(formatBF16, numbers(rows * stride, 8)), zeros<uint16_t>(rows * stride),
             floatsAs(formatBF16, numbers(N, 9)), floatsAs(formatBF16, numbers(N, 10)), zeros<float>(rows),
             zeros<float>(rows), scalarI32(stride), scalarI32(N), scalarF32(1e-5f)});
}

TEST_F(Triton, RowwiseFp8) {
  for (auto [rows, columns] : {std::pair{20, 150}, {1, 1}, {100, 1000}})
    compare({"rowwise_fp8", {{1}, {2}}, 128}, {tilesOf(rows, 16)},
            {floatsAs(formatBF16, numbers(rows * columns, 11)), zeros<uint8_t>(rows * columns), zeros<float>(rows),
             scalarI32(rows), scalarI32(columns)});
}

TEST_F(Triton, AmaxAtomic) {
  for (auto [rows, columns] : {std::pair{100, 70}, {1, 1}, {1000, 65}})
    compare({"amax_atomic", {{1}}, 1024}, {tilesOf(rows, 64), tilesOf(columns, 64)},
            {floatsAs(formatBF16, numbers(rows * columns, 12)), zeros<float>(columns), scalarI32(rows),
             scalarI32(columns)});
}

TEST_F(Triton, Transpose) {
  for (auto [rows, columns] : {std::pair{70, 90}, {1, 300}, {517, 131}})
    compare({"transpose_f16", {{1}}, 8192}, {tilesOf(rows, 64), tilesOf(columns, 64)},
            {floatsAs(formatF16, numbers(rows * columns, 13)), zeros<uint16_t>(rows * columns), scalarI32(rows),
             scalarI32(columns)});
}

TEST_F(Triton, SpinLockSum) { // 391 workgroups, more than live at once
  for (int n : {700, 1, 100000})
    compare({"spin_lock_sum", {{1}, {2}}, 16}, {tilesOf(n, 256)},
            {floatsAs(formatF32, numbers(n, 14)), zeros<float>(1), zeros<int32_t>(1), scalarI32(n)});
}

TEST_F(Triton, JaggedRowsum) {
  struct Size {
    int columns;
    std::vector<int32_t> ends;
  };
  for (const auto &[columns, ends] : {Size{70, {5, 5, 45, 50}}, {1, {1}}, {65, {31, 64, 97, 400, 401}}}) {
    int groups = int(ends.size());
    compare({"jagged_rowsum", {{2}}, 1024}, {groups, tilesOf(columns, 64)},
            {floatsAs(formatBF16, numbers(ends.back() * columns, 15)), bufferOf(ends), zeros<float>(groups * columns),
             scalarI32(columns), scalarI32(groups)});
  }
}

TEST_F(Triton, AttentionCausal) {
  constexpr int D = 64;
  for (auto [T, heads] : {std::pair{80, 2}, {1, 1}, {200, 2}}) {
    size_t size = size_t(heads) * T * D;
    compare({"attention_causal", {{3, &formatF16, 1e-3}}, 24576}, {tilesOf(T, 64), heads},
            {floatsAs(formatF16, numbers(size, 16)), floatsAs(formatF16, numbers(size, 17)),
             floatsAs(formatF16, numbers(size, 18)), zeros<uint16_t>(size), scalarI32(T), scalarF32(0.125f)});
  }
}

} // namespace
} // namespace heddle::simulator
