// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structured control flow, calls, the program grid, constants, assertions. Branches between blocks are in
// Evaluator.cpp.
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Error.h"
#include "tests/reference/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::reference;

static Results evaluateConstant(Program &, Operation *op, const Inputs &) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  Type type = op->getResult(0).getType();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return {filled(type, integer.getValue().getZExtValue())};
  if (auto number = dyn_cast<FloatAttr>(value))
    return {filled(type, number.getValue().bitcastToAPInt().getZExtValue())};
  auto elements = cast<DenseElementsAttr>(value);
  Tile tile{type, {}};
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &element : elements.getValues<APFloat>())
      tile.bits.push_back(element.bitcastToAPInt().getZExtValue());
  else
    for (const APInt &element : elements.getValues<APInt>())
      tile.bits.push_back(element.getZExtValue());
  return {tile};
}

static Results evaluateFor(Program &program, Operation *op, const Inputs &in) {
  auto loop = cast<scf::ForOp>(op);
  Type type = in[0].type;
  int64_t upper = signedAt(in[1], 0), step = signedAt(in[2], 0);
  if (step <= 0)
    throw inputError("the step is " + std::to_string(step));
  Results carried;
  for (size_t i = 3; i < in.size(); ++i)
    carried.push_back(*in.tiles[i]);
  for (__int128 index = signedAt(in[0], 0); index < upper; index += step) {
    Results arguments{filled(type, uint64_t(index))};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    carried = program.runRegion(loop.getRegion(), arguments);
  }
  return carried;
}

static Results evaluateIf(Program &program, Operation *op, const Inputs &in) {
  auto branch = cast<scf::IfOp>(op);
  Region &region = in[0].bits[0] ? branch.getThenRegion() : branch.getElseRegion();
  return region.empty() ? Results() : program.runRegion(region, {});
}

static Results evaluateWhile(Program &program, Operation *op, const Inputs &in) {
  auto loop = cast<scf::WhileOp>(op);
  Results carried;
  for (const Tile *tile : in.tiles)
    carried.push_back(*tile);
  while (true) {
    Results condition = program.runRegion(loop.getBefore(), carried); // the condition, then the values passed on
    bool again = condition.front().bits[0];
    condition.erase(condition.begin());
    if (!again)
      return condition;
    carried = program.runRegion(loop.getAfter(), condition);
    if (--program.launch.operationsLeft < 0)
      throw inputError("the loop does not end");
  }
}

static Results evaluateCall(Program &program, Operation *op, const Inputs &in) {
  auto call = cast<triton::CallOp>(op);
  auto callee = SymbolTable::lookupNearestSymbolFrom<triton::FuncOp>(op, call.getCalleeAttr());
  if (!callee || callee.isExternal())
    throw inputError("no function '" + call.getCallee().str() + "' with a body");
  Results arguments;
  for (const Tile *tile : in.tiles)
    arguments.push_back(*tile);
  return program.callFunction(callee.getBody(), arguments);
}

static int32_t along(const Grid &grid, triton::ProgramDim axis) {
  return axis == triton::ProgramDim::X ? grid.x : axis == triton::ProgramDim::Y ? grid.y : grid.z;
}

static Results requireTrue(const Tile &condition, const std::string &message) {
  for (int64_t i = 0; i < condition.size(); ++i)
    if (!condition.bits[i])
      throw inputError(message + " (element " + std::to_string(i) + ")");
  return {};
}

void heddle::reference::addControlHandlers(HandlerTable &table) {
  table["arith.constant"] = evaluateConstant;
  table["scf.for"] = evaluateFor;
  table["scf.if"] = evaluateIf;
  table["scf.while"] = evaluateWhile;
  table["tt.call"] = evaluateCall;
  table["ub.poison"] = [](Program &program, Operation *op, const Inputs &) {
    return Results{program.undefined(op->getResult(0).getType())};
  };
  table["tt.get_program_id"] = [](Program &program, Operation *op, const Inputs &) {
    auto get = cast<triton::GetProgramIdOp>(op);
    return Results{filled(get.getType(), uint32_t(along(program.id, get.getAxis())))};
  };
  table["tt.get_num_programs"] = [](Program &program, Operation *op, const Inputs &) {
    auto get = cast<triton::GetNumProgramsOp>(op);
    return Results{filled(get.getType(), uint32_t(along(program.launch.grid, get.getAxis())))};
  };
  table["llvm.intr.assume"] = [](Program &, Operation *, const Inputs &in) {
    return requireTrue(in[0], "the assumption does not hold");
  };
  table["tt.assert"] = [](Program &, Operation *op, const Inputs &in) {
    return requireTrue(in[0], cast<triton::AssertOp>(op).getMessage().str());
  };
  // Instances run one after the other, each as one thread: nothing to wait for. Printing is not a result.
  for (StringRef silent :
       {"gpu.barrier", "ttg.barrier", "tt.print", "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents"})
    table[silent] = [](Program &, Operation *, const Inputs &) { return Results(); };
}
