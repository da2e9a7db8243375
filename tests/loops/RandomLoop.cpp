// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses sizes, types, masks and addresses of a loop by its seed.
#include "tests/loops/RandomLoop.h"
#include "tests/fuzz/Random.h"
#include <algorithm>

namespace heddle::loops {
namespace {

constexpr int64_t mostMultiplications = 1 << 19; ///< of a program, which are simulated
constexpr int mostPerThread = 48; ///< elements of the tiles of a matmul: they make the code, and its time

bool isFp8(const std::string &element) {
  return element.starts_with("f8");
}

/// Two loops of three are regular: most of their tiles can be copied by instructions that move many bytes.
class Chooser {
public:
  explicit Chooser(uint64_t seed) : random(seed), isRegular(random.chance(65)) { loop.seed = seed; }

  RandomLoop choose();

private:
  void chooseSizes();
  LoopOperand randomOperand(bool isLeft);
  void chooseOperands();
  void chooseExtents();
  void chooseCounter();
  void chooseSums();
  bool isOdd(int percent) { return !isRegular && random.chance(percent); }
  Source randomSource() {
    return Source(isRegular ? 2 * random.below(2) : random.below(3)); // constant or divisible; or an argument
  }

  fuzz::Random random;
  bool isRegular;
  RandomLoop loop;
};

} // namespace

static bool hasTwoMatmuls(const RandomLoop &loop) {
  return loop.second == Second::SharesLeft || loop.second == Second::SharesRight;
}

void Chooser::chooseSizes() {
  static const std::vector<std::string> elements = {"f16",      "f16",        "f16", "bf16", "bf16",
                                                    "f8E4M3FN", "f8E4M3FNUZ", "i8",  "i8",   "f32"};
  static const std::vector<int> sizes = {16, 32, 32, 64, 64, 128}, depths = {16, 32, 32, 64, 64, 128},
                                warps = {1, 1, 2, 2, 4, 4, 8};
  loop.element = random.pick(elements);
  loop.trips = int(random.below(6));
  loop.outer = Outer(random.below(3));
  auto isLarge = [&] {
    int64_t matmuls = (hasTwoMatmuls(loop) ? 2 : 1) * (loop.twice ? 2 : 1), m = loop.m, n = loop.n, k = loop.k;
    return m * n * k * std::max(loop.trips, 1) * loop.tiles * matmuls > mostMultiplications ||
           (m * n + m * k + k * n) * matmuls > int64_t(mostPerThread) * 64 * loop.warps;
  };
  // Of a regular loop every lane reads 16 bytes of each tile, and matrix instructions of 8-bit elements take 32 of K.
  auto isSmall = [&] {
    int width = loop.element == "f32" ? 4 : loop.element == "f16" || loop.element == "bf16" ? 2 : 1;
    return isRegular && (std::min(loop.m, loop.n) * loop.k * width < 16 * 64 * loop.warps || loop.k * width < 32);
  };
  do {
    loop.second = random.chance(35) ? Second(random.between(1, 3)) : Second::None;
    loop.twice = random.chance(25);
    loop.warps = random.pick(warps);
    loop.m = random.pick(sizes);
    loop.n = loop.second == Second::Gram ? loop.m : random.pick(sizes);
    loop.k = random.pick(depths);
    loop.tiles = int(random.between(1, 3));
  } while (isLarge() || isSmall());
  loop.programs = loop.outer == Outer::Grid ? loop.tiles : int(random.between(1, 2));
}

/// What may lie in memory for operands of `element`, and is converted to it.
static std::vector<std::string> storedElements(const std::string &element) {
  if (element == "f16")
    return {"i8", "i8", "f8E4M3FN", "f32"};
  if (element == "bf16")
    return {"i8", "i8", "f8E4M3FN"};
  if (element == "f32")
    return {"f16", "i8"};
  return {element};
}

LoopOperand Chooser::randomOperand(bool isLeft) {
  static const std::vector<int> paddings = {0, 16, 16, 8, 4, 1};
  static const std::vector<std::string> modifiers = {
      "", "", "", " cacheModifier = cg", " cacheModifier = ca", " evictionPolicy = evict_last"};
  LoopOperand operand;
  operand.element = random.chance(isRegular ? 10 : 30) ? random.pick(storedElements(loop.element)) : loop.element;
  operand.isLeft = isLeft;
  operand.alongK = random.chance(50);
  operand.transposed = random.chance(25);
  operand.convertsFirst = random.chance(50);
  operand.stride = randomSource();
  operand.padding = isRegular ? 16 * int(random.below(2)) : random.pick(paddings);
  operand.isAligned = !isOdd(20);
  operand.address = Address(random.below(random.chance(50) ? 3 : 6));
  operand.masksK = random.chance(50);
  operand.wraps = isOdd(20);
  operand.masksOuter = !operand.wraps && random.chance(30);
  operand.other = random.chance(70) ? Other::Zero : random.chance(50) ? Other::None : Other::One;
  operand.twoSteps = random.chance(50);
  operand.modifiers = isOdd(5) ? " {isVolatile = true}" : random.pick(modifiers);
  return operand;
}

void Chooser::chooseOperands() {
  loop.operands = {randomOperand(true)};
  if (loop.second == Second::Gram) {
    if (loop.operands[0].other == Other::None) // an undefined row would be a column too
      loop.operands[0].other = Other::Zero;
    return;
  }
  loop.operands.push_back(randomOperand(false));
  if (hasTwoMatmuls(loop))
    loop.operands.push_back(randomOperand(loop.second == Second::SharesRight));
}

/// Rows, columns and elements along K that there are.
void Chooser::chooseExtents() {
  auto isAny = [&](auto test) { return std::any_of(loop.operands.begin(), loop.operands.end(), test); };
  auto randomCut = [&](int size, bool isDivisible) {
    return random.chance(40) ? 0 : int(random.below(size)) & (isDivisible ? ~15 : ~0);
  };
  loop.sizeSource = random.chance(50) ? Source::DivisibleArgument : isRegular ? Source::Constant : Source::Argument;
  auto cutOuter = [&](int whole, int tile, bool isLeft) {
    bool mayCut = isAny([&](const LoopOperand &one) { return one.isLeft == isLeft && (one.masksOuter || one.wraps); });
    return mayCut ? whole - randomCut(tile, loop.sizeSource != Source::Argument) : whole;
  };
  loop.rows = cutOuter(loop.m * loop.tiles, loop.m, true);
  loop.columns = cutOuter(loop.n, loop.n, false);
  loop.depthSource = randomSource();
  bool mayCut = isAny([](const LoopOperand &one) { return one.masksK; }) &&
                !isAny([](const LoopOperand &one) { return one.masksK && one.other == Other::None; });
  bool isDivisible = isRegular || loop.depthSource == Source::DivisibleArgument || random.chance(50);
  loop.depth = loop.trips ? loop.trips * loop.k - (mayCut ? randomCut(loop.k, isDivisible) : 0) : 0;
}

void Chooser::chooseCounter() {
  static const std::vector<int64_t> lowers = {0, 0, 0, 16, -48, 1, 7, -1, 1000};
  loop.counterType = random.chance(15) ? "i64" : "i32";
  loop.lowerSource = randomSource(), loop.upperSource = randomSource();
  loop.stepSource = isOdd(30) ? Source::Argument : Source::Constant;
  loop.step = random.chance(45) ? 1 : random.chance(85) ? loop.k : 2;
  loop.lower = lowers[size_t(random.below(isRegular ? 5 : 9))];
  // From the least to beyond what a distance can be as a signed number. MLIR 22 takes such constants for no iteration.
  if (random.chance(5) && loop.trips < 4)
    loop.step = int64_t(1) << 30, loop.lower = INT32_MIN, loop.lowerSource = Source::Argument;
  else if (random.chance(10)) // the least number, or the counter of the last iteration is next to the greatest
    loop.lower = random.chance(50) ? INT32_MIN : INT32_MAX - (loop.trips + 1) * loop.step;
  if (loop.lowerSource == Source::DivisibleArgument)
    loop.lower &= ~int64_t(15);
  loop.upper = loop.lower + loop.trips * loop.step;
  if (loop.trips == 0 && loop.lower > INT32_MIN)
    loop.upper -= random.below(3) * loop.step;
  else if (loop.trips > 0 && loop.step > 1 && random.chance(50))
    loop.upper = loop.step == loop.k ? loop.lower + loop.depth : loop.upper - random.below(loop.step);
  if (loop.upper % 16 != 0 && loop.upperSource == Source::DivisibleArgument)
    loop.upperSource = Source::Argument;
  loop.shifts = random.chance(30);
  loop.comparesLeft = random.chance(50);
}

void Chooser::chooseSums() {
  loop.separateSums = hasTwoMatmuls(loop) && random.chance(50);
  loop.loadsSum = random.chance(25);
  loop.sumsLast = random.chance(30);
  loop.isTf32 = random.chance(50);
  if (random.chance(25))
    loop.scale = Scale(random.between(1, 3));
  if (loop.scale == Scale::Tile && (isFp8(loop.element) || loop.element == "i8"))
    loop.scale = Scale::Sum;
  if (random.chance(5))
    loop.stagesOfLoop = int(random.between(1, 4));
}

RandomLoop Chooser::choose() {
  chooseSizes();
  chooseOperands();
  chooseExtents();
  chooseCounter();
  chooseSums();
  return loop;
}

RandomLoop randomLoop(uint64_t seed) {
  return Chooser(seed).choose();
}

} // namespace heddle::loops
