// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel under construction, for the sources of this room: where MLIR begins.
#pragma once
#include "frontend/build/Emission.h"
#include "frontend/build/Kernel.h"
#include "frontend/build/Layout.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::build {

struct Program::Implementation {
  Implementation(std::string name, bool hasLayouts);

  std::string name;
  bool hasLayouts;
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
  /// The shape and layout of `like`, a tile or scalar, with another element.
  mlir::Type typeLike(mlir::Type like, mlir::Type element) const;

  /// Throws Error{Input} in a kernel() without layouts; `what` needs them.
  void requireLayouts(const char *what) const;
  /// In a kernel with layouts, throws Error{Input} for a function whose result has no layout that follows.
  void refuseLayouts(const char *what) const;
  mlir::Attribute encoding(const Layout &layout) const;
  mlir::Attribute encoding(const SharedLayout &layout) const;
  /// Throws Error{Input} for a layout of another number of axes; `what` has `rank`.
  mlir::Attribute encoding(const Layout &layout, int64_t rank, const char *what) const;
  /// The tile in this layout, if its own is open; else as it is.
  mlir::Value inEncoding(mlir::Value tile, mlir::Attribute encoding) const;
  /// Tiles that are used together: open ones take the layout of the others. Throws Error{Input} where two differ.
  /// Scalars and null values stay.
  void shareLayout(llvm::MutableArrayRef<mlir::Value> values) const;
  /// What a region yields, as the types that are carried; throws Error{Input} where layouts differ.
  Handles asCarried(const Handles &yielded, mlir::TypeRange carried) const;
  /// What MLIR refuses to make is an Error{Input} at this line: `make` takes the function that begins a diagnostic.
  template <class Make>
  auto checked(Make make) const {
    std::string message;
    mlir::ScopedDiagnosticHandler handler(builder.getContext(),
                                          [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
    auto made = make([&] { return mlir::emitError(location); });
    if (!made)
      fail(message);
    return made;
  }

  mlir::Value create(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) const;
  mlir::NamedAttribute i32Attribute(llvm::StringRef name, int32_t value) const;

  /// A block that holds what `body` emits, ended by `terminator` with the values that the body yields, which are also
  /// returned. With `forwardsArguments` the terminator passes the block's arguments after them (scf.condition).
  llvm::SmallVector<mlir::Value> fillRegion(mlir::Region &region, mlir::TypeRange arguments, const Body &body,
                                            llvm::StringRef terminator, bool forwardsArguments = false) const;

  [[noreturn]] void fail(const std::string &message, std::vector<std::string> notes = {}) const;

  mlir::OpBuilder &builder;
  mlir::Location location;
  Position where;
  uint64_t kernel;
  bool hasLayouts; ///< whether tiles have layouts: in blockKernel()
};

std::string formatPosition(Position where);
/// The text of a layout, back-ticked, for messages.
std::string quoted(mlir::Attribute encoding);

/// The layout of a tile or memory object with its axes permuted; null where none of these attributes denotes it.
mlir::Attribute transposedEncoding(mlir::Attribute encoding, llvm::ArrayRef<int32_t> order);

} // namespace detail
} // namespace heddle::build
