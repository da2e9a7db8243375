// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that apply a region of scalars: reduce, scan, map_elementwise. Always in index order.
#include "compiler/dialects/triton/Triton.h"
#include "tests/reference/Program.h"

using namespace mlir;
using namespace heddle::reference;

// The elements of all operands at `index`, as scalars.
static Results elementsAt(const Inputs &in, int64_t index) {
  Results elements;
  for (const Tile *tile : in.tiles)
    elements.push_back(Tile{tile->elementType(), {tile->bits[index]}});
  return elements;
}

// The region's arguments are all left values, then all right values.
static Results combine(Program &program, Region &region, const Results &left, const Results &right) {
  Results arguments = left;
  arguments.insert(arguments.end(), right.begin(), right.end());
  return program.runRegion(region, arguments);
}

// Calls visit(line, position, element) for every element, lines along `axis` one after the other; `line` is the
// row-major index with the axis removed.
template <typename Visit>
static void forEachLine(ArrayRef<int64_t> shape, int64_t axis, bool reverse, Visit visit) {
  int64_t inner = 1, outer = 1;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  int64_t length = shape[axis];
  for (int64_t line = 0; line < outer * inner; ++line)
    for (int64_t position = 0; position < length; ++position) {
      int64_t along = reverse ? length - 1 - position : position;
      visit(line, position, (line / inner * length + along) * inner + line % inner);
    }
}

static Results reduce(Program &program, Operation *op, const Inputs &in) {
  auto reduction = cast<heddle::triton::ReduceOp>(op);
  Results results, accumulated;
  for (Type type : op->getResultTypes())
    results.push_back(filled(type, 0));
  forEachLine(in[0].shape(), reduction.getAxis(), program.contrary(),
              [&](int64_t line, int64_t position, int64_t element) {
                Results next = elementsAt(in, element);
                accumulated = position == 0 ? next : combine(program, reduction.getCombineOp(), accumulated, next);
                for (size_t k = 0; k < results.size(); ++k)
                  results[k].bits[line] = accumulated[k].bits[0];
              });
  return results;
}

// Element i of a line as first combined with (second combined with (... combined with last)); for short lines.
static Results combineFromTheRight(Program &program, Region &region, const std::vector<Results> &line) {
  Results accumulated = line.back();
  for (size_t i = line.size() - 1; i-- > 0;)
    accumulated = combine(program, region, line[i], accumulated);
  return accumulated;
}

static Results scan(Program &program, Operation *op, const Inputs &in) {
  auto scanOp = cast<heddle::triton::ScanOp>(op);
  Results results, accumulated;
  for (Type type : op->getResultTypes())
    results.push_back(filled(type, 0));
  bool reassociate = program.contrary() && in[0].shape()[scanOp.getAxis()] <= 32;
  std::vector<Results> line;
  forEachLine(in[0].shape(), scanOp.getAxis(), scanOp.getReverse(), [&](int64_t, int64_t position, int64_t element) {
    Results next = elementsAt(in, element);
    if (position == 0)
      line.clear();
    line.push_back(next);
    if (reassociate)
      accumulated = combineFromTheRight(program, scanOp.getCombineOp(), line);
    else
      accumulated = position == 0 ? next : combine(program, scanOp.getCombineOp(), accumulated, next);
    for (size_t k = 0; k < results.size(); ++k)
      results[k].bits[element] = accumulated[k].bits[0];
  });
  return results;
}

// `pack` contiguous elements at a time: arguments grouped by operand, values by result.
static Results mapElementwise(Program &program, Operation *op, const Inputs &in) {
  auto map = cast<heddle::triton::MapElementwiseOp>(op);
  int64_t pack = map.getPack();
  Results results;
  for (Type type : op->getResultTypes())
    results.push_back(filled(type, 0));
  for (int64_t first = 0; first < in[0].size(); first += pack) {
    Results arguments;
    for (const Tile *tile : in.tiles)
      for (int64_t p = 0; p < pack; ++p)
        arguments.push_back(Tile{tile->elementType(), {tile->bits[first + p]}});
    Results values = program.runRegion(map.getScalarOp(), arguments);
    for (size_t k = 0; k < results.size(); ++k)
      for (int64_t p = 0; p < pack; ++p)
        results[k].bits[first + p] = values[k * pack + p].bits[0];
  }
  return results;
}

void heddle::reference::addRegionHandlers(HandlerTable &table) {
  table["tt.reduce"] = reduce;
  table["tt.scan"] = scan;
  table["tt.map_elementwise"] = mapElementwise;
}
