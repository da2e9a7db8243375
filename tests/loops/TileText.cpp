// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function for each operation, with the type text that Triton's printer would give.
#include "tests/loops/TileText.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::loops {

static std::string typeOf(const std::string &element, const Shape &shape) {
  return shape.empty() ? element : fmt::format("tensor<{}x{}>", fmt::join(shape, "x"), element);
}

std::string Value::type() const {
  return typeOf(element, shape);
}

std::string pointerTo(const std::string &element) {
  return "!tt.ptr<" + element + ">";
}

void TileText::line(const std::string &text) {
  body += indentation + text + "\n";
}

Value TileText::define(const std::string &expression, const std::string &element, const Shape &shape) {
  Value value{fresh(), element, shape};
  line(value.name + " = " + expression);
  return value;
}

Value TileText::parameter(const std::string &element, bool isDivisible) {
  Value value{fresh(), element};
  parameters += fmt::format("{}{}: {}{}", parameters.empty() ? "" : ", ", value.name, element,
                            isDivisible ? " {tt.divisibility = 16 : i32}" : "");
  return value;
}

Value TileText::constant(const std::string &element, int64_t value, const Shape &shape) {
  std::string number = fmt::format("{}{}", value, Value{"", element}.isFloat() ? ".0" : "");
  return define(
      fmt::format("arith.constant {} : {}", shape.empty() ? number : "dense<" + number + ">", typeOf(element, shape)),
      element, shape);
}

//===-- Arithmetic -----------------------------------------------------------------------------------------------===//

Value TileText::binary(const std::string &operation, const Value &x, const Value &y) {
  return define(fmt::format("{} {}, {} : {}", operation, x.name, y.name, x.type()), x.element, x.shape);
}

Value TileText::arithmetic(const std::string &operation, const Value &x, const Value &y) {
  return binary("arith." + operation + (x.isFloat() ? "f" : "i"), x, y);
}

Value TileText::add(const Value &x, const Value &y) {
  if (!x.isPointer())
    return arithmetic("add", x, y);
  return define(fmt::format("tt.addptr {}, {} : {}, {}", x.name, y.name, x.type(), y.type()), x.element, x.shape);
}

Value TileText::isLess(const Value &x, const Value &y) {
  return define(fmt::format("arith.cmpi slt, {}, {} : {}", x.name, y.name, x.type()), "i1", x.shape);
}

Value TileText::convert(const std::string &operation, const Value &x, const std::string &element) {
  std::string arrow = operation.starts_with("tt.") ? "->" : "to";
  return define(fmt::format("{} {} : {} {} {}", operation, x.name, x.type(), arrow, typeOf(element, x.shape)), element,
                x.shape);
}

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

Value TileText::range(int64_t size) {
  return define(fmt::format("tt.make_range {{end = {0} : i32, start = 0 : i32}} : tensor<{0}xi32>", size), "i32",
                {size});
}

Value TileText::splat(const Value &x, const Shape &shape) {
  return define(fmt::format("tt.splat {} : {} -> {}", x.name, x.type(), typeOf(x.element, shape)), x.element, shape);
}

Value TileText::expand(const Value &x, int axis) {
  Shape shape = x.shape;
  shape.insert(shape.begin() + axis, 1);
  return define(
      fmt::format("tt.expand_dims {} {{axis = {} : i32}} : {} -> {}", x.name, axis, x.type(), typeOf(x.element, shape)),
      x.element, shape);
}

Value TileText::broadcast(const Value &x, const Shape &shape) {
  return define(fmt::format("tt.broadcast {} : {} -> {}", x.name, x.type(), typeOf(x.element, shape)), x.element,
                shape);
}

Value TileText::transpose(const Value &x) {
  Shape shape = {x.shape[1], x.shape[0]};
  return define(
      fmt::format("tt.trans {} {{order = array<i32: 1, 0>}} : {} -> {}", x.name, x.type(), typeOf(x.element, shape)),
      x.element, shape);
}

//===-- Memory and matmuls ---------------------------------------------------------------------------------------===//

Value TileText::load(const Value &pointer, const Value *mask, const Value *other, const std::string &modifiers) {
  std::string element = pointer.element.substr(8, pointer.element.size() - 9);
  return define(fmt::format("tt.load {}{}{}{} : {}", pointer.name, mask ? ", " + mask->name : "",
                            other ? ", " + other->name : "", modifiers, pointer.type()),
                element, pointer.shape);
}

void TileText::store(const Value &pointer, const Value &value, const Value *mask) {
  line(fmt::format("tt.store {}, {}{} : {}", pointer.name, value.name, mask ? ", " + mask->name : "", pointer.type()));
}

Value TileText::dot(const Value &a, const Value &b, const Value &sum, const std::string &modifiers) {
  return define(fmt::format("tt.dot {}, {}, {}{} : {} * {} -> {}", a.name, b.name, sum.name, modifiers, a.type(),
                            b.type(), sum.type()),
                sum.element, sum.shape);
}

//===-- Loops ----------------------------------------------------------------------------------------------------===//

TileText::Loop TileText::beginLoop(const Value &lower, const Value &upper, const Value &step,
                                   const std::vector<Value> &initial) {
  Loop loop{fresh(), lower.element, {fresh(), lower.element}, {}};
  std::vector<std::string> carried, types;
  for (const Value &value : initial) {
    loop.carried.push_back({fresh(), value.element, value.shape});
    carried.push_back(loop.carried.back().name + " = " + value.name);
    types.push_back(value.type());
  }
  std::string results = initial.empty() ? "" : fmt::format("{}:{} = ", loop.name, initial.size());
  std::string arguments =
      initial.empty() ? "" : fmt::format(" iter_args({}) -> ({})", fmt::join(carried, ", "), fmt::join(types, ", "));
  line(fmt::format("{}scf.for {} = {} to {} step {}{} : {} {{", results, loop.counter.name, lower.name, upper.name,
                   step.name, arguments, loop.counterType));
  indentation += "  ";
  return loop;
}

std::vector<Value> TileText::endLoop(const Loop &loop, const std::vector<Value> &yielded,
                                     const std::string &attributes) {
  std::vector<std::string> names, types;
  std::vector<Value> results;
  for (const Value &value : yielded) {
    names.push_back(value.name);
    types.push_back(value.type());
    results.push_back({fmt::format("{}#{}", loop.name, results.size()), value.element, value.shape});
  }
  if (!yielded.empty())
    line(fmt::format("scf.yield {} : {}", fmt::join(names, ", "), fmt::join(types, ", ")));
  indentation.resize(indentation.size() - 2);
  line("}" + attributes);
  return results;
}

std::string TileText::text() const {
  return "tt.func public @loop(" + parameters + ") {\n" + body + "  tt.return\n}\n";
}

} // namespace heddle::loops
