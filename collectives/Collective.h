// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One collective as the ranks of one group call it, in the form that plans and kernels work on: every input and output
// is a dense array [outer][parts][inner] of elements, where `parts` is 1 or the number of ranks. HLO's gather, scatter
// and split dimensions and its layouts become such arrays before they come here.
#pragma once
#include "support/ElementType.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll, Permute, Broadcast };
enum class Reduction { Sum, Product, Minimum, Maximum, And, Or };

const char *collectiveName(CollectiveKind kind); ///< `all-reduce`, `all-gather`, ...
const char *reductionName(Reduction reduction);  ///< `sum`, `product`, ...

/// Whether elements of different ranks are combined; others move them only.
inline bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
}

/// Semantics (HLO's): rank r of n has the input x_r; x_r[p] is part p.
///   all-reduce      out_r       = fold of x_0 ... x_(n-1)
///   all-gather      out_r[s]    = x_s
///   reduce-scatter  out_r       = fold of x_0[r] ... x_(n-1)[r]
///   all-to-all      out_r[s]    = x_s[r]
///   permute         out_r       = x_s with s = sources[r]; zeros when s is -1
///   broadcast       out_r       = x_root
/// The fold takes the ranks in order 0 to n-1, in f32 for floating types up to f32, in f64 for f64, modular for
/// integers, and rounds once; a sum starts at +0. Minimum and maximum give NaN when an operand is NaN, and order -0
/// before +0. So every rank, every algorithm, every size and every run gives the same bits.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  ElementType type = ElementType::F32;
  Reduction reduction = Reduction::Sum; ///< all-reduce and reduce-scatter
  int ranks = 1;                        ///< 1 to maxWorldSize
  int64_t outer = 1, inner = 0;         ///< a part has outer * inner elements
  std::vector<int> sources = {};        ///< permute: for each rank the rank it receives from, or -1
  int root = 0;                         ///< broadcast: the rank that sends

  int64_t partElements() const { return outer * inner; }
  int inputParts() const;  ///< 1 or ranks
  int outputParts() const; ///< 1 or ranks
  int64_t inputElements() const { return partElements() * inputParts(); }
  int64_t outputElements() const { return partElements() * outputParts(); }
  bool reduces() const { return heddle::reduces(kind); }
};

/// `all-reduce sum of f32[1024] over 4 ranks`
std::string describe(const Collective &collective);

/// Throws Error{Input} for a number of ranks outside 1 to maxWorldSize, a reduction that the type does not have (and,
/// or of floating types; sum, product of i1), sources that are no partial permutation, sizes that are negative or
/// overflow.
void checkCollective(const Collective &collective);

} // namespace heddle
