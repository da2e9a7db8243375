// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An all-reduce whose data travel as FP8: blocks of 128 elements with a scale each, made of other nodes. The result is
// not that of the all-reduce; its error has a bound (docs/modules.md).
#pragma once
#include "program/Graph.h"

namespace heddle::program {

/// The regions of f32 that the nodes need, as computations of a module.
struct SumRegions {
  int maximum = -1, sum = -1;
};

/// Appends them to the module. Computations that are there keep their numbers.
SumRegions addSumRegions(hlo::Module &module);

/// Whether it is a sum of floats of at least 16 bits over groups of one size above 1.
bool canQuantise(const hlo::Module &module, const hlo::Instruction &instruction);

/// Of one that is quantised: whether its ranks exchange parts by an all-to-all before the all-gather.
bool exchangesParts(const hlo::Module &module, const hlo::Instruction &allReduce);

/// In place of the all-reduce of `operand`, whose shape is `shape`: the node of the sum. Two ranks gather the quantised
/// data of both; more exchange parts, and gather the sums, which are quantised again.
NodeId quantisedSum(const hlo::Module &module, const SumRegions &regions, const hlo::Instruction &allReduce,
                    const hlo::Shape &shape, NodeId operand, const AddNode &add);

} // namespace heddle::program
