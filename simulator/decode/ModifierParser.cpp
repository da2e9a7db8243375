// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: LLVM's AMDGPUModifierSyntax.
#include "simulator/decode/ModifierParser.h"
#include "simulator/decode/TextNumbers.h"
#include <unordered_map>

namespace heddle::simulator {
namespace {

/// Reads `value`, the text after the colon.
using Reader = bool (*)(std::string_view value, Modifiers &modifiers);

template <auto member>
bool readFlag(std::string_view value, Modifiers &modifiers) {
  modifiers.*member = true;
  return value.empty();
}

template <auto member>
bool readNumber(std::string_view value, Modifiers &modifiers) {
  int64_t number;
  if (!parseInteger(value, number))
    return false;
  modifiers.*member = std::remove_reference_t<decltype(modifiers.*member)>(number);
  return true;
}

/// `[0,1,1]`: bit k is element k.
bool parseBits(std::string_view list, uint8_t &bits) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']')
    return false;
  bits = 0;
  unsigned position = 0;
  for (char letter : list.substr(1, list.size() - 2))
    if (letter == '1' && position < 8)
      bits |= uint8_t(1u << position);
    else if (letter == ',')
      ++position;
    else if (letter != '0')
      return false;
  return true;
}

template <auto member>
bool readBits(std::string_view value, Modifiers &modifiers) {
  return parseBits(value, modifiers.*member);
}

bool readOpSelHi(std::string_view value, Modifiers &modifiers) {
  modifiers.hasOpSelHi = true;
  return parseBits(value, modifiers.opSelHi);
}

template <Dpp::Control control>
bool readDpp(std::string_view value, Modifiers &modifiers) {
  int64_t number = 0;
  if (!value.empty() && !parseInteger(value, number))
    return false;
  modifiers.dpp.control = control;
  modifiers.dpp.value = uint8_t(number);
  return true;
}

bool readQuadPerm(std::string_view value, Modifiers &modifiers) {
  if (value.size() != 9 || value[0] != '[')
    return false;
  modifiers.dpp.control = Dpp::Control::QuadPerm;
  modifiers.dpp.value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned lane = unsigned(value[1 + 2 * i] - '0');
    if (lane > 3)
      return false;
    modifiers.dpp.value |= uint8_t(lane << (2 * i));
  }
  return true;
}

template <auto member>
bool readDppMask(std::string_view value, Modifiers &modifiers) {
  int64_t number;
  bool good = parseInteger(value, number);
  modifiers.dpp.*member = uint8_t(number);
  return good;
}

/// What v_permlane*_swap prints beside bound_ctrl: inactive lanes are read all the same, which they always are.
bool readFetchInactive(std::string_view value, Modifiers &) {
  return value == "1";
}

bool readBoundControl(std::string_view value, Modifiers &modifiers) {
  modifiers.dpp.boundControl = true; // printed only when set, as 1 or (by older printers) 0
  return value == "0" || value == "1";
}

template <auto member>
bool readSelect(std::string_view value, Modifiers &modifiers) {
  static constexpr std::string_view names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  for (unsigned i = 0; i < std::size(names); ++i)
    if (value == names[i]) {
      modifiers.sdwa.present = true;
      modifiers.sdwa.*member = Sdwa::Select(i);
      return true;
    }
  return false;
}

bool readUnused(std::string_view value, Modifiers &modifiers) {
  static constexpr std::string_view names[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  for (unsigned i = 0; i < std::size(names); ++i)
    if (value == names[i]) {
      modifiers.sdwa.present = true;
      modifiers.sdwa.unused = Sdwa::Unused(i);
      return true;
    }
  return false;
}

bool readMultiply(std::string_view value, Modifiers &modifiers) {
  modifiers.outputModifier = value == "2" ? 1 : value == "4" ? 2 : 0;
  return modifiers.outputModifier != 0;
}

bool readDivide(std::string_view value, Modifiers &modifiers) {
  modifiers.outputModifier = 3;
  return value == "2";
}

/// Also `offset:swizzle(...)` of ds_swizzle, which reads its pattern from the encoding.
bool readOffset(std::string_view value, Modifiers &modifiers) {
  return value.starts_with("swizzle(") || readNumber<&Modifiers::offset>(value, modifiers);
}

const std::unordered_map<std::string_view, Reader> &readers() {
  using C = Dpp::Control;
  static const std::unordered_map<std::string_view, Reader> table = {
      {"clamp", readFlag<&Modifiers::clamp>},
      {"mul", readMultiply},
      {"div", readDivide},
      {"op_sel", readBits<&Modifiers::opSel>},
      {"op_sel_hi", readOpSelHi},
      {"neg_lo", readBits<&Modifiers::negLo>},
      {"neg_hi", readBits<&Modifiers::negHi>},
      {"bitop3", readNumber<&Modifiers::bitop3>},
      {"cbsz", readNumber<&Modifiers::cbsz>},
      {"abid", readNumber<&Modifiers::abid>},
      {"blgp", readNumber<&Modifiers::blgp>},
      {"neg", readBits<&Modifiers::blgp>}, // how BLGP of an f64 matrix product is printed
      {"quad_perm", readQuadPerm},
      {"row_shl", readDpp<C::RowShl>},
      {"row_shr", readDpp<C::RowShr>},
      {"row_ror", readDpp<C::RowRor>},
      {"wave_shl", readDpp<C::WaveShl>},
      {"wave_rol", readDpp<C::WaveRol>},
      {"wave_shr", readDpp<C::WaveShr>},
      {"wave_ror", readDpp<C::WaveRor>},
      {"row_mirror", readDpp<C::RowMirror>},
      {"row_half_mirror", readDpp<C::RowHalfMirror>},
      {"row_bcast", readDpp<C::RowBcast>},
      {"row_newbcast", readDpp<C::RowNewbcast>},
      {"row_mask", readDppMask<&Dpp::rowMask>},
      {"bank_mask", readDppMask<&Dpp::bankMask>},
      {"bound_ctrl", readBoundControl},
      {"fi", readFetchInactive},
      {"dst_sel", readSelect<&Sdwa::destination>},
      {"src0_sel", readSelect<&Sdwa::source0>},
      {"src1_sel", readSelect<&Sdwa::source1>},
      {"dst_unused", readUnused},
      {"offset", readOffset},
      {"offset0", readNumber<&Modifiers::offset0>},
      {"offset1", readNumber<&Modifiers::offset1>},
      {"offen", readFlag<&Modifiers::offen>},
      {"idxen", readFlag<&Modifiers::idxen>},
      {"sc0", readFlag<&Modifiers::sc0>},
      {"glc", readFlag<&Modifiers::sc0>}, // the same bit of scalar memory instructions
      {"sc1", readFlag<&Modifiers::sc1>},
      {"nt", readFlag<&Modifiers::nt>},
      {"lds", readFlag<&Modifiers::lds>},
      {"gds", readFlag<&Modifiers::gds>},
  };
  return table;
}

} // namespace

bool isModifier(std::string_view word) {
  return readers().contains(word.substr(0, word.find(':')));
}

bool parseModifier(std::string_view word, Modifiers &modifiers) {
  size_t colon = word.find(':');
  auto found = readers().find(word.substr(0, colon));
  return found != readers().end() &&
         found->second(colon == std::string_view::npos ? "" : word.substr(colon + 1), modifiers);
}

} // namespace heddle::simulator
