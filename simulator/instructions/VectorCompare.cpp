// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares: one bit a lane into two scalar registers, 0 where EXEC is 0; v_cmpx also replaces EXEC. Sources: AMD
// Instinct MI300 (CDNA3) and CDNA4 Instruction Set Architecture, VOPC.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"
#include "simulator/numbers/Float.h"
#include <string>

namespace heddle::simulator {
namespace {

enum class Relation { Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Ordered };

template <typename T, Relation relation, bool inverted>
constexpr auto compare = [](T a, T b) {
  bool holds = relation == Relation::Less           ? a < b
               : relation == Relation::Equal        ? a == b
               : relation == Relation::LessEqual    ? a <= b
               : relation == Relation::Greater      ? a > b
               : relation == Relation::NotEqual     ? (a < b || a > b)
               : relation == Relation::GreaterEqual ? a >= b
                                                    : a == a && b == b;
  return holds != inverted;
};

template <typename T, bool result>
constexpr auto constant = [](T, T) { return result; };

template <typename T>
constexpr auto hasClass = [](T value, uint32_t classes) { return (classes >> classOf(value) & 1) != 0; };

/// Both instructions of a relation.
template <auto function>
void addBoth(InstructionTable &table, const std::string &relation, const char *type) {
  for (bool changesExec : {false, true}) {
    std::string name = (changesExec ? "v_cmpx_" : "v_cmp_") + relation + "_" + type;
    table.add(laneRow<function>(table.keep(name), changesExec ? writesExec : 0));
  }
}

template <typename T>
void addFloatCompares(InstructionTable &table, const char *type) {
  addBoth<constant<T, false>>(table, "f", type);
  addBoth<compare<T, Relation::Less, false>>(table, "lt", type);
  addBoth<compare<T, Relation::Equal, false>>(table, "eq", type);
  addBoth<compare<T, Relation::LessEqual, false>>(table, "le", type);
  addBoth<compare<T, Relation::Greater, false>>(table, "gt", type);
  addBoth<compare<T, Relation::NotEqual, false>>(table, "lg", type);
  addBoth<compare<T, Relation::GreaterEqual, false>>(table, "ge", type);
  addBoth<compare<T, Relation::Ordered, false>>(table, "o", type);
  addBoth<compare<T, Relation::Ordered, true>>(table, "u", type);
  addBoth<compare<T, Relation::GreaterEqual, true>>(table, "nge", type);
  addBoth<compare<T, Relation::NotEqual, true>>(table, "nlg", type);
  addBoth<compare<T, Relation::Greater, true>>(table, "ngt", type);
  addBoth<compare<T, Relation::LessEqual, true>>(table, "nle", type);
  addBoth<compare<T, Relation::Equal, true>>(table, "neq", type);
  addBoth<compare<T, Relation::Less, true>>(table, "nlt", type);
  addBoth<constant<T, true>>(table, "tru", type);
  addBoth<hasClass<T>>(table, "class", type);
}

template <typename T>
void addIntegerCompares(InstructionTable &table, const char *type) {
  addBoth<constant<T, false>>(table, "f", type);
  addBoth<compare<T, Relation::Less, false>>(table, "lt", type);
  addBoth<compare<T, Relation::Equal, false>>(table, "eq", type);
  addBoth<compare<T, Relation::LessEqual, false>>(table, "le", type);
  addBoth<compare<T, Relation::Greater, false>>(table, "gt", type);
  addBoth<compare<T, Relation::NotEqual, false>>(table, "ne", type);
  addBoth<compare<T, Relation::GreaterEqual, false>>(table, "ge", type);
  addBoth<constant<T, true>>(table, "t", type);
}

} // namespace

void addVectorCompare(InstructionTable &table) {
  addFloatCompares<_Float16>(table, "f16");
  addFloatCompares<float>(table, "f32");
  addFloatCompares<double>(table, "f64");
  addIntegerCompares<int16_t>(table, "i16");
  addIntegerCompares<uint16_t>(table, "u16");
  addIntegerCompares<int32_t>(table, "i32");
  addIntegerCompares<uint32_t>(table, "u32");
  addIntegerCompares<int64_t>(table, "i64");
  addIntegerCompares<uint64_t>(table, "u64");
}

} // namespace heddle::simulator
