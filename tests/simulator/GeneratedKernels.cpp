// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops over types and operations, and leaves out the pairs that LLVM has not.
#include "GeneratedKernels.h"
#include <fmt/format.h>
#include <map>

namespace heddle::simulator {

KernelType kernelType(const std::string &element, unsigned count) {
  static const std::map<std::string, unsigned> bits = {{"half", 16}, {"bfloat", 16}, {"float", 32}, {"double", 64}};
  KernelType type{element, element, 0, count};
  type.elementBits = type.isFloat() ? bits.at(element) : unsigned(std::stoul(element.substr(1)));
  if (count > 1)
    type.name = fmt::format("<{} x {}>", count, element);
  return type;
}

namespace {

/// The suffix of an overloaded intrinsic: `v2f16`.
std::string mangled(const KernelType &type) {
  static const std::map<std::string, std::string> floats = {
      {"half", "f16"}, {"bfloat", "bf16"}, {"float", "f32"}, {"double", "f64"}};
  std::string element = type.isFloat() ? floats.at(type.element) : type.element;
  return (type.count > 1 ? fmt::format("v{}", type.count) : "") + element;
}

std::string constantOf(const KernelType &type, const std::string &value) {
  if (type.count == 1)
    return value;
  std::string text = "<";
  for (unsigned index = 0; index < type.count; ++index)
    text += fmt::format("{}{} {}", index ? ", " : "", type.element, value);
  return text + ">";
}

class Generator {
public:
  std::vector<GeneratedKernel> kernels;

  GeneratedKernel &add(const std::string &operation, const KernelType &input, const KernelType &result,
                       std::string body) {
    kernels.push_back({fmt::format("k{}_{}_{}_{}", kernels.size(), operation, mangled(input), mangled(result)), input,
                       result, input, std::move(body)});
    return kernels.back();
  }
  GeneratedKernel &add(const std::string &operation, const KernelType &type, std::string body) {
    return add(operation, type, type, std::move(body));
  }
  /// An intrinsic of `operands` operands of the type.
  GeneratedKernel &call(const std::string &name, const KernelType &type, unsigned operands,
                        const std::string &last = "") {
    std::string arguments;
    for (unsigned index = 0; index < operands; ++index)
      arguments += fmt::format("{}{} %{}", index ? ", " : "", type.name, "xyz"[index]);
    return add(name, type,
               fmt::format("%r = call {0} @llvm.{1}.{2}({3}{4})", type.name, name, mangled(type), arguments, last));
  }

  void integers(const KernelType &type) {
    const std::string &t = type.name;
    for (const char *operation : {"add", "sub", "mul", "and", "or", "xor"})
      add(operation, type, fmt::format("%r = {} {} %x, %y", operation, t));
    for (const char *operation : {"shl", "lshr", "ashr"})
      add(operation, type,
          fmt::format("%n = and {0} %y, {1}\n%r = {2} {0} %x, %n", t,
                      constantOf(type, std::to_string(type.elementBits - 1)), operation));
    for (const char *operation : {"udiv", "urem", "sdiv", "srem"})
      division(operation, type);
    for (const char *name : {"smin", "smax", "umin", "umax", "uadd.sat", "sadd.sat", "usub.sat", "ssub.sat"})
      call(name, type, 2);
    for (const char *name : {"ctpop", "bitreverse"})
      call(name, type, 1);
    for (const char *name : {"ctlz", "cttz", "abs"})
      call(name, type, 1, ", i1 false");
    if (type.elementBits > 8)
      call("bswap", type, 1);
    for (const char *name : {"fshl", "fshr"})
      call(name, type, 3);
    for (const char *relation : {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
      compare("icmp", relation, type);
  }

  /// Constants that instructions hold in their source field, and others that stand after them; alike and different in
  /// the elements of a vector.
  void constants(const KernelType &type) {
    bool isFloat = type.isFloat();
    static const std::map<std::string, std::string> inverseOfTwoPi = {
        {"half", "0xH3118"}, {"bfloat", "0xR3E23"}, {"float", "0x3FC45F3060000000"}, {"double", "0x3FC45F306DC9C882"}};
    std::vector<std::string> values = isFloat ? std::vector<std::string>{"2.0", "-4.0", "0.5", "10.0"}
                                              : std::vector<std::string>{"64", "-16", "65", "-100"};
    if (isFloat)
      values.push_back(inverseOfTwoPi.at(type.element));
    else if (type.elementBits == 64)
      values.insert(values.end(), {"4294967297", "-5000000000"});
    for (const std::string &value : values)
      for (const char *operation : {isFloat ? "fmul" : "and", isFloat ? "fsub" : "sub"})
        add(fmt::format("{}_constant", operation), type,
            fmt::format("%r = {} {} {}, %x", operation, type.name, constantOf(type, value)));
    if (type.count == 2)
      add("different_constants", type,
          fmt::format("%r = {0} {1} %x, <{2} {3}, {2} {4}>", isFloat ? "fadd" : "add", type.name, type.element,
                      values[0], values[3]));
  }

  void division(const char *operation, const KernelType &type) {
    bool isSigned = operation[0] == 's'; // the smallest number by -1 is not defined: then by 3
    std::string body = fmt::format("%d = or {0} %y, {1}\n", type.name, constantOf(type, "1"));
    if (isSigned)
      body += fmt::format("%c = icmp eq {0} %d, {1}\n%e = select {2} %c, {0} {3}, {0} %d\n", type.name,
                          constantOf(type, "-1"), kernelType("i1", type.count).name, constantOf(type, "3"));
    add(operation, type, body + fmt::format("%r = {} {} %x, %{}", operation, type.name, isSigned ? "e" : "d"));
  }

  void compare(const char *instruction, const char *relation, const KernelType &type) {
    KernelType flags = kernelType("i1", type.count), result = kernelType("i32", type.count);
    add(fmt::format("{}_{}", instruction, relation), type, result,
        fmt::format("%c = {} {} {} %x, %y\n%r = zext {} %c to {}", instruction, relation, type.name, flags.name,
                    result.name));
  }

  void floats(const KernelType &type) {
    const std::string &t = type.name;
    for (const char *operation : {"fadd", "fsub", "fmul", "fdiv"})
      add(operation, type, fmt::format("%r = {} {} %x, %y", operation, t));
    add("fneg", type, fmt::format("%r = fneg {} %x", t));
    add("select", type,
        fmt::format("%c = fcmp olt {0} %x, %y\n%r = select {1} %c, {0} %z, {0} %y", t,
                    kernelType("i1", type.count).name));
    for (const char *name : {"minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum", "copysign"})
      call(name, type, 2);
    for (const char *name : {"fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round"})
      call(name, type, 1);
    if (type.count == 1 && type.element != "bfloat") // LLVM has no vector code for it on the host
      call("canonicalize", type, 1);
    call("sqrt", type, 1).inputs = Inputs::Positive;
    call("fma", type, 3);
    for (const char *relation :
         {"oeq", "one", "olt", "ole", "ogt", "oge", "ord", "uno", "ueq", "une", "ult", "ule", "ugt", "uge"})
      compare("fcmp", relation, type);
    KernelType exponents = kernelType("i32", type.count);
    GeneratedKernel &scaled = add("ldexp", type,
                                  fmt::format("%r = call {0} @llvm.ldexp.{1}.{2}({0} %x, {3} %z)", t, mangled(type),
                                              mangled(exponents), exponents.name));
    scaled.third = exponents;
    scaled.thirdInputs = Inputs::Exponent;
  }

  void approximations(const KernelType &type) {
    for (const char *name : {"exp", "exp2", "log", "log2", "log10", "sin", "cos"}) {
      GeneratedKernel &kernel = call(name, type, 1);
      kernel.inputs = std::string(name).starts_with("log") ? Inputs::Positive : Inputs::Small;
      bool isWave = std::string(name) == "sin" || std::string(name) == "cos";
      if (isWave) // the angle is converted to revolutions in the type itself
        kernel.unit = type.element == "half" ? 16 : 2;
      kernel.tolerance = type.element == "bfloat" ? 0x1p-6 : type.element == "half" ? 0x1p-8 : 0x1p-16;
    }
  }

  void convert(const char *operation, const KernelType &from, const KernelType &to, Inputs inputs = Inputs::Any) {
    add(operation, from, to, fmt::format("%r = {} {} %x to {}", operation, from.name, to.name)).inputs = inputs;
  }

  void conversions(unsigned count) {
    std::vector<KernelType> integers, floats;
    for (const char *name : {"i8", "i16", "i32", "i64"})
      integers.push_back(kernelType(name, count));
    for (const char *name : {"half", "bfloat", "float", "double"})
      floats.push_back(kernelType(name, count));
    for (const KernelType &integer : integers)
      for (const KernelType &real : floats) {
        convert("sitofp", integer, real);
        convert("uitofp", integer, real);
        convert("fptosi", real, integer, Inputs::Small);
        convert("fptoui", real, integer, Inputs::Positive);
        for (const char *name : {"fptosi.sat", "fptoui.sat"})
          add(name, real, integer,
              fmt::format("%r = call {0} @llvm.{1}.{2}.{3}({4} %x)", integer.name, name, mangled(integer),
                          mangled(real), real.name));
      }
    for (size_t wide = 0; wide < integers.size(); ++wide)
      for (size_t narrow = 0; narrow < wide; ++narrow) {
        convert("sext", integers[narrow], integers[wide]);
        convert("zext", integers[narrow], integers[wide]);
        convert("trunc", integers[wide], integers[narrow]);
      }
    for (size_t wide : {2, 3})
      for (size_t narrow = 0; narrow < wide; ++narrow) {
        convert("fpext", floats[narrow], floats[wide]);
        convert("fptrunc", floats[wide], floats[narrow]);
      }
  }
};

} // namespace

std::vector<GeneratedKernel> generateKernels() {
  Generator generator;
  for (const char *element : {"i8", "i16", "i32", "i64"})
    generator.integers(kernelType(element));
  for (const char *element : {"i16", "i32"})
    generator.integers(kernelType(element, 2));
  generator.integers(kernelType("i8", 4));
  for (const char *element : {"half", "bfloat", "float", "double"}) {
    generator.floats(kernelType(element));
    generator.floats(kernelType(element, 2));
    if (std::string(element) != "double") // f64 has no such instructions
      generator.approximations(kernelType(element));
  }
  generator.floats(kernelType("half", 4));
  for (const char *element : {"i16", "i32", "i64", "half", "bfloat", "float", "double"})
    for (unsigned count : {1, 2})
      generator.constants(kernelType(element, count));
  generator.conversions(1);
  generator.conversions(2);
  return std::move(generator.kernels);
}

} // namespace heddle::simulator
