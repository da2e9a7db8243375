// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the terms that are added up to two tiles of pointers.
#include "compiler/lowering/host/AddressPattern.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>

using namespace mlir;
using namespace heddle::triton;

namespace {
class AddressPattern {
public:
  /// Whether they lie alike: whatever scalars are added, and by whatever scalars is multiplied.
  static bool areAlike(Value pointers, Value others) {
    AddressPattern one, other;
    if (!one.add(pointers) || !other.add(others) || one.terms.size() != other.terms.size())
      return false;
    for (Value term : one.terms) {
      auto *found = llvm::find_if(other.terms, [&](Value candidate) { return one.varyAlike(term, candidate, true); });
      if (found == other.terms.end())
        return false;
      other.terms.erase(found);
    }
    return true;
  }

private:
  static bool isWide(Value tile) {
    Type element = getElementTypeOrSelf(tile.getType());
    return !isa<IntegerType>(element) || element.getIntOrFloatBitWidth() >= 32; // narrow sums may wrap
  }

  /// Whether these are all terms of the sum; those that are the same for all elements are left out.
  bool add(Value tile) {
    constexpr size_t most = 32;
    Operation *op = tile.getDefiningOp();
    if (isa_and_nonnull<SplatOp>(op))
      return true;
    Operation *from = isa_and_nonnull<BroadcastOp, arith::ExtSIOp>(op) && isWide(op->getOperand(0))
                          ? op->getOperand(0).getDefiningOp()
                          : nullptr;
    bool isSum = isa_and_nonnull<AddPtrOp, arith::AddIOp>(op) ||
                 isa_and_nonnull<AddPtrOp, arith::AddIOp, BroadcastOp, SplatOp>(from);
    if (!isSum)
      terms.push_back(tile);
    return terms.size() <= most && ++visited <= 2 * most &&
           (!isSum || llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand); }));
  }

  /// Whether the elements of two tiles differ alike among each other. `mayDiffer`: by scalars that are added or by
  /// which is multiplied. Below other operations, as remainders, scalars have to be the same.
  bool varyAlike(Value one, Value other, bool mayDiffer) {
    if (one == other)
      return true;
    std::tuple<void *, void *, bool> key{one.getAsOpaquePointer(), other.getAsOpaquePointer(), mayDiffer};
    auto [known, isNew] = compared.try_emplace(key, false);
    if (!isNew)
      return known->second;
    Operation *first = one.getDefiningOp(), *second = other.getDefiningOp();
    if (!first || !second || one.getType() != other.getType() || first->getName() != second->getName() ||
        first->getAttrDictionary() != second->getAttrDictionary() || first->getNumRegions() ||
        !isMemoryEffectFree(first) || first->getNumOperands() != second->getNumOperands())
      return false;
    mayDiffer &= isa<SplatOp, AddPtrOp, BroadcastOp, ExpandDimsOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
                     arith::ExtSIOp, arith::ExtUIOp>(first) &&
                 isWide(first->getOperand(0));
    bool isAlike = isa<SplatOp>(first) ? mayDiffer || first->getOperand(0) == second->getOperand(0)
                                       : llvm::all_of_zip(first->getOperands(), second->getOperands(),
                                                          [&](Value a, Value b) { return varyAlike(a, b, mayDiffer); });
    return compared[key] = isAlike;
  }

  SmallVector<Value> terms;
  size_t visited = 0;
  std::map<std::tuple<void *, void *, bool>, bool> compared;
};
} // namespace

bool heddle::host::lieAlike(Value pointers, Value others) {
  return AddressPattern::areAlike(pointers, others);
}
