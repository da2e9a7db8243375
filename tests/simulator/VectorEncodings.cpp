// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source of the bit positions: CDNA 3 manual, "Microcode formats".
#include "VectorEncodings.h"
#include <random>

namespace heddle::simulator {
namespace {

using Encodings = std::vector<std::vector<uint32_t>>;
constexpr uint32_t vector = 256; // in nine bits, registers begin here

constexpr uint32_t vop1(uint32_t opcode, uint32_t source) {
  return 0x7E000000u | 4 << 17 | opcode << 9 | source;
}
constexpr uint32_t vop2(uint32_t opcode, uint32_t source) {
  return opcode << 25 | 4 << 17 | 8 << 9 | source;
}
constexpr uint32_t vopc(uint32_t opcode, uint32_t source) {
  return 0x7C000000u | opcode << 17 | 8 << 9 | source;
}
constexpr uint32_t vop3(uint32_t opcode) {
  return 0xD0000000u | opcode << 16 | 4;
}
constexpr uint32_t vop3p(uint32_t opcode) {
  return 0xD3800000u | opcode << 16 | 4;
}
constexpr uint32_t sources(uint32_t first, uint32_t second, uint32_t third) {
  return first | second << 9 | third << 18;
}

} // namespace

Encodings vectorEncodings() {
  Encodings encodings = {{0x7E000000}}; // v_nop, whose fields are zero
  for (uint32_t opcode = 0; opcode < 256; ++opcode) {
    encodings.push_back({vop1(opcode, vector + 6)});
    encodings.push_back({vopc(opcode, vector + 6)});
  }
  for (uint32_t opcode = 0; opcode < 62; ++opcode) // with a literal for those that have one
    encodings.push_back({vop2(opcode, vector + 6), 0x3F9DCAFE});
  for (uint32_t opcode = 0; opcode < 1024; ++opcode) // and with scalar sources, for moves of one lane
    for (uint32_t first : {vector + 6, 6u})
      for (uint32_t second : {vector + 8, 8u})
        encodings.push_back({vop3(opcode), sources(first, second, vector + 10)});
  for (uint32_t opcode = 0; opcode < 128; ++opcode)
    encodings.push_back({vop3p(opcode), sources(vector + 6, vector + 8, vector + 16)});
  for (uint32_t opcode : {0xD3AD0800u, 0xD3AE0800u}) // the scaled matrix products: a prefix, and the product
    encodings.push_back(
        {0xD3AC0000u, sources(vector + 20, vector + 21, 0), opcode, sources(vector + 4, vector + 12, vector + 0)});
  return encodings;
}

Encodings modifiedEncodings(uint64_t seed) {
  std::mt19937 source(unsigned(seed) + 1);
  auto random = [&source] { return uint32_t(source()); };
  Encodings encodings;
  auto prefixed = [&](uint32_t prefix, auto second) {
    for (uint32_t opcode = 0; opcode < 256; ++opcode)
      encodings.push_back({vop1(opcode, prefix), second()});
    for (uint32_t opcode = 0; opcode < 62; ++opcode)
      encodings.push_back({vop2(opcode, prefix), second()});
  };
  prefixed(0xFA, [&] { // DPP: quad_perm or a shift, masks, bound_ctrl, signs
    uint32_t control = random() % 2 ? random() % 256 : 0x101 + random() % 15 + random() % 3 * 16;
    return 6 | control << 8 | (random() & 0xF0080000u) | 0x0F000000u;
  });
  prefixed(0xF9, [&] { // SDWA: destination, unused bytes, source selections with sign extension
    uint32_t destination = random() % 7, unused = random() % 3, first = random() % 7, second = random() % 7;
    return 6 | destination << 8 | unused << 11 | first << 16 | second << 24 | (random() & 0x08080000u);
  });
  for (uint32_t opcode = 0; opcode < 1024; ++opcode) {
    uint32_t flags = random() & 0xFF00;     // absolute values, op_sel, clamp
    uint32_t last = random() & 0xF8000000u; // omod, signs
    encodings.push_back({vop3(opcode) | flags, sources(vector + 6, vector + 8, vector + 10) | last});
  }
  for (uint32_t opcode = 0; opcode < 128; ++opcode)
    encodings.push_back(
        {vop3p(opcode) | (random() & 0xFF00), sources(vector + 6, vector + 8, vector + 16) | (random() & 0xF8000000u)});
  return encodings;
}

} // namespace heddle::simulator
