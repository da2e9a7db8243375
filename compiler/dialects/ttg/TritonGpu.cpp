// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration of the dialects of TTGIR text, and the words of barriers.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

#include "compiler/dialects/ttg/AmdGpuDialect.cpp.inc"
#include "compiler/dialects/ttg/TritonGpuDialect.cpp.inc"
#include "compiler/dialects/ttg/TritonGpuEnums.cpp.inc"

static ParseResult parseBarrierMemory(OpAsmParser &parser, BarrierMemoryAttr &memory) {
  BarrierMemory all = BarrierMemory::None;
  do {
    StringRef word;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<BarrierMemory> part = symbolizeBarrierMemory(word);
    if (!part)
      return parser.emitError(location) << "'" << word
                                        << "' is no memory that a barrier knows: none, local, global_read, "
                                        << "global_write, tensor_read, tensor_write or all";
    all = all | *part;
  } while (succeeded(parser.parseOptionalVerticalBar()));
  memory = BarrierMemoryAttr::get(parser.getContext(), all);
  return success();
}

static void printBarrierMemory(OpAsmPrinter &printer, Operation *, BarrierMemoryAttr memory) {
  printer << stringifyBarrierMemory(memory.getValue());
}

// `!tt.ptr<f32> -> tensor<...>`, or of Triton 3.6 only the tile.
static ParseResult parseBufferTypes(OpAsmParser &parser, Type &pointer, Type &tile) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(tile))
    return failure();
  if (succeeded(parser.parseOptionalArrow())) {
    pointer = tile;
    return parser.parseType(tile);
  }
  auto tensor = dyn_cast<RankedTensorType>(tile);
  if (!tensor)
    return parser.emitError(location) << "a buffer access has the type of a tile, and before it `!tt.ptr<f32> ->` or "
                                         "that of another pointer; got "
                                      << tile;
  pointer = PointerType::get(tensor.getElementType(), 1);
  return success();
}

static void printBufferTypes(OpAsmPrinter &printer, Operation *, Type pointer, Type tile) {
  printer << pointer << " -> " << tile;
}

// `!tt.ptr<f32>`, or of Triton 3.6 `<f32>`.
static ParseResult parseBufferPointer(OpAsmParser &parser, Type &pointer) {
  if (failed(parser.parseOptionalLess()))
    return parser.parseType(pointer);
  Type element;
  if (parser.parseType(element) || parser.parseGreater())
    return failure();
  pointer = PointerType::get(element, 1);
  return success();
}

static void printBufferPointer(OpAsmPrinter &printer, Operation *, Type pointer) {
  printer << pointer;
}

// `none`, `mfma|valu` of Triton 3.9, or the number of earlier text.
static ParseResult parseScheduleMask(OpAsmParser &parser, StringAttr &mask) {
  std::string words;
  int64_t number = 0;
  if (auto found = parser.parseOptionalInteger(number); found.has_value()) {
    mask = parser.getBuilder().getStringAttr(std::to_string(number));
    return *found;
  }
  do {
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    words += (words.empty() ? "" : "|") + word.str();
  } while (succeeded(parser.parseOptionalVerticalBar()));
  mask = parser.getBuilder().getStringAttr(words);
  return success();
}

static void printScheduleMask(OpAsmPrinter &printer, Operation *, StringAttr mask) {
  printer << mask.getValue();
}

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/ttg/TritonGpuAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialects/ttg/TritonGpuTypes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialects/ttg/TritonGpuOps.cpp.inc"

namespace {
/// Encodings are long: the text names them, `#blocked`, `#blocked1`, ..., and says them once.
struct EncodingAliases : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &stream) const override {
    StringRef name =
        llvm::TypeSwitch<Attribute, StringRef>(attribute)
            .Case([](BlockedAttr) { return "blocked"; })
            .Case([](LinearAttr) { return "linear"; })
            .Case<AmdMfmaAttr, NvidiaMmaAttr>([](auto) { return "mma"; })
            .Case<SwizzledSharedAttr, RotatingSharedAttr, PaddedSharedAttr, NvmmaSharedAttr, SharedLinearAttr>(
                [](auto) { return "shared"; })
            .Case([](SharedMemoryAttr) { return "smem"; })
            .Default([](Attribute) { return ""; });
    if (name.empty())
      return AliasResult::NoAlias;
    stream << name;
    return AliasResult::FinalAlias;
  }
};

/// Tiles of partitions have layouts of their warps, which may be fewer than the kernel's: so do constants.
struct ConstantsOfPartitions : public DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const override { return isa<WarpSpecializeOp>(region->getParentOp()); }
};
} // namespace

void TritonGpuDialect::initialize() {
  addInterfaces<EncodingAliases, ConstantsOfPartitions>();
  addAttributes<BlockedAttr, SliceAttr, DotOperandAttr, AmdMfmaAttr, LinearAttr, GenericLinearAttr, NvidiaMmaAttr,
                NvmmaSharedAttr, SwizzledSharedAttr, RotatingSharedAttr, PaddedSharedAttr, SharedLinearAttr,
                SharedMemoryAttr>();
  addTypes<MemDescType, AsyncTokenType>();
  addOperations<AsyncCommitGroupOp, AsyncCopyOp, AsyncWaitOp, BarrierOp, ConvertLayoutOp, Fp4ToFpOp, InlineAsmOp,
                LocalAllocOp, LocalAtomicScatterRMWOp, LocalDeallocOp, LocalGatherOp, LocalLoadOp, LocalScatterOp,
                LocalStoreOp, MemDescIndexOp, MemDescReinterpretOp, MemDescReshapeOp, MemDescSubsliceOp, MemDescTransOp,
                WarpIdOp, WarpReturnOp, WarpSpecializeOp, WarpYieldOp>();
}

void amdg::AmdGpuDialect::initialize() {
  addOperations<AsyncWaitOp, BufferAtomicCASOp, BufferAtomicRMWOp, BufferLoadOp, BufferLoadToLocalOp, BufferStoreOp,
                ConcatOp, CondBarrierOp, ExtractSliceOp, InThreadTransposeOp, LocalLoadPackedTransposedOp,
                ScaledDowncastFp4Op, ScaledDowncastFp8Op, ScaledUpcastFp4Op, ScaledUpcastFp8Op, ScheduleFenceOp>();
}

// Rule F11: which registers hold a matmul's accumulators, a hint, is "a" (AGPRs) or "v" (VGPRs).
LogicalResult amdg::AmdGpuDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != registerClassAttribute)
    return success();
  auto value = dyn_cast<StringAttr>(attribute.getValue());
  if (isa<DotOp, DotScaledOp>(op) && value && (value == "a" || value == "v"))
    return success();
  return op->emitOpError() << "has `" << registerClassAttribute << "` " << attribute.getValue()
                           << ": it is \"a\" (AGPRs) or \"v\" (VGPRs), on `tt.dot` and `tt.dot_scaled`";
}

//===-- Encodings ------------------------------------------------------------------------------------------------===//

bool gpu::isSharedEncoding(Attribute encoding) {
  return isa<SwizzledSharedAttr, RotatingSharedAttr, PaddedSharedAttr, NvmmaSharedAttr, SharedLinearAttr>(encoding);
}

bool gpu::isUnresolved(Attribute encoding) {
  while (auto slice = dyn_cast_or_null<SliceAttr>(encoding))
    encoding = slice.getParent();
  return isa_and_nonnull<gluon::AutoEncodingAttr, gluon::CoalescedEncodingAttr>(encoding);
}

std::optional<int64_t> gpu::rankOf(Attribute encoding) {
  using Rank = std::optional<int64_t>;
  return llvm::TypeSwitch<Attribute, Rank>(encoding)
      .Case([](BlockedAttr blocked) -> Rank { return int64_t(blocked.getOrder().size()); })
      .Case([](SliceAttr slice) -> Rank {
        Rank parent = rankOf(slice.getParent());
        return parent ? Rank(*parent - 1) : Rank();
      })
      .Case([](DotOperandAttr operand) { return rankOf(operand.getParent()); })
      .Case([](AmdMfmaAttr mfma) -> Rank { return int64_t(mfma.getWarpsPerCTA().size()); })
      .Case([](NvidiaMmaAttr mma) -> Rank { return int64_t(mma.getWarpsPerCTA().size()); })
      .Case([](LinearAttr linear) -> Rank { return linear.getRank(); })
      .Case([](SwizzledSharedAttr shared) -> Rank { return int64_t(shared.getOrder().size()); })
      .Case([](RotatingSharedAttr shared) -> Rank { return int64_t(shared.getOrder().size()); })
      .Case([](PaddedSharedAttr shared) -> Rank { return int64_t(shared.getShape().size()); })
      .Case([](NvmmaSharedAttr shared) -> Rank { return shared.getRank(); })
      .Case([](SharedLinearAttr shared) -> Rank { return shared.getRank(); })
      .Default([](Attribute) { return Rank(); });
}
