// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers the operations that can report, and describes each for the package.
#include "compiler/sites/Sites.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

// The innermost place of the user's source that a location names.
static FileLineColLoc placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place;
  if (auto name = dyn_cast<NameLoc>(location))
    return placeOf(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    if (FileLineColLoc callee = placeOf(call.getCallee()))
      return callee;
    return placeOf(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = placeOf(part))
        return place;
  return {};
}

static PackageSite::Operand describeOperand(Value value, bool isSigned) {
  Type element = elementTypeOf(value.getType());
  PackageSite::Operand operand;
  operand.type = isa<PointerType>(element) ? "ptr" : textOf(element);
  if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
    operand.shape.assign(tile.getShape().begin(), tile.getShape().end());
  operand.isSigned = isSigned;
  return operand;
}

PackageSite *SiteTable::add(Operation *op, StringRef name, int32_t &number) {
  auto [known, isNew] = numbers.try_emplace(op, int32_t(sites.size()));
  number = known->second;
  if (!isNew)
    return nullptr;
  PackageSite &site = sites.emplace_back();
  site.operation = name.str();
  if (FileLineColLoc place = placeOf(op->getLoc())) {
    site.file = place.getFilename().str();
    site.line = place.getLine();
    site.column = place.getColumn();
  }
  return &site;
}

int32_t SiteTable::of(Operation *op) {
  if (auto print = dyn_cast<PrintOp>(op))
    return ofPrint(op, {print.getPrefix(), print.getHex(), print.getArgs(), print.getIsSigned()});
  int32_t number = 0;
  PackageSite *site = add(op, op->getName().getStringRef(), number);
  if (auto assertion = dyn_cast<AssertOp>(op); assertion && site)
    site->message = assertion.getMessage().str();
  return number;
}

int32_t SiteTable::ofPrint(Operation *op, const Print &print) {
  int32_t number = 0;
  PackageSite *site = add(op, PrintOp::getOperationName(), number);
  if (!site)
    return number;
  site->message = print.text.str();
  site->hex = print.hex;
  for (auto [operand, value] : llvm::enumerate(print.values))
    site->operands.push_back(describeOperand(value, operand >= print.isSigned.size() || print.isSigned[operand] != 0));
  return number;
}
