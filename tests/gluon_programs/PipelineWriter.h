// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warp pipelines: loops and straight code of several stages, which two groups of four warps execute one stage apart.
// They fill rings of tiles for later iterations and read them; PipelinePlacement.h says in which stages that is legal.
#pragma once
#include "tests/gluon_programs/Maker.h"
#include "tests/gluon_programs/PipelinePlacement.h"
#include <functional>

namespace heddle::gluon_programs {

class PipelineWriter {
public:
  PipelineWriter(Maker &maker, Defect defect, PipelinePlacement placement)
      : maker(maker), random(maker.random), text(maker.text), defect(defect), placement(std::move(placement)) {}

  bool choose();
  void write();

private:
  /// What keeps rings from being filled for iterations that there are not; Nothing: there is memory for them.
  enum class Guard { Nothing, Mask, Branch };
  /// How the number of a slot follows the iterations.
  enum class Numbers { Remainder, Unsigned, Bits, Carried, CarriedTwice };

  using Place = size_t; ///< of a value that the loop carries

  struct Read { ///< of a ring
    int64_t stage = 0, sumStage = 0;
    std::optional<Random> viewChoice = {};
    std::string layout = {};
    View view = {}; ///< of slot 0
    Place sum = 0;
    std::vector<int64_t> values = {}; ///< of the sum
    Tile loaded = {};
  };

  struct Ring {
    RingPlacement at;
    size_t memory = 0;
    Element element;
    Shape shape = {};
    Offsets offsets = {};
    std::string pointer = {}, other = {};
    int64_t step = 0; ///< from a tile of the buffer to the next
    std::vector<int64_t> source = {};
    bool isBuffer = true, loadsBefore = false; ///< a tile is loaded in one iteration and stored in the next
    int64_t loadStage = 0;
    Numbers numbers = Numbers::Remainder;
    Place readNumber = 0, fillNumber = 0, loadedTile = 0;
    std::string loaded = {}, readSlot = {}, fillSlot = {}; ///< in an iteration
    std::vector<Read> reads = {};
  };

  /// What a loop carries, or the iterations of straight code hand on.
  struct Carried {
    std::string name, type;
    bool isResult; ///< others begin again with each round of a loop around the pipeline
  };

  //===-- Rings (PipelineRings.cpp) --===//
  bool makeRing(const RingPlacement &at);
  void makeRead(Ring &ring, int64_t stage);
  View viewFor(const Read &read, const View &slot);
  Place carry(const std::string &name, const std::string &type, bool isResult = false) {
    carried.push_back({name, type, isResult});
    return carried.size() - 1;
  }
  std::string binary(const char *operation, const std::string &x, const std::string &y) {
    return text.define(std::string(operation) + " " + x + ", " + y + " : i32");
  }
  std::string add(const std::string &x, int64_t y) { return y ? binary("arith.addi", x, text.constant(y)) : x; }
  std::string remainder(const Ring &ring, const std::string &sum);
  std::string slotText(const Ring &ring, bool isFill);
  void stepNumber(const Ring &ring, Place number);
  std::string tileNumber(int64_t plus);
  std::string isInside(const std::string &number);
  Mask maskOf(const Ring &ring, const std::string &number);
  std::string pointerOf(const Ring &ring, const std::string &number);
  std::string loadTile(const Ring &ring, const std::string &number);
  void fill(const Ring &ring, const std::string &number, const std::string &slot, const std::string &loaded);
  void fillGroup(size_t group, const std::function<void(Ring &)> &fillRing);
  void fillBefore();
  //===-- Stages (Pipelines.cpp) --===//
  void addTile(const Read &read);
  void work();
  void makeDefect();
  void standBefore(int64_t stage, bool isAtEnd);
  std::vector<std::function<void()>> partsOf(int64_t stage);
  void writeStage(int64_t stage);
  void writeIteration();
  std::string beginLoop(const std::string &last, bool isAround);
  void endLoop(const std::string &result, bool isAround);
  void writeLoop();
  void writeRounds();
  void keepResults();

  Maker &maker;
  Random &random;
  Writer &text;
  Defect defect;
  PipelinePlacement placement;
  Guard guard = Guard::Nothing;
  int64_t trips = 0, rounds = 1, lower = 0, defectStage = 0;
  std::string end; ///< the number of iterations
  std::vector<Ring> rings;
  std::vector<Carried> carried;
  Place busy = 0; ///< a tile with which stages compute
  Tile addend;    ///< what they add to it
  int64_t works = 0;
  std::string counter;   ///< of the loop
  int64_t iteration = 0; ///< of straight code
};

} // namespace heddle::gluon_programs
