// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles in registers: addresses and masks, loads and stores, elementwise operations, conversions, reductions, atomics.
#include "tests/gluon_programs/Maker.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::gluon_programs {

static std::string typeText(const Shape &shape, const std::string &element, const std::string &layout) {
  return fmt::format("tensor<{}, {}>", shapeText(shape, element), layout);
}

static std::string sliceText(const std::string &parent, size_t axis) {
  return fmt::format("#ttg.slice<{{dim = {}, parent = {}}}>", axis, parent);
}

static int64_t lowestBit(int64_t value) {
  return value ? value & -value : int64_t(1) << 20;
}

Shape Maker::randomShape(bool isMatrix) {
  if (!isMatrix && random.chance(25))
    return {int64_t(1) << random.between(5, 10)};
  int rows = int(random.between(2, 7));
  return {int64_t(1) << rows, int64_t(1) << random.between(2, std::min(7, 11 - rows))};
}

std::string Maker::randomLayout(const Shape &shape) {
  switch (random.below(8)) {
  case 0:
  case 1:
    return text.alias(linearText(random, shape, warps));
  case 2: { // a slice of a tile with one axis more
    auto axis = size_t(random.below(int64_t(shape.size()) + 1));
    Shape parent = shape;
    parent.insert(parent.begin() + int64_t(axis), int64_t(1) << random.below(4));
    return sliceText(text.alias(blockedText(random, parent, warps)), axis);
  }
  case 3: {
    if (shape.size() != 2)
      break;
    const Instruction &instruction = random.pick(instructionsOf(chip));
    if (shape[0] < instruction.m || shape[1] < instruction.n)
      break;
    std::string parent = text.alias(mfmaText(random, chip, instruction, warps));
    int64_t width = random.pick(instruction.widths), groups = 64 / instruction.m;
    bool isLeft = random.chance(50);
    if (random.chance(50) || shape[isLeft ? 1 : 0] < width * groups)
      return parent;
    return operandText(parent, isLeft ? 0 : 1, width);
  }
  default:
    break;
  }
  bool isAccess = random.chance(40);
  return text.alias(blockedText(random, shape, warps, isAccess ? int(shape.size()) - 1 : -1, 1 << random.below(4)));
}

/// Lanes along rows, with 4 or 16 bytes each: how direct copies like it.
std::string Maker::accessLayout(const Shape &shape, const Element &element) {
  int64_t vec = std::max<int64_t>(1, (chip == "gfx950" && random.chance(70) ? 16 : 4) / element.bytes());
  return text.alias(blockedText(random, shape, warps, int(shape.size()) - 1, vec));
}

std::vector<int64_t> Maker::randomValues(const Element &element, int64_t count) {
  int64_t most = element.isFloat ? 3 : element.bits <= 8 ? 127 : random.chance(20) ? 30000 : 100;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(random.between(-most, most));
  return values;
}

//===-- Addresses ------------------------------------------------------------------------------------------------===//

/// The coordinate of each element along `axis`, as i32.
std::string Maker::indexTile(const Shape &shape, const std::string &layout, size_t axis) {
  std::string range = fmt::format("tt.make_range {{end = {} : i32, start = 0 : i32}} : ", shape[axis]);
  if (shape.size() == 1)
    return text.define(range + typeText(shape, "i32", layout));
  std::string slice = sliceText(layout, 1 - axis), line = text.define(range + typeText({shape[axis]}, "i32", slice));
  Shape thin = shape;
  thin[1 - axis] = 1;
  std::string expanded = text.define(fmt::format("tt.expand_dims {} {{axis = {} : i32}} : {} -> {}", line, 1 - axis,
                                                 typeText({shape[axis]}, "i32", slice), typeText(thin, "i32", layout)));
  return text.define(fmt::format("tt.broadcast {} : {} -> {}", expanded, typeText(thin, "i32", layout),
                                 typeText(shape, "i32", layout)));
}

static int64_t coordinate(const Shape &shape, size_t i, size_t axis) {
  return shape.size() == 1 ? int64_t(i) : axis == 0 ? int64_t(i) / shape[1] : int64_t(i) % shape[1];
}

Offsets Maker::makeOffsets(const Shape &shape, const std::string &layout, bool isDense) {
  std::string type = typeText(shape, "i32", layout);
  size_t fast = shape.size() == 2 && !isDense && random.chance(15) ? 0 : shape.size() - 1;
  int64_t step = !isDense && random.chance(5) ? 2 : 1, base = !isDense && random.chance(20) ? random.below(3) * 8 : 0;
  int64_t stride =
      shape.size() == 1
          ? 1
          : shape[fast] * step + (isDense || random.chance(50) ? 0 : random.pick(std::vector<int64_t>{1, 3, 8, 16}));
  Offsets offsets{indexTile(shape, layout, fast), layout, shape};
  auto scaled = [&](const std::string &tile, int64_t by) {
    bool isArgument = random.chance(30);
    std::string factor;
    if (isArgument) {
      std::string scalar = text.scalar(by, by % 16 == 0 && random.chance(60));
      factor = text.define(fmt::format("tt.splat {} : i32 -> {}", scalar, type));
    } else {
      factor = text.constantTile(elementOf("i32"), shape, layout, by);
    }
    return text.define(fmt::format("arith.muli {}, {} : {}", tile, factor, type));
  };
  if (step != 1)
    offsets.name = scaled(offsets.name, step);
  if (shape.size() == 2) {
    std::string slow = scaled(indexTile(shape, layout, 1 - fast), stride);
    offsets.name = text.define(fmt::format("arith.addi {}, {} : {}", slow, offsets.name, type));
  }
  if (base) {
    std::string start = text.constantTile(elementOf("i32"), shape, layout, base);
    offsets.name = text.define(fmt::format("arith.addi {}, {} : {}", offsets.name, start, type));
  }
  for (int64_t i = 0; i < countOf(shape); ++i) {
    int64_t slow = shape.size() == 2 ? coordinate(shape, size_t(i), 1 - fast) * stride : 0;
    offsets.at.push_back(base + coordinate(shape, size_t(i), fast) * step + slow);
  }
  int64_t line = shape.size() == 2 ? lowestBit(stride) : int64_t(1) << 20;
  if (step == 1)
    offsets.contiguity = std::min({shape[fast], line, lowestBit(base)});
  return offsets;
}

Mask Maker::makeMask(const Shape &shape, const std::string &layout, int kinds) {
  Mask mask;
  auto kind = random.below(kinds);
  if (kind == 0)
    return mask;
  std::string type = typeText(shape, "i32", layout), bits = typeText(shape, "i1", layout);
  auto below = [&](size_t axis) {
    int64_t limit = random.chance(30) ? shape[axis] : random.between(0, shape[axis]);
    std::string index = indexTile(shape, layout, axis), most;
    if (random.chance(70))
      most = text.define(
          fmt::format("tt.splat {} : i32 -> {}", text.scalar(limit, limit % 16 == 0 && random.chance(40)), type));
    else
      most = text.constantTile(elementOf("i32"), shape, layout, limit);
    std::string name = text.define(fmt::format("arith.cmpi slt, {}, {} : {}", index, most, type));
    Mask result{name};
    for (int64_t i = 0; i < countOf(shape); ++i)
      result.values.push_back(coordinate(shape, size_t(i), axis) < limit);
    return result;
  };
  if (kind == 4) { // one for all elements
    bool isOn = random.chance(50);
    std::string zero = text.constant(0);
    std::string scalar = text.define(fmt::format("arith.cmpi sgt, {}, {} : i32", text.scalar(isOn), zero));
    mask.name = text.define(fmt::format("tt.splat {} : i1 -> {}", scalar, bits));
    mask.values.assign(size_t(countOf(shape)), isOn);
    return mask;
  }
  if (kind == 5) { // stripes
    auto axis = size_t(random.below(int64_t(shape.size())));
    int64_t bit = int64_t(1) << random.below(5), wanted = random.chance(50) ? bit : 0;
    std::string index = indexTile(shape, layout, axis), one = text.constantTile(elementOf("i32"), shape, layout, bit);
    std::string left = text.define(fmt::format("arith.andi {}, {} : {}", index, one, type));
    std::string right = text.constantTile(elementOf("i32"), shape, layout, wanted);
    mask.name = text.define(fmt::format("arith.cmpi eq, {}, {} : {}", left, right, type));
    for (int64_t i = 0; i < countOf(shape); ++i)
      mask.values.push_back((coordinate(shape, size_t(i), axis) & bit) == wanted);
    return mask;
  }
  mask = below(kind == 2 && shape.size() == 2 ? 1 : 0);
  if (kind == 3 && shape.size() == 2) {
    Mask other = below(1);
    mask.name = text.define(fmt::format("arith.andi {}, {} : {}", mask.name, other.name, bits));
    for (size_t i = 0; i < mask.values.size(); ++i)
      mask.values[i] &= other.values[i];
  }
  return mask;
}

/// A tile of pointers.
std::string Maker::pointerTiles(const std::string &pointer, const Element &element, const Offsets &offsets) {
  std::string type = typeText(offsets.shape, "!tt.ptr<" + element.name + ">", offsets.layout);
  std::string all = text.define(fmt::format("tt.splat {} : !tt.ptr<{}> -> {}", pointer, element.name, type));
  return text.define(fmt::format("tt.addptr {}, {} : {}, {}", all, offsets.name, type,
                                 typeText(offsets.shape, "i32", offsets.layout)));
}

std::string Maker::cachePolicy(bool isClause) {
  if (random.chance(75))
    return "";
  const char *modifier = random.pick(std::vector<const char *>{"ca", "cg", "cs", "cv"});
  std::string policy =
      fmt::format("cachePolicy = #tt.cache_policy<cache_modifier = {}, eviction_policy = evict_normal>", modifier);
  return isClause ? " " + policy : " {" + policy + "}";
}

//===-- Loads and stores -----------------------------------------------------------------------------------------===//

Tile Maker::made(const std::string &expression, const Element &element, const Shape &shape, const std::string &layout,
                 std::vector<int64_t> values) {
  return {text.define(expression), element, shape, layout, std::move(values)};
}

Tile Maker::load(const Shape &shape, const Element &element, const std::string &layout) {
  Offsets offsets = makeOffsets(shape, layout);
  bool isBuffer = random.chance(60);
  Mask mask = makeMask(shape, layout);
  std::string other;
  int64_t otherValue = 0;
  if (!mask.name.empty() && (!isBuffer || random.chance(50))) {
    otherValue = random.chance(50) ? 0 : 2;
    other = text.constantTile(element, shape, layout, otherValue);
  }
  int64_t most = 0;
  for (size_t i = 0; i < offsets.at.size(); ++i)
    most = mask.allows(i) ? std::max(most, offsets.at[i]) : most;
  std::vector<int64_t> source = randomValues(element, most + 1), values;
  for (size_t i = 0; i < offsets.at.size(); ++i)
    values.push_back(mask.allows(i) ? source[size_t(offsets.at[i])] : otherValue);
  bool isAligned = random.chance(85);
  std::string pointer = text.buffer(element, source, source, isAligned);
  std::string masked = (mask.name.empty() ? "" : ", " + mask.name) + (other.empty() ? "" : ", " + other);
  if (!isBuffer)
    return made(fmt::format("tt.load {}{}{} : {}", pointerTiles(pointer, element, offsets), masked, cachePolicy(false),
                            typeText(shape, "!tt.ptr<" + element.name + ">", layout)),
                element, shape, layout, values);
  std::string promise = isAligned && offsets.contiguity > 1 && random.chance(30)
                            ? fmt::format(" {{contiguity = {} : i32}}", std::min<int64_t>(offsets.contiguity, 8))
                            : cachePolicy(false);
  return made(fmt::format("amdg.buffer_load {}[{}]{}{} : !tt.ptr<{}> -> {}", pointer, offsets.name, masked, promise,
                          element.name, typeText(shape, element.name, layout)),
              element, shape, layout, values);
}

void Maker::store(Tile &tile) {
  tile.isRead = true;
  Offsets offsets = makeOffsets(tile.shape, tile.layout);
  Mask mask = makeMask(tile.shape, tile.layout);
  int64_t most = *std::max_element(offsets.at.begin(), offsets.at.end());
  std::vector<int64_t> before = randomValues(tile.element, most + 1), after = before;
  for (size_t i = 0; i < offsets.at.size(); ++i)
    if (mask.allows(i))
      after[size_t(offsets.at[i])] = tile.values[i];
  std::string pointer = text.buffer(tile.element, before, after, random.chance(85));
  std::string masked = mask.name.empty() ? "" : ", " + mask.name;
  if (random.chance(60))
    text.line(fmt::format("amdg.buffer_store {}, {}[{}]{} : !tt.ptr<{}> -> {}", tile.name, pointer, offsets.name,
                          masked, tile.element.name, tile.type()));
  else
    text.line(fmt::format("tt.store {}, {}{} : {}", pointerTiles(pointer, tile.element, offsets), tile.name, masked,
                          typeText(tile.shape, "!tt.ptr<" + tile.element.name + ">", tile.layout)));
}

Tile &Maker::take(size_t index) {
  tiles[index].isRead |= random.chance(80);
  return tiles[index];
}

/// One that there is, or one that is loaded.
size_t Maker::tileOf(const Shape &shape, const Element &element) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (tiles[i].shape == shape && tiles[i].element.name == element.name)
      fitting.push_back(i);
  if (!fitting.empty() && random.chance(60))
    return random.pick(fitting);
  std::string layout = randomLayout(shape);
  keep(load(shape, element, layout));
  return tiles.size() - 1;
}

Tile Maker::converted(const Tile &tile, const std::string &layout) {
  if (tile.layout == layout)
    return tile;
  return made(fmt::format("ttg.convert_layout {} : {} -> {}", tile.name, tile.type(),
                          typeText(tile.shape, tile.element.name, layout)),
              tile.element, tile.shape, layout, tile.values);
}

//===-- Steps ----------------------------------------------------------------------------------------------------===//

void Maker::loadStep() {
  Shape shape = randomShape();
  std::string layout = randomLayout(shape);
  keep(load(shape, random.pick(elements), layout));
}

void Maker::convertStep() {
  if (tiles.empty())
    return loadStep();
  Tile tile = take(size_t(random.below(int64_t(tiles.size()))));
  keep(converted(tile, randomLayout(tile.shape)));
}

namespace {
struct Operation {
  const char *integer, *floating;
  int64_t (*apply)(int64_t, int64_t);
};
} // namespace

static uint64_t u(int64_t value) {
  return uint64_t(value);
}

static const std::vector<Operation> operations = {
    {"arith.addi", "arith.addf", [](int64_t x, int64_t y) { return int64_t(u(x) + u(y)); }},
    {"arith.subi", "arith.subf", [](int64_t x, int64_t y) { return int64_t(u(x) - u(y)); }},
    {"arith.maxsi", "arith.maxnumf", [](int64_t x, int64_t y) { return std::max(x, y); }},
    {"arith.minsi", "arith.minnumf", [](int64_t x, int64_t y) { return std::min(x, y); }},
    {"arith.muli", nullptr, [](int64_t x, int64_t y) { return int64_t(u(x) * u(y)); }},
    {"arith.xori", nullptr, [](int64_t x, int64_t y) { return x ^ y; }},
};

void Maker::combineStep() {
  if (tiles.empty())
    return loadStep();
  Tile left = take(size_t(random.below(int64_t(tiles.size()))));
  if (left.element.isFloat && left.element.bits < 16)
    return convertStep();
  Tile right = take(tileOf(left.shape, left.element));
  const Operation &operation = random.pick(operations);
  const char *name = left.element.isFloat ? operation.floating : operation.integer;
  if (!name)
    return;
  std::vector<int64_t> values;
  for (size_t i = 0; i < left.values.size(); ++i)
    values.push_back(wrapped(left.element, operation.apply(left.values[i], right.values[i])));
  if (!hasValues(left.element, values))
    return;
  right = converted(right, left.layout);
  keep(made(fmt::format("{} {}, {} : {}", name, left.name, right.name, left.type()), left.element, left.shape,
            left.layout, values));
}

void Maker::castStep() {
  if (tiles.empty())
    return loadStep();
  Tile tile = take(size_t(random.below(int64_t(tiles.size()))));
  const Element &to = random.pick(elements);
  if (to.name == tile.element.name || !hasValues(to, tile.values))
    return;
  bool isF8 = (tile.element.isFloat && tile.element.bits == 8) || (to.isFloat && to.bits == 8);
  if (isF8 && (!tile.element.isFloat || !to.isFloat))
    return;
  std::string name, arrow = "to";
  if (isF8)
    name = "tt.fp_to_fp", arrow = "->";
  else if (tile.element.isFloat && to.isFloat)
    name = to.bits > tile.element.bits ? "arith.extf" : to.bits < tile.element.bits ? "arith.truncf" : "";
  else if (to.isFloat)
    name = "arith.sitofp";
  else if (!tile.element.isFloat)
    name = to.bits > tile.element.bits ? "arith.extsi" : "arith.trunci";
  if (name.empty() || (isF8 && to.bits == 8 && tile.element.bits == 8))
    return;
  std::string rounding = isF8 && to.bits == 8 ? ", rounding = rtne" : "";
  std::vector<int64_t> values;
  for (int64_t value : tile.values)
    values.push_back(wrapped(to, value));
  keep(made(fmt::format("{} {}{} : {} {} {}", name, tile.name, rounding, tile.type(), arrow,
                        typeText(tile.shape, to.name, tile.layout)),
            to, tile.shape, tile.layout, values));
}

void Maker::transposeStep() {
  if (tiles.empty())
    return loadStep();
  Tile tile = take(size_t(random.below(int64_t(tiles.size()))));
  if (tile.shape.size() != 2)
    return;
  Shape shape = {tile.shape[1], tile.shape[0]};
  std::vector<int64_t> values;
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t column = 0; column < shape[1]; ++column)
      values.push_back(tile.values[size_t(column * shape[0] + row)]);
  std::string layout = randomLayout(shape);
  keep(made(fmt::format("tt.trans {} {{order = array<i32: 1, 0>}} : {} -> {}", tile.name, tile.type(),
                        typeText(shape, tile.element.name, layout)),
            tile.element, shape, layout, values));
}

void Maker::reduceStep() {
  Shape shape = randomShape(true);
  Tile tile = take(tileOf(shape, random.pick(elements)));
  if (tile.element.isFloat && (tile.element.bits < 16 || !hasSums(tile.element, tile.values)))
    return;
  auto axis = size_t(random.below(2));
  const Operation &operation = operations[size_t(random.below(4))];
  if (operation.apply(5, 3) == 2) // a difference
    return;
  std::vector<int64_t> values;
  values.resize(size_t(shape[1 - axis]));
  for (size_t i = 0; i < tile.values.size(); ++i) {
    auto line = size_t(coordinate(shape, i, 1 - axis));
    bool isFirst = coordinate(shape, i, axis) == 0;
    values[line] = isFirst ? tile.values[i] : wrapped(tile.element, operation.apply(values[line], tile.values[i]));
  }
  std::string slice = sliceText(tile.layout, axis), e = tile.element.name, x = text.fresh(), y = text.fresh();
  Tile result{text.fresh(), tile.element, {shape[1 - axis]}, slice, values};
  text.begin(fmt::format("{} = \"tt.reduce\"({}) <{{axis = {} : i32}}> ({{", result.name, tile.name, axis));
  text.line(fmt::format("^bb0({}: {}, {}: {}):", x, e, y, e));
  std::string both = text.define(
      fmt::format("{} {}, {} : {}", tile.element.isFloat ? operation.floating : operation.integer, x, y, e));
  text.line(fmt::format("tt.reduce.return {} : {}", both, e));
  text.end(fmt::format("}}) : ({}) -> {}", tile.type(), result.type()));
  if (random.chance(40)) // combined with the tile
  {
    Shape thin = shape;
    thin[axis] = 1;
    result.isRead = random.chance(50);
    keep(result);
    std::string expanded = text.define(fmt::format("tt.expand_dims {} {{axis = {} : i32}} : {} -> {}", result.name,
                                                   axis, result.type(), typeText(thin, e, tile.layout)));
    std::vector<int64_t> whole;
    for (size_t i = 0; i < tile.values.size(); ++i)
      whole.push_back(values[size_t(coordinate(shape, i, 1 - axis))]);
    keep(made(fmt::format("tt.broadcast {} : {} -> {}", expanded, typeText(thin, e, tile.layout), tile.type()),
              tile.element, shape, tile.layout, whole));
    return;
  }
  keep(result);
}

void Maker::atomicStep() {
  struct Kind {
    const char *name, *element;
    int64_t (*apply)(int64_t, int64_t);
    bool isCommutative;
  };
  static const std::vector<Kind> kinds = {
      {"add", "i32", [](int64_t x, int64_t y) { return int64_t(int32_t(u(x) + u(y))); }, true},
      {"max", "i32", [](int64_t x, int64_t y) { return std::max(x, y); }, true},
      {"min", "i32", [](int64_t x, int64_t y) { return std::min(x, y); }, true},
      {"xor", "i32", [](int64_t x, int64_t y) { return x ^ y; }, true},
      {"umin", "i32", [](int64_t x, int64_t y) { return int64_t(int32_t(std::min(uint32_t(x), uint32_t(y)))); }, true},
      {"exch", "i32", [](int64_t, int64_t y) { return y; }, false},
      {"add", "i64", [](int64_t x, int64_t y) { return int64_t(u(x) + u(y)); }, true},
      {"fadd", "f32", [](int64_t x, int64_t y) { return x + y; }, true},
  };
  const Kind &kind = random.pick(kinds);
  const Element &element = elementOf(kind.element);
  Shape shape = randomShape();
  Tile tile = take(tileOf(shape, element));
  if (!hasSums(element, tile.values))
    return;
  Offsets offsets = makeOffsets(shape, tile.layout);
  bool isShared = kind.isCommutative && random.chance(50); // several elements update one number
  if (isShared) {
    int64_t least = (int64_t(1) << random.below(6)) - 1;
    std::string bits = text.constantTile(elementOf("i32"), shape, tile.layout, least);
    offsets.name =
        text.define(fmt::format("arith.andi {}, {} : {}", offsets.name, bits, typeText(shape, "i32", tile.layout)));
    for (int64_t &at : offsets.at)
      at &= least;
  }
  Mask mask = makeMask(shape, tile.layout);
  std::vector<int64_t> before = randomValues(element, *std::max_element(offsets.at.begin(), offsets.at.end()) + 1);
  std::vector<int64_t> after = before, old;
  for (size_t i = 0; i < offsets.at.size(); ++i) {
    int64_t &cell = after[size_t(offsets.at[i])];
    old.push_back(mask.allows(i) ? cell : 0);
    if (mask.allows(i))
      cell = kind.apply(cell, tile.values[i]);
  }
  std::string pointer = text.buffer(element, before, after, random.chance(85));
  const char *order = random.pick(std::vector<const char *>{"relaxed", "acquire", "release", "acq_rel"});
  std::string name = text.define(fmt::format("amdg.buffer_atomic_rmw {}, {}, gpu, {}, {}[{}]{} : !tt.ptr<{}> -> {}",
                                             kind.name, order, tile.name, pointer, offsets.name,
                                             mask.name.empty() ? "" : ", " + mask.name, element.name, tile.type()));
  if (!isShared && mask.name.empty() && random.chance(50))
    keep({name, element, shape, tile.layout, old});
}

} // namespace heddle::gluon_programs
