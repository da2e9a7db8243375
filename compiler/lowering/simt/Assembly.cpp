// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inline assembly of the program on packs of elements, as Triton passes them: adjacent registers of a thread are a
// pack, and elements of fewer than 32 bits share words of 32, as many as the pack has of them. The assembler of the
// chip sees the text first when the kernel is loaded.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Assembly : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(ElementwiseInlineAsmOp op);

private:
  /// `count` elements from `reg` on, the last one repeated after the end, as the words that the text takes.
  void packWords(Value source, int64_t reg, int64_t count, ArrayRef<Type> types, Values &words);
  /// The elements that `words` hold, `count` of them.
  Values unpackWords(ArrayRef<Value> words, Type result, int64_t count);
};

/// The registers that the text names, by their constraints: those of results first.
struct AssemblyWords {
  SmallVector<Type> results, operands;
  std::string problem; ///< why it cannot be passed; empty when it can
};

/// How elements of a type lie in words: so many in each.
struct Packing {
  int64_t bits = 0, perWord = 1;
  Packing(Type memory, int64_t pack)
      : bits(memory.getIntOrFloatBitWidth()), perWord(bits < 32 ? std::min(32 / bits, pack) : 1) {}
  int64_t words(int64_t pack) const { return pack / perWord; }
};

} // namespace

static AssemblyWords wordsOf(StringRef constraints, const GpuTarget &target, OpBuilder &b) {
  AssemblyWords words;
  SmallVector<StringRef> each;
  constraints.split(each, ',', -1, /*KeepEmpty=*/false);
  for (StringRef constraint : each) {
    constraint = constraint.trim();
    if (constraint.starts_with("~{"))
      continue;
    bool isResult = constraint.consume_front("=");
    constraint.consume_front("&");
    unsigned tied = 0;
    bool isTied = !isResult && !constraint.getAsInteger(10, tied) && tied < words.results.size();
    Type type = isTied ? words.results[tied] : target.assemblyType(b, constraint);
    if (!type) {
      words.problem = ("its text has the constraint `" + constraint + "`, and " + target.assemblyAdvice()).str();
      return words;
    }
    (isResult ? words.results : words.operands).push_back(type);
  }
  return words;
}

void Assembly::packWords(Value source, int64_t reg, int64_t count, ArrayRef<Type> types, Values &words) {
  const Values &values = of(source);
  Type element = elementTypeOf(source.getType()), memory = memoryType(element);
  Packing packing(memory, count);
  for (int64_t first = 0; first < count; first += packing.perWord) {
    Type type = types[words.size()], integer = b.getIntegerType(type.getIntOrFloatBitWidth());
    Value word;
    for (int64_t i = 0; i < packing.perWord; ++i) {
      size_t at = std::min(size_t(reg + first + i), values.size() - 1);
      Value bits = toMemory(values[at], element);
      if (bits.getType() != integer)
        bits = arith::ExtUIOp::create(b, integer, bits);
      if (i)
        bits = arith::ShLIOp::create(b, bits, constantOf(integer, i * packing.bits));
      word = word ? Value(arith::OrIOp::create(b, word, bits)) : bits;
    }
    words.push_back(as(type, word));
  }
}

ThreadCode::Values Assembly::unpackWords(ArrayRef<Value> words, Type result, int64_t count) {
  Type element = elementTypeOf(result), memory = memoryType(element);
  Packing packing(memory, count);
  Values values;
  for (Value word : words) {
    Type integer = b.getIntegerType(word.getType().getIntOrFloatBitWidth());
    word = as(integer, word);
    for (int64_t i = 0; i < packing.perWord; ++i) {
      Value bits = i ? Value(arith::ShRUIOp::create(b, word, constantOf(integer, i * packing.bits))) : word;
      values.push_back(fromMemory(integer == memory ? bits : arith::TruncIOp::create(b, memory, bits), element));
    }
  }
  return values;
}

// Compares the words of `values` with the registers of the constraints.
static std::string mismatch(StringRef what, ArrayRef<Type> memory, int64_t pack, ArrayRef<Type> registers) {
  size_t next = 0;
  std::string problem;
  for (Type type : memory) {
    Packing packing(type, pack);
    for (int64_t i = 0; i < packing.words(pack); ++i, ++next)
      if (next < registers.size() && registers[next].getIntOrFloatBitWidth() < packing.bits * packing.perWord)
        problem = (what + " " + Twine(next) + " has " + Twine(packing.bits * packing.perWord) +
                   " bits, but its register " + Twine(registers[next].getIntOrFloatBitWidth()))
                      .str();
  }
  if (next != registers.size())
    problem =
        (what + "s take " + Twine(next) + " registers, but the constraints name " + Twine(registers.size())).str();
  return problem;
}

void Assembly::lower(ElementwiseInlineAsmOp op) {
  int64_t pack = op.getPackedElement();
  auto memory = [&](TypeRange types) {
    return llvm::map_to_vector(types, [&](Type type) { return memoryType(elementTypeOf(type)); });
  };
  AssemblyWords words = wordsOf(op.getConstraints(), target, b);
  if (words.problem.empty())
    words.problem = mismatch("result", memory(op->getResultTypes()), pack, words.results);
  if (words.problem.empty())
    words.problem = mismatch("operand", memory(op->getOperandTypes()), pack, words.operands);
  if (!words.problem.empty())
    return refuse(words.problem);
  Type returned = words.results.size() == 1 ? words.results.front()
                                            : Type(LLVM::LLVMStructType::getLiteral(b.getContext(), words.results));
  SmallVector<Values> results(op->getNumResults());
  for (int64_t reg = 0, count = registersOf(op->getResult(0).getType()); reg < count; reg += pack) {
    Values operands, made;
    for (Value source : op->getOperands())
      packWords(source, isa<RankedTensorType>(source.getType()) ? reg : 0, pack, words.operands, operands);
    Value given = LLVM::InlineAsmOp::create(b, returned, operands, op.getAsmString(), op.getConstraints(),
                                            /*has_side_effects=*/!op.getPure(), /*is_align_stack=*/false,
                                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
                      .getResult(0);
    for (size_t i = 0; i < words.results.size(); ++i)
      made.push_back(words.results.size() == 1
                         ? given
                         : Value(LLVM::ExtractValueOp::create(b, given, ArrayRef<int64_t>{int64_t(i)})));
    ArrayRef<Value> rest = made;
    for (auto [result, values] : llvm::zip(op->getResults(), results)) {
      auto taken = size_t(Packing(memoryType(elementTypeOf(result.getType())), pack).words(pack));
      Values elements = unpackWords(rest.take_front(taken), result.getType(), pack);
      elements.resize(size_t(std::min(pack, count - reg)));
      values.append(elements);
      rest = rest.drop_front(taken);
    }
  }
  for (auto [result, values] : llvm::zip(op->getResults(), results))
    made[result] = values;
}

void simt::addAssembly(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Assembly, ElementwiseInlineAsmOp>(patterns, state);
}
