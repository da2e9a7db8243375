// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the dimension that lanes cover, and recognises lanes that are steps of a row.
#include "compiler/lowering/host/Lanes.h"
#include <algorithm>

using namespace heddle::host;

LaneMap heddle::host::chooseLanes(llvm::ArrayRef<int64_t> shape, int primary, int maxWidth, int excluded) {
  LaneMap map;
  map.primary = primary;
  int rank = shape.size();
  map.pattern.resize(rank);
  map.extent.assign(rank, 1);
  llvm::SmallVector<int, 4> order;
  if (primary >= 0 && primary < rank && primary != excluded)
    order.push_back(primary);
  for (int dim = rank - 1; dim >= 0; --dim)
    if (dim != primary && dim != excluded)
      order.push_back(dim);
  for (int dim : order) {
    map.extent[dim] = std::min<int64_t>(shape[dim], maxWidth / map.width);
    map.width *= map.extent[dim];
  }
  int64_t below = 1;
  for (int dim : order) {
    if (map.extent[dim] > 1)
      for (int lane = 0; lane < map.width; ++lane)
        map.pattern[dim].push_back(lane / below % map.extent[dim]);
    below *= map.extent[dim];
  }
  return map;
}

bool heddle::host::isStepPattern(const LanePattern &lanes, int width, int64_t step) {
  if (int(lanes.size()) != width)
    return width == 1 && lanes.empty();
  for (int lane = 0; lane < width; ++lane)
    if (lanes[lane] != lane * step)
      return false;
  return true;
}
