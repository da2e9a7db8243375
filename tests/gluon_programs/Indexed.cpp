// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of memory objects by an index along an axis; parts of tiles in registers.
#include "tests/gluon_programs/Maker.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

/// An index along `axis` for each element of a tile: of a line, each once where that is asked for.
Tile Maker::indicesOf(const Shape &shape, const std::string &layout, size_t axis, bool isPermutation) {
  const Element &element = elementOf("i32");
  Tile along{indexTile(shape, layout, axis), element, shape, layout, {}};
  int64_t factor = isPermutation ? 1 : random.between(0, 5), shift = random.below(shape[axis]);
  std::string product = text.define(fmt::format("arith.muli {}, {} : {}", along.name,
                                                text.constantTile(element, shape, layout, factor), along.type()));
  std::string moved = text.define(
      fmt::format("arith.xori {}, {} : {}", product, text.constantTile(element, shape, layout, shift), along.type()));
  std::string name = text.define(fmt::format("arith.andi {}, {} : {}", moved,
                                             text.constantTile(element, shape, layout, shape[axis] - 1), along.type()));
  along.name = name;
  for (int64_t i = 0; i < countOf(shape); ++i) {
    int64_t at = shape.size() == 1 ? i : axis == 0 ? i / shape[1] : i % shape[1];
    along.values.push_back(((at * factor) ^ shift) & (shape[axis] - 1));
  }
  return along;
}

void Maker::indexedStep() {
  std::optional<Slot> settled = settledSlot();
  if (!settled)
    return;
  auto [memory, slot] = *settled;
  View view = randomView(slotOf(memory, slot));
  if (!isWritten(view))
    return localStoreStep();
  const Element element = memories[memory].element;
  auto axis = size_t(random.below(int64_t(view.shape.size())));
  auto kind = random.below(3);
  Tile values;
  if (kind > 0)
    values = take(tileOf(view.shape, element));
  std::string layout = kind > 0 ? values.layout : randomLayout(view.shape);
  Tile indices = indicesOf(view.shape, layout, axis, kind == 1);
  auto placeOf = [&](size_t i) { // of the view
    int64_t columns = view.shape.back(), row = int64_t(i) / columns, column = int64_t(i) % columns;
    if (view.shape.size() == 1)
      return size_t(indices.values[i]);
    return size_t(axis == 0 ? indices.values[i] * columns + column : row * columns + indices.values[i]);
  };
  std::vector<int64_t> &contents = memories[memory].contents[slot];
  std::string type = typeOf(view);
  if (kind == 0) {
    Tile result{"", element, view.shape, layout, {}};
    for (size_t i = 0; i < indices.values.size(); ++i)
      result.values.push_back(contents[size_t(view.at[placeOf(i)])]);
    result.name = text.define(fmt::format("ttg.local_gather {}[{}] {{axis = {} : i32}} : {}, {} -> {}", view.name,
                                          indices.name, axis, type, indices.type(), result.type()));
    return keep(result);
  }
  if (kind == 1) {
    text.line(fmt::format("ttg.local_scatter {}[{}], {} {{axis = {} : i32}} : {}, {}, {}", view.name, indices.name,
                          values.name, axis, type, indices.type(), values.type()));
    for (size_t i = 0; i < indices.values.size(); ++i)
      contents[size_t(view.at[placeOf(i)])] = values.values[i];
    return;
  }
  if (element.name != "i32")
    return;
  Mask mask = makeMask(view.shape, layout);
  std::string masked = mask.name.empty() ? "" : ", " + mask.name;
  std::string maskType = mask.name.empty() ? "" : fmt::format(", tensor<{}, {}>", shapeText(view.shape, "i1"), layout);
  text.define(fmt::format("ttg.local_atomic_scatter_rmw add, {}[{}], {}{} {{axis = {} : i32}} : ({}, {}, {}{}) -> {}",
                          view.name, indices.name, values.name, masked, axis, type, values.type(), indices.type(),
                          maskType, values.type()));
  for (size_t i = 0; i < indices.values.size(); ++i)
    if (mask.allows(i)) {
      int64_t &cell = contents[size_t(view.at[placeOf(i)])];
      cell = wrapped(element, cell + values.values[i]);
    }
}

/// A part of a tile whose registers have it, and the tile put together again.
void Maker::partsStep() {
  Shape shape = {32, int64_t(64) << random.below(2)}, part = shape; // halves that all threads have a share of
  const Element &element = random.pick(elements);
  part[random.chance(50) ? 0 : 1] /= 2;
  std::string layout = text.alias(blockedText(random, part, warps, 1, 1 << random.below(2)));
  Tile tile = load(shape, element, layout);
  std::vector<std::string> parts;
  std::string type;
  for (int64_t row = 0; row < shape[0]; row += part[0])
    for (int64_t column = 0; column < shape[1]; column += part[1]) {
      Tile cut{"", element, part, layout, {}};
      for (int64_t i = 0; i < countOf(part); ++i)
        cut.values.push_back(tile.values[size_t((row + i / part[1]) * shape[1] + column + i % part[1])]);
      cut.name = text.define(
          fmt::format("amdg.extract_slice {} [{}, {}] : {} to {}", tile.name, row, column, tile.type(), cut.type()));
      parts.push_back(cut.name);
      type = cut.type();
      keep(cut);
    }
  if (random.chance(50))
    keep(made(fmt::format("amdg.concat {} : {} -> {}", fmt::join(parts, ", "),
                          fmt::join(std::vector<std::string>(parts.size(), type), ", "), tile.type()),
              element, shape, layout, tile.values));
}

} // namespace heddle::gluon_programs
