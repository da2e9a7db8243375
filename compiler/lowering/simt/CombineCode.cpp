// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inlines a combining region for the registers of a thread, and finds where an element lies off the axis.
#include "compiler/lowering/simt/CombineCode.h"
#include "compiler/lowering/simt/Vectors.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

// Adjacent ones first, so that chains are short.
ThreadCode::Values CombineCode::fold(Region &region, SmallVector<Values> parts) {
  while (parts.size() > 1) {
    SmallVector<Values> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      Values arguments = parts[i];
      llvm::append_range(arguments, parts[i + 1]);
      next.push_back(runRegion(region, arguments));
    }
    if (parts.size() % 2)
      next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts.front();
}

Operation *CombineCode::onlyOperation(Region &region) {
  Block &body = region.front();
  Operation &first = body.front();
  bool isOne = first.getNextNode() == body.getTerminator() && body.getNumArguments() == 2 &&
               first.getNumOperands() == 2 && body.getTerminator()->getOperands() == first.getResults() &&
               first.getOperand(0) != first.getOperand(1) && llvm::all_of(first.getOperands(), [&](Value operand) {
                 return llvm::is_contained(body.getArguments(), operand);
               });
  return isOne ? &first : nullptr;
}

/// The same, if pairs may have it as well.
static Operation *paired(Operation *only) {
  bool hasPairs =
      isa_and_nonnull<arith::AddFOp, arith::MulFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
          only);
  return hasPairs ? only : nullptr;
}

bool CombineCode::foldsPairs(Region &region) {
  Operation *operation = paired(onlyOperation(region));
  Type type = operation ? operation->getResult(0).getType() : Type();
  return operation && (type.isF32() || type.isInteger(16)) && target.computesPairs(type);
}

std::pair<ThreadCode::Values, ThreadCode::Values> CombineCode::foldPairs(Region &region, ArrayRef<Values> even,
                                                                         ArrayRef<Values> odd) {
  Operation *operation = paired(onlyOperation(region));
  SmallVector<Value> vectors;
  for (auto [first, second] : llvm::zip_equal(even, odd))
    vectors.push_back(joined(b, {first.front(), second.front()}));
  while (vectors.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < vectors.size(); i += 2) {
      Operation *made = b.clone(*operation);
      made->setOperands({vectors[i], vectors[i + 1]});
      made->getResult(0).setType(vectors[i].getType());
      next.push_back(made->getResult(0));
    }
    if (vectors.size() % 2)
      next.push_back(vectors.back());
    vectors = std::move(next);
  }
  Values totals = apart(b, vectors.front());
  return {{totals[0]}, {totals[1]}};
}

CombineCode::Place CombineCode::placeOff(int skippedAxis, const LinearLayout &layout, int64_t reg) {
  Place place;
  for (int axis = 0; axis < int(layout.outputs().size()); ++axis)
    if (axis != skippedAxis)
      place.push_back(registerPart(layout, reg, tileDim(axis)));
  return place;
}
