// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sum of each read of a ring, s = 3 s + tile, is the result: which tile was read in which iteration tells in it.
#include "tests/gluon_programs/ThreadPipelines.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

using fuzz::Random;

namespace {

constexpr int64_t elements = 1024; ///< of a tile

// Four contiguous elements of a thread are copied at once. The other two have elements of all warps in each.
constexpr const char *head =
    R"(#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256], [512]], shape = [1024]>
#r0 = #simt.linear<register = [[1], [2]], lane = [[128], [256], [512], [4], [8]], warp = [[16], [32], [64]], shape = [1024]>
#r1 = #simt.linear<register = [[512], [256]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64], [128]], shape = [1024]>
module attributes {simt.target = "sm_90", simt.warps = 8 : i64} {
)";

struct Read {
  int64_t stage, sumStage;
  std::string layout, sum, loaded = {}; ///< values
  std::string type() const { return "tensor<1024xi32, " + layout + ">"; }
};

struct Ring {
  RingPlacement at;
  std::vector<uint32_t> source = {};
  std::vector<Read> reads = {};
  std::string readSlot = {}, fillSlot = {}, pointer = {}; ///< in an iteration
  std::string type() const {
    return fmt::format(
        "!simt.shared<{} * 1024xi32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>", at.slots);
  }
};

class Writer {
public:
  Writer(uint64_t seed, bool isStraight, bool isLegal);
  ThreadPipeline write();

private:
  std::string fresh() { return fmt::format("%v{}", ++names); }
  void line(const std::string &words) { text += "    " + words + "\n"; }
  std::string define(const std::string &words) {
    std::string name = fresh();
    line(name + " = " + words);
    return name;
  }
  std::string constant(int64_t value) { return define(fmt::format("arith.constant {} : i32", value)); }
  std::string add(const std::string &number, int64_t more) {
    return define(fmt::format("arith.addi {}, {} : i32", number, constant(more)));
  }
  std::string tileAt(size_t ring, const std::string &number);
  void fill(const Ring &ring, const std::string &slot, const std::string &pointer);
  void fillBefore();
  void readTile(size_t ring, Read &read);
  void sum(Read &read);
  void beginIteration(const std::string &counter, int64_t number);
  void standBefore(int64_t stage, bool isAtEnd);
  void writeStage(int64_t stage);
  void writeLoop();
  std::vector<Read *> allReads();
  std::vector<std::string> types();
  std::vector<std::string> sums();
  ThreadPipeline result();

  Random random;
  PipelinePlacement placement;
  std::vector<Ring> rings;
  std::string text;
  int64_t names = 0, trips = 0;
};

} // namespace

Writer::Writer(uint64_t seed, bool isStraight, bool isLegal)
    : random(seed), placement(randomPlacement(random, isStraight, isLegal)) {
  int64_t longest = placement.ahead;
  for (const RingPlacement &at : placement.rings)
    longest = std::max({longest, at.ahead, at.slots - at.ahead});
  trips = !isLegal ? longest + 3 : isStraight ? random.between(1, 4) : random.below(8);
  for (const RingPlacement &at : placement.rings) {
    Ring ring{at};
    for (int64_t i = 0; i < (trips + at.ahead + 1) * elements; ++i)
      ring.source.push_back(uint32_t(random.bits()));
    for (int64_t stage : at.readStages)
      ring.reads.push_back(
          {stage, random.between(stage, placement.stages - 1), random.chance(50) ? "#r0" : "#r1", "%zero"});
    rings.push_back(ring);
  }
}

//===-- Filling and reading --------------------------------------------------------------------------------------===//

std::string Writer::tileAt(size_t ring, const std::string &number) {
  std::string offset = define(fmt::format("arith.muli {}, {} : i32", number, constant(elements)));
  std::string offsets = define(fmt::format("tt.splat {} : i32 -> tensor<1024xi32, #l>", offset));
  return define(
      fmt::format("tt.addptr %from{}, {} : tensor<1024x!tt.ptr<i32>, #l>, tensor<1024xi32, #l>", ring, offsets));
}

void Writer::fill(const Ring &ring, const std::string &slot, const std::string &pointer) {
  size_t number = size_t(&ring - rings.data());
  if (ring.at.isCopied) {
    line(fmt::format("simt.async_copy {} to %ring{}[{}] by 4 : tensor<1024x!tt.ptr<i32>, #l>, {}", pointer, number,
                     slot, ring.type()));
    return;
  }
  std::string loaded = define(fmt::format("simt.load {} by 4 : tensor<1024x!tt.ptr<i32>, #l>", pointer));
  line(fmt::format("simt.store_shared {}, %ring{}[{}] : tensor<1024xi32, #l>, {}", loaded, number, slot, ring.type()));
}

void Writer::fillBefore() {
  for (int64_t k = 0; k < 5; ++k) {
    auto fillIt = [&](Ring &ring) {
      fill(ring, constant(k % ring.at.slots), tileAt(size_t(&ring - rings.data()), constant(k)));
    };
    for (Ring &ring : rings)
      if (!ring.at.isCopied && k < ring.at.ahead)
        fillIt(ring);
    for (size_t group = 0; k < placement.ahead && group < placement.groupStages.size(); ++group) {
      for (Ring &ring : rings)
        if (ring.at.isCopied && ring.at.group == group)
          fillIt(ring);
      line("simt.async_commit");
    }
  }
  line(fmt::format("simt.async_wait {}", placement.pendingBefore));
  if (placement.isStraight || random.chance(15))
    line("simt.barrier");
}

void Writer::readTile(size_t ring, Read &read) {
  read.loaded = define(fmt::format("simt.load_shared %ring{}[{}] : {} -> {}", ring, rings[ring].readSlot,
                                   rings[ring].type(), read.type()));
}

void Writer::sum(Read &read) {
  std::string three = define(fmt::format("arith.constant dense<3> : {}", read.type()));
  std::string more = define(fmt::format("arith.muli {}, {} : {}", read.sum, three, read.type()));
  read.sum = define(fmt::format("arith.addi {}, {} : {}", more, read.loaded, read.type()));
}

//===-- Stages ---------------------------------------------------------------------------------------------------===//

/// `counter`: empty in straight code, whose iterations have numbers.
void Writer::beginIteration(const std::string &counter, int64_t number) {
  for (size_t i = 0; i < rings.size(); ++i) {
    Ring &ring = rings[i];
    auto slotOf = [&](int64_t more) {
      std::string slots = constant(ring.at.slots);
      return counter.empty()
                 ? constant((number + more) % ring.at.slots)
                 : define(fmt::format("arith.remsi {}, {} : i32", more ? add(counter, more) : counter, slots));
    };
    ring.readSlot = slotOf(0);
    ring.fillSlot = slotOf(ring.at.ahead);
    ring.pointer = tileAt(i, counter.empty() ? constant(number + ring.at.ahead) : add(counter, ring.at.ahead));
  }
}

void Writer::standBefore(int64_t stage, bool isAtEnd) {
  bool hasBarrier = placement.barriers[size_t(isAtEnd ? placement.stages : stage)], isFirst = random.chance(50);
  if (hasBarrier && isFirst)
    line("simt.barrier");
  for (const WaitPlacement &wait : placement.waits)
    if (wait.stage == stage && wait.isAtEnd == isAtEnd)
      line(fmt::format("simt.async_wait {}", wait.pending));
  if (hasBarrier && !isFirst)
    line(random.chance(50) ? "simt.barrier shared" : "simt.barrier");
}

void Writer::writeStage(int64_t stage) {
  std::string before = std::exchange(text, "");
  std::vector<std::pair<std::string *, std::string>> left; // what later stages use, and its type
  for (size_t i = 0; i < rings.size(); ++i)
    for (Read &read : rings[i].reads) {
      if (read.stage == stage)
        readTile(i, read);
      if (read.sumStage == stage) {
        sum(read);
        left.emplace_back(&read.sum, read.type());
      } else if (read.stage == stage) {
        left.emplace_back(&read.loaded, read.type());
      }
    }
  std::string reads = std::exchange(text, "");
  for (size_t group = 0; group < placement.groupStages.size(); ++group) {
    if (placement.groupStages[group] != stage)
      continue;
    for (Ring &ring : rings)
      if (ring.at.isCopied && ring.at.group == group)
        fill(ring, ring.fillSlot, ring.pointer);
    line("simt.async_commit");
  }
  for (Ring &ring : rings)
    if (!ring.at.isCopied && ring.at.fillStage == stage)
      fill(ring, ring.fillSlot, ring.pointer);
  std::string fills = std::exchange(text, before);
  std::string results = left.empty() ? "" : fresh();
  std::vector<std::string> values, types;
  for (auto &[value, type] : left) {
    values.push_back(*value);
    types.push_back(type);
    *value = left.size() > 1 ? fmt::format("{}#{}", results, values.size() - 1) : results;
  }
  std::string counted = left.size() > 1 ? fmt::format("{}:{}", results, left.size()) : results;
  line(fmt::format("{}simt.stage \"s{}\"{}{} {{", left.empty() ? "" : counted + " = ", stage,
                   random.chance(50) ? fmt::format(" priority {}", random.below(4)) : "",
                   left.empty() ? "" : fmt::format(" -> {}", fmt::join(types, ", "))));
  text += random.chance(50) ? reads + fills : fills + reads;
  if (!left.empty())
    line(fmt::format("simt.yield {} : {}", fmt::join(values, ", "), fmt::join(types, ", ")));
  line("}");
}

std::vector<Read *> Writer::allReads() {
  std::vector<Read *> all;
  for (Ring &ring : rings)
    for (Read &read : ring.reads)
      all.push_back(&read);
  return all;
}

std::vector<std::string> Writer::types() {
  std::vector<std::string> all;
  for (Read *read : allReads())
    all.push_back(read->type());
  return all;
}

std::vector<std::string> Writer::sums() {
  std::vector<std::string> all;
  for (Read *read : allReads())
    all.push_back(read->sum);
  return all;
}

void Writer::writeLoop() {
  std::vector<std::string> carried;
  size_t number = 0;
  for (Read *read : allReads()) {
    std::string name = fmt::format("%s{}", number++);
    carried.push_back(name + " = " + std::exchange(read->sum, name));
  }
  line(fmt::format("%all:{} = scf.for %k = %c0 to %n step %c1 iter_args({}) -> ({}) : i32 {{", carried.size(),
                   fmt::join(carried, ", "), fmt::join(types(), ", ")));
  beginIteration("%k", 0);
  for (int64_t stage = 0; stage < placement.stages; ++stage) {
    standBefore(stage, false);
    writeStage(stage);
  }
  standBefore(0, true);
  line(fmt::format("scf.yield {} : {}", fmt::join(sums(), ", "), fmt::join(types(), ", ")));
  line("}");
  number = 0;
  for (Read *read : allReads())
    read->sum = fmt::format("%all#{}", number++);
}

//===-- The whole ------------------------------------------------------------------------------------------------===//

ThreadPipeline Writer::write() {
  text = head;
  std::string parameters;
  for (size_t i = 0; i < rings.size(); ++i)
    parameters += fmt::format("%x{}: !tt.ptr<i32> {{tt.divisibility = 16 : i32}}, ", i);
  text += "  tt.func public @pipeline(" + parameters + "%out: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %n: i32) {\n";
  line("%c0 = arith.constant 0 : i32");
  line("%c1 = arith.constant 1 : i32");
  line("%at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #l>");
  for (size_t i = 0; i < rings.size(); ++i) {
    std::string all = define(fmt::format("tt.splat %x{} : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>, #l>", i));
    line(fmt::format("%from{} = tt.addptr {}, %at : tensor<1024x!tt.ptr<i32>, #l>, tensor<1024xi32, #l>", i, all));
    line(fmt::format("%ring{} = simt.alloc : {}", i, rings[i].type()));
  }
  for (Read *read : allReads())
    read->sum = define(fmt::format("arith.constant dense<0> : {}", read->type()));
  fillBefore();
  if (!placement.isStraight)
    writeLoop();
  for (int64_t k = 0; placement.isStraight && k < trips; ++k) {
    beginIteration("", k);
    for (int64_t stage = 0; stage < placement.stages; ++stage) {
      standBefore(stage, false);
      writeStage(stage);
    }
    if (k + 1 < trips)
      standBefore(0, true);
  }
  line("simt.async_wait 0");
  int64_t number = 0;
  for (Read *read : allReads()) {
    std::string at = define(fmt::format("tt.make_range {{end = {} : i32, start = {} : i32}} : {}",
                                        (number + 1) * elements, number * elements, read->type()));
    std::string type = "tensor<1024x!tt.ptr<i32>, " + read->layout + ">";
    std::string all = define(fmt::format("tt.splat %out : !tt.ptr<i32> -> {}", type));
    std::string to = define(fmt::format("tt.addptr {}, {} : {}, {}", all, at, type, read->type()));
    line(fmt::format("simt.store {}, {} : {}", to, read->sum, type));
    ++number;
  }
  text += "    tt.return\n  }\n}\n";
  return result();
}

static reference::Argument bufferOf(const std::vector<uint32_t> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return reference::Argument::buffer(bytes);
}

ThreadPipeline Writer::result() {
  ThreadPipeline made{text, placement, {}, {}};
  std::vector<uint32_t> sums;
  for (const Ring &ring : rings) {
    made.arguments.push_back(bufferOf(ring.source));
    for (size_t read = 0; read < ring.reads.size(); ++read)
      for (int64_t i = 0; i < elements; ++i) {
        uint32_t sum = 0;
        for (int64_t k = 0; k < trips; ++k)
          sum = 3 * sum + ring.source[size_t(k * elements + i)];
        sums.push_back(sum);
      }
  }
  made.expected = made.arguments;
  made.arguments.push_back(bufferOf(std::vector<uint32_t>(sums.size())));
  made.expected.push_back(bufferOf(sums));
  for (auto *arguments : {&made.arguments, &made.expected})
    arguments->push_back(reference::Argument::scalar(uint64_t(trips)));
  return made;
}

ThreadPipeline threadPipeline(uint64_t seed, bool isStraight, bool isLegal) {
  return Writer(seed, isStraight, isLegal).write();
}

} // namespace heddle::gluon_programs
