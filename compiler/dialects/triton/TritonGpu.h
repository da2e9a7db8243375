// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `ttg` dialect as far as layout-free text needs it: the barrier of Triton 3.7 and later.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialects/triton/TritonGpuDialect.h.inc"
#include "compiler/dialects/triton/TritonGpuEnums.h.inc"
#define GET_OP_CLASSES
#include "compiler/dialects/triton/TritonGpuOps.h.inc"
