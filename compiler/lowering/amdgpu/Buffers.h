// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands of buffer instructions.
#pragma once
#include "compiler/lowering/simt/GpuTarget.h"

namespace heddle::amdgpu {

/// The resource for all memory from `pointer` on.
mlir::Value descriptorOf(simt::GpuTarget::Builder &b, mlir::Value pointer);
/// i32, in bytes; what is forbidden lies outside of the resource.
mlir::Value offsetOf(simt::GpuTarget::Builder &b, const simt::GpuTarget::BufferPlace &place);
/// The cache bits of CDNA 3 and 4.
int64_t policyOf(triton::CacheModifier cache);

} // namespace heddle::amdgpu
