// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules that a program breaks on purpose, as its last step: each is refused by that rule. And copies that are compiled,
// but not as they were meant: a warning names the rule.
#include "tests/gluon_programs/Maker.h"
#include "tests/gluon_programs/Matmuls.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

static SharedLayout plainLayout(size_t rank) {
  SharedLayout layout;
  layout.order.clear();
  for (size_t axis = rank; axis-- > 0;)
    layout.order.push_back(int(axis));
  return layout;
}

/// Of a matrix, whose warps have the same elements.
static std::string linearText(const char *registers, const char *lanes, int warps) {
  std::string same;
  for (int i = 1; i < warps; i *= 2)
    same += i == 1 ? "[0, 0]" : ", [0, 0]";
  return fmt::format("#ttg.linear<{{register = {}, lane = {}, warp = [{}], block = []}}>", registers, lanes, same);
}

void Maker::refuse(const std::string &rule, const std::string &fault) {
  expectation.refusal = rule;
  expectation.fault = fault;
}

//===-- Memory objects -------------------------------------------------------------------------------------------===//

/// Layouts of shared memory that no object can have.
void Maker::sharedLayoutFault(int kind) {
  auto allocOf = [&](const std::string &encoding) {
    text.define("ttg.local_alloc : () -> !ttg.memdesc<16x64xi32, " + text.alias(encoding) + ", #smem, mutable>");
  };
  switch (kind) {
  case 8:
    allocOf("#ttg.padded_shared<[16:+4] {order = [1, 0], shape = [32, 32]}>");
    return refuse("V6", "padding for another shape");
  case 10:
    allocOf("#ttg.swizzled_shared<{vec = 3, perPhase = 1, maxPhase = 4, order = [1, 0]}>");
    return refuse("G1", "a swizzle of 3 elements");
  case 11:
    allocOf("#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 1]}>");
    return refuse("G2", "an order that names an axis twice");
  case 12:
    allocOf("#ttg.padded_shared<[16:+0] {order = [1, 0], shape = [16, 64]}>");
    return refuse("G11", "padding of nothing");
  default:
    allocOf("#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 16], [1, 0], [2, "
            "0], [4, 0], [8, 0]]}, alignment = 16>");
    return refuse("K3", "two offsets of one element");
  }
}

void Maker::sharedFault(int kind) {
  const Element &element = elementOf("i32");
  Shape shape = {16, 64};
  SharedLayout layout = plainLayout(2);
  size_t ring = allocate(shape, element, 2, layout);
  std::string shared = text.alias(layout.text());
  switch (kind) {
  case 0:
    slotAt(ring, 0, text.constant(random.chance(50) ? 2 : -1));
    return refuse("K1", "a slot that the ring does not have");
  case 1: {
    View view = slotAt(ring, 0, text.constant(0));
    text.define(fmt::format("ttg.memdesc_subslice {}[0, 16] : {} -> {}16x32xi32, {}, #smem, mutable, 16x64>", view.name,
                            typeOf(view), "!ttg.memdesc<", shared));
    return refuse("V12", "a part that begins at no multiple of its size");
  }
  case 2: {
    Tile tile = load(shape, element, randomLayout(shape));
    View view = slotAt(ring, 0, text.constant(0));
    view.isMutable = false;
    view.name =
        text.define(fmt::format("ttg.memdesc_index {}[{}] : !ttg.memdesc<2x16x64xi32, {}, #smem, mutable> -> {}",
                                memories[ring].name, text.constant(1), shared, typeOf(view)));
    text.line(fmt::format("ttg.local_store {}, {} : {} -> {}", tile.name, view.name, tile.type(), typeOf(view)));
    return refuse("V9", "a store to an immutable memory object");
  }
  case 3: {
    Tile tile = load({16, 32}, element, randomLayout({16, 32}));
    View view = slotAt(ring, 0, text.constant(0));
    text.line(fmt::format("ttg.local_store {}, {} : {} -> {}", tile.name, view.name, tile.type(), typeOf(view)));
    return refuse("V7", "a store of a tile of another shape");
  }
  case 4: {
    View view = slotAt(ring, 0, text.constant(0));
    text.define(fmt::format("ttg.memdesc_trans {} {{order = array<i32: 1, 0>}} : {} -> {}", view.name, typeOf(view),
                            typeOf(view)));
    return refuse("V13", "a transposed view of the same shape");
  }
  case 5: { // the columns of one are the rows of the other
    View view = slotAt(ring, 0, text.constant(0)), other = view;
    Tile tile = load(shape, element, randomLayout(shape));
    localStore(tile, view);
    other.shape = other.whole = {64, 16};
    other.name = text.define(fmt::format("ttg.memdesc_trans {} {{order = array<i32: 1, 0>}} : {} -> {}", view.name,
                                         typeOf(view), typeOf(other)));
    Tile read{"", element, other.shape, randomLayout(other.shape), {}};
    read.name = text.define(fmt::format("ttg.local_load {} : {} -> {}", other.name, typeOf(other), read.type()));
    read.values.assign(1024, 0);
    store(read);
    return refuse("V22", "a transposed view whose layout is not");
  }
  case 6: {
    View view = slotAt(ring, 0, text.constant(0));
    std::string row = text.alias(plainLayout(1).text());
    text.define(fmt::format("ttg.memdesc_index {}[{}] : {} -> !ttg.memdesc<64xi32, {}, #smem, mutable>", view.name,
                            text.constant(0), typeOf(view), row));
    return refuse("V10", "a slot of what is no ring");
  }
  case 7:
    text.define("ttg.local_alloc : () -> !ttg.memdesc<16x64xi32, " + shared + ", #smem>");
    return refuse("V8", "an immutable memory object with nothing in it");
  case 9: {
    size_t large = allocate({128, 128}, element, 3 + random.below(8), layout);
    Tile tile = load({128, 128}, element, accessLayout({128, 128}, element));
    for (size_t slot : {size_t(0), memories[large].contents.size() - 1})
      localStore(tile, slotAt(large, slot, text.constant(int64_t(slot))));
    keep(localLoad(slotAt(large, 0, text.constant(0)), accessLayout({128, 128}, element)));
    // 64 KB a slot: gfx942 has 64 KB, gfx950 160 KB
    return refuse("K2", "more shared memory than the chip has");
  }
  case 8:
  case 10:
  case 11:
  case 12:
  case 13:
    return sharedLayoutFault(kind);
  default: {
    View view = slotAt(ring, 0, text.constant(0)), other = view;
    localStore(load(shape, element, randomLayout(shape)), view);
    SharedLayout swizzled = layout;
    swizzled.vec = 4, swizzled.maxPhase = 4;
    other.shape = other.whole = {32, 32};
    other.layout = swizzled;
    other.name = text.define(fmt::format("ttg.memdesc_reshape {} : {} -> {}", view.name, typeOf(view), typeOf(other)));
    Tile read{"", element, other.shape, randomLayout(other.shape), {}};
    read.name = text.define(fmt::format("ttg.local_load {} : {} -> {}", other.name, typeOf(other), read.type()));
    read.values.assign(1024, 0);
    store(read);
    return refuse("V22", "a view of another shape whose layout is of other elements");
  }
  }
}

//===-- What is in flight ----------------------------------------------------------------------------------------===//

void Maker::hazardFault(int kind) {
  if (kind == 5) { // not where the tile goes through registers, or where the compiler waits itself
    expectation.mayBeAccepted = makeLoop(/*leavesMore=*/true);
    if (expectation.mayBeAccepted)
      refuse("K9", "a loop whose waits leave a copy that it reads in flight");
    return;
  }
  const Element &element = elementOf(random.chance(50) ? "i32" : "f32");
  int64_t vec = chip == "gfx950" && random.chance(50) ? 4 : 1;
  Shape shape = {64 * warps * vec};
  std::string layout = text.alias(blockedText(random, shape, warps, 0, vec));
  wait(0);
  groups.clear();
  size_t ring = allocate(shape, element, 3, plainLayout(1));
  auto slot = size_t(random.below(3));
  View view = slotAt(ring, slot, text.constant(int64_t(slot)));
  CopyOptions plain{.isDense = true, .mayMask = false, .mayKeep = false, .layout = layout};
  copyTo(view, plain);
  if (kind != 3)
    commit();
  if (kind == 3)
    text.define("ttg.async_wait {num = 0 : i32}"), refuse("K9", "a read of a copy that no group has");
  if (kind == 4)
    wait(size_t(1 + random.below(3))), refuse("K9", "a read after a wait that leaves its copy in flight");
  View again = random.chance(50) ? view : slotAt(ring, slot, text.constant(int64_t(slot)));
  if (kind == 1) {
    Tile tile{text.constantTile(element, shape, layout, 1), element, shape, layout, {}};
    tile.values.assign(size_t(countOf(shape)), 1);
    localStore(tile, again);
    return refuse("K9", "a store to a tile whose copy is in flight");
  }
  if (kind == 2) {
    copyTo(again, plain);
    return refuse("K9", "a copy to a tile whose copy is in flight");
  }
  keep(localLoad(again, randomLayout(shape)));
  if (kind == 0)
    refuse("K9", "a read of a tile whose copy is in flight");
}

//===-- Layouts and matmuls --------------------------------------------------------------------------------------===//

void Maker::layoutFault(int kind) {
  const Element &element = elementOf("i32");
  Shape shape = {32, 32};
  MatmulShape matmul = randomMatmul(random, chip);
  auto dotOf = [&](const std::string &left, const std::string &right, const std::string &result) {
    auto tileOf = [&](const std::string &of, const Shape &size, const std::string &encoding) -> Tile {
      return {text.constantTile(elementOf(of), size, encoding, 0), elementOf(of), size, encoding, {}};
    };
    const Instruction &types = matmul.instruction;
    Tile a = tileOf(types.a, {matmul.m, matmul.k}, left), b = tileOf(types.b, {matmul.k, matmul.n}, right);
    Tile sum = tileOf(types.d, {matmul.m, matmul.n}, result), used = sum;
    used.name = text.define(dotText(a, b, sum));
    used.values.assign(size_t(matmul.m * matmul.n), 0);
    keep(used);
  };
  switch (kind) {
  case 0:
    keep(load(shape, element, text.alias(blockedText(random, shape, warps * 2))));
    return refuse("K4", "a layout for twice as many warps");
  case 1:
    keep(load(shape, element,
              text.alias(linearText("[[0, 1], [0, 4], [1, 0], [2, 0], [4, 0]]",
                                    "[[0, 8], [0, 16], [8, 0], [16, 0], [0, 0], [0, 0]]", warps))));
    return refuse("K5", "a layout that leaves elements out");
  case 2:
    keep(load(
        shape, element,
        text.alias(linearText("[[0, 1], [0, 2], [0, 2]]", "[[0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]", warps))));
    return refuse("G10", "two bits that move alike");
  case 3: {
    std::string parent = text.alias(blockedText(random, shape, warps));
    text.constantTile(element, {32}, fmt::format("#ttg.slice<{{dim = 2, parent = {}}}>", parent), 0);
    return refuse("G4", "a slice along an axis that there is not");
  }
  case 4: {
    Tile tile = load(shape, element, randomLayout(shape));
    text.define(fmt::format("ttg.convert_layout {} : {} -> tensor<64x16xi32, {}>", tile.name, tile.type(),
                            randomLayout({64, 16})));
    return refuse("V16", "a conversion to another shape");
  }
  case 5: {
    std::string parent = text.alias(mfmaText(random, chip, matmul.instruction, warps));
    text.constantTile(element, shape, fmt::format("#ttg.dot_op<{{opIdx = 0, parent = {}}}>", parent), 0);
    return refuse("G6", "an operand of a matrix instruction without kWidth");
  }
  case 6: {
    matmul.instruction = instructionsOf(chip)[0];
    matmul.instruction.k = 4;
    matmul.width = 4, matmul.m = matmul.n = 32, matmul.k = 32;
    std::string parent = text.alias(mfmaText(random, chip, matmul.instruction, warps));
    dotOf(operandText(parent, 0, 4), operandText(parent, 1, 4), parent);
    return refuse("K6", "a matrix instruction that the chip lacks");
  }
  case 7: {
    matmul.k *= 4;
    std::string parent = text.alias(mfmaText(random, chip, matmul.instruction, warps));
    dotOf(operandText(parent, 0, matmul.width), operandText(parent, 1, matmul.width * 2), parent);
    return refuse("K7", "operands of different kWidth");
  }
  case 8: {
    std::string parent = text.alias(mfmaText(random, chip, matmul.instruction, warps)), other = parent;
    while (other == parent)
      other = text.alias(mfmaText(random, chip, matmul.instruction, warps));
    dotOf(operandText(parent, 0, matmul.width), operandText(other, 1, matmul.width), parent);
    return refuse("K7", "an operand for another result");
  }
  case 9: {
    matmul.instruction = instructionsOf(chip)[0];
    matmul.width = matmul.instruction.widths[0], matmul.m = matmul.n = 32;
    matmul.k = std::min(matmul.instruction.k, matmul.width * 64 / matmul.instruction.m) / 2;
    std::string parent = text.alias(mfmaText(random, chip, matmul.instruction, warps));
    dotOf(operandText(parent, 0, matmul.width), operandText(parent, 1, matmul.width), parent);
    return refuse("K7", "less of K than an instruction multiplies");
  }
  default: {
    Tile left = load(shape, element, text.alias(blockedText(random, shape, warps, 0, 2)));
    Tile right = load(shape, element, text.alias(blockedText(random, shape, warps, 1, 1)));
    text.define(fmt::format("arith.addi {}, {} : {}", left.name, right.name, left.type()));
    return refuse("types", "a sum of tiles in different layouts");
  }
  }
}

//===-- Accesses to global memory --------------------------------------------------------------------------------===//

void Maker::accessFault(int kind) {
  const Element &element = elementOf("i32"), &other = elementOf("f32");
  Shape shape = {16, 64};
  std::string layout = accessLayout(shape, element);
  Offsets offsets = makeOffsets(shape, layout, true);
  std::vector<int64_t> values = randomValues(element, 2048);
  std::string pointer = text.buffer(element, values, values, true);
  size_t ring = allocate(shape, kind == 4 ? other : element, 2, plainLayout(2));
  View view = slotAt(ring, 0, text.constant(0));
  switch (kind) {
  case 0:
    text.define(
        fmt::format("amdg.buffer_load {}[{}] : !tt.ptr<i32> -> tensor<16x64xf32, {}>", pointer, offsets.name, layout));
    return refuse("F1", "a tile of other elements than the pointer's");
  case 1: {
    Tile tile = load(shape, element, layout);
    text.define(fmt::format("amdg.buffer_atomic_rmw fadd, relaxed, gpu, {}, {}[{}] : !tt.ptr<i32> -> {}", tile.name,
                            pointer, offsets.name, tile.type()));
    return refuse("F4", "a float sum of integers");
  }
  case 2: {
    View small = view;
    small.shape = {16, 32};
    small.name =
        text.define(fmt::format("ttg.memdesc_subslice {}[0, 32] : {} -> {}", view.name, typeOf(view), typeOf(small)));
    writeCopy(pointer, element, offsets, small, {}, "", random.chance(50));
    return refuse("K8", "a copy to a memory object of another shape");
  }
  case 3:
    view.isMutable = false;
    view.name = text.define(
        fmt::format("ttg.memdesc_index {}[{}] : !ttg.memdesc<2x16x64xi32, {}, #smem, mutable> -> {}",
                    memories[ring].name, text.constant(1), text.alias(plainLayout(2).text()), typeOf(view)));
    writeCopy(pointer, element, offsets, view, {}, "", random.chance(50));
    return refuse("V9", "a copy to an immutable memory object");
  case 4: {
    bool isBuffer = random.chance(50);
    writeCopy(pointer, element, offsets, view, {}, "", isBuffer);
    return refuse(isBuffer ? "F1" : "K8", "a copy to a memory object of other elements");
  }
  default: {
    std::string elsewhere = text.alias(blockedText(random, shape, warps, 0, 4));
    text.define(fmt::format("amdg.buffer_load {}[{}] : !tt.ptr<i32> -> tensor<16x64xi32, {}>", pointer, offsets.name,
                            elsewhere));
    return refuse("types", "offsets in another layout than the tile's");
  }
  }
}

//===-- Warnings -------------------------------------------------------------------------------------------------===//

void Maker::copyWarning(int kind) {
  const Element &element = elementOf(kind == 0 ? "f16" : "i32");
  Shape shape = {16, int64_t(16) * warps};
  SharedLayout layout = plainLayout(2);
  std::string blocked = text.alias(blockedText(random, shape, warps, 1, 1));
  expectation.fault = "a copy that is not as it was meant";
  auto expect = [&](const std::string &rule) { expectation.warned.push_back(rule); };
  auto finished = [&](const View &view) {
    commit();
    wait(0);
    if (isWritten(view))
      keep(localLoad(view, randomLayout(view.shape)));
  };
  CopyOptions plain{.isDense = true, .mayMask = false, .mayKeep = false, .layout = blocked};
  if (kind == 1) {
    layout.kind = SharedLayout::Kind::Padded;
    layout.paddings = {{16, 4}};
    layout.shape = shape;
  }
  if (kind == 2) // lanes along columns
    plain.layout =
        text.alias(fmt::format("#ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [16, 4], warpsPerCTA "
                               "= [1, {}], order = [0, 1]}}>",
                               warps));
  if (kind == 3 || kind == 6) {
    expectation.fault = "a copy that is as it was meant";
    expectation.silent.push_back("goes through registers");
    if (committed || !memories.empty()) // others may warn
      expectation.silent.clear();
  }
  size_t memory = allocate(shape, element, random.chance(50) ? 2 : 0, layout);
  View view = slotOf(memory, 0, false);
  if (kind == 3) {
    View part = view;
    part.isPart = true;
    part.shape = {8, shape[1]};
    size_t row = random.chance(50) ? 8 : 0, first = row * size_t(shape[1]);
    part.at.assign(view.at.begin() + long(first), view.at.begin() + long(first) + countOf(part.shape));
    part.name = text.define(
        fmt::format("ttg.memdesc_subslice {}[{}, 0] : {} -> {}", view.name, row, typeOf(view), typeOf(part)));
    plain.layout = text.alias(blockedText(random, part.shape, warps, 1, 1));
    copyTo(part, plain);
    return finished(part);
  }
  if (kind == 4) {
    Offsets offsets = makeOffsets(shape, blocked, true);
    std::string bits = "tensor<" + shapeText(shape, "i1") + ", " + blocked + ">";
    Mask mask{text.define(fmt::format("tt.splat {} : i1 -> {}", text.define("arith.constant true"), bits)),
              std::vector<int64_t>(offsets.at.size(), 1)};
    std::vector<int64_t> values = randomValues(element, countOf(shape));
    writeCopy(text.buffer(element, values, values, true), element, offsets, view, mask,
              text.constantTile(element, shape, blocked, 5), random.chance(50));
    write(view, values);
    expect("rule C5");
    return finished(view);
  }
  copyTo(view, plain);
  if (kind < 3)
    expect(fmt::format("rule C{}", kind + 1));
  if (kind == 5) {
    commit();
    text.define(fmt::format("ttg.async_wait {{num = {} : i32}}", committed + size_t(random.below(3))));
    expect("waits for nothing");
    expectation.fault = "a wait for more groups than there are";
    wait(0);
    if (committed >= 12) // not counted so far
      expectation.warned.clear();
    return;
  }
  if (kind == 7) {
    expectation.fault = "a copy that is never waited for";
    return expect("is never waited for");
  }
  finished(view);
}

void Maker::faultStep() {
  switch (random.below(5)) {
  case 0:
    return sharedFault(int(random.below(15)));
  case 1:
    return hazardFault(int(random.below(6)));
  case 2:
    return layoutFault(int(random.below(11)));
  case 3:
    return accessFault(int(random.below(6)));
  default:
    return copyWarning(int(random.below(8)));
  }
}

} // namespace heddle::gluon_programs
