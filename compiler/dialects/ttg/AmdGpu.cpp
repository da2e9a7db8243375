// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `gluon` dialect, and rules of the operations of `amdg` and `gluon`.
#include "compiler/dialects/triton/TritonVerify.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::amdg;

#include "compiler/dialects/ttg/GluonDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/ttg/GluonAttributes.cpp.inc"

void gluon::GluonDialect::initialize() {
  addAttributes<AutoEncodingAttr, CoalescedEncodingAttr>();
  addOperations<SetAutoLayoutOp>();
}

Type amdg::offsetTypeOf(Type tile) {
  return cast<RankedTensorType>(tile).clone(IntegerType::get(tile.getContext(), 32));
}

Type amdg::maskTypeFor(Type tile) {
  return cast<RankedTensorType>(tile).clone(IntegerType::get(tile.getContext(), 1));
}

static constexpr llvm::StringLiteral tritonsName = "rocdl.sched.barrier", ourName = "amdg.schedule_fence";
static_assert(tritonsName.size() == ourName.size(), "columns of messages are those of the text");

std::string amdg::nameScheduleBarriers(StringRef message) {
  std::string named = message.str();
  for (size_t at = named.find(ourName); at != std::string::npos; at = named.find(ourName, at))
    named.replace(at, ourName.size(), tritonsName.str());
  return named;
}

// Words of code: a string ends at the next quote that no backslash precedes, a comment with its line.
std::string amdg::renameScheduleBarriers(StringRef text) {
  std::string renamed = text.str();
  for (size_t at = text.find_first_of("\"/r"); at != StringRef::npos; at = text.find_first_of("\"/r", at)) {
    StringRef rest = text.substr(at);
    if (rest.starts_with("\"")) {
      size_t end = 1;
      while (end < rest.size() && rest[end] != '"')
        end += rest[end] == '\\' ? 2 : 1;
      at += end + 1;
    } else if (rest.starts_with("//")) {
      at = text.find('\n', at);
    } else if (rest.consume_front(tritonsName) && rest.consume_front(" ") && !rest.empty() &&
               llvm::isAlpha(rest.front())) {
      renamed.replace(at, ourName.size(), ourName.str());
      at += tritonsName.size();
    } else {
      ++at;
    }
  }
  return renamed;
}

// The words of Triton 3.9; the numbers are LLVM's.
std::optional<uint32_t> amdg::scheduleKinds(StringRef mask) {
  uint32_t kinds = 0;
  if (!mask.getAsInteger(10, kinds))
    return kinds <= 0xFFF ? std::optional(kinds) : std::nullopt;
  for (bool isMore = true; isMore;) {
    isMore = mask.contains('|');
    auto [word, rest] = mask.split('|');
    int64_t kind = llvm::StringSwitch<int64_t>(word)
                       .Case("none", 0)
                       .Case("non_mem_non_sideeffect", 0x1)
                       .Case("valu", 0x2)
                       .Case("salu", 0x4)
                       .Case("mfma_wmma", 0x8)
                       .Case("all_vmem", 0x10)
                       .Case("vmem_read", 0x20)
                       .Case("vmem_write", 0x40)
                       .Case("all_ds", 0x80)
                       .Case("ds_read", 0x100)
                       .Case("ds_write", 0x200)
                       .Case("transcendental", 0x400)
                       .Case("ldsdma", 0x800)
                       .Case("all", 0xFFF)
                       .Default(-1);
    if (kind < 0)
      return std::nullopt;
    kinds |= uint32_t(kind);
    mask = rest;
  }
  return kinds;
}

LogicalResult amdg::ScheduleFenceOp::verify() {
  // Rule F9: the mask names kinds of instructions.
  if (!scheduleKinds(getMask()))
    return emitOpError() << "has the mask `" << getMask()
                         << "`: it is a number from 0 to 4095, or words with | between them: none, "
                            "non_mem_non_sideeffect, valu, salu, mfma_wmma, all_vmem, vmem_read, vmem_write, all_ds, "
                            "ds_read, ds_write, transcendental, ldsdma, all";
  return success();
}

//===-- Buffers --------------------------------------------------------------------------------------------------===//

static LogicalResult verifyBuffer(Operation *op, Value pointer, Type tile, Value offsets, Value mask) {
  Type pointee = cast<PointerType>(pointer.getType()).getPointeeType(), element = elementTypeOf(tile);
  // Rule F1: the tile has the elements that the pointer points to.
  if (pointee != element)
    return op->emitOpError() << "accesses elements of " << element << " through a pointer to " << pointee;
  // Rule F2: offsets and mask have the shape and the layout of the tile.
  if (offsets.getType() != offsetTypeOf(tile))
    return op->emitOpError() << "has offsets " << offsets.getType() << " for a tile of " << tile;
  if (mask && mask.getType() != maskTypeFor(tile))
    return op->emitOpError() << "has a mask " << mask.getType() << " for a tile of " << tile;
  return success();
}

LogicalResult BufferLoadOp::verify() {
  // Rule F3: what masked elements read needs a mask.
  if (getOther() && !getMask())
    return emitOpError() << "has a value for masked elements and no mask";
  if (getOther() && getOther().getType() != getType())
    return emitOpError() << "gives masked elements " << getOther().getType() << " in a tile of " << getType();
  return verifyBuffer(*this, getPtr(), getType(), getOffsets(), getMask());
}

LogicalResult BufferStoreOp::verify() {
  return verifyBuffer(*this, getPtr(), getValue().getType(), getOffsets(), getMask());
}

LogicalResult BufferLoadToLocalOp::verify() {
  gpu::MemDescType to = getDest().getType();
  if (!to.getMutableMemory())
    return emitOpError("writes to an immutable memory object");
  auto offsets = cast<RankedTensorType>(getOffsets().getType());
  return verifyBuffer(*this, getPtr(), offsets.clone(to.getElementType()), getOffsets(), getMask());
}

LogicalResult BufferAtomicRMWOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError() << "updates with " << getValue().getType() << " and returns " << getType();
  // Rule F4: integer updates of integers, `fadd` of floats, `max` and `min` of f64 too; both are exchanged.
  RMWOp kind = getAtomicRmwOp();
  bool isFloat = isa<FloatType>(elementTypeOf(getType())), sumsFloats = kind == RMWOp::FAdd;
  bool isExtremum = elementTypeOf(getType()).isF64() && (kind == RMWOp::Max || kind == RMWOp::Min);
  if (kind != RMWOp::Exchange && isFloat != sumsFloats && !isExtremum)
    return emitOpError() << "has kind '" << stringifyRMWOp(getAtomicRmwOp()) << "' for elements of "
                         << elementTypeOf(getType());
  return verifyBuffer(*this, getPtr(), getType(), getOffsets(), getMask());
}

LogicalResult BufferAtomicCASOp::verify() {
  if (getCmp().getType() != getType() || getVal().getType() != getType())
    return emitOpError() << "compares with " << getCmp().getType() << ", writes " << getVal().getType()
                         << " and returns " << getType();
  return verifyBuffer(*this, getPtr(), getType(), getOffsets(), Value());
}

//===-- Registers ------------------------------------------------------------------------------------------------===//

LogicalResult ExtractSliceOp::verify() {
  auto from = cast<RankedTensorType>(getSrc().getType()), to = cast<RankedTensorType>(getType());
  ArrayRef<int64_t> offsets = getStaticOffsets();
  // Rule F5: the part lies in the tile; where it may begin follows from the layouts (rule S25).
  if (from.getElementType() != to.getElementType() || from.getRank() != to.getRank() ||
      int64_t(offsets.size()) != from.getRank())
    return emitOpError() << "takes " << to << " at " << offsets.size() << " coordinates out of " << from;
  return verifyWithin(*this, offsets, to.getShape(), from.getShape());
}

LogicalResult ConcatOp::verify() {
  auto to = cast<RankedTensorType>(getType());
  // Rule F6: the parts have one type and make up the tile.
  if (getSources().empty())
    return emitOpError() << "makes " << to << " of no parts";
  auto part = cast<RankedTensorType>(getSources().front().getType());
  for (Value source : getSources())
    if (source.getType() != part)
      return emitOpError() << "has parts of " << part << " and of " << source.getType();
  int64_t parts = 1;
  bool fits = part.getRank() == to.getRank() && part.getElementType() == to.getElementType();
  for (int64_t axis = 0; fits && axis < to.getRank(); ++axis) {
    fits = to.getDimSize(axis) % part.getDimSize(axis) == 0;
    parts *= to.getDimSize(axis) / part.getDimSize(axis);
  }
  if (!fits || parts != int64_t(getSources().size()))
    return emitOpError() << "makes " << to << " of " << getSources().size() << " parts of " << part;
  return success();
}

LogicalResult LocalLoadPackedTransposedOp::verify() {
  auto to = cast<RankedTensorType>(getType());
  gpu::MemDescType from = getSrc().getType();
  auto operand = dyn_cast_or_null<gpu::DotOperandAttr>(to.getEncoding());
  int64_t rank = to.getRank();
  // Rule F10: both are of bytes; of the last two axes the result has the one of K half as long, the other twice as
  // long.
  bool isOfBytes = to.getElementType().isInteger(8) && from.getElementType().isInteger(8);
  bool fits = isOfBytes && rank >= 2 && rank == int64_t(from.getShape().size());
  SmallVector<std::string> legal;
  for (int64_t alongK : {rank - 1, rank - 2}) {
    bool isLast = alongK == rank - 1;
    if (!fits || (operand && isLast != (operand.getOpIdx() == 0)) || from.getShape()[size_t(alongK)] < 2)
      continue;
    SmallVector<int64_t> shape(from.getShape());
    shape[size_t(alongK)] /= 2;
    shape[size_t(isLast ? rank - 2 : rank - 1)] *= 2;
    if (ArrayRef(shape) == to.getShape())
      return success();
    legal.push_back(shapeText(shape));
  }
  InFlightDiagnostic error = emitOpError() << "reads " << to << " from " << from << ": ";
  if (!isOfBytes)
    return error << "4-bit elements are packed in bytes, `i8`";
  if (legal.empty())
    return error << "it takes a tile of two axes or more that has an even number of elements along K";
  return error << "what is packed along "
               << (!operand                  ? "the other axis"
                   : operand.getOpIdx() == 0 ? "M"
                                             : "N")
               << " there is " << llvm::join(legal, " or ") << " bytes packed along K";
}

LogicalResult InThreadTransposeOp::verify() {
  auto from = cast<RankedTensorType>(getSrc().getType()), to = cast<RankedTensorType>(getType());
  // Rule F8: the tile stays.
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "makes " << to << " of " << from;
  return success();
}

LogicalResult gluon::SetAutoLayoutOp::verify() {
  auto from = cast<RankedTensorType>(getSrc().getType()), to = cast<RankedTensorType>(getType());
  // Rule F7: a layout is set where there is none yet, and the tile stays.
  if (!isa_and_nonnull<AutoEncodingAttr>(from.getEncoding()))
    return emitOpError() << "sets the layout of " << from << ", which has one";
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "makes " << to << " of " << from;
  return success();
}
