// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA sm_90 for the code of threads: NVVM intrinsics and mma.sync. Source: PTX ISA 8.6.
#pragma once
#include "compiler/lowering/simt/GpuTarget.h"

namespace heddle::nvptx {

/// The one target object for a chip of NVIDIA.
const simt::GpuTarget &target();

} // namespace heddle::nvptx
