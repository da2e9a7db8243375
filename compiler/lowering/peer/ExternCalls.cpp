// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes and reads the names token by token; a name that does not parse is refused with the part at fault.
#include "compiler/lowering/peer/ExternCalls.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace heddle::peer;
using heddle::triton::MemScope;
using heddle::triton::MemSemantic;

static constexpr StringRef prefix = "__heddle_";

bool heddle::peer::isExternCallName(StringRef symbol) {
  return symbol.starts_with(prefix);
}

//===-- Writing: every value has a token, without an underscore in it --------------------------------------------===//

static StringRef tokenOf(ExternCall::Kind kind) {
  switch (kind) {
  case ExternCall::Kind::ThreadId:
    return "gettid";
  case ExternCall::Kind::Clock:
    return "clock";
  case ExternCall::Kind::Hold:
    return "hold";
  case ExternCall::Kind::ReleaseFence:
    return "releasefence";
  case ExternCall::Kind::Write:
    return "atomicwrite";
  case ExternCall::Kind::SpinWait:
    return "atomicspinwait";
  }
  llvm::report_fatal_error("peer: unknown kind of extern call");
}

static StringRef tokenOf(MemSemantic semantic) {
  switch (semantic) {
  case MemSemantic::Relaxed:
    return "relaxed";
  case MemSemantic::Acquire:
    return "acquire";
  case MemSemantic::Release:
    return "release";
  case MemSemantic::AcquireRelease:
    return "acqrel";
  }
  llvm::report_fatal_error("peer: unknown memory semantic");
}

static StringRef tokenOf(MemScope scope) {
  switch (scope) {
  case MemScope::System:
    return "system";
  case MemScope::Gpu:
    return "gpu";
  case MemScope::Cta:
    return "cta";
  }
  llvm::report_fatal_error("peer: unknown memory sync scope");
}

static StringRef tokenOf(Comparator comparator) {
  switch (comparator) {
  case Comparator::Equal:
  case Comparator::LessThan:
  case Comparator::LessOrEqual:
  case Comparator::GreaterThan:
  case Comparator::GreaterOrEqual:
  case Comparator::HighHalfEqual:
    return stringifyComparator(comparator); // the words of the text
  }
  llvm::report_fatal_error("peer: unknown comparator");
}

static bool hasFields(ExternCall::Kind kind) {
  return kind == ExternCall::Kind::Write || kind == ExternCall::Kind::SpinWait;
}

std::string heddle::peer::externCallName(const ExternCall &call) {
  SmallVector<StringRef> tokens{tokenOf(call.kind)};
  if (hasFields(call.kind)) {
    tokens.append({call.width == 64 ? "i64" : "i32", tokenOf(call.semantic), tokenOf(call.scope)});
    if (call.kind == ExternCall::Kind::SpinWait)
      tokens.push_back(tokenOf(call.comparator));
    tokens.push_back(call.masked ? "mask" : "nomask");
  }
  return prefix.str() + llvm::join(tokens, "_");
}

//===-- Reading --------------------------------------------------------------------------------------------------===//

// Finds the value whose token this is, by the tokens that are written.
template <typename T>
static std::optional<T> valueOf(StringRef token, ArrayRef<T> values) {
  for (T value : values)
    if (tokenOf(value) == token)
      return value;
  return std::nullopt;
}

static constexpr ExternCall::Kind kinds[] = {ExternCall::Kind::ThreadId, ExternCall::Kind::Clock,
                                             ExternCall::Kind::Hold,     ExternCall::Kind::ReleaseFence,
                                             ExternCall::Kind::Write,    ExternCall::Kind::SpinWait};
static constexpr MemSemantic semantics[] = {MemSemantic::Relaxed, MemSemantic::Acquire, MemSemantic::Release,
                                            MemSemantic::AcquireRelease};
static constexpr MemScope scopes[] = {MemScope::System, MemScope::Gpu, MemScope::Cta};
static constexpr Comparator comparators[] = {Comparator::Equal,          Comparator::LessThan,
                                             Comparator::LessOrEqual,    Comparator::GreaterThan,
                                             Comparator::GreaterOrEqual, Comparator::HighHalfEqual};

// What the verifier of the dialect refuses, for names written by hand.
static LogicalResult checkFields(const ExternCall &call, StringRef symbol, EmitError emitError) {
  bool isWrite = call.kind == ExternCall::Kind::Write;
  MemSemantic strong = isWrite ? MemSemantic::Release : MemSemantic::Acquire;
  if (call.semantic != MemSemantic::Relaxed && call.semantic != strong)
    return emitError() << "unsupported memory semantic '" << tokenOf(call.semantic) << "' in '" << symbol
                       << "': " << tokenOf(call.kind) << " is relaxed or " << tokenOf(strong);
  if (!isWrite && call.comparator == Comparator::HighHalfEqual && call.width != 64)
    return emitError() << "comparator 'hi' in '" << symbol << "' compares the high halves of i64, not of i32";
  return success();
}

static LogicalResult parseFields(ExternCall &call, ArrayRef<StringRef> tokens, StringRef symbol, EmitError emitError) {
  auto unknown = [&](StringRef what, StringRef token, StringRef known) -> LogicalResult {
    return emitError() << "unknown " << what << " '" << token << "' in '" << symbol << "': it is " << known;
  };
  if (tokens[0] != "i32" && tokens[0] != "i64")
    return unknown("width", tokens[0], "i32 or i64");
  call.width = tokens[0] == "i64" ? 64 : 32;
  auto semantic = valueOf<MemSemantic>(tokens[1], semantics);
  if (!semantic)
    return unknown("memory semantic", tokens[1], "relaxed, acquire, release or acqrel");
  call.semantic = *semantic;
  auto scope = valueOf<MemScope>(tokens[2], scopes);
  if (!scope)
    return unknown("memory sync scope", tokens[2], "system, gpu or cta");
  call.scope = *scope;
  if (call.kind == ExternCall::Kind::SpinWait) {
    auto comparator = valueOf<Comparator>(tokens[3], comparators);
    if (!comparator)
      return unknown("comparator", tokens[3], "eq, lt, le, gt, ge or hi");
    call.comparator = *comparator;
  }
  if (tokens.back() != "mask" && tokens.back() != "nomask")
    return unknown("mask", tokens.back(), "mask or nomask");
  call.masked = tokens.back() == "mask";
  return checkFields(call, symbol, emitError);
}

FailureOr<ExternCall> heddle::peer::parseExternCall(StringRef symbol, EmitError emitError) {
  StringRef rest = symbol;
  SmallVector<StringRef> tokens;
  bool isOurs = rest.consume_front(prefix);
  rest.split(tokens, '_');
  auto kind = valueOf<ExternCall::Kind>(tokens[0], kinds);
  if (!isOurs || !kind)
    return emitError() << "invalid extern function name '" << symbol << "': after '" << prefix
                       << "' comes gettid, clock, hold, releasefence, atomicwrite or atomicspinwait";
  size_t count = !hasFields(*kind) ? 1 : *kind == ExternCall::Kind::Write ? 5 : 6;
  if (tokens.size() != count)
    return emitError() << "invalid extern function name '" << symbol << "': " << tokens[0] << " has " << count - 1
                       << " fields, not " << tokens.size() - 1;
  ExternCall call{*kind};
  if (hasFields(*kind) && failed(parseFields(call, ArrayRef(tokens).drop_front(), symbol, emitError)))
    return failure();
  return call;
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

static bool isPointer(Type type) {
  return isa<heddle::triton::PointerType, LLVM::LLVMPointerType>(type);
}

LogicalResult heddle::peer::checkExternCall(const ExternCall &call, StringRef symbol, TypeRange operands, Type result,
                                            EmitError emitError) {
  using Check = std::pair<StringRef, llvm::function_ref<bool(Type)>>;
  auto isWord = [&](Type type) { return type.isInteger(call.width); };
  auto isLongWord = [](Type type) { return type.isInteger(64); };
  bool isMachine = !operands.empty() && isa<LLVM::LLVMPointerType>(operands.front());
  auto isMask = [&](Type type) { return type.isInteger(1) || (isMachine && type.isInteger(32)); };
  SmallVector<Check> checks;
  if (hasFields(call.kind)) {
    bool isWrite = call.kind == ExternCall::Kind::Write;
    checks.append({{"pointer", isPointer}, {isWrite ? "value" : "expected", isWord}});
    if (!isWrite)
      checks.append({{"deadline", isLongWord}, {"group", isPointer}});
    if (call.masked)
      checks.push_back({"mask", isMask});
  }
  if (call.kind == ExternCall::Kind::Hold)
    checks.push_back({"value", isLongWord});
  if (operands.size() != checks.size())
    return emitError() << "'" << symbol << "' expects " << checks.size() << " arguments, not " << operands.size();
  for (auto [type, check] : llvm::zip(operands, checks))
    if (!check.second(type))
      return emitError() << "argument '" << check.first << "' of '" << symbol << "' cannot have type " << type;
  bool isLong = call.kind == ExternCall::Kind::Clock || call.kind == ExternCall::Kind::Hold;
  unsigned resultWidth = isLong ? 64 : call.width;
  if (result && result.isInteger(resultWidth))
    return success();
  auto error = emitError() << "'" << symbol << "' results in i" << resultWidth << ", not in ";
  return result ? error << result : error << "nothing";
}
