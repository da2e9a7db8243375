// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: LLVM's AMDGPUOperandSyntax and AMDGPUModifierSyntax.
#include "AssemblyText.h"
#include "simulator/instructions/InstructionTable.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace heddle::simulator {
namespace {

/// The operands in the text, without the modifiers after the last.
std::vector<std::string> operandTexts(const std::string &text) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (size_t at = text.find(' '); at < text.size(); ++at) {
    char letter = text[at];
    depth += letter == '[' || letter == '(' ? 1 : letter == ']' || letter == ')' ? -1 : 0;
    if (depth == 0 && letter == ',')
      pieces.emplace_back();
    else if (depth == 0 && letter == ' ' && !pieces.back().empty())
      break;
    else if (letter != ' ')
      pieces.back() += letter;
  }
  return pieces;
}

std::string range(const char *prefix, unsigned first, unsigned words) {
  return words == 1 ? fmt::format("{}{}", prefix, first) : fmt::format("{}[{}:{}]", prefix, first, first + words - 1);
}

std::string scalarText(unsigned index, unsigned words) {
  struct Pair {
    unsigned index;
    const char *name;
  };
  constexpr Pair pairs[] = {{102, "flat_scratch"}, {104, "xnack_mask"}, {vccRegister, "vcc"}, {execRegister, "exec"}};
  for (const Pair &pair : pairs)
    if (index == pair.index || (index == pair.index + 1 && words == 1))
      return words == 2 ? pair.name : fmt::format("{}_{}", pair.name, index == pair.index ? "lo" : "hi");
  switch (index) {
  case m0Register:
    return "m0";
  case vcczRegister:
    return "src_vccz";
  case execzRegister:
    return "src_execz";
  case sccRegister:
    return "src_scc";
  }
  return index >= trapRegister ? range("ttmp", index - trapRegister, words) : range("s", index, words);
}

std::string operandText(const Operand &operand, const std::string &decoded) {
  std::string text;
  switch (operand.kind) {
  case Operand::Kind::Off:
    return "off";
  case Operand::Kind::None:
  case Operand::Kind::Constant:
    return decoded;
  case Operand::Kind::Vector:
    text = operand.index < firstAccumulationRow ? range("v", operand.index, operand.words)
                                                : range("a", operand.index - firstAccumulationRow, operand.words);
    break;
  case Operand::Kind::Scalar:
    text = scalarText(operand.index, operand.words);
    break;
  }
  if (operand.signExtend)
    text = "sext(" + text + ")";
  if (operand.absolute)
    text = "|" + text + "|";
  return operand.negate ? "-" + text : text;
}

std::string bitList(const char *name, uint8_t bits, unsigned count) {
  std::vector<int> list;
  for (unsigned i = 0; i < count; ++i)
    list.push_back(bits >> i & 1);
  return fmt::format(" {}:[{}]", name, fmt::join(list, ","));
}

std::string dppText(const Dpp &dpp) {
  using C = Dpp::Control;
  static const char *names[] = {
      "",         "quad_perm", "row_shl",    "row_shr",         "row_ror",   "wave_shl",    "wave_rol",
      "wave_shr", "wave_ror",  "row_mirror", "row_half_mirror", "row_bcast", "row_newbcast"};
  std::string text = std::string(" ") + names[unsigned(dpp.control)];
  if (dpp.control == C::QuadPerm)
    text += fmt::format(":[{},{},{},{}]", dpp.value & 3, dpp.value >> 2 & 3, dpp.value >> 4 & 3, dpp.value >> 6);
  else if (dpp.control != C::RowMirror && dpp.control != C::RowHalfMirror)
    text += fmt::format(":{}", dpp.value);
  return text + fmt::format(" row_mask:{:#x} bank_mask:{:#x}{}", dpp.rowMask, dpp.bankMask,
                            dpp.boundControl ? " bound_ctrl:1" : "");
}

std::string sdwaText(const Sdwa &sdwa, const std::string &decoded) {
  static const char *selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  static const char *unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  // Comparisons have no destination's parts, moves no second source.
  auto has = [&](const char *name) { return decoded.find(name) != std::string::npos; };
  std::string text;
  if (has("dst_sel"))
    text += fmt::format(" dst_sel:{}", selects[unsigned(sdwa.destination)]);
  if (has("dst_unused"))
    text += fmt::format(" dst_unused:{}", unused[unsigned(sdwa.unused)]);
  text += fmt::format(" src0_sel:{}", selects[unsigned(sdwa.source0)]);
  return has("src1_sel") ? text + fmt::format(" src1_sel:{}", selects[unsigned(sdwa.source1)]) : text;
}

std::string memoryText(const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  std::string text;
  auto flag = [&](bool present, const char *name) { text += present ? std::string(" ") + name : ""; };
  flag(modifiers.idxen, "idxen");
  flag(modifiers.offen, "offen");
  if (modifiers.offset || instruction.text.find(" offset:0x0") != std::string::npos) // of scalar instructions
    text += fmt::format(" offset:{}", modifiers.offset);
  if (modifiers.offset0)
    text += fmt::format(" offset0:{}", modifiers.offset0);
  if (modifiers.offset1)
    text += fmt::format(" offset1:{}", modifiers.offset1);
  flag(modifiers.gds, "gds");
  flag(modifiers.sc0, instruction.mnemonic.starts_with("s_") ? "glc" : "sc0");
  flag(modifiers.nt, "nt");
  flag(modifiers.sc1, "sc1");
  flag(modifiers.lds, "lds");
  return text;
}

std::string modifierText(const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  static const char *multipliers[] = {"", " mul:2", " mul:4", " div:2"};
  bool isDouble = instruction.mnemonic.ends_with("_f64"); // of matrix products: negations instead of a broadcast
  std::string text;
  if (modifiers.bitop3)
    text += fmt::format(" bitop3:{:#x}", modifiers.bitop3);
  if (modifiers.opSel)
    text += bitList("op_sel", modifiers.opSel, 4);
  if (modifiers.hasOpSelHi)
    text += bitList("op_sel_hi", modifiers.opSelHi, 3);
  if (modifiers.negLo)
    text += bitList("neg_lo", modifiers.negLo, 3);
  if (modifiers.negHi)
    text += bitList("neg_hi", modifiers.negHi, 3);
  if (modifiers.cbsz)
    text += fmt::format(" cbsz:{}", modifiers.cbsz);
  if (modifiers.abid)
    text += fmt::format(" abid:{}", modifiers.abid);
  if (modifiers.blgp)
    text += isDouble ? bitList("neg", modifiers.blgp, 3) : fmt::format(" blgp:{}", modifiers.blgp);
  text += modifiers.clamp ? " clamp" : "";
  text += multipliers[modifiers.outputModifier];
  if (modifiers.dpp.control != Dpp::Control::None)
    text += dppText(modifiers.dpp);
  else if (modifiers.dpp.boundControl)
    text += " bound_ctrl:1";
  if (modifiers.sdwa.present)
    text += sdwaText(modifiers.sdwa, instruction.text);
  return text + memoryText(instruction);
}

} // namespace

std::string assemblyText(const Instruction &instruction) {
  bool readsEncoding = instruction.row->implicit & acceptsAnything;
  if (readsEncoding || instruction.text.find("swizzle(") != std::string::npos)
    return instruction.text;
  std::vector<std::string> decoded = operandTexts(instruction.text);
  std::string text = instruction.text.substr(0, instruction.text.find(' '));
  for (unsigned i = 0; i < instruction.operandCount; ++i)
    text += (i ? ", " : " ") + operandText(instruction.operands[i], i < decoded.size() ? decoded[i] : "");
  text += modifierText(instruction);
  return instruction.text.ends_with(" fi:1") ? text + " fi:1" : text; // which is no choice, and not kept
}

} // namespace heddle::simulator
