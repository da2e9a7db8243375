// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all kernels of a program have in common: their dialects, their arguments, and how code becomes a package.
#pragma once
#include "compiler/pipeline/CompileModule.h"
#include "program/Expression.h"
#include "program/Kernels.h"

namespace heddle::program {

/// Elements of one program instance: enough to fill vectors, few enough to share among threads.
constexpr int64_t instanceElements = 4096;

void loadProgramDialects(mlir::MLIRContext &context);

/// Those that StepKernel tells of.
std::vector<tile::TileWriter::Argument> argumentsOf(tile::TileWriter &w, const Graph &graph, const StepKernel &kernel);

/// An expression that knows the kernel's buffers and the device; `arguments` are values of argumentsOf.
Expression makeExpression(tile::TileWriter &w, const Graph &graph, const StepKernel &kernel,
                          mlir::ValueRange arguments);

/// Fills in the text and the package.
void finishKernel(StepKernel &kernel, mlir::ModuleOp module, const CompileOptions &options,
                  KernelCache *cache = nullptr);

} // namespace heddle::program
