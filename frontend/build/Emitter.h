// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel under construction, for the sources of this room: where MLIR begins.
#pragma once
#include "frontend/build/Emission.h"
#include "frontend/build/Kernel.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::build {

struct Program::Implementation {
  explicit Implementation(std::string name);

  std::string name;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< dies before its context
};

namespace detail {

/// Emits operations at the insertion point of the thread's kernel, all at one line of C++.
class Emitter {
public:
  /// Throws Error{Input} outside of kernel().
  explicit Emitter(Position where);

  /// Throws Error{Input} for a value of another kernel.
  mlir::Value value(Handle handle) const;
  llvm::SmallVector<mlir::Value> values(const Handles &handles) const;
  Handle handle(mlir::Value value) const;
  Handles handles(mlir::ValueRange values) const;

  mlir::Type elementType(ElementType element) const;
  mlir::Type type(const TileType &type) const;
  /// The shape of `like`, a tile or scalar, with another element.
  mlir::Type typeLike(mlir::Type like, mlir::Type element) const;

  mlir::Value create(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) const;
  mlir::NamedAttribute i32Attribute(llvm::StringRef name, int32_t value) const;

  /// A block that holds what `body` emits, ended by `terminator` with the values that the body yields, which are also
  /// returned. With `forwardsArguments` the terminator passes the block's arguments behind them (scf.condition).
  llvm::SmallVector<mlir::Value> fillRegion(mlir::Region &region, mlir::TypeRange arguments, const Body &body,
                                            llvm::StringRef terminator, bool forwardsArguments = false) const;

  [[noreturn]] void fail(const std::string &message, std::vector<std::string> notes = {}) const;

  mlir::OpBuilder &builder;
  mlir::Location location;
  Position where;
  uint64_t kernel;
};

std::string formatPosition(Position where);

} // namespace detail
} // namespace heddle::build
