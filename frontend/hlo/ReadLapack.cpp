// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of LAPACK that JAX makes on CPUs, by the names of XLA's handlers: `lapack_sgetrf_ffi`, where s, d, c and z
// are f32, f64, c64 and c128. What each computes is in the other files of linear algebra.
#include "frontend/hlo/Matrices.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

namespace heddle::hlo {

/// One call: its operands as matrices, and the attributes that say which part is read.
struct InstructionParser::LapackCall {
  InstructionParser &parser;
  const Instruction &call;
  std::string_view target;
  Location at;
  std::string config;

  Matrices matrices() { return {parser, at}; }
  int operand(size_t number) { return parser.asMatrices(call.operands[number], at); }
  /// A vector as matrices of one column.
  int column(size_t number) {
    std::vector<int64_t> sizes = parser.shapeOf(call.operands[number]).dimensions;
    sizes.push_back(1);
    return parser.asMatrices(parser.reshape(call.operands[number], sizes, at), at);
  }
  /// Batch dimensions as the first operand has them, then these.
  int shaped(int value, std::vector<int64_t> last) {
    std::vector<int64_t> sizes = parser.shapeOf(call.operands[0]).dimensions;
    sizes.resize(sizes.size() - batchedBy);
    sizes.insert(sizes.end(), last.begin(), last.end());
    return parser.reshape(value, sizes, at);
  }
  int64_t rows(int value) const { return parser.shapeOf(value).dimensions[1]; }
  int64_t columns(int value) const { return parser.shapeOf(value).dimensions[2]; }
  /// Fails unless the operands fit.
  void need(bool holds, std::string_view rule) const {
    if (holds)
      return;
    std::vector<std::string> shapes;
    for (int value : call.operands)
      shapes.push_back(formatShapePlain(parser.shapeOf(value)));
    parser.cursor.fail(at, fmt::format("'{}' of {} is not possible", target, fmt::join(shapes, ", ")),
                       {std::string(rule)});
  }
  /// Operands of the type that the target's letter says, matrices (m) and vectors (v) of equal batch dimensions.
  void checkOperands(std::string_view kinds) const;
  /// The value in `{name = value : type, ...}`, without its type; empty where the name is not there.
  std::string attribute(std::string_view name) const;
  /// LAPACK's letters are numbers: `{uplo = 76 : ui8}` is L. Of `known` the first is that of a call without one.
  char letter(std::string_view name, std::string_view known) const {
    std::string value = attribute(name);
    if (value.empty())
      return known[0];
    int number = std::atoi(value.c_str());
    if (number <= 0 || number > 127 || known.find(char(number)) == std::string_view::npos)
      parser.cursor.fail(at, fmt::format("'{}' has {} = {}", target, name, value),
                         {fmt::format("it is the number of one of the letters {}", fmt::join(known, ", "))});
    return char(number);
  }
  bool flag(std::string_view name, bool otherwise) const {
    std::string value = attribute(name);
    if (value.empty())
      return otherwise;
    bool holds = value == "true" || value == "1";
    if (!holds && value != "false" && value != "0")
      parser.cursor.fail(at, fmt::format("'{}' has {} = {}", target, name, value), {"it is `true` or `false`"});
    return holds;
  }
  int status(int factor, int isRight = -1);

  std::vector<int> potrf();
  std::vector<int> getrf();
  std::vector<int> geqrf();
  std::vector<int> orgqr();
  std::vector<int> ormqr();
  std::vector<int> syevd();
  std::vector<int> gesdd();
  std::vector<int> gtsv();
  std::vector<int> trsm();

  int64_t writtenVectors = 0; ///< columns of U or V, whichever are more, as the result of gesdd is written
  size_t batchedBy = 2;       ///< the dimensions of the first operand that are its matrix or vector
};

void InstructionParser::LapackCall::checkOperands(std::string_view kinds) const {
  static constexpr std::pair<char, DType> types[] = {
      {'s', DType::F32}, {'d', DType::F64}, {'c', DType::C64}, {'z', DType::C128}};
  const auto *type =
      std::ranges::find(types, target[std::string_view("lapack_").size()], &std::pair<char, DType>::first);
  if (call.operands.size() != kinds.size())
    parser.cursor.fail(at, fmt::format("'{}' takes {} operand{}, got {}", target, kinds.size(),
                                       kinds.size() == 1 ? "" : "s", call.operands.size()));
  std::vector<int64_t> batch;
  for (size_t i = 0; i < kinds.size(); ++i) {
    Shape shape = parser.shapeOf(call.operands[i]);
    size_t last = kinds[i] == 'm' ? 2 : 1;
    need(shape.isArray() && shape.dimensions.size() >= last,
         fmt::format("operand {} is a {} with batch dimensions before", i, last == 2 ? "matrix" : "vector"));
    need(shape.type == type->second, fmt::format("its operands have elements of type {}", dtypeName(type->second)));
    shape.dimensions.resize(shape.dimensions.size() - last);
    need(i == 0 || shape.dimensions == batch, "all operands have the same batch dimensions");
    batch = shape.dimensions;
  }
}

std::string InstructionParser::LapackCall::attribute(std::string_view name) const {
  auto isPartOfWord = [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) || character == '_';
  };
  constexpr const char *space = " \t\n";
  for (size_t found = config.find(name); found != std::string::npos; found = config.find(name, found + 1)) {
    size_t end = found + name.size();
    if ((found > 0 && isPartOfWord(config[found - 1])) || (end < config.size() && isPartOfWord(config[end])))
      continue;
    size_t equals = config.find_first_not_of(space, end);
    size_t first = equals == std::string::npos ? equals : config.find_first_not_of(space, equals + 1);
    size_t last = first == std::string::npos ? first : config.find_first_of(" \t\n:,}\"", first);
    if (last == std::string::npos || last == first || config[equals] != '=')
      parser.cursor.fail(at, fmt::format("'{}' has the configuration {}", target, config),
                         {fmt::format("its attributes are written as `{{{} = value : type}}`", name)});
    return config.substr(first, last - first);
  }
  return "";
}

// LAPACK's status: here 1 where a result has no numbers or `isRight`, pred [batch, 1, 1], does not hold; 0 elsewhere.
int InstructionParser::LapackCall::status(int factor, int isRight) {
  int bad = parser.apply(Opcode::Not, {parser.apply(Opcode::IsFinite, {matrices().real(factor)}, at)}, at);
  int64_t batch = parser.shapeOf(factor).dimensions[0];
  int64_t count = parser.shapeOf(factor).elementCount() / std::max<int64_t>(batch, 1);
  bad = parser.countTrue(parser.reshape(bad, {batch, count}, at), at);
  int none = parser.broadcast(parser.number(0, DType::S64, at), {}, {batch}, at);
  int fails = parser.compare(bad, CompareDirection::Greater, none, at);
  if (isRight >= 0)
    fails = parser.apply(Opcode::Or, {fails, matrices().unary(Opcode::Not, parser.reshape(isRight, {batch}, at))}, at);
  return shaped(parser.convert(fails, DType::S32, at), {});
}

std::vector<int> InstructionParser::LapackCall::potrf() {
  int factor = parser.factorCholesky(call, letter("uplo", "LU") == 'L', at);
  return {factor, status(parser.asMatrices(factor, at))};
}

std::vector<int> InstructionParser::LapackCall::getrf() {
  int matrix = operand(0);
  std::vector<int> made = matrices().factors(matrix);
  return {shaped(made[0], {rows(matrix), columns(matrix)}), shaped(made[1], {std::min(rows(matrix), columns(matrix))}),
          status(made[0])};
}

std::vector<int> InstructionParser::LapackCall::geqrf() {
  int matrix = operand(0);
  std::vector<int> made = matrices().householder(matrix);
  return {shaped(made[0], {rows(matrix), columns(matrix)}), shaped(made[1], {rows(made[1])})};
}

std::vector<int> InstructionParser::LapackCall::orgqr() {
  int reflectors = operand(0), factors = column(1);
  need(rows(factors) <= columns(reflectors) && columns(reflectors) <= rows(reflectors),
       "there are at most as many factors as columns, and at most as many columns as rows");
  int start = matrices().identity(matrices().sizesOf(reflectors), reflectors);
  int made = matrices().reflect(reflectors, factors, start, false);
  return {shaped(made, {rows(reflectors), columns(reflectors)})};
}

std::vector<int> InstructionParser::LapackCall::ormqr() {
  bool isLeft = flag("left", true), isAdjoint = flag("transpose", false);
  int reflectors = operand(0), factors = column(1), matrix = operand(2);
  std::vector<int64_t> sizes = {rows(matrix), columns(matrix)};
  need(sizes[isLeft ? 0 : 1] == rows(reflectors) && rows(factors) <= std::min(rows(reflectors), columns(reflectors)),
       fmt::format("with left = {} the last matrix has as many {} as the first has rows, and there are at most as many "
                   "factors as columns or rows",
                   isLeft, isLeft ? "rows" : "columns"));
  if (isLeft)
    return {shaped(matrices().reflect(reflectors, factors, matrix, isAdjoint), sizes)};
  int made = matrices().reflect(reflectors, factors, matrices().adjoint(matrix), !isAdjoint);
  return {shaped(matrices().adjoint(made), sizes)};
}

std::vector<int> InstructionParser::LapackCall::syevd() {
  int matrix = operand(0);
  Matrices m = matrices();
  std::vector<int64_t> sizes = m.sizesOf(matrix);
  need(sizes[1] == sizes[2], "the matrix is square");
  letter("mode", "VN"); // the vectors are made all the same
  int row = parser.iota(sizes, 1, at), column = parser.iota(sizes, 2, at);
  bool isLower = letter("uplo", "LU") == 'L';
  int isRead = m.compare(row, isLower ? CompareDirection::GreaterOrEqual : CompareDirection::LessOrEqual, column);
  int whole = m.choose(isRead, matrix, m.adjoint(matrix)); // of the diagonal the real part is read
  std::vector<int> made = m.eigenvectors(whole);
  return {shaped(made[0], {sizes[1], sizes[1]}), shaped(made[1], {sizes[1]}), status(made[0], made[2])};
}

std::vector<int> InstructionParser::LapackCall::gesdd() {
  int matrix = operand(0);
  Matrices m = matrices();
  int64_t height = rows(matrix), width = columns(matrix);
  bool isWide = width > height; // without vectors (N) they are there all the same, of the sizes that are written
  bool isFull = letter("mode", "SAN") == 'A' || writtenVectors > std::min(height, width);
  std::vector<int> made = m.singularVectors(isWide ? m.adjoint(matrix) : matrix, isFull);
  int left = made[isWide ? 2 : 0], right = m.adjoint(made[isWide ? 0 : 2]);
  return {call.operands[0], shaped(made[1], {rows(made[1])}), shaped(left, {height, columns(left)}),
          shaped(right, {rows(right), width}), status(left, made[3])};
}

std::vector<int> InstructionParser::LapackCall::gtsv() {
  batchedBy = 1;
  int below = column(0), diagonal = column(1), above = column(2), right = operand(3);
  need(rows(below) == rows(right) && rows(diagonal) == rows(right) && rows(above) == rows(right),
       "the three diagonals have as many elements as the last matrix has rows");
  int made = matrices().solveTridiagonal(below, diagonal, above, right);
  return {call.operands[0], call.operands[1], call.operands[2], shaped(made, {rows(right), columns(right)}),
          status(made)};
}

std::vector<int> InstructionParser::LapackCall::trsm() {
  char transpose = letter("trans_x", "NTC");
  TriangularOptions options = {letter("side", "LR") == 'L', letter("uplo", "LU") == 'L', letter("diag", "NU") == 'U',
                               transpose != 'N', transpose == 'C'};
  return {parser.solveTriangular(call, options, at)};
}

std::optional<InstructionParser::Binding>
InstructionParser::finishLapack(Definition &definition, const Instruction &call, std::string_view target) {
  struct Routine {
    std::string_view name;
    std::string_view operands;
    std::vector<int> (LapackCall::*make)();
  };
  static constexpr Routine routines[] = {
      {"potrf", "m", &LapackCall::potrf},   {"getrf", "m", &LapackCall::getrf},  {"geqrf", "m", &LapackCall::geqrf},
      {"orgqr", "mv", &LapackCall::orgqr},  {"ungqr", "mv", &LapackCall::orgqr}, {"ormqr", "mvm", &LapackCall::ormqr},
      {"unmqr", "mvm", &LapackCall::ormqr}, {"syevd", "m", &LapackCall::syevd},  {"heevd", "m", &LapackCall::syevd},
      {"gesdd", "m", &LapackCall::gesdd},   {"gesvd", "m", &LapackCall::gesdd},  {"gtsv", "vvvm", &LapackCall::gtsv},
      {"trsm", "mm", &LapackCall::trsm}};
  constexpr std::string_view before = "lapack_", after = "_ffi";
  if (!target.starts_with(before) || !target.ends_with(after) || target.size() < before.size() + after.size() + 1)
    return std::nullopt;
  std::string_view name = target.substr(before.size() + 1, target.size() - before.size() - after.size() - 1);
  LapackCall lapack{*this, call, target, definition.location, {}};
  for (const CarriedAttribute &attribute : call.carried)
    if (attribute.name == "backend_config")
      lapack.config = attribute.text;
  const auto *routine = std::ranges::find(routines, name, &Routine::name);
  if (routine == std::end(routines) || std::string_view("sdcz").find(target[before.size()]) == std::string_view::npos)
    cursor.fail(
        definition.location, fmt::format("'custom-call' of the target '{}' is not supported", target),
        {"of LAPACK potrf, trsm, getrf, geqrf, orgqr, ormqr, syevd, gesdd, gesvd and gtsv are read; eigenvalues "
         "of matrices that are not symmetric are not"});
  lapack.checkOperands(routine->operands);
  if (definition.declared && definition.declared->elements.size() == 5)
    for (size_t i : {2, 3})
      if (const Shape &vectors = definition.declared->elements[i]; vectors.rank() >= 2) {
        const std::vector<int64_t> &sizes = vectors.dimensions;
        lapack.writtenVectors = std::max(lapack.writtenVectors, i == 2 ? sizes.back() : sizes[sizes.size() - 2]);
      }
  std::vector<int> made = (lapack.*routine->make)();
  Instruction result;
  result.opcode = made.size() == 1 ? Opcode::Copy : Opcode::Tuple;
  result.operands = std::move(made);
  return finishAs(definition, call, std::move(result));
}

} // namespace heddle::hlo
