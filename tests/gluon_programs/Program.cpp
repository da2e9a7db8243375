// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a seed chooses for the whole program, the order of its steps, and what is stored in the end.
#include "tests/gluon_programs/Program.h"
#include "tests/gluon_programs/Maker.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace heddle::gluon_programs {
namespace {

struct Choices {
  std::string chip;
  int warps, steps, pipelineStep;
  bool hasFault;
};

Choices choicesOf(uint64_t seed) {
  Random random(seed);
  Choices all;
  all.chip = random.chance(50) ? "gfx942" : "gfx950";
  all.warps = 1 << random.below(4);
  all.hasFault = random.chance(40);
  all.steps = int(all.hasFault ? random.between(1, 5) : random.between(3, 12));
  Random pipelines(seed ^ 0x9e1d);
  all.pipelineStep = pipelines.chance(15) ? all.hasFault ? all.steps - 1 : int(pipelines.below(all.steps)) : -1;
  if (all.pipelineStep >= 0)
    all.warps = all.hasFault && pipelines.chance(10) ? 4 : 8;
  return all;
}

} // namespace

int stepCount(uint64_t seed) {
  return choicesOf(seed).steps;
}

bool hasPipeline(uint64_t seed) {
  return choicesOf(seed).pipelineStep >= 0;
}

Maker::Maker(uint64_t seed)
    : seed(seed), chip(choicesOf(seed).chip), warps(choicesOf(seed).warps), hasFault(choicesOf(seed).hasFault),
      pipelineStep(choicesOf(seed).pipelineStep), text(chip, warps) {
  Random choice(seed ^ 0x61e3);
  std::vector<std::string> names = {"i8", "i16", "i32", "i32", "i64", "f16", "f16", "bf16", "f32", "f32"};
  if (chip == "gfx942")
    names.push_back("f8E4M3FNUZ");
  else
    names.insert(names.end(), {"f8E4M3FN", "f8E5M2"});
  for (int i = 0; i < 3; ++i)
    elements.push_back(elementOf(choice.pick(names)));
}

void Maker::makeStep() {
  auto kind = random.below(100);
  if (kind < 6)
    return loadStep();
  if (kind < 14)
    return combineStep();
  if (kind < 18)
    return castStep();
  if (kind < 24)
    return convertStep();
  if (kind < 27)
    return transposeStep();
  if (kind < 32)
    return reduceStep();
  if (kind < 35)
    return atomicStep();
  if (kind < 37)
    return partsStep();
  if (kind < 42)
    return allocateStep();
  if (kind < 50)
    return localStoreStep();
  if (kind < 59)
    return localLoadStep();
  if (kind < 60)
    return repackedLoadStep();
  if (kind < 62)
    return branchStep();
  if (kind < 65)
    return indexedStep();
  if (kind < 68)
    return releaseStep();
  if (kind < 80)
    return copyStep();
  if (kind < 86)
    return waitStep();
  if (kind < 91)
    return matmulStep();
  makeLoop();
}

/// Stores what nothing else reads, and what lies in one of the memory objects.
void Maker::finish() {
  std::optional<size_t> memory = someMemory();
  if (memory && expectation.refusal.empty() && expectation.warned.empty()) {
    for (size_t slot = 0; slot < memories[*memory].contents.size(); ++slot) {
      if (isInFlight(*memory, slot) && random.chance(70)) {
        if (!open.empty())
          commit();
        wait(0);
      }
      View view = slotOf(*memory, slot);
      if (!isInFlight(*memory, slot) && isWritten(view))
        keep(localLoad(view, randomLayout(view.shape)));
    }
  }
  for (Tile &tile : tiles)
    if (!tile.isRead)
      store(tile);
  if (random.chance(70) && expectation.warned.empty())
    wait(0);
}

/// One, or two with what the second begins with between them.
void Maker::makePipelines() {
  if (makePipeline(Defect::None, /*isLegal=*/true) && random.chance(40))
    makePipeline(Defect::None, /*isLegal=*/true);
}

GluonProgram Maker::make(const std::vector<int> &steps) {
  int all = stepCount(seed);
  for (int step : steps) {
    random = Random(seed * 1000003 + uint64_t(step) + 1);
    if (step == pipelineStep && hasFault)
      pipelineFault(int(random.below(16)));
    else if (step == pipelineStep)
      makePipelines();
    else if (hasFault && step + 1 == all)
      faultStep();
    else
      makeStep();
  }
  random = Random(seed * 1000003);
  finish();
  GluonProgram program;
  program.seed = seed;
  program.steps = steps;
  program.chip = chip;
  program.warps = warps;
  program.pipelines = pipelines;
  program.text = text.text();
  program.arguments = text.arguments;
  program.expected = text.expected;
  program.notes = text.notes;
  program.elements = text.elements;
  program.expectation = expectation;
  return program;
}

GluonProgram programOf(uint64_t seed, const std::vector<int> &steps) {
  return Maker(seed).make(steps);
}

GluonProgram programOf(uint64_t seed) {
  std::vector<int> steps(size_t(stepCount(seed)));
  std::iota(steps.begin(), steps.end(), 0);
  return programOf(seed, steps);
}

std::string describe(const GluonProgram &program) {
  const Expectation &expectation = program.expectation;
  std::string text = fmt::format("// seed {}, {}, {} warps, steps {}\n", program.seed, program.chip, program.warps,
                                 fmt::join(program.steps, " "));
  if (!expectation.fault.empty())
    text += fmt::format("// {}: {}\n", expectation.fault,
                        expectation.refusal.empty() ? fmt::format("warned of: {}", fmt::join(expectation.warned, ", "))
                                                    : "refused by rule " + expectation.refusal);
  for (size_t i = 0; i < program.notes.size(); ++i)
    text += fmt::format("// argument {}: {}\n", i, program.notes[i]);
  return text + program.text;
}

} // namespace heddle::gluon_programs
