// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rings of a warp pipeline: what they are made of, the numbers of their slots, and how they are filled.
#include "tests/gluon_programs/PipelineWriter.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

bool PipelineWriter::choose() {
  bool isLegal = placement.brokenRules().empty();
  guard = isLegal ? Guard(random.below(3)) : Guard::Nothing;
  lower = random.chance(70) ? 0 : random.between(1, 6);
  int64_t longest = placement.ahead;
  for (const RingPlacement &ring : placement.rings)
    longest = std::max({longest, ring.ahead, ring.slots - ring.ahead});
  trips = !isLegal                                     ? longest + random.between(3, 6)
          : defect == Defect::None && maker.warps == 8 ? random.below(8)
                                                       : random.between(2, 4);
  if (placement.isStraight)
    trips = !isLegal ? longest + 2 : random.between(defect == Defect::None ? 1 : 2, 4);
  defectStage = random.below(placement.stages);
  rounds = !placement.isStraight && random.chance(15) ? 2 : 1;
  return std::all_of(placement.rings.begin(), placement.rings.end(),
                     [&](const RingPlacement &ring) { return makeRing(ring); });
}

/// Copies of illegal pipelines go straight to shared memory: one through registers is over without a wait.
bool PipelineWriter::makeRing(const RingPlacement &at) {
  bool isPlain = at.isCopied && !placement.brokenRules().empty();
  Ring ring{at, 0, isPlain ? elementOf(random.chance(50) ? "i32" : "f32") : random.pick(maker.elements)};
  if (ring.element.isFloat && ring.element.bits < 16)
    ring.element = elementOf("f32");
  int64_t vec = maker.chip == "gfx950" && random.chance(50) ? 4 : 1;
  ring.shape = isPlain ? Shape{64 * maker.warps * vec} : maker.randomShape();
  SharedLayout shared = isPlain ? SharedLayout() : randomShared(random, ring.shape);
  if (!maker.hasRoom(ring.shape, ring.element, at.slots, shared))
    return false;
  ring.memory = maker.allocate(ring.shape, ring.element, at.slots, shared);
  std::string layout = isPlain             ? text.alias(blockedText(random, ring.shape, maker.warps, 0, vec))
                       : random.chance(75) ? maker.accessLayout(ring.shape, ring.element)
                                           : maker.randomLayout(ring.shape);
  ring.offsets = maker.makeOffsets(ring.shape, layout, isPlain);
  ring.isBuffer = random.chance(60);
  ring.loadsBefore = random.chance(40);
  ring.loadStage = ring.loadsBefore ? random.below(placement.stages) : random.between(0, at.fillStage);
  int64_t most = *std::max_element(ring.offsets.at.begin(), ring.offsets.at.end());
  ring.step = (most + 16) / 16 * 16;
  ring.source = maker.randomValues(ring.element, (trips + at.ahead + 1) * ring.step + most + 1);
  ring.pointer = text.buffer(ring.element, ring.source, ring.source, /*isDivisible=*/true);
  if (guard == Guard::Mask && (!ring.isBuffer || random.chance(40)))
    ring.other = text.constantTile(ring.element, ring.shape, layout, 0);
  ring.numbers = Numbers(random.below(5));
  if (ring.numbers == Numbers::Bits && (at.slots & (at.slots - 1)))
    ring.numbers = Numbers::Unsigned;
  if (ring.numbers == Numbers::Carried || ring.numbers == Numbers::CarriedTwice)
    ring.readNumber = carry(text.constant(lower % at.slots), "i32");
  if (ring.numbers == Numbers::CarriedTwice)
    ring.fillNumber = carry(text.constant((lower + at.ahead) % at.slots), "i32");
  for (int64_t stage : at.readStages)
    makeRead(ring, stage);
  rings.push_back(ring);
  return true;
}

void PipelineWriter::makeRead(Ring &ring, int64_t stage) {
  Read read{stage, random.between(stage, placement.stages - 1)};
  read.view = maker.slotAt(ring.memory, 0, text.constant(0));
  if (random.chance(30))
    read.viewChoice = Random(random.bits());
  read.view = viewFor(read, read.view);
  read.layout = maker.readLayout(read.view.shape, ring.element);
  Tile zero{"", ring.element, read.view.shape, read.layout, {}};
  zero.name = text.constantTile(zero.element, zero.shape, zero.layout, 0);
  read.sum = carry(zero.name, zero.type(), /*isResult=*/true);
  read.values.assign(read.view.at.size(), 0);
  ring.reads.push_back(read);
}

View PipelineWriter::viewFor(const Read &read, const View &slot) {
  if (!read.viewChoice)
    return slot;
  Random others = std::exchange(random, *read.viewChoice);
  View view = maker.randomView(slot);
  random = others;
  return view;
}

//===-- Numbers --------------------------------------------------------------------------------------------------===//

std::string PipelineWriter::remainder(const Ring &ring, const std::string &sum) {
  if (ring.numbers == Numbers::Bits)
    return binary("arith.andi", sum, text.constant(ring.at.slots - 1));
  return binary(random.chance(50) ? "arith.remui" : "arith.remsi", sum, text.constant(ring.at.slots));
}

/// The slot that this iteration reads, or fills.
std::string PipelineWriter::slotText(const Ring &ring, bool isFill) {
  if (const std::string &known = isFill ? ring.fillSlot : ring.readSlot; !known.empty())
    return known;
  int64_t plus = isFill ? ring.at.ahead : 0;
  if (placement.isStraight)
    return text.constant((lower + iteration + plus) % ring.at.slots);
  if (ring.numbers == Numbers::CarriedTwice)
    return carried[isFill ? ring.fillNumber : ring.readNumber].name;
  if (ring.numbers != Numbers::Carried)
    return remainder(ring, add(counter, plus));
  const std::string &name = carried[ring.readNumber].name;
  return plus ? remainder(ring, add(name, plus)) : name;
}

/// The next one of a number that the loop carries.
void PipelineWriter::stepNumber(const Ring &ring, Place number) {
  std::string &name = carried[number].name;
  auto kind = random.below(ring.at.slots == 2 ? 5 : 3);
  if (kind > 2) {
    std::string one = text.constant(1);
    name = kind == 3 ? binary("arith.subi", one, name) : binary("arith.xori", name, one);
    return;
  }
  name = add(name, 1);
  if (kind == 0) {
    name = remainder(ring, name);
    return;
  }
  std::string isOver = text.define(
      fmt::format("arith.cmpi {}, {}, {} : i32", kind == 1 ? "eq" : "sge", name, text.constant(ring.at.slots)));
  name = text.define(fmt::format("arith.select {}, {}, {} : i32", isOver, text.constant(0), name));
}

/// Of the tile that this iteration reads, and `plus`.
std::string PipelineWriter::tileNumber(int64_t plus) {
  return placement.isStraight ? text.constant(iteration + plus) : add(counter, plus - lower);
}

//===-- Filling rings --------------------------------------------------------------------------------------------===//

std::string PipelineWriter::isInside(const std::string &number) {
  return text.define(fmt::format("arith.cmpi slt, {}, {} : i32", number, end));
}

Mask PipelineWriter::maskOf(const Ring &ring, const std::string &number) {
  if (guard != Guard::Mask)
    return {};
  return {text.define(fmt::format("tt.splat {} : i1 -> tensor<{}, {}>", isInside(number), shapeText(ring.shape, "i1"),
                                  ring.offsets.layout))};
}

std::string PipelineWriter::pointerOf(const Ring &ring, const std::string &number) {
  return text.define(fmt::format("tt.addptr {}, {} : !tt.ptr<{}>, i32", ring.pointer,
                                 binary("arith.muli", number, text.constant(ring.step)), ring.element.name));
}

std::string PipelineWriter::loadTile(const Ring &ring, const std::string &number) {
  std::string pointer = pointerOf(ring, number), masked = maskOf(ring, number).name;
  masked = (masked.empty() ? "" : ", " + masked) + (ring.other.empty() ? "" : ", " + ring.other);
  std::string type = fmt::format("tensor<{}, {}>", shapeText(ring.shape, ring.element.name), ring.offsets.layout);
  if (ring.isBuffer)
    return text.define(fmt::format("amdg.buffer_load {}[{}]{} : !tt.ptr<{}> -> {}", pointer, ring.offsets.name, masked,
                                   ring.element.name, type));
  return text.define(fmt::format("tt.load {}{} : tensor<{}, {}>",
                                 maker.pointerTiles(pointer, ring.element, ring.offsets), masked,
                                 shapeText(ring.shape, "!tt.ptr<" + ring.element.name + ">"), ring.offsets.layout));
}

/// Copies tile `number`, or stores what was loaded of it.
void PipelineWriter::fill(const Ring &ring, const std::string &number, const std::string &slot,
                          const std::string &loaded) {
  if (guard == Guard::Branch)
    text.begin(fmt::format("scf.if {} {{", isInside(number)));
  View view = maker.slotAt(ring.memory, 0, slot);
  if (ring.at.isCopied) {
    std::string pointer = pointerOf(ring, number);
    maker.writeCopy(pointer, ring.element, ring.offsets, view, maskOf(ring, number), ring.other, ring.isBuffer);
  } else {
    Tile tile{loaded, ring.element, ring.shape, ring.offsets.layout, std::vector<int64_t>(ring.offsets.at.size())};
    maker.localStore(tile, view);
  }
  if (guard == Guard::Branch)
    text.end();
}

void PipelineWriter::fillGroup(size_t group, const std::function<void(Ring &)> &fillRing) {
  for (Ring &ring : rings)
    if (ring.at.isCopied && ring.at.group == group)
      fillRing(ring);
  text.define("ttg.async_commit_group");
}

/// What the first iterations read.
void PipelineWriter::fillBefore() {
  int64_t copies = 0;
  for (int64_t k = 0; k < 5; ++k) {
    std::string number = text.constant(k);
    auto fillRing = [&](const Ring &ring) {
      std::string loaded = ring.at.isCopied ? "" : loadTile(ring, number);
      fill(ring, number, text.constant((lower + k) % ring.at.slots), loaded);
    };
    for (const Ring &ring : rings)
      if (!ring.at.isCopied && k < ring.at.ahead)
        fillRing(ring);
    for (size_t group = 0; k < placement.ahead && group < placement.groupStages.size(); ++group, ++copies)
      fillGroup(group, fillRing);
  }
  for (Ring &ring : rings)
    if (!ring.at.isCopied && ring.loadsBefore) {
      std::string type = fmt::format("tensor<{}, {}>", shapeText(ring.shape, ring.element.name), ring.offsets.layout);
      ring.loadedTile = carry(loadTile(ring, text.constant(ring.at.ahead)), type);
    }
  if (placement.pendingBefore < copies || random.chance(50))
    text.define(fmt::format("ttg.async_wait {{num = {} : i32}}", placement.pendingBefore));
  if (placement.isStraight || random.chance(15))
    text.line("ttg.barrier local");
}

} // namespace heddle::gluon_programs
