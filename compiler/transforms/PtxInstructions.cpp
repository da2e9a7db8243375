// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-ptx-instructions: PTX in a kernel's text, on a target that does not execute PTX. Public kernels name single
// instructions for approximations of functions; their arithmetic on f32, in straight lines, becomes operations.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace heddle {
#define GEN_PASS_DEF_PTXINSTRUCTIONSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

using Builder = ImplicitLocOpBuilder;
using Arguments = ArrayRef<Value>;

Value constant(Builder &b, Type type, const APFloat &value) {
  auto element = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(tile, element));
  return arith::ConstantOp::create(b, cast<TypedAttr>(Attribute(element)));
}

template <typename Op>
Value simple(Builder &b, Arguments x) {
  return Op::create(b, x[0].getType(), ValueRange(x));
}

struct Instruction {
  unsigned operands;
  Value (*make)(Builder &b, Arguments x);
};

/// By the first word of the name.
const llvm::StringMap<Instruction> &instructions() {
  static const llvm::StringMap<Instruction> table = {
      {"mov", {1, [](Builder &, Arguments x) { return x[0]; }}},
      {"neg", {1, simple<arith::NegFOp>}},
      {"abs", {1, simple<math::AbsFOp>}},
      {"sqrt", {1, simple<math::SqrtOp>}},
      {"rsqrt", {1, simple<math::RsqrtOp>}},
      {"rcp",
       {1,
        [](Builder &b, Arguments x) -> Value {
          return arith::DivFOp::create(b, constant(b, x[0].getType(), APFloat(1.0f)), x[0]);
        }}},
      {"ex2", {1, simple<math::Exp2Op>}},
      {"lg2", {1, simple<math::Log2Op>}},
      {"sin", {1, simple<math::SinOp>}},
      {"cos", {1, simple<math::CosOp>}},
      {"tanh", {1, simple<math::TanhOp>}},
      {"add", {2, simple<arith::AddFOp>}},
      {"sub", {2, simple<arith::SubFOp>}},
      {"mul", {2, simple<arith::MulFOp>}},
      {"div", {2, simple<arith::DivFOp>}},
      {"min", {2, simple<arith::MinNumFOp>}}, // of a NaN and a number, the number
      {"max", {2, simple<arith::MaxNumFOp>}},
      {"fma", {3, simple<math::FmaOp>}},
  };
  return table;
}

/// The instruction that a name such as `ex2.approx.ftz.f32` stands for; null where there is none.
const Instruction *find(StringRef name) {
  static const llvm::StringSet<> known = {"approx", "ftz", "full", "rn"}; // other roundings are other functions
  SmallVector<StringRef> words;
  name.split(words, '.');
  bool isSingle = words.size() > 1 && (words.back() == "f32" || (words.front() == "mov" && words.back() == "b32"));
  auto found = instructions().find(words.front());
  if (!isSingle || found == instructions().end())
    return nullptr;
  auto isKnown = [](StringRef word) { return known.contains(word); };
  return llvm::all_of(ArrayRef(words).slice(1).drop_back(), isKnown) ? &found->second : nullptr;
}

/// The values of the registers of one text.
class Text {
public:
  explicit Text(ElementwiseInlineAsmOp op) : b(op.getLoc(), op), type(op->getResult(0).getType()) {
    unsigned number = op->getNumResults();
    for (Value argument : op.getArgs())
      registers["$" + std::to_string(number++)] = argument;
  }

  /// Null where the text does not write it.
  Value result(unsigned number) const { return registers.lookup("$" + std::to_string(number)); }

  /// One statement without its semicolon; false for what has no operation.
  bool read(StringRef statement) {
    if (statement.empty() || statement.starts_with(".reg ") || statement.starts_with(".reg\t"))
      return true;
    size_t end = statement.find_first_of(" \t");
    const Instruction *instruction = end == StringRef::npos ? nullptr : find(statement.take_front(end));
    if (!instruction)
      return false;
    SmallVector<StringRef> words;
    statement.drop_front(end).split(words, ',');
    SmallVector<Value> operands;
    for (StringRef word : llvm::drop_begin(words))
      operands.push_back(operand(word.trim()));
    if (operands.size() != instruction->operands || llvm::is_contained(operands, Value()))
      return false;
    registers[words.front().trim()] = instruction->make(b, operands);
    return true;
  }

private:
  /// A register, or a number as PTX writes one of f32: `0f3F800000`, `1.5`.
  Value operand(StringRef word) {
    if (Value value = registers.lookup(word))
      return value;
    uint32_t bits = 0;
    if (StringRef digits = word;
        digits.consume_front_insensitive("0f") && digits.size() == 8 && !digits.getAsInteger(16, bits))
      return constant(b, type, APFloat(APFloat::IEEEsingle(), APInt(32, bits)));
    double number = 0;
    return word.contains('.') && !word.getAsDouble(number) ? constant(b, type, APFloat(float(number))) : Value();
  }

  Builder b;
  Type type;
  llvm::StringMap<Value> registers;
};

void replace(ElementwiseInlineAsmOp op) {
  auto isSingle = [](Type type) { return getElementTypeOrSelf(type).isF32(); };
  if (op.getPackedElement() != 1 || !op.getPure() || op->getNumResults() == 0 || op.getArgs().empty() ||
      !llvm::all_of(op->getOperandTypes(), isSingle) || !llvm::all_of(op->getResultTypes(), isSingle))
    return;
  SmallVector<StringRef> statements;
  op.getAsmString().split(statements, ';');
  Text text(op);
  for (StringRef statement : statements)
    if (!text.read(statement.trim(" \t\r\n{}")))
      return; // what was made of the statements before has no use
  SmallVector<Value> results;
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    results.push_back(text.result(number));
  if (llvm::is_contained(results, Value()))
    return;
  op->replaceAllUsesWith(results);
  op->erase();
}

struct PtxInstructionsPass : heddle::impl::PtxInstructionsPassBase<PtxInstructionsPass> {
  void runOnOperation() override {
    SmallVector<ElementwiseInlineAsmOp> work;
    getOperation()->walk([&](ElementwiseInlineAsmOp op) { work.push_back(op); });
    llvm::for_each(work, replace);
  }
};

} // namespace
