// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

static PackageSite::Operand describeOperand(PrintOp print, unsigned number) {
  Value value = print.getArgs()[number];
  Type element = elementTypeOf(value.getType());
  PackageSite::Operand operand;
  operand.type = isa<PointerType>(element) ? "ptr" : textOf(element);
  if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
    operand.shape.assign(tile.getShape().begin(), tile.getShape().end());
  operand.isSigned = number >= print.getIsSigned().size() || print.getIsSigned()[number] != 0;
  return operand;
}

int32_t SiteTable::of(Operation *op) {
  auto [known, isNew] = numbers.try_emplace(op, int32_t(sites.size()));
  if (!isNew)
    return known->second;
  PackageSite site;
  site.operation = op->getName().getStringRef().str();
  if (FileLineColLoc place = placeOf(op->getLoc())) {
    site.file = place.getFilename().str();
    site.line = place.getLine();
    site.column = place.getColumn();
  }
  if (auto assertion = dyn_cast<AssertOp>(op))
    site.message = assertion.getMessage().str();
  if (auto print = dyn_cast<PrintOp>(op)) {
    site.message = print.getPrefix().str();
    site.hex = print.getHex();
    for (unsigned number = 0; number < print.getArgs().size(); ++number)
      site.operands.push_back(describeOperand(print, number));
  }
  sites.push_back(site);
  return known->second;
}
