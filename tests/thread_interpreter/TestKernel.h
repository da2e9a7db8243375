// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of the tests: the text of a function's body with what most of them need declared, and its interpreter.
#pragma once
#include "tests/thread_interpreter/ThreadInterpreter.h"
#include "tests/thread_interpreter/decode/ParseCode.h"
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

namespace heddle::threads {

/// The data layout of nvptx64, and the intrinsics that almost every kernel calls.
inline constexpr const char *preamble = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
)";

class TestKernel {
public:
  /// The kernel's name is `kernel`.
  explicit TestKernel(const std::string &text, Options options = {}) {
    module = parseCode(preamble + text, context);
    interpreter = std::make_unique<ThreadInterpreter>(*module, "kernel", options);
  }
  template <class T>
  uint64_t buffer(std::vector<T> &values, std::string name = "buffer") {
    interpreter->addMemory(values.data(), values.size() * sizeof(T), std::move(name));
    return reinterpret_cast<uint64_t>(values.data());
  }
  Report run(uint32_t blocks, uint32_t threads, std::vector<uint64_t> arguments, uint32_t dynamicShared = 0,
             std::vector<TensorMap> tensorMaps = {}) {
    return interpreter->run(Launch{{blocks}, {threads}, dynamicShared, std::move(arguments), std::move(tensorMaps)});
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<ThreadInterpreter> interpreter;
};

} // namespace heddle::threads
