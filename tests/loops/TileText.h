// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the text of a tile program, operation by operation. Knows the types of values, and no MLIR: a random program
// is text, as a user's is.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::loops {

using Shape = std::vector<int64_t>;

struct Value {
  std::string name;
  std::string element; ///< `f16`, `i32`, `!tt.ptr<f16>`
  Shape shape = {};    ///< empty: a scalar

  std::string type() const;
  bool isFloat() const { return element[0] == 'f' || element[0] == 'b'; }
  bool isPointer() const { return element[0] == '!'; }
};

std::string pointerTo(const std::string &element);

class TileText {
public:
  Value parameter(const std::string &element, bool isDivisible);
  Value constant(const std::string &element, int64_t value, const Shape &shape = {});

  Value add(const Value &x, const Value &y); ///< of a pointer and integers: a pointer
  Value subtract(const Value &x, const Value &y) { return arithmetic("sub", x, y); }
  Value multiply(const Value &x, const Value &y) { return arithmetic("mul", x, y); }
  /// An operation of two operands of one type: `arith.remsi`.
  Value binary(const std::string &operation, const Value &x, const Value &y);
  Value isLess(const Value &x, const Value &y);
  /// `operation`: `arith.sitofp`, `tt.fp_to_fp`, ...
  Value convert(const std::string &operation, const Value &x, const std::string &element);

  Value programId() { return define("tt.get_program_id x : i32", "i32", {}); }
  Value programCount() { return define("tt.get_num_programs x : i32", "i32", {}); }
  Value range(int64_t size);
  Value splat(const Value &x, const Shape &shape);
  Value expand(const Value &x, int axis);
  Value broadcast(const Value &x, const Shape &shape);
  Value transpose(const Value &x);
  /// `mask` and `other` may be null. `modifiers`: ` cacheModifier = cg`.
  Value load(const Value &pointer, const Value *mask, const Value *other, const std::string &modifiers = "");
  void store(const Value &pointer, const Value &value, const Value *mask);
  /// `modifiers`: `, inputPrecision = tf32`.
  Value dot(const Value &a, const Value &b, const Value &sum, const std::string &modifiers);

  struct Loop {
    std::string name, counterType;
    Value counter;
    std::vector<Value> carried;
  };
  Loop beginLoop(const Value &lower, const Value &upper, const Value &step, const std::vector<Value> &initial);
  /// What the loop leaves. `attributes`: ` {tt.num_stages = 3 : i32}`.
  std::vector<Value> endLoop(const Loop &loop, const std::vector<Value> &yielded, const std::string &attributes = "");

  /// The kernel.
  std::string text() const;

private:
  Value define(const std::string &expression, const std::string &element, const Shape &shape);
  void line(const std::string &text);
  std::string fresh() { return "%" + std::to_string(count++); }
  Value arithmetic(const std::string &operation, const Value &x, const Value &y);

  std::string parameters, body, indentation = "  ";
  int count = 0;
};

} // namespace heddle::loops
