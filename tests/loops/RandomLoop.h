// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A random kernel whose loop multiplies tiles: what is chosen by the seed, and the program of these choices. Inputs are
// small integers, so that every sum is exact.
#pragma once
#include "tests/fuzz/FuzzProgram.h"
#include <string>
#include <vector>

namespace heddle::loops {

/// Where a number comes from: an argument is divisible by 16 (tt.divisibility), or nothing is known of it.
enum class Source { Constant, Argument, DivisibleArgument };

/// How the address of a tile follows the iterations.
enum class Address {
  Counter,        ///< the first tile's pointers and an offset of the counter
  Indices,        ///< indices along K of the counter, as tiles
  CarriedTile,    ///< a tile of pointers that the loop carries
  CarriedOffset,  ///< a scalar offset that the loop carries
  CarriedPointer, ///< a scalar pointer that the loop carries
  Table,          ///< an offset that is loaded in each iteration
};

/// What a load has for elements that its mask excludes.
enum class Other { Zero, None, One };

/// A tile that is loaded in each iteration. Its axes are K and that of the rows of the left, or the columns of the
/// right operand: the outer axis.
struct LoopOperand {
  std::string element;     ///< in memory
  bool isLeft = true;      ///< operand of matmuls
  bool alongK = true;      ///< K is contiguous in memory
  bool transposed = false; ///< loaded with exchanged axes, then transposed
  bool convertsFirst = false;
  Source stride = Source::Constant;
  int padding = 0;
  bool isAligned = true; ///< the pointer has tt.divisibility
  Address address = Address::Counter;
  Other other = Other::Zero;
  bool masksK = false, masksOuter = false;
  bool wraps = false;    ///< outer indices modulo the size, in place of a mask
  bool twoSteps = false; ///< a column or row of pointers, then the tile of pointers
  std::string modifiers = "";
};

/// What is done with a number, or with a row of numbers, that each iteration loads.
enum class Scale { None, Sum, Row, Tile };
/// A second matmul of each iteration.
enum class Second {
  None,
  SharesRight, ///< another left tile
  SharesLeft,  ///< another right tile
  Gram,        ///< none, but the right operand is the transposed left tile
};
/// One program a tile of rows, or a loop over tiles in each program.
enum class Outer { Grid, Persistent, Ragged };

struct RandomLoop {
  uint64_t seed = 0;
  std::string element = "f16"; ///< of the operands of matmuls
  int m = 32, n = 32, k = 32, warps = 4;
  std::vector<LoopOperand> operands; ///< left and right; one more of the second matmul; of Gram: left
  Second second = Second::None;
  bool separateSums = false; ///< of two matmuls
  Scale scale = Scale::None;

  std::string counterType = "i32";
  Source lowerSource = Source::Constant, upperSource = Source::Argument, stepSource = Source::Constant,
         depthSource = Source::Argument, sizeSource = Source::Argument; ///< of rows and columns
  int64_t lower = 0, upper = 0, step = 1;
  int trips = 0, depth = 0;  ///< elements along K, of at most so many iterations
  bool shifts = false;       ///< an offset is the counter's plus that of the lower bound, not that of their difference
  bool comparesLeft = false; ///< a mask compares with what is left of K

  Outer outer = Outer::Grid;
  int tiles = 1, programs = 1;
  int rows = 32, columns = 32; ///< that there are; others are masked, or wrap
  bool twice = false;          ///< a second loop goes on where the first ended
  bool loadsSum = false;       ///< the sum begins with what is in memory
  bool sumsLast = false;       ///< among what the loop carries
  int stagesOfLoop = 0;        ///< tt.num_stages of the loop; 0: it has none
  bool isTf32 = false;

  std::string sumElement() const { return element == "i8" ? "i32" : "f32"; }
  /// Elements along K for 1 of the counter; of a huge step, for each step.
  int64_t unit() const { return step > k ? k : k / step; }
};

RandomLoop randomLoop(uint64_t seed);

/// The kernel, its arguments, and that the sums must have the same bits.
fuzz::FuzzProgram programOf(const RandomLoop &loop);

} // namespace heddle::loops
