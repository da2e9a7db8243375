// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random index arithmetic, with loops and branches, run on concrete values: what is claimed about a value must hold
// each time it is computed.
#include "compiler/analysis/ConcreteRun.h"
#include <map>
#include <random>
#include <sstream>

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
/// Writes a function of four arguments: a pointer and scalars of divisibility 16, 1 and 4.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string write(int length) {
    add("i32", "%a"), add("i32", "%b"), add("i32", "%c");
    for (const char *shape : {"16", "8", "128"})
      define(tensor(shape, "i32"),
             "tt.make_range {start = " + pick({"0", "0", "16", "3", "8"}) + " : i32, end = END : i32}", shape);
    for (int i = 0; i < length; ++i)
      step(2);
    return "tt.func public @k(%p: !tt.ptr<" + pointee +
           "> {tt.divisibility = 16 : i32}, "
           "%a: i32 {tt.divisibility = 16 : i32}, %b: i32, %c: i32 {tt.divisibility = 4 : i32}) {\n" +
           text.str() + "tt.return\n}\n";
  }

private:
  using Pool = std::map<std::string, std::vector<std::string>>; ///< names by type

  size_t below(size_t bound) { return random() % bound; }
  std::string pick(const std::vector<std::string> &choices) { return choices[below(choices.size())]; }
  static std::string tensor(const std::string &shape, const std::string &element) {
    return shape.empty() ? element : "tensor<" + shape + "x" + element + ">";
  }
  void add(const std::string &type, const std::string &name) { pool[type].push_back(name); }
  std::string fresh() { return "%v" + std::to_string(count++); }

  std::string define(const std::string &type, std::string operation, const std::string &rangeSize = "") {
    if (size_t at = operation.find("END"); at != std::string::npos) {
      size_t start = operation.find("start = ") + 8;
      operation.replace(at, 3, std::to_string(std::stoi(operation.substr(start)) + std::stoi(rangeSize)));
    }
    std::string name = fresh();
    text << name << " = " << operation
         << (operation.find(" : ") == std::string::npos || !rangeSize.empty() ? " : " + type : "") << "\n";
    add(type, name);
    return name;
  }

  std::string constant(const std::string &type) {
    std::string value =
        pick({"0", "1", "2", "3", "4", "7", "8", "12", "15", "16", "31", "32", "64", "-1", "-4", "-16"});
    std::string name = fresh();
    text << name << " = arith.constant " << (type[0] == 't' ? "dense<" + value + ">" : value) << " : " << type << "\n";
    return name;
  }

  /// Any value of `type`: a recent one more often, sometimes a constant or a scalar everywhere.
  std::string any(const std::string &type) {
    const std::vector<std::string> &known = pool[type];
    size_t kind = below(8);
    bool isInteger = type.find("ptr") == std::string::npos && type.find("i1>") == std::string::npos && type != "i1";
    if (isInteger && (kind == 0 || known.empty()))
      return kind % 2 == 0 || type == "i32" ? constant(type) : splat(type);
    if (isInteger && kind == 1 && type[0] == 't')
      return splat(type);
    return known[kind < 5 ? known.size() - 1 - below(std::min<size_t>(3, known.size())) : below(known.size())];
  }
  std::string splat(const std::string &type) {
    std::string scalar = any("i32");
    if (type.find("i32") == std::string::npos)
      return constant(type);
    return define(type, "tt.splat " + scalar + " : i32 -> " + type);
  }

  std::string shape() { return pick({"16", "8x16", "8x16", "8x16", "16x8", "128", "2x4x16", ""}); }

  void arithmetic(const std::string &type) {
    std::string operation = pick({"add", "add", "sub", "mul", "divs", "divu", "rems", "remu", "shl", "shrs", "shru",
                                  "and", "or", "xor", "mins", "maxs", "minu", "maxu"});
    std::string suffix = operation.back() == 's' || operation.back() == 'u' ? "i" : "";
    std::string name = "arith." + operation + "i";
    std::string left = any(type), right = below(3) && operation != "add" ? constant(type) : any(type);
    define(type, name + " " + left + ", " + right + " : " + type);
  }

  /// A run of 16 that starts at a multiple of 16, perhaps below zero, met by a constant: where most rules apply.
  void block() {
    const std::string type = "tensor<16xi32>";
    std::string range = define(type, "tt.make_range {start = " + pick({"0", "16"}) + " : i32, end = END : i32}", "16");
    std::string base = define(type, "tt.splat " + pick({"%a", "%c"}) + " : i32 -> " + type);
    std::string run = define(type, "arith." + pick({"addi ", "subi "}) + range + ", " + base + " : " + type);
    std::string level = below(2) ? constant(type) : splat(type);
    define(type, "arith." +
                     pick({"divsi ", "remsi ", "divui ", "remui ", "andi ", "ori ", "xori ", "shrsi ", "shrui "}) +
                     run + ", " + level + " : " + type);
  }

  void comparison(const std::string &shape) {
    std::string type = tensor(shape, "i32"), condition = tensor(shape, "i1"), left = any(type), right = any(type);
    std::string name =
        define(condition, "arith.cmpi " + pick({"slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "eq", "ne"}) +
                              ", " + left + ", " + right + " : " + type);
    left = any(type), right = any(type);
    std::string scalar = pool["i1"].empty() || below(3) ? name : any("i1");
    bool isScalar = scalar != name && !shape.empty();
    define(type, "arith.select " + scalar + ", " + left + ", " + right + " : " +
                     (isScalar || shape.empty() ? "" : condition + ", ") + type);
    if (below(3) == 0)
      define(type, "arith.extui " + name + " : " + condition + " to " + type);
  }

  void widths(const std::string &shape) {
    std::string type = tensor(shape, "i32"), narrow = tensor(shape, "i8"), wide = tensor(shape, "i64");
    std::string kind = pick({"extsi ", "extui "});
    if (below(2)) {
      std::string cut = define(narrow, "arith.trunci " + any(type) + " : " + type + " to " + narrow);
      arithmetic(narrow);
      define(type, "arith." + kind + pool[narrow].back() + " : " + narrow + " to " + type);
    } else {
      define(wide, "arith." + kind + any(type) + " : " + type + " to " + wide);
      arithmetic(wide);
      define(type, "arith.trunci " + pool[wide].back() + " : " + wide + " to " + type);
    }
  }

  void shapes() {
    std::string row = any("tensor<16xi32>"), column = any("tensor<8xi32>"), all = any("tensor<8x16xi32>");
    switch (below(6)) {
    case 0:
      row = define("tensor<1x16xi32>",
                   "tt.expand_dims " + row + " {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>");
      define("tensor<8x16xi32>", "tt.broadcast " + row + " : tensor<1x16xi32> -> tensor<8x16xi32>");
      break;
    case 1:
      column = define("tensor<8x1xi32>",
                      "tt.expand_dims " + column + " {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>");
      arithmetic("tensor<8x1xi32>");
      define("tensor<8x16xi32>",
             "tt.broadcast " + pool["tensor<8x1xi32>"].back() + " : tensor<8x1xi32> -> tensor<8x16xi32>");
      break;
    case 2:
      define("tensor<16x8xi32>",
             "tt.trans " + all + " {order = array<i32: 1, 0>} : tensor<8x16xi32> -> tensor<16x8xi32>");
      break;
    case 3:
      define("tensor<8x16xi32>", "tt.trans " + any("tensor<16x8xi32>") +
                                     " {order = array<i32: 1, 0>} : tensor<16x8xi32> -> tensor<8x16xi32>");
      break;
    default:
      std::string from = pick({"8x16", "16x8", "128", "2x4x16"}), to = pick({"8x16", "16x8", "128", "2x4x16"});
      if (from != to)
        define(tensor(to, "i32"),
               "tt.reshape " + any(tensor(from, "i32")) + " : " + tensor(from, "i32") + " -> " + tensor(to, "i32"));
    }
  }

  void pointers(const std::string &shape) {
    std::string type = tensor(shape, "!tt.ptr<" + pointee + ">"), offsets = tensor(shape, "i32");
    if (!shape.empty() && (pool[type].empty() || below(4) == 0))
      define(type, "tt.splat %p : !tt.ptr<" + pointee + "> -> " + type);
    std::string base = shape.empty() ? "%p" : any(type);
    std::string moved = define(type, "tt.addptr " + base + ", " + any(offsets) + " : " + type + ", " + offsets);
    if (shape.empty())
      pool[type].clear();
    if (pointee == "i32" && below(2))
      define(offsets, "tt.load " + moved + " : " + type);
    if (below(4) == 0)
      define(tensor(shape, "i64"), "tt.ptr_to_int " + moved + " : " + type + " -> " + tensor(shape, "i64"));
  }

  /// A region that ends in `end` and a value of each of `types`; nothing defined in it remains.
  void region(const std::string &end, const std::vector<std::string> &types, int depth) {
    Pool outside = pool;
    for (size_t i = 0; i < 3; ++i)
      step(depth);
    std::string names, list;
    for (const std::string &type : types) {
      names += (names.empty() ? "" : ", ") + any(type);
      list += (list.empty() ? "" : ", ") + type;
    }
    text << end << names << " : " << list << "\n";
    pool = std::move(outside);
  }

  void controlFlow(int depth) {
    std::string type = tensor(pick({"16", "8x16", "8x16", ""}), "i32"), scalar = "i32";
    std::string first = any(type), second = any(scalar), name = fresh(), tileArgument = fresh(),
                scalarArgument = fresh();
    std::string both = "(" + type + ", i32)";
    Pool outside = pool;
    auto enter = [&](const std::string &tile, const std::string &number) {
      pool = outside;
      add(type, tile), add(scalar, number);
    };
    if (below(2)) {
      std::string variable = fresh(), lower = constantOf(pick({"0", "8", "3", "16"})),
                  step = constantOf(pick({"1", "4", "16"}));
      std::string upper = constantOf(pick({"0", "16", "20"}));
      text << name << ":2 = scf.for " << variable << " = " << lower << " to " << upper << " step " << step
           << " iter_args(" << tileArgument << " = " << first << ", " << scalarArgument << " = " << second << ") -> "
           << both << " : i32 {\n";
      enter(tileArgument, scalarArgument);
      add("i32", variable);
      region("scf.yield ", {type, scalar}, depth - 1);
    } else if (!pool["i1"].empty() && below(2)) {
      text << name << ":2 = scf.if " << any("i1") << " -> " << both << " {\n";
      region("scf.yield ", {type, scalar}, depth - 1);
      text << "} else {\n";
      region("scf.yield ", {type, scalar}, depth - 1);
    } else {
      std::string zero = constantOf("0"), one = constantOf("1"), limit = constantOf(pick({"0", "2", "5"}));
      std::string counter = fresh(), next = fresh(), more = fresh(), afterTile = fresh(), afterScalar = fresh();
      std::string afterCounter = fresh(), three = "(" + type + ", i32, i32)";
      text << name << ":3 = scf.while (" << tileArgument << " = " << first << ", " << scalarArgument << " = " << second
           << ", " << counter << " = " << zero << ") : " << three << " -> " << three << " {\n"
           << more << " = arith.cmpi slt, " << counter << ", " << limit << " : i32\n";
      enter(tileArgument, scalarArgument);
      for (int i = 0; i < 2; ++i)
        arithmetic(type);
      std::string tile = any(type), number = any(scalar);
      text << "scf.condition(" << more << ") " << tile << ", " << number << ", " << counter << " : " << type
           << ", i32, i32\n} do {\n^bb0(" << afterTile << ": " << type << ", " << afterScalar << ": i32, "
           << afterCounter << ": i32):\n"
           << next << " = arith.addi " << afterCounter << ", " << one << " : i32\n";
      enter(afterTile, afterScalar);
      add("i32", next);
      arithmetic(type), arithmetic(scalar);
      tile = any(type), number = any(scalar);
      text << "scf.yield " << tile << ", " << number << ", " << next << " : " << type << ", i32, i32\n";
    }
    text << "}\n";
    pool = std::move(outside);
    add(type, name + "#0"), add(scalar, name + "#1");
  }
  std::string constantOf(const std::string &value) {
    std::string name = fresh();
    text << name << " = arith.constant " << value << " : i32\n";
    return name;
  }

  void step(int depth) {
    switch (below(depth > 0 ? 11 : 10)) {
    case 0:
      return comparison(shape());
    case 1:
      return widths(shape());
    case 2:
    case 3:
      return shapes();
    case 4:
      return pointers(shape());
    case 5:
      return block();
    case 10:
      return controlFlow(depth);
    default:
      return arithmetic(tensor(shape(), "i32"));
    }
  }

  std::mt19937 random;
  std::ostringstream text;
  Pool pool;
  int count = 0;
  std::string pointee = std::vector<std::string>{"i32", "i8", "i64"}[random() % 3];
};

struct Tally {
  int64_t runs = 0, abandoned = 0, eloquent = 0, failures = 0;
};

Tally runPrograms(unsigned firstSeed, int programs, int length) {
  Tally tally;
  for (unsigned seed = firstSeed; seed < firstSeed + programs && tally.failures == 0; ++seed) {
    std::string text = Generator(seed).write(length);
    Analysed program(text);
    if (!program.module)
      break;
    std::mt19937 random(seed);
    for (int sample = 0; sample < 4; ++sample) {
      int64_t b = random() % 10 == 0 ? -int64_t(random() % 50) : random() % 100;
      std::vector<int64_t> arguments = {int64_t(4096 + 16 * (random() % 100)), int64_t(16 * (random() % 8)), b,
                                        int64_t(4 * (random() % 20))};
      ConcreteRun run(*program.facts, random());
      try {
        run.run(program.all<triton::FuncOp>()[0], arguments);
        ++tally.runs;
      } catch (const ConcreteRun::Abandoned &) {
        ++tally.abandoned;
      }
      tally.eloquent += run.eloquent;
      tally.failures += run.failures;
      if (run.failures) {
        ADD_FAILURE() << "seed " << seed << "\n" << text;
        break;
      }
    }
  }
  return tally;
}
} // namespace

TEST(AxisSoundness, ShortExpressions) {
  Tally tally = runPrograms(1, 1200, 5);
  EXPECT_GT(tally.runs, 2000);
  EXPECT_GT(tally.eloquent, 5000);
}

TEST(AxisSoundness, LongExpressionsWithControlFlow) {
  Tally tally = runPrograms(100000, 400, 14);
  EXPECT_GT(tally.runs + tally.abandoned, 1500);
  EXPECT_GT(tally.eloquent, 5000);
}
