// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of the groups of a jagged array: blocks keep one each in registers, and find what a group shares together.
#pragma once
#include "kernels/Jagged.h"
#include "kernels/SharedStrip.h"

namespace heddle::kernels {

/// A part of a group, by a block: `Lines::along` elements of each line, or what is left of the group. Parts are found
/// by their number: those of a group follow each other, and begin at the number of its first tile and of the group
/// together, since a group has at most one part more than the tiles that it begins. Some numbers have no part.
/// `Lines` are some lines of the groups, of whose elements along the groups they load, reduce and cast any.
template <class Lines>
class SharedParts {
public:
  /// `words`: those of a strip for each group (sharedWords). `number` is as planParts has it.
  SharedParts(const Lines &lines, const build::Pointer<build::i32> &words, const build::Scalar<build::i32> &number)
      : lines(lines), words(words), number(number) {}

  void quantise() const {
    using namespace build;
    auto g = groupOf();
    Group group = read(g);
    auto part = number - firstOf(g, group);
    auto parts = maximum(ceilDivide(group.end - group.first, size), 1);
    when(part < parts, [&] {
      auto at = [&](const Group &group) { return group.first + part * size + range<Lines::along>(); };
      withNumber(lines.input().type, [&]<class E>() {
        auto held = lines.template load<E>(at(group), group);
        strip(g).collect(lines.largestOf(held));
        auto scale = scaleOf(strip(g).wait(parts, [&] { return lines.few().largestOf(group); }), lines.how);
        lines.storeScale(g, scale, part == 0);
        whenAligned(
            group, [&](const Group &aligned) { lines.write(at(aligned), aligned, build::cast<f32>(held), scale); },
            [&] { // by narrow accesses, a few at a time
              auto first = group.first + part * size;
              lines.few().castPart({first, minimum(first + size, group.end)}, scale);
            });
      });
    });
  }

private:
  static constexpr int size = int(Lines::along);
  const Lines &lines;
  build::Pointer<build::i32> words;
  build::Scalar<build::i32> number, G = lines.values.template scalar<build::i32>("G");

  Group read(const build::Scalar<build::i32> &g) const { return readGroup(lines.values, g, lines.K, false); }
  build::Scalar<build::i32> firstOf(const build::Scalar<build::i32> &g, const Group &group) const {
    return group.first / size + g;
  }
  /// The last group whose parts begin at `number` or before.
  build::Scalar<build::i32> groupOf() const {
    using namespace build;
    auto [low, high] = whileLoop(
        carry(full<i32>(0), G - 1), [](auto low, auto high) { return low < high; },
        [&](auto low, auto high) {
          auto middle = (low + high + 1) / 2;
          auto isIn = firstOf(middle, read(middle)) <= number;
          return carry(select(isIn, middle, low), select(isIn, high, middle - 1));
        });
    return minimum(low, high);
  }
  SharedStrip<Lines::across> strip(const build::Scalar<build::i32> &g) const {
    using namespace build;
    auto counters = words + cast<i64>(G) * cast<i64>(lines.N);
    auto place = cast<i64>(g) * cast<i64>(ceilDivide(lines.N, int(Lines::across))) + cast<i64>(lines.block);
    return {words, lines.scaleIndex(g), lines.exist(), counters + place};
  }
};

/// Adds the fill and the launch of parts of `along` elements, for so many blocks of lines, which share so many words.
/// The body is `part(values, number, block)`: the part's number and that of its lines' block.
template <class F>
void planParts(const Call &call, int64_t blocks, int64_t words, int64_t along, StepWriter &writer, Plan &plan, F part) {
  using namespace build;
  int64_t G = call.extent("G"), numbers = call.extent("K") / along + G; // more than any part's
  bool checks = call.is("check", "true");
  plan.temporaries = {{"amax", {ElementType::I32, {words}}}};
  writer.buffer("amax", ElementType::I32);
  writer.count("G", G);
  writer.count("numbers", numbers);
  plan.steps.push_back(fillStep("amax", 0));
  plan.steps.push_back(
      writer.finish({numbers * blocks, 1, 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
        auto count = values.scalar<i32>("numbers");
        if (checks)
          checkGroups(values, values.scalar<i32>("G"), values.scalar<i32>("K"));
        part(values, programId() % count, programId() / count);
      }));
}

} // namespace heddle::kernels
