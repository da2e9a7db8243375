// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits the text into mnemonic, operands and modifiers; a word that it does not know is kept by name.
#include "simulator/decode/InstructionParser.h"
#include "simulator/decode/ModifierParser.h"
#include "simulator/decode/TextNumbers.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/state/Apertures.h"
#include <utility>
#include <vector>

namespace heddle::simulator {
namespace {

struct NamedScalar {
  std::string_view name;
  uint16_t index;
  uint8_t words;
};
constexpr NamedScalar namedScalars[] = {
    {"vcc", vccRegister, 2},       {"vcc_lo", vccRegister, 1},   {"vcc_hi", vccRegister + 1, 1},
    {"exec", execRegister, 2},     {"exec_lo", execRegister, 1}, {"exec_hi", execRegister + 1, 1},
    {"m0", m0Register, 1},         {"flat_scratch", 102, 2},     {"flat_scratch_lo", 102, 1},
    {"flat_scratch_hi", 103, 1},   {"xnack_mask", 104, 2},       {"xnack_mask_lo", 104, 1},
    {"xnack_mask_hi", 105, 1},     {"scc", sccRegister, 1},      {"src_scc", sccRegister, 1},
    {"src_vccz", vcczRegister, 1}, {"vccz", vcczRegister, 1},    {"src_execz", execzRegister, 1},
    {"execz", execzRegister, 1},
};

struct NamedConstant {
  std::string_view name;
  uint64_t value;
};
constexpr NamedConstant namedConstants[] = {
    {"src_shared_base", sharedAperture},
    {"src_shared_limit", sharedAperture + apertureSizeBytes - 1},
    {"src_private_base", privateAperture},
    {"src_private_limit", privateAperture + apertureSizeBytes - 1},
};

/// Pieces between `separator`s that no bracket or parenthesis encloses.
std::vector<std::string_view> splitOutside(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' || text[i] == '(' ? 1 : text[i] == ']' || text[i] == ')' ? -1 : 0;
    if (text[i] == separator && depth == 0) {
      pieces.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

/// `v5`, `v[2:5]` and so on after their prefix: first register and how many.
bool parseRegisters(std::string_view text, unsigned limit, uint16_t &first, uint8_t &words) {
  int64_t low, high;
  if (text.starts_with("[") && text.ends_with("]")) {
    text = text.substr(1, text.size() - 2);
    size_t colon = text.find(':');
    if (!parseInteger(text.substr(0, colon), low))
      return false;
    if (colon == std::string_view::npos)
      high = low;
    else if (!parseInteger(text.substr(colon + 1), high))
      return false;
  } else {
    if (text.empty() || text[0] < '0' || text[0] > '9' || !parseInteger(text, low))
      return false;
    high = low;
  }
  if (low < 0 || high < low || high >= int64_t(limit))
    return false;
  first = uint16_t(low);
  words = uint8_t(high - low + 1);
  return true;
}

bool parseRegister(std::string_view text, Operand &operand) {
  for (const NamedScalar &scalar : namedScalars)
    if (text == scalar.name) {
      operand.kind = Operand::Kind::Scalar;
      operand.index = scalar.index;
      operand.words = scalar.words;
      return true;
    }
  struct File {
    std::string_view prefix;
    Operand::Kind kind;
    uint16_t first;
    unsigned limit;
  };
  constexpr File files[] = {{"ttmp", Operand::Kind::Scalar, trapRegister, 16},
                            {"v", Operand::Kind::Vector, 0, 256},
                            {"a", Operand::Kind::Vector, firstAccumulationRow, 256},
                            {"s", Operand::Kind::Scalar, 0, 102}};
  for (const File &file : files)
    if (text.starts_with(file.prefix) &&
        parseRegisters(text.substr(file.prefix.size()), file.limit, operand.index, operand.words)) {
      operand.kind = file.kind;
      operand.index += file.first;
      return true;
    }
  return false;
}

/// Strips `-`, `|...|`, `neg(...)`, `abs(...)` and `sext(...)`. A minus before a number belongs to the number.
std::string_view stripSourceModifiers(std::string_view text, Operand &operand) {
  auto isNumber = [](std::string_view rest) { return !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; };
  auto stripCall = [](std::string_view &text, std::string_view name) {
    if (!text.starts_with(name) || !text.ends_with(")"))
      return false;
    text = text.substr(name.size(), text.size() - name.size() - 1);
    return true;
  };
  if (text.starts_with("-") && !isNumber(text.substr(1))) {
    operand.negate = true;
    text.remove_prefix(1);
  } else if (stripCall(text, "neg("))
    operand.negate = true;
  if (text.size() > 1 && text.starts_with("|") && text.ends_with("|")) {
    operand.absolute = true;
    text = text.substr(1, text.size() - 2);
  } else if (stripCall(text, "abs("))
    operand.absolute = true;
  if (stripCall(text, "sext("))
    operand.signExtend = true;
  return text;
}

/// `immediate` is what `hwreg(HW_REG_MODE, 0, 4)`, `sendmsg(...)` and their like stand for.
bool parseOperand(std::string_view text, DataType type, uint16_t immediate, Operand &operand) {
  operand.type = type;
  if (text == "off") {
    operand.kind = Operand::Kind::Off;
    return true;
  }
  text = stripSourceModifiers(text, operand);
  if (parseRegister(text, operand))
    return true;
  operand.kind = Operand::Kind::Constant;
  for (const NamedConstant &constant : namedConstants)
    if (text == constant.name) {
      operand.constant = constant.value;
      return true;
    }
  if (parseConstant(text, type, operand.constant))
    return true;
  operand.constant = immediate;
  return text.find('(') != std::string_view::npos && text.ends_with(")");
}

} // namespace

std::string_view mnemonicOf(std::string_view text) {
  std::string_view name = text.substr(0, text.find(' '));
  for (std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa"})
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break; // at most one: `_e64_dpp` belongs to later chips
    }
  return name;
}

std::string parseOperands(Instruction &instruction) {
  std::string_view text = instruction.text;
  size_t space = text.find(' ');
  std::string_view rest = trim(space == std::string_view::npos ? "" : text.substr(space));
  if (rest.empty())
    return "";
  std::vector<std::string_view> pieces = splitOutside(rest, ',');
  std::vector<std::string_view> words = splitOutside(trim(pieces.back()), ' ');
  pieces.pop_back();
  size_t modifier = 0;
  if (!isModifier(words[0]) || !pieces.empty()) {
    pieces.push_back(words[0]);
    modifier = 1;
  }
  if (pieces.size() > maximumOperands)
    return "more than " + std::to_string(maximumOperands) + " operands";
  for (std::string_view piece : pieces) {
    Operand &operand = instruction.operands[instruction.operandCount];
    DataType type = instruction.row ? instruction.row->types[instruction.operandCount] : DataType::B32;
    if (!parseOperand(trim(piece), type, instruction.immediate, operand))
      return "operand `" + std::string(trim(piece)) + "`";
    ++instruction.operandCount;
  }
  for (; modifier < words.size(); ++modifier)
    if (!words[modifier].empty() && !parseModifier(words[modifier], instruction.modifiers))
      return "modifier `" + std::string(words[modifier]) + "`";
  return "";
}

} // namespace heddle::simulator
