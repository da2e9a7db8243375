// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands in the stages of a warp pipeline and between them, and what it leaves.
#include "tests/gluon_programs/PipelineWriter.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

//===-- Stages ---------------------------------------------------------------------------------------------------===//

void PipelineWriter::addTile(const Read &read) {
  std::string &sum = carried[read.sum].name;
  const std::string &type = carried[read.sum].type;
  const Element &element = read.loaded.element;
  if (!element.isFloat) {
    std::string three = text.constantTile(element, read.loaded.shape, read.layout, 3);
    sum = text.define(fmt::format("arith.muli {}, {} : {}", sum, three, type));
  }
  sum = text.define(fmt::format("arith.add{} {}, {} : {}", element.isFloat ? "f" : "i", sum, read.loaded.name, type));
}

void PipelineWriter::work() {
  std::string &name = carried[busy].name;
  name = text.define(fmt::format("arith.addi {}, {} : {}", name, addend.name, addend.type()));
  ++works;
}

/// Waits and barriers of the text.
void PipelineWriter::standBefore(int64_t stage, bool isAtEnd) {
  if (defect == Defect::OneStage)
    return;
  bool isTwice = defect == Defect::TwoBarriers && stage == defectStage && !isAtEnd;
  int barriers = isTwice ? 2 : placement.barriers[size_t(isAtEnd ? placement.stages : stage)];
  bool isFirst = random.chance(50);
  auto wait = [&] {
    for (const WaitPlacement &each : placement.waits)
      if (each.stage == stage && each.isAtEnd == isAtEnd)
        text.define(fmt::format("ttg.async_wait {{num = {} : i32}}", each.pending));
  };
  if (!isFirst)
    wait();
  for (; barriers > 0; --barriers)
    text.line(random.chance(50) ? "ttg.barrier local" : "ttg.barrier all");
  if (isFirst)
    wait();
}

/// What a stage does, in no certain order but that of the groups of copies.
std::vector<std::function<void()>> PipelineWriter::partsOf(int64_t stage) {
  std::vector<std::function<void()>> parts;
  for (Ring &ring : rings) {
    bool isLoadOnly = !ring.at.isCopied && ring.loadStage == stage && (ring.loadsBefore || stage < ring.at.fillStage);
    if (isLoadOnly)
      parts.push_back([this, &ring] { ring.loaded = loadTile(ring, tileNumber(ring.at.ahead + ring.loadsBefore)); });
    if (!ring.at.isCopied && ring.at.fillStage == stage)
      parts.push_back([this, &ring, stage, isLoadOnly] {
        std::string number = tileNumber(ring.at.ahead);
        if (!isLoadOnly && !ring.loadsBefore && ring.loadStage == stage)
          ring.loaded = loadTile(ring, number);
        fill(ring, number, slotText(ring, true), ring.loadsBefore ? carried[ring.loadedTile].name : ring.loaded);
      });
    for (Read &read : ring.reads) {
      if (read.stage == stage)
        parts.push_back([this, &ring, &read, stage] {
          View view = viewFor(read, maker.slotAt(ring.memory, 0, slotText(ring, false)));
          read.loaded = maker.localLoad(view, read.layout);
          if (read.sumStage == stage)
            addTile(read);
        });
      if (read.stage < stage && read.sumStage == stage)
        parts.push_back([this, &read] { addTile(read); });
    }
  }
  for (size_t group = 0; group < placement.groupStages.size(); ++group)
    if (placement.groupStages[group] == stage)
      parts.push_back([this, group] {
        fillGroup(group, [&](Ring &ring) { fill(ring, tileNumber(ring.at.ahead), slotText(ring, true), ""); });
      });
  if (defect != Defect::None && stage == defectStage)
    parts.push_back([this] { makeDefect(); });
  else if (random.chance(40))
    parts.push_back([this] { work(); });
  for (size_t i = 1; i < parts.size() && placement.groupStages.size() < 2; ++i)
    std::swap(parts[i], parts[size_t(random.below(int64_t(i + 1)))]);
  return parts;
}

void PipelineWriter::writeStage(int64_t stage) {
  std::vector<std::function<void()>> parts = partsOf(stage);
  for (const auto &part : parts)
    part();
  // The last stage of a loop may have no border, where nothing stands after it.
  bool isLast = stage + 1 == placement.stages, isPlain = defect == Defect::None && !placement.isStraight;
  bool isAtEnd = placement.barriers.back() || std::any_of(placement.waits.begin(), placement.waits.end(),
                                                          [](const WaitPlacement &wait) { return wait.isAtEnd; });
  if (isLast ? isPlain && !isAtEnd && !parts.empty() && random.chance(15) : defect == Defect::OneStage)
    return;
  std::string priority =
      random.chance(80) ? fmt::format(", triton.warp_pipeline.priority = {} : i32", random.below(4)) : "";
  text.line(fmt::format("rocdl.sched.barrier none {{triton.warp_pipeline.border = \"s{}\"{}}}", stage, priority));
}

void PipelineWriter::writeIteration() {
  for (Ring &ring : rings) { // numbers that all stages take from here
    ring.readSlot = ring.fillSlot = "";
    if (random.chance(70))
      continue;
    std::string readSlot = slotText(ring, false);
    ring.fillSlot = slotText(ring, true);
    ring.readSlot = readSlot;
  }
  for (int64_t stage = 0; stage < placement.stages; ++stage) {
    standBefore(stage, false);
    writeStage(stage);
  }
  bool isOver = placement.isStraight && iteration + 1 == trips;
  if (!isOver)
    standBefore(0, true);
  for (Ring &ring : rings) {
    if (!ring.at.isCopied && ring.loadsBefore)
      carried[ring.loadedTile].name = ring.loaded;
    if (placement.isStraight || ring.numbers < Numbers::Carried)
      continue;
    stepNumber(ring, ring.readNumber);
    if (ring.numbers == Numbers::CarriedTwice)
      stepNumber(ring, ring.fillNumber);
  }
}

/// The head of a loop from `lower` on, of a step of 1; its result. `isAround`: around the pipeline's own.
std::string PipelineWriter::beginLoop(const std::string &last, bool isAround) {
  std::string first = text.constant(isAround ? 0 : lower), step = text.constant(1), result = text.fresh();
  std::string number = text.fresh();
  std::vector<std::string> before, types;
  for (Carried &value : carried) {
    if (isAround && !value.isResult)
      continue;
    std::string inside = text.fresh();
    before.push_back(inside + " = " + std::exchange(value.name, inside));
    types.push_back(value.type);
  }
  if (!isAround)
    counter = number;
  text.begin(fmt::format("{}:{} = scf.for {} = {} to {} step {} iter_args({}) -> ({})  : i32 {{", result, before.size(),
                         number, first, last, step, fmt::join(before, ", "), fmt::join(types, ", ")));
  return result;
}

void PipelineWriter::endLoop(const std::string &result, bool isAround) {
  std::vector<std::string> after, types;
  for (Carried &value : carried) {
    if (isAround && !value.isResult)
      continue;
    after.push_back(std::exchange(value.name, fmt::format("{}#{}", result, after.size())));
    types.push_back(value.type);
  }
  text.line(fmt::format("scf.yield {} : {}", fmt::join(after, ", "), fmt::join(types, ", ")));
  text.end();
}

void PipelineWriter::writeLoop() {
  fillBefore();
  std::string result = beginLoop(add(end, lower), false);
  writeIteration();
  endLoop(result, false);
}

/// The pipeline several times, in a loop around it.
void PipelineWriter::writeRounds() {
  std::string result = beginLoop(text.scalar(rounds), true);
  writeLoop();
  text.define("ttg.async_wait {num = 0 : i32}");
  endLoop(result, true);
}

//===-- The whole ------------------------------------------------------------------------------------------------===//

void PipelineWriter::keepResults() {
  for (Ring &ring : rings) {
    auto tileAt = [&](int64_t k) {
      std::vector<int64_t> values;
      for (int64_t at : ring.offsets.at)
        values.push_back(ring.source[size_t(k * ring.step + at)]);
      return values;
    };
    for (Read &read : ring.reads) {
      for (int64_t k = 0; k < trips * rounds; ++k) {
        std::vector<int64_t> tile = tileAt(k % trips);
        for (size_t i = 0; i < read.values.size(); ++i)
          read.values[i] = wrapped(ring.element, int64_t(uint64_t(read.values[i]) * (ring.element.isFloat ? 1 : 3) +
                                                         uint64_t(tile[size_t(read.view.at[i])])));
      }
      maker.keep({carried[read.sum].name, ring.element, read.view.shape, read.layout, read.values});
    }
    Memory &memory = maker.memories[ring.memory];
    for (std::vector<bool> &written : memory.written) // what is left there is known where nothing is left out
      written.assign(written.size(), false);
    for (int64_t k = 0; guard == Guard::Nothing && k < trips + ring.at.ahead; ++k)
      maker.write(maker.slotAt(ring.memory, size_t((lower + k) % ring.at.slots), text.constant(0)), tileAt(k));
  }
  int64_t times = 1 + works * (placement.isStraight ? 1 : trips * rounds);
  for (int64_t &value : addend.values)
    value = wrapped(addend.element, value * times);
  addend.name = carried[busy].name;
  maker.keep(addend);
}

void PipelineWriter::write() {
  if (!maker.open.empty()) // copies to objects that are no longer used may be to the bytes of a ring
    maker.commit();
  maker.wait(0);
  addend = maker.load({int64_t(64) * maker.warps}, elementOf("i32"),
                      text.alias(blockedText(random, {int64_t(64) * maker.warps}, maker.warps, 0, 1)));
  busy = carry(addend.name, addend.type(), /*isResult=*/true);
  end = random.chance(60) ? text.scalar(trips) : text.constant(trips);
  if (placement.isStraight) {
    fillBefore();
    for (iteration = 0; iteration < trips; ++iteration)
      writeIteration();
  } else if (rounds > 1) {
    writeRounds();
  } else {
    writeLoop();
  }
  maker.committed += 16; // as many as are told apart
  maker.open.clear();
  maker.wait(0);
  keepResults();
}

bool Maker::makePipeline(Defect defect, bool isLegal) {
  bool isStraight = !hasStraightPipeline && defect != Defect::OneStage && random.chance(20);
  PipelinePlacement placement = randomPlacement(random, isStraight, isLegal);
  PipelineWriter writer(*this, defect, placement);
  if (!writer.choose())
    return false;
  writer.write();
  ++pipelines;
  hasStraightPipeline |= isStraight;
  if (!isLegal) {
    std::set<std::string> rules = placement.brokenRules();
    refuse(fmt::format("{}", fmt::join(rules, " ")), "stages that access the same bytes at the same time");
    expectation.isRightInOrder = placement.isRightInOrder();
  }
  return true;
}

} // namespace heddle::gluon_programs
