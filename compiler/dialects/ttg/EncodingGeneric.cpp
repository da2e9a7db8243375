// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `#ttg.generic_linear`, in which bits of places overlap or move along several axes, is read as a `#ttg.linear` with as
// many bits of registers, lanes and warps: where the elements of a tile are makes no difference to what a kernel
// computes.
#include "compiler/dialects/ttg/EncodingText.h"

using namespace mlir;
using namespace heddle::triton::gpu;
using heddle::triton::maxTileElements;

namespace {

/// Bases by elimination over F2. A basis that the others do not span moves by a bit of its own; others move by 0, as
/// threads of the same elements do.
class SimpleBases {
public:
  explicit SimpleBases(int64_t rank) : rank(size_t(rank)) {}

  /// Of all bases, in the order of registers, lanes and warps; those of one bit stay as they are.
  Numbers of(const Numbers &bases) {
    Numbers simple(bases.size(), 0);
    for (bool isSingle : {true, false})
      for (size_t at = 0; rank && at + rank <= bases.size(); at += rank) {
        Numbers basis(bases.begin() + at, bases.begin() + at + rank);
        if ((countBits(basis) == 1) == isSingle)
          if (auto pivot = add(basis))
            simple[at + pivot->axis] = pivot->step;
      }
    return simple;
  }

private:
  struct Pivot {
    size_t axis;
    int64_t step;
    Numbers basis;
  };

  static int64_t countBits(const Numbers &basis) {
    int64_t bits = 0;
    for (int64_t step : basis)
      bits += llvm::popcount(uint64_t(step));
    return bits;
  }

  std::optional<Pivot> add(Numbers basis) {
    for (const Pivot &pivot : pivots)
      if (basis[pivot.axis] & pivot.step)
        for (size_t axis = 0; axis < rank; ++axis)
          basis[axis] ^= pivot.basis[axis];
    for (size_t axis = 0; axis < rank; ++axis)
      if (basis[axis]) {
        pivots.push_back({axis, basis[axis] & -basis[axis], basis});
        return pivots.back();
      }
    return std::nullopt;
  }

  size_t rank;
  SmallVector<Pivot> pivots;
};

} // namespace

Attribute GenericLinearAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  std::optional<LinearBases> read = parseLinearBases(parser);
  if (!read)
    return {};
  Numbers all = read->registers;
  all.append(read->lane);
  all.append(read->warp);
  for (int64_t step : all)
    if (step < 0 || step >= maxTileElements) {
      parser.emitError(at) << "the number " << step << " of a basis is not from 0 to " << maxTileElements - 1;
      return {};
    }
  Numbers simple = SimpleBases(read->rank).of(all);
  List bases = simple;
  size_t registers = read->registers.size(), lane = read->lane.size();
  return parser.getChecked<LinearAttr>(at, parser.getContext(), bases.take_front(registers),
                                       bases.slice(registers, lane), bases.drop_front(registers + lane), read->rank);
}

void GenericLinearAttr::print(AsmPrinter &printer) const {
  printer << "<{}>"; // none is made: it is read as another
}
