// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which register of a thread has what of a tile, as matrix instructions take it (Dot.cpp, ScaledDot.cpp).
#pragma once
#include "compiler/layout/LinearLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <set>

namespace heddle::simt {

/// Registers of a tile by the part of their coordinates that registers add.
class RegisterMap {
public:
  RegisterMap(const layout::LinearLayout &layout, int rank) {
    using layout::Dim;
    for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
      llvm::SmallVector<int64_t, 3> at(size_t(rank), 0);
      for (int bit = 0; reg >> bit; ++bit)
        if (reg >> bit & 1)
          for (int axis = 0; axis < rank; ++axis)
            at[size_t(axis)] ^= layout.basis(Dim::Register, bit, layout::tileDim(axis));
      places.insert({at, reg});
    }
  }
  size_t operator()(llvm::ArrayRef<int64_t> at) const { return size_t(places.at(llvm::SmallVector<int64_t, 3>(at))); }
  /// The values that the coordinate `axis` takes, ascending.
  llvm::SmallVector<int64_t> along(int axis) const {
    std::set<int64_t> seen;
    for (auto &[at, reg] : places)
      seen.insert(at[size_t(axis)]);
    return {seen.begin(), seen.end()};
  }

private:
  std::map<llvm::SmallVector<int64_t, 3>, int64_t> places;
};

/// Contiguous elements along K as one register.
inline mlir::Value packRegister(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::Value> values) {
  namespace LLVM = mlir::LLVM;
  mlir::Type element = values.front().getType();
  mlir::Type word = b.getIntegerType(unsigned(values.size()) * element.getIntOrFloatBitWidth());
  if (values.size() == 1)
    return element == word ? values.front() : mlir::Value(LLVM::BitcastOp::create(b, word, values.front()));
  mlir::Value vector = LLVM::PoisonOp::create(b, mlir::VectorType::get(int64_t(values.size()), element));
  for (auto [i, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(b, vector, value, mlir::arith::ConstantIntOp::create(b, int64_t(i), 32));
  return LLVM::BitcastOp::create(b, word, vector);
}

} // namespace heddle::simt
