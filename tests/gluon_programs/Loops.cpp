// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops over rings with several copies in flight: iteration k reads slot k modulo the number of slots, and begins the
// copy of iteration k + ahead.
#include "tests/gluon_programs/Maker.h"
#include "tests/gluon_programs/Matmuls.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {
namespace {

/// What keeps copies from beginning for iterations that there are not.
enum class Guard {
  Mask,
  Branch,
  Nothing, ///< there is memory for them
  Peeled,  ///< the loop ends before, and what is left is read after it
};
/// How the number of a slot follows the iterations.
enum class Numbers { Remainder, Unsigned, Bits, Carried, CarriedTile };

struct Ring {
  size_t memory = 0;
  Element element;
  Shape shape;
  std::string readLayout;
  Offsets offsets;
  std::string pointer;
  int64_t step = 0; ///< from a tile of the buffer to the next
  bool isBuffer = true;
  bool isStored = false; ///< by loads and stores, not by copies
  std::vector<int64_t> source = {};
};

} // namespace

class RingLoop {
public:
  /// `leavesMore`: its waits leave one group too many in flight.
  explicit RingLoop(Maker &maker, bool leavesMore = false)
      : maker(maker), random(maker.random), text(maker.text), leavesMore(leavesMore) {}

  bool choose();
  void write();

private:
  Ring makeRing(const Shape &shape, const Element &element, const std::string &readLayout);
  void storeTile(const Ring &ring, const std::string &pointer, const View &view, const std::string &masked);
  void copyTile(const Ring &ring, const std::string &number, const std::string &slot);
  void copyAll(const std::string &number, const std::vector<std::string> &slots);
  std::string slotText(const std::string &number, const std::string &carried, int64_t plus);
  std::vector<Tile> readAll(const std::vector<std::string> &names);
  std::string add(const std::string &x, int64_t y);
  std::string binary(const char *operation, const std::string &x, const std::string &y);
  Tile compute(const Tile &sum, std::vector<Tile> tiles);
  std::vector<int64_t> tileAt(const Ring &ring, int64_t iteration) const;
  void account(int64_t iteration);
  void writePrologue();
  Tile writeLoop(const Tile &sum);
  Tile writeRest(Tile sum);
  View viewOf(const Ring &ring, int64_t slot, const std::string &name);

  Maker &maker;
  Random &random;
  Writer &text;
  Guard guard = Guard::Mask;
  Numbers numbers = Numbers::Remainder;
  int64_t slots = 2, ahead = 1, trips = 0, counterStep = 1, counterStart = 0;
  bool readsFirst = true, isMatmul = false, separateGroups = false, countsInArgument = false;
  std::optional<size_t> scratch;
  std::string scratchLayout;
  MatmulShape matmul;
  std::vector<Ring> rings;
  Tile sum;
  std::string end; ///< the number of iterations
  bool leavesMore;
};

bool RingLoop::choose() {
  slots = random.between(2, 4);
  ahead = random.between(1, slots);
  readsFirst = ahead == slots || random.chance(50);
  guard = Guard(random.below(4));
  numbers = Numbers(random.below(5));
  if (numbers == Numbers::Bits && (slots & (slots - 1)))
    numbers = Numbers::Unsigned;
  trips = random.below(7);
  if (guard == Guard::Peeled)
    trips += ahead;
  countsInArgument = guard != Guard::Peeled && random.chance(60);
  isMatmul = random.chance(35);
  separateGroups = random.chance(40);
  counterStep = random.chance(20) ? 2 + random.below(2) : 1;
  counterStart = random.between(-4, 9);
  auto push = [&](const Shape &shape, const Element &element, const std::string &layout) {
    SharedLayout shared = randomShared(random, shape);
    if (!maker.hasRoom(shape, element, slots, shared))
      return false;
    rings.push_back(makeRing(shape, element, layout));
    rings.back().memory = maker.allocate(shape, element, slots, shared);
    return true;
  };
  if (isMatmul) {
    matmul = randomMatmul(random, maker.chip);
    std::string parent = text.alias(mfmaText(random, maker.chip, matmul.instruction, maker.warps));
    const Element &element = elementOf(matmul.instruction.d);
    Shape shape = {matmul.m, matmul.n};
    sum = {text.constantTile(element, shape, parent, 0), element, shape, parent, {}};
    sum.values.assign(size_t(countOf(shape)), 0);
    return push({matmul.m, matmul.k}, elementOf(matmul.instruction.a), operandText(parent, 0, matmul.width)) &&
           push({matmul.k, matmul.n}, elementOf(matmul.instruction.b), operandText(parent, 1, matmul.width));
  }
  const Element &element = random.pick(maker.elements);
  if (element.isFloat && element.bits < 16)
    return false;
  Shape shape = maker.randomShape();
  std::string layout = maker.randomLayout(shape);
  sum = {text.constantTile(element, shape, layout, 0), element, shape, layout, {}};
  sum.values.assign(size_t(countOf(shape)), 0);
  for (int i = random.chance(40) ? 2 : 1; i > 0; --i)
    if (!push(shape, element, maker.readLayout(shape, element)))
      return false;
  if (random.chance(30)) {
    SharedLayout shared = randomShared(random, shape);
    if (maker.hasRoom(shape, element, 0, shared)) {
      scratch = maker.allocate(shape, element, 0, shared);
      scratchLayout = maker.randomLayout(shape);
    }
  }
  return true;
}

Ring RingLoop::makeRing(const Shape &shape, const Element &element, const std::string &readLayout) {
  std::string layout = random.chance(75) ? maker.accessLayout(shape, element) : maker.randomLayout(shape);
  Ring ring{0, element, shape, readLayout, maker.makeOffsets(shape, layout), ""};
  int64_t most = *std::max_element(ring.offsets.at.begin(), ring.offsets.at.end());
  bool isOdd = random.chance(15);
  ring.step = isOdd ? most + 1 : (most + 16) / 16 * 16;
  if (isOdd)
    ring.offsets.contiguity = 1;
  ring.isBuffer = random.chance(60);
  ring.isStored = random.chance(20);
  int64_t tiles = std::max<int64_t>(1, trips + (guard == Guard::Nothing ? ahead : 0));
  ring.source = maker.randomValues(element, (tiles - 1) * ring.step + most + 1);
  bool isAligned = random.chance(90);
  if (!isAligned)
    ring.offsets.contiguity = 1;
  ring.pointer = text.buffer(element, ring.source, ring.source, isAligned);
  return ring;
}

std::string RingLoop::binary(const char *operation, const std::string &x, const std::string &y) {
  return text.define(fmt::format("{} {}, {} : i32", operation, x, y));
}

std::string RingLoop::add(const std::string &x, int64_t y) {
  return binary("arith.addi", x, text.constant(y));
}

/// The slot of iteration `number` + `plus`; `carried`: that of iteration `number`.
std::string RingLoop::slotText(const std::string &number, const std::string &carried, int64_t plus) {
  bool isCarried = !carried.empty();
  std::string at = plus ? add(isCarried ? carried : number, plus) : isCarried ? carried : number;
  if (isCarried && plus == 0)
    return at;
  std::string count = text.constant(slots);
  if (isCarried) { // below 2 * slots
    std::string isOver = text.define(fmt::format("arith.cmpi sge, {}, {} : i32", at, count));
    std::string less = binary("arith.subi", at, count);
    return text.define(fmt::format("arith.select {}, {}, {} : i32", isOver, less, at));
  }
  if (numbers == Numbers::Bits)
    return binary("arith.andi", at, text.constant(slots - 1));
  return binary(numbers == Numbers::Unsigned ? "arith.remui" : "arith.remsi", at, count);
}

void RingLoop::storeTile(const Ring &ring, const std::string &pointer, const View &view, const std::string &masked) {
  Tile tile{"", ring.element, ring.shape, ring.offsets.layout, {}};
  tile.values.assign(ring.offsets.at.size(), 0);
  if (ring.isBuffer)
    tile.name = text.define(fmt::format("amdg.buffer_load {}[{}]{} : !tt.ptr<{}> -> {}", pointer, ring.offsets.name,
                                        masked, ring.element.name, tile.type()));
  else
    tile.name = text.define(fmt::format("tt.load {}{} : tensor<{}, {}>",
                                        maker.pointerTiles(pointer, ring.element, ring.offsets), masked,
                                        shapeText(ring.shape, "!tt.ptr<" + ring.element.name + ">"), tile.layout));
  maker.localStore(tile, view);
}

void RingLoop::copyTile(const Ring &ring, const std::string &number, const std::string &slot) {
  std::string offset = binary("arith.muli", number, text.constant(ring.step));
  std::string pointer =
      text.define(fmt::format("tt.addptr {}, {} : !tt.ptr<{}>, i32", ring.pointer, offset, ring.element.name));
  Mask mask;
  std::string other;
  if (guard == Guard::Mask) {
    std::string isInside = text.define(fmt::format("arith.cmpi slt, {}, {} : i32", number, end));
    mask.name = text.define(
        fmt::format("tt.splat {} : i1 -> tensor<{}, {}>", isInside, shapeText(ring.shape, "i1"), ring.offsets.layout));
    if (random.chance(40) || (ring.isStored && !ring.isBuffer))
      other = text.constantTile(ring.element, ring.shape, ring.offsets.layout, random.chance(80) ? 0 : 1);
  }
  View view = maker.slotAt(ring.memory, 0, slot);
  if (ring.isStored)
    return storeTile(ring, pointer, view,
                     (mask.name.empty() ? "" : ", " + mask.name) + (other.empty() ? "" : ", " + other));
  maker.writeCopy(pointer, ring.element, ring.offsets, view, mask, other, ring.isBuffer);
}

/// The copies of an iteration, and their groups.
void RingLoop::copyAll(const std::string &number, const std::vector<std::string> &numbersOfSlots) {
  auto guarded = [&](auto write) {
    if (guard != Guard::Branch)
      return write();
    std::string isInside = text.define(fmt::format("arith.cmpi slt, {}, {} : i32", number, end));
    text.begin(fmt::format("scf.if {} {{", isInside));
    write();
    text.end();
  };
  for (size_t i = 0; i < rings.size(); ++i) {
    guarded([&] { copyTile(rings[i], number, numbersOfSlots[i]); });
    if (separateGroups || i + 1 == rings.size())
      text.define("ttg.async_commit_group");
  }
}

View RingLoop::viewOf(const Ring &ring, int64_t slot, const std::string &name) {
  View view{name, ring.memory, size_t(slot), ring.shape, ring.shape, maker.memories[ring.memory].layout};
  for (int64_t i = 0; i < countOf(ring.shape); ++i)
    view.at.push_back(i);
  return view;
}

std::vector<Tile> RingLoop::readAll(const std::vector<std::string> &names) {
  std::vector<Tile> tiles;
  for (size_t i = 0; i < rings.size(); ++i)
    tiles.push_back(maker.localLoad(viewOf(rings[i], 0, names[i]), rings[i].readLayout));
  return tiles;
}

/// The text of an iteration's arithmetic; account() computes it.
Tile RingLoop::compute(const Tile &from, std::vector<Tile> tiles) {
  Tile result = from;
  if (isMatmul) {
    result.name = text.define(dotText(tiles[0], tiles[1], from));
    return result;
  }
  if (scratch) {
    View view = maker.slotOf(*scratch, 0);
    maker.localStore(tiles[0], view);
    tiles[0] = maker.localLoad(view, scratchLayout);
  }
  if (!from.element.isFloat) {
    std::string three = text.constantTile(from.element, from.shape, from.layout, 3);
    result.name = text.define(fmt::format("arith.muli {}, {} : {}", from.name, three, from.type()));
  }
  for (const Tile &tile : tiles)
    result.name = text.define(fmt::format("arith.add{} {}, {} : {}", from.element.isFloat ? "f" : "i", result.name,
                                          maker.converted(tile, from.layout).name, from.type()));
  return result;
}

std::vector<int64_t> RingLoop::tileAt(const Ring &ring, int64_t iteration) const {
  std::vector<int64_t> values;
  for (int64_t at : ring.offsets.at)
    values.push_back(ring.source[size_t(iteration * ring.step + at)]);
  return values;
}

void RingLoop::account(int64_t iteration) {
  if (isMatmul) {
    sum.values = multiplied(matmul, sum.element, tileAt(rings[0], iteration), tileAt(rings[1], iteration), sum.values);
    return;
  }
  for (int64_t &value : sum.values)
    value = sum.element.isFloat ? value : wrapped(sum.element, int64_t(uint64_t(value) * 3));
  for (const Ring &ring : rings) {
    std::vector<int64_t> tile = tileAt(ring, iteration);
    for (size_t i = 0; i < tile.size(); ++i)
      sum.values[i] = wrapped(sum.element, int64_t(uint64_t(sum.values[i]) + uint64_t(tile[i])));
  }
}

void RingLoop::writePrologue() {
  end = countsInArgument ? text.scalar(trips) : text.constant(trips);
  for (int64_t i = 0; i < ahead; ++i) {
    std::string number = text.constant(i), slot = text.constant(i % slots);
    copyAll(number, std::vector<std::string>(rings.size(), slot));
  }
}

Tile RingLoop::writeLoop(const Tile &initial) {
  std::string zero = text.constant(0), lower = zero, step = text.constant(counterStep), upper = end;
  if (guard == Guard::Peeled)
    upper = text.constant(trips - ahead);
  if (counterStep > 1) {
    lower = text.constant(counterStart);
    upper = add(binary("arith.muli", upper, step), counterStart);
  }
  std::string counter = text.fresh(), k = counter, result = text.fresh();
  Tile carriedSum = initial;
  carriedSum.name = text.fresh();
  std::vector<std::string> carried = {carriedSum.name + " = " + initial.name}, types = {initial.type()}, next;
  std::string slot;
  std::vector<std::string> views;
  if (numbers == Numbers::Carried) {
    slot = text.fresh();
    carried.push_back(slot + " = " + zero);
    types.push_back("i32");
  }
  if (numbers == Numbers::CarriedTile)
    for (const Ring &ring : rings) {
      View view = maker.slotAt(ring.memory, 0, zero);
      views.push_back(text.fresh());
      carried.push_back(views.back() + " = " + view.name);
      types.push_back(maker.typeOf(view));
    }
  text.begin(fmt::format("{}{} = scf.for {} = {} to {} step {} iter_args({}) -> ({})  : i32 {{", result,
                         carried.size() > 1 ? fmt::format(":{}", carried.size()) : "", counter, lower, upper, step,
                         fmt::join(carried, ", "), fmt::join(types, ", ")));
  if (counterStep > 1)
    k = binary("arith.divsi", binary("arith.subi", counter, lower), step);
  int64_t groups = separateGroups ? int64_t(rings.size()) : 1;
  auto copyNext = [&] {
    std::string at = add(k, ahead), to = slotText(k, slot, ahead);
    copyAll(at, std::vector<std::string>(rings.size(), to));
  };
  if (!readsFirst)
    copyNext();
  text.define(fmt::format("ttg.async_wait {{num = {} : i32}}", (readsFirst ? ahead - 1 : ahead) * groups + leavesMore));
  std::vector<std::string> names = views;
  if (names.empty()) {
    std::string number = slotText(k, slot, 0);
    for (const Ring &ring : rings)
      names.push_back(maker.slotAt(ring.memory, 0, number).name);
  }
  Tile after = compute(carriedSum, readAll(names));
  if (readsFirst)
    copyNext();
  next.push_back(after.name);
  if (!slot.empty())
    next.push_back(slotText(k, slot, 1));
  if (!views.empty()) {
    std::string number = slotText(k, slot, 1);
    for (const Ring &ring : rings)
      next.push_back(maker.slotAt(ring.memory, 0, number).name);
  }
  text.line(fmt::format("scf.yield {} : {}", fmt::join(next, ", "), fmt::join(types, ", ")));
  text.end();
  after.name = carried.size() > 1 ? result + "#0" : result;
  return after;
}

/// The iterations that a peeled loop leaves.
Tile RingLoop::writeRest(Tile last) {
  int64_t groups = separateGroups ? int64_t(rings.size()) : 1;
  for (int64_t i = trips - ahead; guard == Guard::Peeled && i < trips; ++i) {
    text.define(fmt::format("ttg.async_wait {{num = {} : i32}}", (trips - 1 - i) * groups));
    std::vector<std::string> names;
    for (const Ring &ring : rings)
      names.push_back(maker.slotAt(ring.memory, 0, text.constant(i % slots)).name);
    last = compute(last, readAll(names));
  }
  return last;
}

void RingLoop::write() {
  writePrologue();
  Tile last = writeRest(writeLoop(sum));
  for (int64_t i = 0; i < trips; ++i)
    account(i);
  last.values = sum.values;
  maker.committed += 16; // as many as are told apart
  maker.open.clear();
  maker.wait(0);
  auto forget = [&](size_t memory) { // what is left there is not computed
    for (std::vector<bool> &written : maker.memories[memory].written)
      written.assign(written.size(), false);
  };
  for (const Ring &ring : rings)
    forget(ring.memory);
  if (scratch)
    forget(*scratch);
  maker.keep(last);
}

bool Maker::makeLoop(bool leavesMore) {
  RingLoop loop(*this, leavesMore);
  bool isMade = loop.choose();
  if (isMade)
    loop.write();
  return isMade;
}

} // namespace heddle::gluon_programs
