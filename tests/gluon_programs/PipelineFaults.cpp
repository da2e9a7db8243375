// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a warp pipeline must not have: rules W1 to W5 of docs/warp-pipeline.md, each broken on purpose.
#include "tests/gluon_programs/PipelineWriter.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

void PipelineWriter::makeDefect() {
  std::string &name = carried[busy].name, type = addend.type();
  work();
  switch (defect) {
  case Defect::WaitInStage:
    text.define("ttg.async_wait {num = 0 : i32}");
    break;
  case Defect::BarrierInStage:
    text.line(random.chance(50) ? "ttg.barrier local" : "ttg.barrier all");
    break;
  case Defect::LoopInStage: {
    std::string zero = text.constant(0), most = text.constant(3), step = text.constant(1), inside = text.fresh();
    std::string result = text.fresh();
    text.begin(fmt::format("{} = scf.for {} = {} to {} step {} iter_args({} = {}) -> ({})  : i32 {{", result,
                           text.fresh(), zero, most, step, inside, name, type));
    text.line(fmt::format("scf.yield {} : {}", text.define(fmt::format("arith.addi {}, {} : {}", inside, inside, type)),
                          type));
    text.end();
    name = result;
    break;
  }
  case Defect::ReduceInStage: {
    std::string sum = text.fresh(), x = text.fresh(), y = text.fresh();
    text.begin(fmt::format("{} = \"tt.reduce\"({}) <{{axis = 0 : i32}}> ({{", sum, name));
    text.line(fmt::format("^bb0({}: i32, {}: i32):", x, y));
    text.line(fmt::format("tt.reduce.return {} : i32", binary("arith.addi", x, y)));
    text.end(fmt::format("}}) : ({}) -> i32", type));
    name = text.define(fmt::format("arith.addi {}, {} : {}", name,
                                   text.define(fmt::format("tt.splat {} : i32 -> {}", sum, type)), type));
    break;
  }
  case Defect::ConvertInStage: { // an element of each register and warp
    Tile tile{name, addend.element, addend.shape, addend.layout, {}};
    tile = maker.converted(tile, text.alias("#ttg.blocked<{sizePerThread = [8], threadsPerWarp = [64], warpsPerCTA = "
                                            "[8], order = [0]}>"));
    tile.name = text.define(fmt::format("arith.addi {}, {} : {}", tile.name, tile.name, tile.type()));
    name = maker.converted(tile, addend.layout).name;
    break;
  }
  default:
    break;
  }
  work();
}

void Maker::pipelineFault(int kind) {
  static const struct {
    Defect defect;
    const char *rule, *fault;
  } faults[] = {{Defect::OneStage, "W1", "a pipeline of one stage"},
                {Defect::WaitInStage, "W2", "a wait in a stage"},
                {Defect::BarrierInStage, "W2", "a barrier in a stage"},
                {Defect::LoopInStage, "W2", "a loop in a stage"},
                {Defect::TwoBarriers, "W3", "two barriers between two stages"},
                {Defect::ReduceInStage, "W4", "a reduction over several warps in a stage"},
                {Defect::ConvertInStage, "W4", "a conversion over several warps in a stage"}};
  if (warps != 8) {
    if (makePipeline(Defect::None, true))
      refuse("W5", "a pipeline of four warps");
    return;
  }
  if (kind >= int(std::size(faults))) {
    makePipeline(Defect::None, false);
    return;
  }
  if (makePipeline(faults[kind].defect, true))
    refuse(faults[kind].rule, faults[kind].fault);
}

} // namespace heddle::gluon_programs
