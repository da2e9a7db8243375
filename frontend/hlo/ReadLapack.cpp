// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of LAPACK that JAX makes on CPUs, by the names of XLA's handlers: `lapack_sgetrf_ffi`, where s, d, c and z
// are f32, f64, c64 and c128. What each computes is in the other files of linear algebra.
#include "frontend/hlo/Matrices.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
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
  /// LAPACK's letters are numbers: `{uplo = 76 : ui8}` is L.
  char letter(std::string_view name, char otherwise) const {
    size_t found = config.find(std::string(name) + " = ");
    return found == std::string::npos ? otherwise : char(std::atoi(config.c_str() + found + name.size() + 3));
  }
  bool flag(std::string_view name, bool otherwise) const {
    size_t found = config.find(std::string(name) + " = ");
    if (found == std::string::npos)
      return otherwise;
    std::string_view value = std::string_view(config).substr(found + name.size() + 3);
    return value.starts_with("true") || value.starts_with("1");
  }
  int status(int factor);

  std::vector<int> potrf();
  std::vector<int> getrf();
  std::vector<int> geqrf();
  std::vector<int> orgqr();
  std::vector<int> ormqr();
  std::vector<int> syevd();
  std::vector<int> gesdd();
  std::vector<int> gtsv();

  int64_t writtenVectors = 0; ///< columns of U or V, whichever are more, as the result of gesdd is written
  size_t batchedBy = 2;       ///< the dimensions of the first operand that are its matrix or vector
};

// LAPACK's status: here 1 where a result has no numbers, 0 elsewhere.
int InstructionParser::LapackCall::status(int factor) {
  int bad = parser.apply(Opcode::Not, {parser.apply(Opcode::IsFinite, {matrices().real(factor)}, at)}, at);
  int64_t batch = parser.shapeOf(factor).dimensions[0];
  int64_t count = parser.shapeOf(factor).elementCount() / std::max<int64_t>(batch, 1);
  bad = parser.countTrue(parser.reshape(bad, {batch, count}, at), at);
  int none = parser.broadcast(parser.number(0, DType::S64, at), {}, {batch}, at);
  return shaped(parser.convert(parser.compare(bad, CompareDirection::Greater, none, at), DType::S32, at), {});
}

std::vector<int> InstructionParser::LapackCall::potrf() {
  int factor = parser.factorCholesky(call, letter("uplo", 'L') == 'L', at);
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
  int reflectors = operand(0);
  int start = matrices().identity(parser.shapeOf(reflectors).dimensions, reflectors);
  int made = matrices().reflect(reflectors, column(1), start, false);
  return {shaped(made, {rows(reflectors), columns(reflectors)})};
}

std::vector<int> InstructionParser::LapackCall::ormqr() {
  bool isLeft = flag("left", true), isAdjoint = flag("transpose", false);
  int matrix = operand(2);
  std::vector<int64_t> sizes = {rows(matrix), columns(matrix)};
  if (isLeft)
    return {shaped(matrices().reflect(operand(0), column(1), matrix, isAdjoint), sizes)};
  int made = matrices().reflect(operand(0), column(1), matrices().adjoint(matrix), !isAdjoint);
  return {shaped(matrices().adjoint(made), sizes)};
}

std::vector<int> InstructionParser::LapackCall::syevd() {
  int matrix = operand(0);
  Matrices m = matrices();
  std::vector<int64_t> sizes = parser.shapeOf(matrix).dimensions;
  int row = parser.iota(sizes, 1, at), column = parser.iota(sizes, 2, at);
  bool isLower = letter("uplo", 'L') == 'L';
  int isRead = m.compare(row, isLower ? CompareDirection::GreaterOrEqual : CompareDirection::LessOrEqual, column);
  int whole = m.choose(isRead, matrix, m.adjoint(matrix)); // of the diagonal the real part is read
  std::vector<int> made = m.eigenvectors(whole);
  return {shaped(made[0], {sizes[1], sizes[1]}), shaped(made[1], {sizes[1]}), status(made[0])};
}

std::vector<int> InstructionParser::LapackCall::gesdd() {
  int matrix = operand(0);
  Matrices m = matrices();
  int64_t height = rows(matrix), width = columns(matrix);
  bool isWide = width > height; // without vectors (N) they are there all the same, of the sizes that are written
  bool isFull = letter("mode", 'S') == 'A' || writtenVectors > std::min(height, width);
  std::vector<int> made = m.singularVectors(isWide ? m.adjoint(matrix) : matrix, isFull);
  int left = made[isWide ? 2 : 0], right = m.adjoint(made[isWide ? 0 : 2]);
  return {call.operands[0], shaped(made[1], {rows(made[1])}), shaped(left, {height, columns(left)}),
          shaped(right, {rows(right), width}), status(left)};
}

std::vector<int> InstructionParser::LapackCall::gtsv() {
  batchedBy = 1;
  int right = operand(3);
  int made = matrices().solveTridiagonal(column(0), column(1), column(2), right);
  return {call.operands[0], call.operands[1], call.operands[2], shaped(made, {rows(right), columns(right)}),
          status(made)};
}

std::optional<InstructionParser::Binding>
InstructionParser::finishLapack(Definition &definition, const Instruction &call, std::string_view target) {
  struct Routine {
    std::string_view name;
    size_t operands;
    std::vector<int> (LapackCall::*make)();
  };
  static constexpr Routine routines[] = {
      {"potrf", 1, &LapackCall::potrf}, {"getrf", 1, &LapackCall::getrf}, {"geqrf", 1, &LapackCall::geqrf},
      {"orgqr", 2, &LapackCall::orgqr}, {"ungqr", 2, &LapackCall::orgqr}, {"ormqr", 3, &LapackCall::ormqr},
      {"unmqr", 3, &LapackCall::ormqr}, {"syevd", 1, &LapackCall::syevd}, {"heevd", 1, &LapackCall::syevd},
      {"gesdd", 1, &LapackCall::gesdd}, {"gesvd", 1, &LapackCall::gesdd}, {"gtsv", 4, &LapackCall::gtsv}};
  constexpr std::string_view before = "lapack_", after = "_ffi";
  if (!target.starts_with(before) || !target.ends_with(after) || target.size() < before.size() + after.size() + 1)
    return std::nullopt;
  std::string_view name = target.substr(before.size() + 1, target.size() - before.size() - after.size() - 1);
  LapackCall lapack{*this, call, target, definition.location, {}};
  for (const CarriedAttribute &attribute : call.carried)
    if (attribute.name == "backend_config")
      lapack.config = attribute.text;
  if (name == "trsm") {
    TriangularOptions options = {lapack.letter("side", 'L') == 'L', lapack.letter("uplo", 'L') == 'L',
                                 lapack.letter("diag", 'N') == 'U', lapack.letter("trans_x", 'N') != 'N',
                                 lapack.letter("trans_x", 'N') == 'C'};
    return finishCopy(definition, call, solveTriangular(call, options, definition.location));
  }
  const auto *routine = std::ranges::find(routines, name, &Routine::name);
  if (routine == std::end(routines))
    cursor.fail(
        definition.location, fmt::format("'custom-call' of the target '{}' is not supported", target),
        {"of LAPACK potrf, trsm, getrf, geqrf, orgqr, ormqr, syevd, gesdd, gesvd and gtsv are read; eigenvalues "
         "of matrices that are not symmetric are not"});
  if (call.operands.size() != routine->operands)
    cursor.fail(definition.location, fmt::format("'{}' takes {} operand{}, got {}", target, routine->operands,
                                                 routine->operands == 1 ? "" : "s", call.operands.size()));
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
