// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory objects of shared memory, rings and views; tiles that are stored to them and loaded from them.
#include "tests/gluon_programs/Maker.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace heddle::gluon_programs {

std::string Maker::memoryType(const Shape &shape, const Element &element, const SharedLayout &layout, bool isMutable,
                              const Shape &whole, bool isShort) {
  std::string cut = whole.empty() || whole == shape ? "" : fmt::format(", {}", fmt::join(whole, "x"));
  return fmt::format("{}<{}, {}, #smem{}{}>", isShort ? "" : "!ttg.memdesc", shapeText(shape, element.name),
                     text.alias(layout.text()), isMutable ? ", mutable" : "", cut);
}

std::string Maker::typeOf(const View &view, bool isShort) {
  return memoryType(view.shape, memories[view.memory].element, view.layout, view.isMutable, view.whole, isShort);
}

size_t Maker::allocate(const Shape &shape, const Element &element, int64_t slots, const SharedLayout &layout,
                       const Tile *initial) {
  Memory memory{"", element, shape, initial ? 0 : slots, layout};
  Shape all = shape;
  if (memory.slots)
    all.insert(all.begin(), memory.slots);
  memory.contents.assign(size_t(std::max<int64_t>(1, memory.slots)), std::vector<int64_t>(size_t(countOf(shape))));
  memory.written.assign(memory.contents.size(), std::vector<bool>(size_t(countOf(shape)), initial != nullptr));
  if (initial)
    memory.contents[0] = initial->values;
  std::string type = memoryType(all, element, layout);
  memory.name =
      text.define(initial ? fmt::format("ttg.local_alloc {} : ({}) -> {}", initial->name, initial->type(), type)
                          : fmt::format("ttg.local_alloc : () -> {}", type));
  memories.push_back(memory);
  return memories.size() - 1;
}

static int64_t bytesOf(const Shape &shape, const Element &element, int64_t slots, const SharedLayout &layout) {
  int64_t count = countOf(shape) * std::max<int64_t>(1, slots), padded = count;
  for (auto [interval, padding] : layout.paddings)
    padded += count / interval * padding;
  return padded * element.bytes();
}

/// With some bytes to spare, which exchanges between threads need.
bool Maker::hasRoom(const Shape &shape, const Element &element, int64_t slots, const SharedLayout &layout) const {
  int64_t used = bytesOf(shape, element, slots, layout);
  for (const Memory &memory : memories)
    if (memory.isAlive)
      used += bytesOf(memory.shape, memory.element, memory.slots, memory.layout);
  return used <= (chip == "gfx942" ? 40 : 120) * 1024;
}

/// One that is alive.
std::optional<size_t> Maker::someMemory(bool mayBeInFlight) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < memories.size(); ++i)
    if (memories[i].isAlive && (mayBeInFlight || !isInFlight(i)))
      fitting.push_back(i);
  if (fitting.empty())
    return std::nullopt;
  return random.pick(fitting);
}

/// A slot to which no copy is in flight. Nothing after another step, which leads to one: one that allocates or waits.
std::optional<Maker::Slot> Maker::settledSlot() {
  std::optional<size_t> memory = someMemory();
  if (!memory) {
    allocateStep();
    return std::nullopt;
  }
  auto slot = size_t(random.below(int64_t(memories[*memory].contents.size())));
  if (isInFlight(*memory, slot)) {
    waitStep();
    return std::nullopt;
  }
  return Slot{*memory, slot};
}

View Maker::slotAt(size_t memory, size_t slot, const std::string &number) {
  const Memory &of = memories[memory];
  View view{of.name, memory, slot, of.shape, of.shape, of.layout};
  view.at.resize(size_t(countOf(of.shape)));
  std::iota(view.at.begin(), view.at.end(), 0);
  if (!of.slots)
    return view;
  Shape all = of.shape;
  all.insert(all.begin(), of.slots);
  view.name = text.define(fmt::format("ttg.memdesc_index {}[{}] : {} -> {}", of.name, number,
                                      memoryType(all, of.element, of.layout), typeOf(view)));
  return view;
}

/// With a number that is a constant, or an argument.
View Maker::slotOf(size_t memory, size_t slot, bool mayBeUnknown) {
  if (!memories[memory].slots)
    return slotAt(memory, slot, "");
  bool isUnknown = mayBeUnknown && random.chance(15);
  return slotAt(memory, slot, isUnknown ? text.scalar(int64_t(slot)) : text.constant(int64_t(slot)));
}

View Maker::partOf(const View &view) {
  View part = view;
  Shape offsets;
  for (int64_t &size : part.shape) {
    int64_t whole = size;
    size = std::max<int64_t>(std::min<int64_t>(4, whole), whole >> random.below(3));
    offsets.push_back(random.below(whole / size) * size);
  }
  if (part.shape == view.shape)
    return view;
  part.isPart = true;
  part.at.clear();
  for (int64_t i = 0; i < countOf(part.shape); ++i) {
    int64_t columns = part.shape.back(), row = i / columns + (part.shape.size() > 1 ? offsets[0] : 0);
    part.at.push_back(view.at[size_t(row * view.shape.back() + i % columns + offsets.back())]);
  }
  part.name = text.define(fmt::format("ttg.memdesc_subslice {}[{}] : {} -> {}", view.name, fmt::join(offsets, ", "),
                                      typeOf(view), typeOf(part)));
  return part;
}

View Maker::transposedOf(const View &view) {
  View result = view;
  std::reverse(result.shape.begin(), result.shape.end());
  std::reverse(result.whole.begin(), result.whole.end());
  result.layout = view.layout.transposed();
  for (int64_t i = 0; i < countOf(result.shape); ++i)
    result.at[size_t(i)] = view.at[size_t(i % result.shape[1] * view.shape[1] + i / result.shape[1])];
  result.name = text.define(fmt::format("ttg.memdesc_trans {} {{order = array<i32: 1, 0>}} : {} -> {}", view.name,
                                        typeOf(view), typeOf(result)));
  return result;
}

View Maker::reshapedOf(const View &view) {
  if (view.isPart || view.shape.size() != 2 || view.shape[0] < 4)
    return view;
  View result = view;
  result.shape = result.whole = {view.shape[0] / 2, view.shape[1] * 2};
  std::optional<SharedLayout> layout = view.layout.reshaped(view.shape, result.shape);
  if (!layout)
    return view;
  result.layout = *layout;
  result.name = text.define(fmt::format("ttg.memdesc_reshape {} : {} -> {}", view.name, typeOf(view), typeOf(result)));
  return result;
}

View Maker::randomView(const View &slot) {
  View view = slot;
  if (random.chance(30))
    view = partOf(view);
  if (random.chance(20))
    view = reshapedOf(view);
  if (view.shape.size() == 2 && random.chance(25))
    view = transposedOf(view);
  return view;
}

bool Maker::isWritten(const View &view) const {
  const std::vector<bool> &written = memories[view.memory].written[view.slot];
  return std::all_of(view.at.begin(), view.at.end(), [&](int64_t at) { return written[size_t(at)]; });
}

void Maker::write(const View &view, const std::vector<int64_t> &values) {
  Memory &memory = memories[view.memory];
  for (size_t i = 0; i < view.at.size(); ++i) {
    memory.contents[view.slot][size_t(view.at[i])] = values[i];
    memory.written[view.slot][size_t(view.at[i])] = true;
  }
}

Tile Maker::localLoad(const View &view, const std::string &layout) {
  Tile tile{"", memories[view.memory].element, view.shape, layout, {}};
  for (int64_t at : view.at)
    tile.values.push_back(memories[view.memory].contents[view.slot][size_t(at)]);
  std::string token = !waitToken.empty() && random.chance(20) ? " token " + waitToken : "";
  std::string attribute = committed && random.chance(40) ? " {ttg.amdg.syncedViaAsyncWait = true}" : "";
  tile.name = text.define(
      fmt::format("ttg.local_load {}{}{} : {} -> {}", view.name, token, attribute, typeOf(view), tile.type()));
  return tile;
}

void Maker::localStore(const Tile &tile, const View &view) {
  text.line(fmt::format("ttg.local_store {}, {} : {} -> {}", tile.name, view.name, tile.type(), typeOf(view)));
  write(view, tile.values);
}

/// Of two elements of 4 bits in each byte, which the memory object packs along one axis and the tile along the other.
Tile Maker::repackedLoad(const View &view) {
  const Element &element = memories[view.memory].element;
  bool isLeft = random.chance(50);
  size_t wanted = isLeft ? 1 : 0, packed = 1 - wanted;
  Shape shape = view.shape;
  shape[wanted] /= 2;
  shape[packed] *= 2;
  Tile tile{"", element, shape, readLayout(shape, element, isLeft), {}};
  for (int64_t i = 0; i < countOf(shape); ++i) {
    int64_t at[] = {i / shape[1], i % shape[1]}, byte = 0, upper = at[packed] % 2;
    at[packed] /= 2;
    at[wanted] *= 2;
    for (int64_t number : {0, 1}) {
      int64_t source = view.at[size_t(at[0] * view.shape[1] + at[1])];
      byte |= (memories[view.memory].contents[view.slot][size_t(source)] >> 4 * upper & 15) << 4 * number;
      ++at[wanted];
    }
    tile.values.push_back(wrapped(element, byte));
  }
  tile.name =
      text.define(fmt::format("amdg.local_load_packed_transposed {} : {} -> {}", view.name, typeOf(view), tile.type()));
  return tile;
}

/// Operands of matmuls more often, which have instructions of their own; `operand`: whether the left one, if not any.
std::string Maker::readLayout(const Shape &shape, const Element &element, std::optional<bool> operand) {
  for (const Instruction &instruction : instructionsOf(chip)) {
    bool isLeft = operand ? *operand : random.chance(50);
    int64_t width = random.pick(instruction.widths);
    bool fits = shape.size() == 2 && instruction.a == element.name && shape[isLeft ? 0 : 1] >= instruction.m &&
                shape[isLeft ? 1 : 0] >= width * 64 / instruction.m;
    if (fits && random.chance(40))
      return operandText(text.alias(mfmaText(random, chip, instruction, warps)), isLeft ? 0 : 1, width);
  }
  if (operand) // no operand of another matmul, which may be the other one
    return text.alias(random.chance(50) ? linearText(random, shape, warps) : blockedText(random, shape, warps));
  return randomLayout(shape);
}

//===-- Steps ----------------------------------------------------------------------------------------------------===//

void Maker::allocateStep() {
  Shape shape = randomShape();
  const Element &element = random.pick(elements);
  SharedLayout layout = randomShared(random, shape);
  if (!hasRoom(shape, element, 4, layout))
    return;
  if (random.chance(40)) {
    Tile tile = take(tileOf(shape, element));
    allocate(shape, element, 0, layout, &tile);
    return;
  }
  allocate(shape, element, random.chance(60) ? random.between(1, 4) : 0, layout);
}

void Maker::localStoreStep() {
  std::optional<Slot> settled = settledSlot();
  if (!settled)
    return;
  auto [memory, slot] = *settled;
  bool isWhole = std::none_of(memories[memory].written[slot].begin(), memories[memory].written[slot].end(),
                              [](bool written) { return written; });
  View view = slotOf(memory, slot);
  if (!isWhole || random.chance(20))
    view = randomView(view);
  Tile tile = take(tileOf(view.shape, memories[memory].element));
  localStore(tile, view);
}

void Maker::localLoadStep() {
  std::optional<Slot> settled = settledSlot();
  if (!settled)
    return;
  auto [memory, slot] = *settled;
  View view = randomView(slotOf(memory, slot));
  if (!isWritten(view))
    return localStoreStep();
  keep(localLoad(view, readLayout(view.shape, memories[memory].element)));
}

void Maker::repackedLoadStep() {
  Shape shape = randomShape(/*isMatrix=*/true);
  const Element &element = elementOf("i8");
  SharedLayout layout = randomShared(random, shape);
  if (!hasRoom(shape, element, 0, layout))
    return;
  Tile tile = take(tileOf(shape, element));
  keep(repackedLoad(randomView(slotOf(allocate(shape, element, 0, layout, &tile), 0))));
}

/// A store that all threads do, or none.
void Maker::branchStep() {
  std::optional<Slot> settled = settledSlot();
  if (!settled)
    return;
  auto [memory, slot] = *settled;
  View view = slotOf(memory, slot);
  if (!isWritten(view))
    return localStoreStep();
  Tile tile = take(tileOf(view.shape, memories[memory].element));
  Tile other = take(tileOf(view.shape, memories[memory].element));
  int64_t number = random.below(3);
  std::string zero = text.constant(0);
  std::string condition = text.define(fmt::format("arith.cmpi sgt, {}, {} : i32", text.scalar(number), zero));
  std::vector<int64_t> before = memories[memory].contents[slot];
  text.begin(fmt::format("scf.if {} {{", condition));
  localStore(tile, view);
  if (random.chance(50)) {
    text.otherwise();
    if (number > 0) {
      std::vector<int64_t> after = memories[memory].contents[slot];
      localStore(other, view);
      memories[memory].contents[slot] = after;
    } else {
      localStore(other, view);
    }
  } else if (number == 0) {
    memories[memory].contents[slot] = before;
  }
  text.end();
}

/// The end of a memory object's life; the next one may have its bytes.
void Maker::releaseStep() {
  std::optional<size_t> memory = someMemory(/*mayBeInFlight=*/false);
  if (!memory)
    return allocateStep();
  const Memory &of = memories[*memory];
  for (size_t slot = 0; slot < of.written.size(); ++slot) {
    View view = slotOf(*memory, slot, false);
    if (isWritten(view) && random.chance(60))
      keep(localLoad(view, randomLayout(view.shape)));
  }
  Shape all = memories[*memory].shape;
  if (memories[*memory].slots)
    all.insert(all.begin(), memories[*memory].slots);
  text.line(fmt::format("ttg.local_dealloc {} : {}", memories[*memory].name,
                        memoryType(all, memories[*memory].element, memories[*memory].layout)));
  memories[*memory].isAlive = false;
}

} // namespace heddle::gluon_programs
