// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of one assignment of layouts. Methods are grouped in files: AssignLayouts.cpp goes through the operations
// until nothing changes, ChooseLayouts.cpp says which layout each kind of operation wants, RewriteLayouts.cpp gives
// every use its value in the layout that it needs, ScaledDots.cpp is about matmuls with scales.
#pragma once
#include "compiler/analysis/Access.h"
#include "compiler/analysis/AxisInfo.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/Accesses.h"
#include "compiler/lowering/simt/GpuTarget.h"

namespace heddle::simt {

class LayoutAssigner {
public:
  LayoutAssigner(triton::FuncOp function, const GpuTarget &target, int warps, bool warpGroups)
      : function(function), target(target), warps(warps), warpGroups(warpGroups), facts(function),
        accesses(function, facts) {}

  /// An error for a scaled dot that the target has no instruction for.
  mlir::LogicalResult checkScaledDots();
  void run();
  /// Before run(): matmuls by warp groups of which an operand is computed from loads, or does not lie as shared memory
  /// must have it, have it on the left, where the instruction takes it from registers. Those, and matmuls by single
  /// warps whose left operand is computed from loads, have their rows in an order in which a thread's are contiguous.
  /// Matmuls with few rows are transposed where that makes them ones by warp groups.
  void arrangeOperands();

private:
  using LinearLayout = layout::LinearLayout;

  static mlir::RankedTensorType tileOf(mlir::Value value) {
    return mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  }
  static layout::Shape shapeOf(mlir::Value value) {
    auto shape = tileOf(value).getShape();
    return {shape.begin(), shape.end()};
  }
  /// Whether each element of the one result is made of the elements at its place.
  static bool isElementwise(mlir::Operation *op);
  static bool isMadeOfProduct(mlir::Value from);
  static bool isUsedByRows(mlir::Value product);
  int64_t threads() const { return int64_t(warps) * target.lanesPerWarp(); }

  LinearLayout defaultLayout(const layout::Shape &shape, int64_t perThread = 1);
  /// Of one dimension: a warp has what it would have if each of its threads had `span` neighbours, and each thread has
  /// `perThread` of them at a time.
  LinearLayout spreadLayout(int64_t elements, int64_t perThread, int64_t span);
  /// The layout that the value has of its own, or one for its shape.
  LinearLayout ownOrDefault(mlir::Value value);
  const LinearLayout *own(mlir::Value value);
  bool setOwn(mlir::Value value, const LinearLayout &layout); ///< whether that is new

  //===-- AssignLayouts.cpp --------------------------------------------------------------------------------------===//
  bool visit(mlir::Operation *op); ///< whether something changed
  bool visitMerges();
  void findRepeatable(llvm::ArrayRef<mlir::Operation *> ops);
  bool join(mlir::Value target, llvm::ArrayRef<mlir::Value> sources);
  const LinearLayout *layoutOfUsers(mlir::Value value); ///< of what is computed from it element by element; or null
  /// Whether the tile has no layout of its own yet, and may still get one.
  bool mayGetLayout(mlir::Value value) { return !own(value) && !isFree(value); }

  //===-- ChooseLayouts.cpp --------------------------------------------------------------------------------------===//
  LinearLayout accessLayout(mlir::Operation *op, mlir::Value pointer);
  static bool isReducedAlong(mlir::Value tile, int axis);
  void findReducedRows();
  LinearLayout layoutByRows(const layout::Shape &shape, const analysis::AccessLayout &access);
  std::optional<std::pair<int, int64_t>> runOfProduct(triton::LoadOp load);
  void takeRunAlongK(triton::LoadOp load, analysis::AccessLayout &access);
  void takeWordOfCopy(triton::LoadOp load, analysis::AccessLayout &access);
  std::optional<std::pair<int, int64_t>> runOfStore(triton::LoadOp load, int fastest);
  void takeRunOfStore(triton::LoadOp load, analysis::AccessLayout &access);
  /// Of the result of a `tt.dot` or `tt.dot_scaled`, along each axis.
  std::optional<MatrixInstruction> matrixInstruction(triton::DotOp dot);
  layout::Shape splitAmongWarps(mlir::Operation *dot, const MatrixInstruction &instruction);
  layout::Shape warpsOf(mlir::Operation *dot, const MatrixInstruction &instruction);
  LinearLayout dotLayout(triton::DotOp op);
  /// Where a store's elements are to be: as its access wants it, or as matrix instructions left them.
  LinearLayout storeLayout(triton::StoreOp op);
  /// The instruction for groups of warps, where that is the better one.
  std::optional<GroupInstruction> groupInstruction(triton::DotOp op);
  bool hasColumnsForGroups(triton::DotOp op);
  LinearLayout reduceLayout(triton::ReduceOp op);
  LinearLayout scanLayout(triton::ScanOp op);
  LinearLayout packLayout(triton::MapElementwiseOp op); ///< the elements of a pack are in registers of one thread
  /// What the operands of a join or cat, or the operand of a split, are to have.
  LinearLayout piecesLayout(mlir::Operation *op);
  std::optional<LinearLayout> throughShape(mlir::Operation *op, const LinearLayout &source);

  //===-- ScaledDots.cpp -----------------------------------------------------------------------------------------===//
  MatrixInstruction scaledInstruction(triton::DotScaledOp dot);
  LinearLayout dotLayout(triton::DotScaledOp dot);
  LinearLayout scaleLayout(triton::DotScaledOp dot, int operand);
  std::optional<LinearLayout> layoutOfLoadedScales(triton::LoadOp load);
  void rewriteScaledDot(triton::DotScaledOp dot);
  void replaceScaledDot(triton::DotScaledOp dot);

  //===-- ComputedOperands.cpp ------------------------------------------------------------------------------------===//
  /// Whether the operand is loaded, and contiguous along K in memory.
  bool liesAlongK(mlir::Value operand, int axisK);
  /// Whether warp groups can read both operands of 32 bits without another copy: they read no such elements across K
  /// from shared memory.
  bool readsAlongK(triton::DotOp dot, const GroupInstruction &group);
  /// Of a left operand that is made of another product, computed from loads, or of 32 bits that do not lie along K:
  /// where the instruction reads it, if there are registers.
  std::optional<LinearLayout> layoutInRegisters(triton::DotOp dot, const GroupInstruction &group);
  /// The same of either operand of a matmul by instructions of single warps: where it is computed from loads in a loop,
  /// and no two warps would compute the same.
  std::optional<LinearLayout> layoutWhereComputed(triton::DotOp dot, int operand, const MatrixInstruction &instruction,
                                                  const layout::Shape &split);
  /// The layout in which the instruction for the matmul, if there is one, takes its left operand from registers.
  std::optional<LinearLayout> whereLeftIsRead(triton::DotOp dot);
  int64_t readsOf(triton::LoadOp load, const LinearLayout &layout);
  std::optional<int64_t> readsOfLeft(triton::DotOp dot);
  bool readsBothInPlace(triton::DotOp dot);
  /// The tile, computed again in this layout, in which each thread can compute its elements.
  mlir::Value computeIn(mlir::Value value, const LinearLayout &layout);

  //===-- RewriteLayouts.cpp -------------------------------------------------------------------------------------===//
  mlir::Value get(mlir::Value value, LinearLayout layout); ///< a copy: `layouts` may move what it holds
  bool isFree(mlir::Value value);
  /// Of a thread, to have a tile in another layout without an exchange, or with one of what it is computed from.
  struct RepeatedWork {
    int64_t accesses = 0, computed = 0; ///< of memory; elements
    mlir::Value exchanged = {};         ///< what the rest is computed from
  };
  AccessWidth widthOfRepeated(triton::LoadOp load);
  int64_t accessesIn(triton::LoadOp load, const LinearLayout &layout);
  /// Whether each thread can load and compute the tile's elements in this layout at less cost than an exchange.
  bool canRepeat(mlir::Value value, const LinearLayout &layout, RepeatedWork &work);
  /// Whether to exchange `tile` and compute `whole` from it again, instead of exchanging `whole`: where `tile` is not
  /// wider than `whole`, or is exchanged to this layout already.
  bool isExchangedFor(mlir::Value tile, mlir::Value whole, const LinearLayout &layout);
  /// The tile loaded or computed again in this layout, where it can be; else null.
  mlir::Value repeat(mlir::Value value, const LinearLayout &layout);
  void rewrite(mlir::Operation *op);
  void rewriteAccess(mlir::Operation *op);
  bool readsProductWithoutLanes(triton::DotOp op, MatrixInstruction instruction, const layout::Shape &split);
  void rewriteDot(triton::DotOp op);
  void replaceOperations();
  bool rewriteMerge(mlir::Operation *op); ///< whether values meet at it or behind it
  void setAll(mlir::Operation *op, LinearLayout layout);
  void setToValues(llvm::MutableArrayRef<mlir::OpOperand> operands, mlir::ValueRange targets);
  void setOperand(mlir::OpOperand &operand, LinearLayout layout);

  triton::FuncOp function;
  const GpuTarget &target;
  int warps;
  bool warpGroups;
  bool asksUsers = false; ///< what loops carry may have the layout of what is computed from it
  bool isLast = false;    ///< what nothing decides gets a layout for its shape
  analysis::AxisAnalysis facts;
  analysis::AccessAnalysis accesses;
  /// How a `tt.dot` is multiplied: by an instruction of one warp, by warp groups, or else one by one.
  struct Product {
    MatrixAttr instruction = {};
    bool warpGroups = false;
  };
  llvm::DenseMap<mlir::Operation *, Product> products;
  /// Of matmuls, chosen once, when the results get their layouts: what an operand is made of looks different once it is
  /// rewritten, and the operands must have the layouts that the result's asks for.
  llvm::DenseMap<mlir::Operation *, layout::Shape> warpSplits;
  llvm::DenseMap<mlir::Operation *, std::optional<GroupInstruction>> groups;
  llvm::DenseMap<mlir::Operation *, AccessWidth> widths; ///< of loads, stores and updates of tiles
  llvm::DenseMap<mlir::Value, LinearLayout> layouts;
  /// Loads of rows and of no more elements than there are threads, and element operations, which may be made in several
  /// layouts: with their operands as the program has them.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> repeatable;
  llvm::DenseSet<mlir::Operation *> storedElsewhere; ///< loads of those, through another argument
  std::vector<LinearLayout> resultLayouts;           ///< of matrix instructions
  /// Of loaded tiles, the shapes, and the axes along which they are contiguous and reduced.
  std::vector<std::pair<layout::Shape, int>> reducedRows;
  /// Of the operands of reductions, joins, ...: chosen once, when the results get theirs.
  llvm::DenseMap<mlir::Operation *, LinearLayout> operandLayouts;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> made;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> computed; ///< again, with a layout of its own
};

} // namespace heddle::simt
