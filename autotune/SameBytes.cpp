// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that compares two buffers word by word, and tells whether any word differs.
#include "autotune/SameBytes.h"
#include "compiler/pipeline/Compile.h"
#include "kernels/StepWriter.h"
#include "runtime/Launch.h"

namespace heddle::autotune {

using namespace kernels;

namespace {

constexpr int block = 4096; ///< words

Step compareStep(int64_t words) {
  using namespace build;
  StepWriter writer("same_bytes");
  writer.buffer("first", ElementType::I32);
  writer.buffer("second", ElementType::I32);
  writer.buffer("answer", ElementType::I32, 4);
  writer.wide("count", words);
  return writer.finish({blocksFor(words, block), 1, 1}, 4, [](const TypedArguments &values) {
    auto start = cast<i64>(programId()) * block;
    auto i = start + cast<i64>(range<block>());
    auto inside = i < values.scalar<i64>("count");
    auto read = [&](const char *name) {
      return load((values.pointer(name).as<i32>() + start) + range<block>(), inside, 0);
    };
    auto differs = select(read("first") != read("second"), full<i32, block>(1), zeros<i32, block>());
    atomicMax(values.pointer("answer").as<i32>(), max(differs), Order::Relaxed);
  });
}

} // namespace

SameBytes::SameBytes(std::shared_ptr<Device> given) : device(std::move(given)) {
  Step step = compareStep(1);
  CompileOptions options;
  options.chip = &device->chip();
  options.warps = step.warps;
  kernel = {device->loadModule(compile(step.text, step.name, options).package)};
  answer = device->allocate(4, "answer");
}

bool SameBytes::compare(Stream &stream, uint64_t first, uint64_t second, uint64_t sizeBytes) {
  const int64_t words = int64_t(sizeBytes / 4);
  int32_t differs = 0;
  stream.fill(answer, 0);
  stream.launch(
      {.kernel = kernel,
       .grid = {blocksFor(words, block), 1, 1},
       .arguments = {DeviceAddress(first), DeviceAddress(second), DeviceAddress(answer), ScalarBits{uint64_t(words)}}});
  stream.copyToHost(&differs, answer);
  stream.synchronize();
  return differs == 0;
}

} // namespace heddle::autotune
