// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inline assembly that the lowering writes: loads and stores with order and scope, whose texts are made here from
// the same parts. Anything else is given by the test.
#include "tests/thread_interpreter/instructions/Elementwise.h"
#include <cstring>
#include <fmt/format.h>

using namespace heddle::threads;

static void readElements(LaneCall &call, unsigned elements, unsigned size) {
  const uint8_t *bytes = call.device(call.operands[0], elements * size);
  for (unsigned i = 0; i < elements; ++i) {
    call.results[i] = 0;
    std::memcpy(&call.results[i], bytes + i * size, size);
  }
}
// `first` is the operand with the first element; the address is the other end of the list.
static void writeElements(LaneCall &call, unsigned address, unsigned first, unsigned elements, unsigned size) {
  uint8_t *bytes = call.device(call.operands[address], elements * size);
  for (unsigned i = 0; i < elements; ++i)
    std::memcpy(bytes + i * size, &call.operands[first + i], size);
}

static std::string list(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}${}", i ? ", " : "", first + i);
  return count == 1 ? text : "{" + text + "}";
}

using Update = uint64_t (*)(uint64_t old, uint64_t operand);

/// A row: the operation with its type, bits, and the new value.
struct AtomicRow {
  const char *operation;
  unsigned bits;
  Update update;
};
template <class Signed, class Unsigned>
static std::vector<AtomicRow> integerAtomics(unsigned bits) {
  using S = Signed;
  using U = Unsigned;
  return {{"add.u", bits, [](uint64_t a, uint64_t b) { return uint64_t(U(a + b)); }},
          {"add.s", bits, [](uint64_t a, uint64_t b) { return uint64_t(U(a + b)); }},
          {"and.b", bits, [](uint64_t a, uint64_t b) { return a & b; }},
          {"or.b", bits, [](uint64_t a, uint64_t b) { return a | b; }},
          {"xor.b", bits, [](uint64_t a, uint64_t b) { return a ^ b; }},
          {"exch.b", bits, [](uint64_t, uint64_t b) { return b; }},
          {"max.s", bits, [](uint64_t a, uint64_t b) { return S(a) > S(b) ? a : b; }},
          {"min.s", bits, [](uint64_t a, uint64_t b) { return S(a) < S(b) ? a : b; }},
          {"max.u", bits, [](uint64_t a, uint64_t b) { return a > b ? a : b; }},
          {"min.u", bits, [](uint64_t a, uint64_t b) { return a < b ? a : b; }}};
}
template <class Format>
static uint64_t addFloats(uint64_t a, uint64_t b) {
  return Format::put(Format::get(a) + Format::get(b));
}

static std::vector<AtomicRow> atomicRows() {
  std::vector<AtomicRow> rows = {{"add.noftz.f", 16, addFloats<F16>},
                                 {"add.noftz.bf", 16, addFloats<BF16>},
                                 {"add.f", 32, addFloats<F32>},
                                 {"add.f", 64, addFloats<F64>}};
  for (const auto &more : {integerAtomics<int32_t, uint32_t>(32), integerAtomics<int64_t, uint64_t>(64)})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// atom: out: the old value; operands: address, then the operand, or what is expected and the new value. red: no result.
static void addAtomics(std::map<std::string, LaneFunction> &texts, const std::string &suffix) {
  auto update = [](LaneCall &call, unsigned bits, auto &&change) {
    uint64_t before = call.update(call.operands[0], bits / 8, change);
    if (!call.results.empty())
      call.results[0] = before;
  };
  for (const AtomicRow &row : atomicRows()) {
    LaneFunction function = [=](LaneCall &call) {
      update(call, row.bits, [&](uint64_t before) { return row.update(before, call.operands[1]); });
    };
    std::string type = fmt::format("{}.{}{}", suffix, row.operation, row.bits);
    texts[fmt::format("atom.{} $0, [$1], $2;", type)] = function;
    texts[fmt::format("red.{} [$0], $1;", type)] = function;
  }
  for (unsigned bits : {16u, 32u, 64u})
    texts[fmt::format("atom.{}.cas.b{} $0, [$1], $2, $3;", suffix, bits)] = [=](LaneCall &call) {
      update(call, bits, [&](uint64_t before) { return before == call.operands[1] ? call.operands[2] : before; });
    };
}

/// Halves of a word, each added as alone.
template <uint64_t (*Add)(uint64_t, uint64_t)>
static uint64_t addHalves(uint64_t before, uint64_t added) {
  uint64_t low = Add(before & 0xffff, added & 0xffff), high = Add(before >> 16 & 0xffff, added >> 16 & 0xffff);
  return low | high << 16;
}

// Vectors of words: out: the old values; operands: address, then the words. Each word is updated by itself.
static void addVectorAtomics(std::map<std::string, LaneFunction> &texts, const std::string &suffix) {
  struct Row {
    const char *vector, *word;
    uint64_t (*update)(uint64_t, uint64_t);
  };
  for (const Row &row :
       {Row{"f32.add", nullptr, addFloats<F32>}, Row{"f16x2.add.noftz", "add.noftz.f16x2", addHalves<addFloats<F16>>},
        Row{"bf16x2.add.noftz", "add.noftz.bf16x2", addHalves<addFloats<BF16>>}})
    for (unsigned count : {1u, 2u, 4u}) {
      LaneFunction function = [=](LaneCall &call) {
        for (unsigned i = 0; i < count; ++i)
          call.results[i] = call.update(call.operands[0] + 4 * i, 4,
                                        [&](uint64_t before) { return row.update(before, call.operands[1 + i]); });
      };
      if (count > 1)
        texts[fmt::format("atom.{}.v{}.{} {}, [${}], {};", suffix, count, row.vector, list(0, count), count,
                          list(count + 1, count))] = function;
      else if (row.word)
        texts[fmt::format("atom.{}.{} $0, [$1], $2;", suffix, row.word)] = function;
    }
}

// Under a predicate, as the step before PTX writes them. A load's last operands are what its registers hold.
static void addPredicated(std::map<std::string, LaneFunction> &texts, bool inverted, unsigned elements, unsigned bits) {
  std::string width = fmt::format("{}.b{}", elements > 1 ? fmt::format(".v{}", elements) : "", bits);
  const char *sign = inverted ? "!" : "";
  for (const char *load :
       {"ld.global", "ld.volatile.global", "ld.relaxed.cta.global", "ld.relaxed.gpu.global", "ld.relaxed.sys.global"})
    texts[fmt::format("@{}${} {}{} {}, [${}];", sign, elements + 1, load, width, list(0, elements), elements)] =
        [=](LaneCall &call) {
          if (bool(call.operands[1] & 1) != inverted)
            return readElements(call, elements, bits / 8);
          for (unsigned i = 0; i < elements; ++i)
            call.results[i] = call.operands[2 + i];
        };
  texts[fmt::format("@{}$0 st.global{} [$1], {};", sign, width, list(2, elements))] = [=](LaneCall &call) {
    if (bool(call.operands[0] & 1) != inverted)
      writeElements(call, 1, 2, elements, bits / 8);
  };
}

std::string heddle::threads::normaliseAssembly(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space)
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  if (!result.empty() && result.back() == ' ')
    result.pop_back();
  return result;
}

template <class Format>
static void convertPair(LaneCall &call) { // the first operand is the upper half
  call.results[0] = Format::put(F32::get(call.operands[0])) << 16 | Format::put(F32::get(call.operands[1]));
}

static void addOthers(std::map<std::string, LaneFunction> &texts) {
  texts["mov.u64 $0, %globaltimer;"] = [](LaneCall &call) { call.results[0] = call.nanoseconds(); };
  texts[""] = [](LaneCall &call) { call.results[0] = call.operands[0]; }; // peer.hold
  texts["nanosleep.u32 $0;"] = [](LaneCall &) {};
  texts["tanh.approx.f32 $0, $1;"] = [](LaneCall &call) {
    call.results[0] = F32::put(float(std::tanh(double(F32::get(call.operands[0])))));
  };
  texts["cvt.rn.bf16x2.f32 $0, $1, $2;"] = convertPair<BF16>;
  texts["cvt.rn.f16x2.f32 $0, $1, $2;"] = convertPair<F16>;
  texts["lop3.b32 $0, $1, $2, $3, $4;"] = [](LaneCall &call) {
    uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      auto of = [&](size_t operand) { return unsigned(call.operands[operand] >> bit) & 1; };
      result |= uint32_t(call.operands[3] >> (of(0) << 2 | of(1) << 1 | of(2)) & 1) << bit;
    }
    call.results[0] = result;
  };
  // What a kernel of the corpus, nv_mixed, has in its own assembly: of an element, and of a thread's two elements.
  texts["mad.lo.s32 $0, $1, 3, $2;"] = [](LaneCall &call) {
    call.results[0] = uint32_t(3 * uint32_t(call.operands[0]) + uint32_t(call.operands[1]));
  };
  texts["shl.b32 $0, $2, 2; shl.b32 $1, $3, 2;"] = [](LaneCall &call) {
    for (size_t i = 0; i < 2; ++i)
      call.results[i] = uint32_t(call.operands[i]) << 2;
  };
  texts["trap;"] = [](LaneCall &) { throw Fatal{"a thread reached `trap;`"}; };
}

static std::map<std::string, LaneFunction> makeStandardAssembly() {
  std::map<std::string, LaneFunction> texts;
  auto both = [&](const std::string &text, const LaneFunction &function) {
    texts[text] = texts[text + ";"] = function;
  };
  for (const char *order : {"relaxed.cta", "relaxed.gpu", "relaxed.sys", "acquire.gpu", "acquire.sys", "release.gpu",
                            "release.sys", "volatile"})
    for (const char *space : {".global", ""})
      for (unsigned elements : {1u, 2u, 4u})
        for (unsigned bits : {8u, 16u, 32u, 64u})
          for (char type : {'b', 'u', 's', 'f'}) {
            if (elements * bits > 128)
              continue;
            std::string suffix = fmt::format(".{}{}{}.{}{}", order, space,
                                             elements > 1 ? fmt::format(".v{}", elements) : "", type, bits);
            both(fmt::format("ld{} {}, [${}]", suffix, list(0, elements), elements),
                 [=](LaneCall &call) { readElements(call, elements, bits / 8); });
            both(fmt::format("st{} [$0], {}", suffix, list(1, elements)),
                 [=](LaneCall &call) { writeElements(call, 0, 1, elements, bits / 8); });
            both(fmt::format("st{} [${}], {}", suffix, elements, list(0, elements)),
                 [=](LaneCall &call) { writeElements(call, elements, 0, elements, bits / 8); });
          }
  for (bool inverted : {false, true})
    for (auto [elements, bits] : {std::pair(1u, 8u), {1u, 16u}, {1u, 32u}, {1u, 64u}, {2u, 32u}, {4u, 32u}})
      addPredicated(texts, inverted, elements, bits);
  for (const char *order : {"relaxed", "acquire", "release", "acq_rel"})
    for (const char *scope : {"cta", "gpu", "sys"})
      for (const char *space : {".global", ""}) {
        std::string suffix = fmt::format("{}.{}{}", order, scope, space);
        addAtomics(texts, suffix);
        addVectorAtomics(texts, suffix);
      }
  for (const char *fence : {"fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.gpu",
                            "fence.sc.sys", "membar.gl", "membar.sys", ""})
    both(fence, [](LaneCall &) {});
  addOthers(texts);
  return texts;
}

const std::map<std::string, LaneFunction> &heddle::threads::standardAssembly() {
  static const std::map<std::string, LaneFunction> texts = makeStandardAssembly();
  return texts;
}
