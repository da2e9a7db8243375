// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random warp pipelines for sm_90, as text of the simt level: rings of tiles that 8 warps fill by copies or by stores,
// and read with another layout, so that each read is of what other warps wrote. PipelinePlacement.h says in which
// stages that is legal.
#pragma once
#include "tests/gluon_programs/PipelinePlacement.h"
#include "tests/reference/Evaluator.h"

namespace heddle::gluon_programs {

struct ThreadPipeline {
  std::string text; ///< as simplify-layouts leaves it
  PipelinePlacement placement;
  std::vector<reference::Argument> arguments, expected; ///< before and after the launch of one block
};

/// `isLegal`: the stages may be executed one stage apart.
ThreadPipeline threadPipeline(uint64_t seed, bool isStraight, bool isLegal);

} // namespace heddle::gluon_programs
