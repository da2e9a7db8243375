// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies from global to shared memory, groups of them and waits. What is in flight is not touched until it was waited
// for: a program that does is a fault (Faults.cpp).
#include "tests/gluon_programs/Maker.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

bool Maker::isInFlight(size_t memory, size_t slot) const {
  auto isIn = [&](const auto &copies) {
    return std::find(copies.begin(), copies.end(), std::pair(memory, slot)) != copies.end();
  };
  return isIn(open) || std::any_of(groups.begin(), groups.end(), isIn);
}

bool Maker::isInFlight(size_t memory) const {
  for (size_t slot = 0; slot < memories[memory].contents.size(); ++slot)
    if (isInFlight(memory, slot))
      return true;
  return false;
}

std::string Maker::writeCopy(const std::string &pointer, const Element &element, const Offsets &offsets,
                             const View &view, const Mask &mask, const std::string &other, bool isBuffer) {
  if (isBuffer) {
    std::string promise = offsets.contiguity > 1 && random.chance(40)
                              ? fmt::format(" {{contiguity = {} : i32}}", std::min<int64_t>(offsets.contiguity, 8))
                              : "";
    std::string type = "tensor<" + shapeText(offsets.shape, element.name) + ", " + offsets.layout + ">";
    return text.define(
        fmt::format("amdg.buffer_load_to_local {}[{}]{}{}{} into {}{} : !tt.ptr<{}>[tensor<{}, {}>] {} -> {}", pointer,
                    offsets.name, mask.name.empty() ? "" : " mask = " + mask.name,
                    other.empty() ? "" : " other = " + other, cachePolicy(true), view.name, promise, element.name,
                    shapeText(offsets.shape, "i32"), offsets.layout, other.empty() ? "" : type, typeOf(view, true)));
  }
  return text.define(fmt::format("ttg.async_copy_global_to_local {}, {}{}{}{} : tensor<{}, {}> -> {}",
                                 pointerTiles(pointer, element, offsets), view.name,
                                 mask.name.empty() ? "" : " mask " + mask.name, other.empty() ? "" : " other " + other,
                                 cachePolicy(false), shapeText(offsets.shape, "!tt.ptr<" + element.name + ">"),
                                 offsets.layout, typeOf(view, true)));
}

void Maker::copyTo(const View &view, const CopyOptions &options) {
  const Element element = memories[view.memory].element;
  std::string layout = options.layout;
  if (layout.empty())
    layout = random.chance(70) ? accessLayout(view.shape, element) : randomLayout(view.shape);
  Offsets offsets = makeOffsets(view.shape, layout, options.isDense);
  bool isBuffer = random.chance(60) || (!options.mayKeep && options.mayMask);
  Mask mask;
  if (options.mayMask)
    mask = makeMask(view.shape, layout);
  std::string other;
  bool keeps = !isBuffer && !mask.name.empty() && isWritten(view) && random.chance(60);
  int64_t otherValue = 0;
  if (!mask.name.empty() && !keeps && (!isBuffer || random.chance(40))) {
    otherValue = random.chance(70) ? 0 : 3;
    other = text.constantTile(element, view.shape, layout, otherValue);
  }
  int64_t most = 0;
  for (size_t i = 0; i < offsets.at.size(); ++i)
    most = mask.allows(i) ? std::max(most, offsets.at[i]) : most;
  std::vector<int64_t> source = randomValues(element, most + 1), values;
  for (size_t i = 0; i < offsets.at.size(); ++i)
    values.push_back(mask.allows(i) ? source[size_t(offsets.at[i])]
                     : keeps        ? memories[view.memory].contents[view.slot][size_t(view.at[i])]
                                    : otherValue);
  bool isAligned = options.isDense || random.chance(90);
  if (!isAligned)
    offsets.contiguity = 1;
  openTokens.push_back(
      writeCopy(text.buffer(element, source, source, isAligned), element, offsets, view, mask, other, isBuffer));
  write(view, values);
  open.push_back({view.memory, view.slot});
}

void Maker::commit() {
  bool hasTokens = !openTokens.empty() && random.chance(30);
  groupToken =
      text.define("ttg.async_commit_group" + (hasTokens ? fmt::format(" tokens {}", fmt::join(openTokens, ", ")) : ""));
  openTokens.clear();
  groups.push_back(open);
  open.clear();
  ++committed;
}

void Maker::wait(size_t pending) {
  bool hasToken = !groupToken.empty() && random.chance(30);
  if (pending == 0 && random.chance(10))
    waitToken = text.define("amdg.async_wait {num_inst = 0 : i32}");
  else
    waitToken =
        text.define(fmt::format("ttg.async_wait {}{{num = {} : i32}}", hasToken ? groupToken + " " : "", pending));
  while (groups.size() > pending)
    groups.pop_front();
}

void Maker::copyStep() {
  std::optional<size_t> memory = someMemory();
  if (!memory || random.chance(20)) {
    Shape shape = randomShape();
    const Element &element = random.pick(elements);
    SharedLayout layout = randomShared(random, shape);
    if (!hasRoom(shape, element, 4, layout))
      return;
    memory = allocate(shape, element, random.chance(60) ? random.between(2, 4) : 0, layout);
  }
  auto slot = size_t(random.below(int64_t(memories[*memory].contents.size())));
  if (isInFlight(*memory, slot))
    return waitStep();
  View view = slotOf(*memory, slot, /*mayBeUnknown=*/false);
  if (random.chance(10))
    view = randomView(view);
  copyTo(view, {});
  if (random.chance(75))
    commit();
}

void Maker::waitStep() {
  if (!open.empty())
    commit();
  wait(groups.empty() ? 0 : size_t(random.below(int64_t(groups.size()))));
  if (random.chance(15))
    text.line(random.chance(50) ? "ttg.barrier local" : "ttg.barrier all");
}

} // namespace heddle::gluon_programs
