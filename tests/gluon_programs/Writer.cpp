// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the lines of a module and its buffers, with one alias for each encoding.
#include "tests/gluon_programs/Writer.h"
#include <cstring>
#include <fmt/format.h>

namespace heddle::gluon_programs {

std::string Writer::define(const std::string &expression) {
  std::string name = fresh();
  line(name + " = " + expression);
  return name;
}

void Writer::begin(const std::string &head) {
  line(head);
  indentation += "  ";
}

void Writer::end(const std::string &tail) {
  indentation.resize(indentation.size() - 2);
  line(tail);
}

void Writer::otherwise() {
  end("} else {");
  indentation += "  ";
}

std::string Writer::alias(const std::string &encoding) {
  for (const auto &[known, name] : aliases)
    if (known == encoding)
      return name;
  std::string kind = encoding.starts_with("#ttg.blocked")    ? "blocked"
                     : encoding.starts_with("#ttg.amd_mfma") ? "mma"
                     : encoding.starts_with("#ttg.linear")   ? "linear"
                                                             : "shared";
  int number = kinds[kind]++;
  aliases.push_back({encoding, "#" + kind + (number ? std::to_string(number) : "")});
  return aliases.back().second;
}

static reference::Argument bufferOf(const Element &element, const std::vector<int64_t> &values) {
  auto size = size_t(element.bytes());
  reference::Argument buffer = reference::Argument::buffer(std::vector<uint8_t>(values.size() * size));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = bitsOf(element, values[i]);
    std::memcpy(buffer.bytes.data() + i * size, &bits, size);
  }
  return buffer;
}

std::string Writer::buffer(const Element &element, const std::vector<int64_t> &values,
                           const std::vector<int64_t> &after, bool isDivisible) {
  std::string name = fmt::format("%p{}", arguments.size());
  parameters += fmt::format("{}{}: !tt.ptr<{}>{}", parameters.empty() ? "" : ", ", name, element.name,
                            isDivisible ? " {tt.divisibility = 16 : i32}" : "");
  arguments.push_back(bufferOf(element, values));
  expected.push_back(bufferOf(element, after));
  notes.push_back(fmt::format("{} {}", values.size(), element.name));
  elements.push_back(element.name);
  return name;
}

std::string Writer::scalar(int64_t value, bool isDivisible) {
  std::string name = fmt::format("%p{}", arguments.size());
  parameters += fmt::format("{}{}: i32{}", parameters.empty() ? "" : ", ", name,
                            isDivisible ? " {tt.divisibility = 16 : i32}" : "");
  arguments.push_back(reference::Argument::scalar(uint32_t(value)));
  expected.push_back(arguments.back());
  notes.push_back(fmt::format("i32 {}", value));
  elements.push_back("");
  return name;
}

std::string Writer::constant(int64_t value) {
  return define(fmt::format("arith.constant {} : i32", value));
}

std::string Writer::constantTile(const Element &element, const Shape &shape, const std::string &layout, int64_t value) {
  std::string number =
      element.bits == 1 ? (value ? "true" : "false") : fmt::format("{}{}", value, element.isFloat ? ".000000e+00" : "");
  return define(
      fmt::format("arith.constant dense<{}> : tensor<{}, {}>", number, shapeText(shape, element.name), layout));
}

std::string Writer::text() const {
  std::string head;
  for (const auto &[encoding, name] : aliases)
    head += name + " = " + encoding + "\n";
  head += "#smem = #ttg.shared_memory\n";
  return head +
         fmt::format("module attributes {{\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = {} : i32, ttg.target = "
                     "\"hip:{}\", \"ttg.threads-per-warp\" = 64 : i32}} {{\n",
                     warps, chip) +
         "  tt.func public @program(" + parameters + ") attributes {noinline = false} {\n" + body +
         "    tt.return\n  }\n}\n";
}

} // namespace heddle::gluon_programs
