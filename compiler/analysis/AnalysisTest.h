// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of this room share: modules from text, and values by the name of the test attribute `test.name`.
#pragma once
#include "compiler/analysis/Access.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace heddle::analysis {

/// A parsed module, its facts, and its values with a `test.name`.
class Analysed {
public:
  explicit Analysed(const std::string &text) : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    if (module)
      facts.emplace(*module);
  }

  mlir::Operation *find(const std::string &name) {
    mlir::Operation *found = nullptr;
    module->walk([&](mlir::Operation *op) {
      if (auto attribute = op->getAttrOfType<mlir::StringAttr>("test.name"); attribute && attribute == name)
        found = op;
    });
    EXPECT_TRUE(found) << "nothing is named " << name;
    return found;
  }
  const AxisInfo &info(const std::string &name) { return facts->of(find(name)->getResult(0)); }

  template <typename Op>
  std::vector<Op> all() {
    std::vector<Op> found;
    module->walk([&](Op op) { found.push_back(op); });
    return found;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<AxisAnalysis> facts;

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registry.insert<simt::SimtDialect, triton::TritonDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                    mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                    mlir::ub::UBDialect>();
    return registry;
  }
};

} // namespace heddle::analysis
