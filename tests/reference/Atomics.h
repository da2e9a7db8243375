// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an atomic leaves in memory: a function of the old bits and the operand's bits.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "tests/reference/Tile.h"

namespace heddle::reference {

uint64_t update(triton::RMWOp kind, mlir::Type element, uint64_t old, uint64_t operand);
/// Minimum and maximum follow the element's signedness (signless counts as signed); inc and dec wrap at the operand.
uint64_t update(triton::DescriptorReduceKind kind, mlir::Type element, uint64_t old, uint64_t operand);

} // namespace heddle::reference
