// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random tile programs from a seed. A program reads input buffers, computes a pool of values, and stores the
// interesting ones to output buffers of its own; every value carries Facts, so undefined behaviour is never generated
// and each output's tolerance is known.
//
// Nothing here may depend on the machine or the library: random numbers are drawn in statements of their own, never as
// two arguments of one call, and no container is walked in address order.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/fuzz/Facts.h"
#include "tests/fuzz/FuzzProgram.h"
#include "tests/fuzz/Random.h"
#include <functional>
#include <set>

namespace heddle::fuzz {

struct GeneratorOptions {
  std::set<std::string> without;    ///< families of operations to leave out, by the names in Generator::families()
  bool contraction = false;         ///< executors may fuse a multiplication and an addition
  bool approximateDivision = false; ///< divf and sqrt may be some units in the last place off
};

/// A value and what is known about it.
struct Entry {
  mlir::Value value;
  Facts facts;
  mlir::Type type() const { return value.getType(); }
};

using Shape = std::vector<int64_t>;

class Generator {
public:
  Generator(mlir::MLIRContext &context, uint64_t seed, const GeneratorOptions &options = {});
  FuzzProgram generate();

  /// Names of the families, for --without.
  static std::vector<std::string> familyNames();

private:
  //===-- Generator.cpp: the program around the values
  struct Family {
    const char *name;
    int weight;
    void (Generator::*add)();
  };
  static const std::vector<Family> &families();
  void beginKernel();
  void finishKernel();
  void addSteps(int count);
  void storeLeftovers();
  /// Runs `body` with the pool as a scope: what it adds is forgotten afterwards.
  void inScope(const std::function<void()> &body);
  /// Temporarily moves the insertion point to the end of `block`.
  void inBlock(mlir::Block *block, const std::function<void()> &body);

  //===-- GenerateValues.cpp: operands
  mlir::Type randomIntegerType();
  mlir::Type randomFloatType(); ///< one that arithmetic works on: not fp8
  mlir::Type randomFp8Type();
  mlir::Type randomElementType();
  Shape randomShape();
  const Shape &commonShape();
  mlir::Type tileType(const Shape &shape, mlir::Type element);
  Entry keep(mlir::Value value, const Facts &facts); ///< adds to the pool
  mlir::Value create(llvm::StringRef name, mlir::ValueRange operands, mlir::Type result);
  mlir::Value constantInteger(mlir::Type type, int64_t value); ///< scalar or tile
  mlir::Value constantFloat(mlir::Type type, double value);
  mlir::Value clamp(mlir::Value value, double low, double high, bool propagate = false);
  mlir::Value splat(mlir::Value scalar, const Shape &shape);
  /// A pool entry that fits, or null values when there is none.
  std::optional<Entry> choose(const std::function<bool(const Entry &)> &fits);
  std::optional<Entry> chooseTile(const std::function<bool(mlir::Type)> &element, bool allowTerminal = false);
  /// A tile of this shape and element type; loads one when the pool has none. Never terminal.
  Entry operand(const Shape &shape, mlir::Type element);
  Entry operandLike(const Entry &entry) { return operand(shapeOf(entry), elementOf(entry)); }
  /// Fresh values with small integers: exact in sums and products.
  Entry smallIntegers(const Shape &shape, mlir::Type element);
  Entry scalarI32();                                           ///< any i32 scalar
  mlir::Value boundedIndex(const Entry &entry, int64_t bound); ///< integers and-ed into [0, bound), a power of two
  static Shape shapeOf(const Entry &entry);
  static mlir::Type elementOf(const Entry &entry);

  //===-- GenerateMemory.cpp
  enum class Fill { Small, Fractions, Anything };
  struct Buffer {
    mlir::Value pointer;
    mlir::Type element;
    int64_t size;
    Facts facts;
  };
  size_t addArgument(mlir::Type type, reference::Argument argument, const std::string &note);
  Buffer addInput(mlir::Type element, int64_t size, Fill fill);
  Buffer inputOf(mlir::Type element);
  Buffer addOutput(mlir::Type element, int64_t size, const Facts &facts, bool fillSmall = false);
  Buffer addLock();                            ///< one i32, 0 before and after
  mlir::Value linearIndex(const Shape &shape); ///< 0, 1, ... row-major, i32
  mlir::Value ownIndex(const Shape &shape);    ///< linearIndex plus this program's share: disjoint among programs
  mlir::Value pointersAt(const Buffer &buffer, mlir::Value index);
  mlir::Value randomMask(const Shape &shape);
  Entry loadTile(const Shape &shape, mlir::Type element, std::optional<Fill> fill = std::nullopt);
  Entry loadScalar(mlir::Type element);
  void store(const Entry &entry);
  void addLoad();
  void addScalarLoad();
  void addStore();
  void addSharedAtomic();
  void addOwnAtomic();
  void addCompareAndSwap();
  void addAtomicAccess();
  void addBlockPointer();

  //===-- GenerateDescriptors.cpp
  /// Describes `rows` rows of `columns` elements, read and written in blocks of `block`; sizes of further leading
  /// dimensions are 1.
  mlir::Value describe(mlir::RankedTensorType block, mlir::Value pointer, int64_t rows, int64_t columns,
                       triton::PaddingOption padding = triton::PaddingOption::Zero);
  void addDescriptor();
  void addDescriptorReduce();
  void addDescriptorGather();
  void addDescriptorScatter();

  //===-- GenerateAddresses.cpp
  mlir::Value throughMemory(mlir::Value pointers, const Shape &shape);
  void addAddressLoad();
  void addAddressStore();
  void addPrint();
  void addAssert();

  //===-- GenerateArithmetic.cpp
  std::optional<Facts> binaryFloatFacts(llvm::StringRef op, const Entry &a, const Entry &b);
  Entry integerBinary(const Entry &a, const Entry &b);
  std::optional<Entry> floatBinary(const Entry &a, const Entry &b);
  void addIntegerArithmetic();
  void addIntegerUnary();
  void addFloatArithmetic();
  void addFloatUnary();
  void addRemainder();
  void addFunction();
  void addCompareSelect();
  void addIntegerConversion();
  void addFloatConversion();
  void addFloatIntegerConversion();
  void addBitcast();
  void addScalarArithmetic();

  //===-- GenerateShapes.cpp
  void addReshape();
  void addTranspose();
  void addExpandBroadcast();
  void addJoinSplit();
  void addGather();
  void addHistogram();
  void addCat();

  //===-- GenerateRegions.cpp
  struct Combine {
    Facts facts;
    std::function<mlir::Value(mlir::Value, mlir::Value)> build;
  };
  std::optional<Combine> randomCombine(const Entry &entry, int64_t count);
  void addReduce();
  void addArgReduce();
  void addScan();
  void addRecurrenceScan();
  void addMapElementwise();

  //===-- GenerateDots.cpp
  struct DotTypes {
    mlir::Type a, b, accumulator;
  };
  DotTypes randomDotTypes();
  std::optional<Facts> dotFacts(const Entry &a, const Entry &b, const Entry &c, double terms, bool tf32);
  std::optional<Entry> dot(const Entry &a, const Entry &b, const Entry &c, double trips);
  void addDot();
  void addDotLoop();
  struct ScaledSide {
    triton::ScaleDotElemType format;
    bool packedAlongK;
    mlir::Value tile, scale; ///< `scale` may be null
    double largest;          ///< of the scaled elements
    bool coarse;             ///< these are multiples of 2^-4
  };
  ScaledSide scaledSide(const Shape &batch, int64_t outer, int64_t k, bool isLeft);
  void addScaledDot();

  //===-- GenerateControl.cpp
  void addFor();
  void addIf();
  void addWhile();
  void addPointerLoop();
  void addEarlyReturn();
  void addCall();
  void addSpinLock();
  Entry exactOperand(const Shape &shape, mlir::Type element);

  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  mlir::Location location;
  Random random;
  GeneratorOptions options;
  FuzzProgram program;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  triton::FuncOp kernel;
  mlir::Block *entryBlock = nullptr;
  mlir::Block *currentBlock = nullptr; ///< of the kernel's blocks the one that grows
  mlir::Value programIndex;            ///< linear id of this program, i32
  int64_t programCount = 1;
  std::vector<Shape> shapes; ///< preferred shapes, so that values meet
  std::vector<Entry> pool;
  std::vector<Buffer> inputs;
  int depth = 0;       ///< loops and conditionals around the insertion point
  int helperCount = 0; ///< functions besides the kernel
};

} // namespace heddle::fuzz
