// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of C++ as encodings of TTGIR, and how tiles come by theirs: as in Gluon, a tile without one is open
// (`#gluon.auto_encoding`) until it is used with one that has.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "frontend/build/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace ttg = heddle::triton::gpu;

namespace heddle::build::detail {
namespace {

using Vector = SmallVector<int64_t>;

Attribute encodingOf(Value tile) {
  auto type = dyn_cast_or_null<RankedTensorType>(tile ? tile.getType() : Type());
  return type ? type.getEncoding() : Attribute();
}

/// One after the other. `rank` is how many numbers each basis has, and set by the first of all.
Vector flatten(const Emitter &emit, const std::vector<Numbers> &bases, int64_t &rank) {
  Vector all;
  for (const Numbers &basis : bases) {
    rank = rank ? rank : int64_t(basis.size());
    if (int64_t(basis.size()) != rank)
      emit.fail("a layout has bases of " + std::to_string(rank) + " and of " + std::to_string(basis.size()) +
                " coordinates");
    llvm::append_range(all, basis);
  }
  return all;
}

/// Makes the encoding of each kind of layout.
struct Encoder {
  const Emitter &emit;

  template <class T, class... Parts>
  Attribute get(const Parts &...parts) const {
    return emit.checked(
        [&](auto emitError) -> Attribute { return T::getChecked(emitError, emit.builder.getContext(), parts...); });
  }
  using List = ArrayRef<int64_t>;

  Attribute operator()(const BlockedLayout &layout) const {
    return get<ttg::BlockedAttr>(List(layout.sizePerThread), List(layout.threadsPerWarp), List(layout.warpsPerBlock),
                                 List(layout.order));
  }
  Attribute operator()(const SliceLayout &layout) const {
    return get<ttg::SliceAttr>(int64_t(layout.axis), emit.encoding(layout.parent));
  }
  Attribute operator()(const MfmaLayout &layout) const {
    Numbers tiles = layout.tilesPerWarp.empty() ? Numbers(layout.warpsPerBlock.size(), 1) : layout.tilesPerWarp;
    return get<ttg::AmdMfmaAttr>(int64_t(layout.version), List(layout.warpsPerBlock), List(layout.instruction),
                                 layout.transposed, List(tiles), int64_t(layout.elementBits));
  }
  Attribute operator()(const DotOperandLayout &layout) const {
    return get<ttg::DotOperandAttr>(int64_t(layout.operand), emit.encoding(layout.parent), int64_t(layout.kWidth));
  }
  Attribute operator()(const LinearLayout &layout) const {
    int64_t rank = 0;
    Vector registers = flatten(emit, layout.registers, rank), lanes = flatten(emit, layout.lanes, rank),
           warps = flatten(emit, layout.warps, rank);
    return get<ttg::LinearAttr>(List(registers), List(lanes), List(warps), rank);
  }
  Attribute operator()(const SwizzledSharedLayout &layout) const {
    return get<ttg::SwizzledSharedAttr>(int64_t(layout.vec), int64_t(layout.perPhase), int64_t(layout.maxPhase),
                                        List(layout.order));
  }
  Attribute operator()(const PaddedSharedLayout &layout) const {
    Vector intervals, paddings;
    for (auto [interval, padding] : layout.padding) {
      intervals.push_back(interval);
      paddings.push_back(padding);
    }
    return get<ttg::PaddedSharedAttr>(List(intervals), List(paddings), List(layout.order), List(layout.shape), List());
  }
  Attribute operator()(const SharedLinearLayout &layout) const {
    int64_t rank = 0;
    Vector offsets = flatten(emit, layout.offsets, rank);
    return get<ttg::SharedLinearAttr>(List(offsets), rank, int64_t(layout.alignment));
  }
};

} // namespace

std::string quoted(Attribute encoding) {
  std::string text;
  llvm::raw_string_ostream(text) << "`" << encoding << "`";
  return text;
}

void Emitter::requireLayouts(const char *what) const {
  if (!hasLayouts)
    fail(std::string(what) + " is in a kernel(), whose tiles have no layouts",
         {"use blockKernel(), whose tiles have layouts"});
}

void Emitter::refuseLayouts(const char *what) const {
  if (hasLayouts)
    fail(std::string(what) + " is in a blockKernel(), where its result has no layout that follows from its operands");
}

Attribute Emitter::encoding(const Layout &layout) const {
  requireLayouts("a layout");
  return std::visit(Encoder{*this}, layout.any().kind);
}

Attribute Emitter::encoding(const Layout &layout, int64_t rank, const char *what) const {
  Attribute attribute = encoding(layout);
  if (std::optional<int64_t> own = ttg::rankOf(attribute); own && *own != rank)
    fail("a layout of " + std::to_string(*own) + " axes for " + what + " of " + std::to_string(rank));
  return attribute;
}

Attribute Emitter::encoding(const SharedLayout &layout) const {
  requireLayouts("a layout of shared memory");
  return std::visit(Encoder{*this}, layout);
}

Value Emitter::inEncoding(Value tile, Attribute encoding) const {
  if (!encoding || !encodingOf(tile) || !ttg::isUnresolved(encodingOf(tile)) || ttg::isUnresolved(encoding))
    return tile;
  auto from = cast<RankedTensorType>(tile.getType());
  auto type = RankedTensorType::get(from.getShape(), from.getElementType(), encoding);
  Operation *producer = tile.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(producer))
    return arith::ConstantOp::create(builder, location, cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  if (isa_and_nonnull<triton::SplatOp, triton::MakeRangeOp>(producer))
    return create(producer->getName().getStringRef(), type, producer->getOperands(), producer->getAttrs());
  return triton::gluon::SetAutoLayoutOp::create(builder, location, type, tile);
}

void Emitter::shareLayout(MutableArrayRef<Value> values) const {
  Attribute known;
  for (Value value : values) {
    Attribute encoding = encodingOf(value);
    if (!encoding || ttg::isUnresolved(encoding))
      continue;
    if (known && encoding != known)
      fail("the operands have different layouts: " + quoted(known) + " and " + quoted(encoding),
           {"convert one of them: convert(x, layout)"});
    known = encoding;
  }
  for (Value &value : values)
    value = inEncoding(value, known);
}

Handles Emitter::asCarried(const Handles &yielded, TypeRange carried) const {
  if (!hasLayouts)
    return yielded;
  SmallVector<Value> values = this->values(yielded);
  for (auto [number, pair] : llvm::enumerate(llvm::zip(values, carried))) {
    auto [value, type] = pair;
    auto wanted = dyn_cast<RankedTensorType>(type);
    if (!wanted)
      continue;
    value = inEncoding(value, wanted.getEncoding());
    if (value.getType() != wanted)
      fail("value " + std::to_string(number) + " has the layout " + quoted(wanted.getEncoding()) +
               " at first, and then " + quoted(encodingOf(value)),
           {"give the first one the layout, as in zeros<f32, 64, 64>(layout), or convert one: convert(x, layout)"});
  }
  return handles(values);
}

Attribute transposedEncoding(Attribute encoding, ArrayRef<int32_t> order) {
  MLIRContext *context = encoding.getContext();
  size_t rank = order.size();
  auto lists = [&](ArrayRef<int64_t> numbers) { // of a number for each axis, one list or several
    Vector result(numbers);
    for (size_t at = 0; at < numbers.size(); ++at)
      result[at] = numbers[at / rank * rank + size_t(order[at % rank])];
    return result;
  };
  auto axes = [&](ArrayRef<int64_t> numbers) {
    Vector result;
    for (int64_t axis : numbers)
      result.push_back(llvm::find(order, axis) - order.begin());
    return result;
  };
  return llvm::TypeSwitch<Attribute, Attribute>(encoding)
      .Case([&](ttg::BlockedAttr blocked) {
        return ttg::BlockedAttr::get(context, lists(blocked.getSizePerThread()), lists(blocked.getThreadsPerWarp()),
                                     lists(blocked.getWarpsPerCTA()), axes(blocked.getOrder()));
      })
      .Case([&](ttg::LinearAttr linear) {
        return ttg::LinearAttr::get(context, lists(linear.getRegisterBases()), lists(linear.getLane()),
                                    lists(linear.getWarp()), linear.getRank());
      })
      .Case([&](ttg::SwizzledSharedAttr shared) {
        return ttg::SwizzledSharedAttr::get(context, shared.getVec(), shared.getPerPhase(), shared.getMaxPhase(),
                                            axes(shared.getOrder()));
      })
      .Case([&](ttg::PaddedSharedAttr shared) {
        return ttg::PaddedSharedAttr::get(context, shared.getIntervals(), shared.getPaddings(), axes(shared.getOrder()),
                                          lists(shared.getShape()), lists(shared.getOffset()));
      })
      .Case([&](ttg::SharedLinearAttr shared) {
        return ttg::SharedLinearAttr::get(context, lists(shared.getOffset()), shared.getRank(), shared.getAlignment());
      })
      .Case<triton::gluon::AutoEncodingAttr>([](Attribute open) { return open; })
      .Default([](Attribute) { return Attribute(); });
}

Handle emitInLayout(Handle x, const Layout &layout, Position where) {
  Emitter emit(where);
  auto tile = dyn_cast<RankedTensorType>(emit.value(x).getType());
  if (!tile)
    return x;
  Attribute encoding = emit.encoding(layout, tile.getRank(), "a tile");
  Value value = emit.inEncoding(emit.value(x), encoding);
  if (encodingOf(value) == encoding)
    return emit.handle(value);
  auto type = RankedTensorType::get(tile.getShape(), tile.getElementType(), encoding);
  return emit.handle(ttg::ConvertLayoutOp::create(emit.builder, emit.location, type, value));
}

} // namespace heddle::build::detail
