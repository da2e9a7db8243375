// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread code of element operations, one element at a time (Elementwise.cpp) or several at once (Pairs.cpp).
#pragma once
#include "compiler/lowering/simt/ThreadCode.h"

namespace heddle::simt {

class ElementCode : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  /// Any operation: with one result and no regions it is one of elements, or it is refused.
  void lower(mlir::Operation *op);

private:
  /// For each register of the tile the first one that holds the same, as far as groups of equal elements tell.
  static llvm::SmallVector<size_t> firstOfEquals(mlir::RankedTensorType tile, llvm::ArrayRef<int64_t> lengths);
  Values everyRegister();
  /// Of a quotient or remainder: one division for each group that the dividend counts through in a thread.
  bool divideGroups(Values &results);                         ///< whether it did; CountedQuotients.cpp
  bool addColumnsFirst(triton::AddPtrOp op, Values &results); ///< whether it did
  Value compute(llvm::ArrayRef<Value> operands, Type result);
  Value computeFloat(llvm::ArrayRef<Value> operands, Type result); ///< of arithmetic on floats
  Value computeMath(llvm::ArrayRef<Value> operands, Type result);  ///< of what remains
  Type sourceType();                                               ///< of the first operand's elements
  Value widen(Value narrow);                                       ///< of that type, to f32
  /// What `body` computes of f32 in place of narrow floats, as `result` again.
  Value inF32(llvm::ArrayRef<Value> operands, Type result, llvm::function_ref<Value(llvm::ArrayRef<Value>)> body);
  Value cloneInF32(llvm::ArrayRef<Value> operands, Type result);
  Value cloneOn(mlir::ValueRange operands, Type result);
  /// Of f32 or a vector of them, by the chip's exp2; ApproximateMath.cpp.
  Value approximateErf(Value x);
  Value approximateTanh(Value x);
  /// exp2 of each number of a vector, or of the one.
  Value approximateExp2s(Value x);
  int64_t registersAtOnce();
  bool isFromBytes(Type from, Type to); ///< whether it converts integers of 8 bits to floats that hold them
  bool computeAtOnce(Values &results);  ///< whether it did
  Values computeTogether(llvm::ArrayRef<Values> operands);
};

} // namespace heddle::simt
