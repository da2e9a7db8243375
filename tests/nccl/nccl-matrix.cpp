// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every collective of every element type, as nccl-tests run them: all reductions, sizes of 0, 1, odd and even, in place
// and not, arrays that are off by one element. Values are small whole numbers, exact in every type; every element of
// every result is compared, and what lies beside it. Each rank is a process with host memory. --quick: sizes but 0 and
// 7 for bf16 alone, reductions but the sum for three types.
#include "tests/nccl/ProgramSupport.h"

using namespace heddle::ncclprogram;

namespace {

/// By NCCL's numbers; no exponent for integers.
struct Type {
  const char *name;
  size_t bytes;
  int exponent, mantissa;
};
constexpr Type types[] = {{"i8", 1, 0, 0},    {"u8", 1, 0, 0},   {"i32", 4, 0, 0},    {"u32", 4, 0, 0},
                          {"i64", 8, 0, 0},   {"u64", 8, 0, 0},  {"f16", 2, 5, 10},   {"f32", 4, 8, 23},
                          {"f64", 8, 11, 52}, {"bf16", 2, 8, 7}, {"f8e4m3", 1, 4, 3}, {"f8e5m2", 1, 5, 2}};
constexpr size_t guard = 1; ///< elements before and after an array

/// The bits of a whole number from 0 to 8.
uint64_t encode(const Type &type, uint64_t value) {
  if (type.exponent == 0 || value == 0)
    return value;
  int power = value >= 8 ? 3 : value >= 4 ? 2 : value >= 2 ? 1 : 0;
  uint64_t bias = (uint64_t(1) << (type.exponent - 1)) - 1;
  uint64_t fraction = (value << type.mantissa >> power) & ((uint64_t(1) << type.mantissa) - 1);
  return (bias + uint64_t(power)) << type.mantissa | fraction;
}

/// 1 or 2, element i of part p of a rank's input.
uint64_t valueAt(int of, size_t part, size_t i) {
  return 1 + (size_t(of) + part + i) % 2;
}

uint64_t reducedAt(int reduction, size_t part, size_t i) {
  uint64_t value = valueAt(0, part, i);
  for (int other = 1; other < ranks; ++other) {
    uint64_t next = valueAt(other, part, i);
    value = reduction == reduction::sum       ? value + next
            : reduction == reduction::product ? value * next
            : reduction == reduction::maximum ? std::max(value, next)
                                              : std::min(value, next);
  }
  return value;
}

struct Case {
  const char *kind;
  int type, reduction;
  size_t count, shift;
  bool isInPlace;
};

/// Elements that are wrong, those beside the output included.
size_t run(Comm comm, const Case &c) {
  const Type &type = types[c.type];
  std::string kind = c.kind;
  auto all = size_t(ranks), mine = size_t(rank);
  size_t inputs = c.count * (kind == "ReduceScatter" || kind == "AlltoAll" ? all : 1);
  size_t outputs = c.count * (kind == "AllGather" || kind == "AlltoAll" ? all : 1);
  size_t length = std::max(inputs, outputs) + 2 * guard + c.shift, first = guard + c.shift;
  std::vector<unsigned char> from(length * type.bytes, 0xEE), apart = from;
  std::vector<unsigned char> &to = c.isInPlace ? from : apart;
  size_t inputAt = first + (c.isInPlace && kind == "AllGather" ? mine * c.count : 0);
  size_t outputAt = first + (c.isInPlace && kind == "ReduceScatter" ? mine * c.count : 0);
  for (size_t i = 0; i < inputs; ++i) {
    uint64_t bits = encode(type, valueAt(rank, i / c.count, i % c.count));
    std::memcpy(from.data() + (inputAt + i) * type.bytes, &bits, type.bytes);
  }
  std::vector<unsigned char> wanted = to;
  for (size_t i = 0; i < outputs; ++i) {
    size_t part = i / c.count, at = i % c.count;
    uint64_t value = kind == "AllReduce"       ? reducedAt(c.reduction, 0, at)
                     : kind == "ReduceScatter" ? reducedAt(c.reduction, mine, at)
                     : kind == "AllGather"     ? valueAt(int(part), 0, at)
                                               : valueAt(int(part), mine, at);
    uint64_t bits = encode(type, value);
    std::memcpy(wanted.data() + (outputAt + i) * type.bytes, &bits, type.bytes);
  }
  const void *in = from.data() + inputAt * type.bytes;
  void *out = to.data() + outputAt * type.bytes;
  if (kind == "AllReduce")
    REQUIRE(ncclAllReduce(in, out, c.count, c.type, c.reduction, comm, nullptr));
  if (kind == "ReduceScatter")
    REQUIRE(ncclReduceScatter(in, out, c.count, c.type, c.reduction, comm, nullptr));
  if (kind == "AllGather")
    REQUIRE(ncclAllGather(in, out, c.count, c.type, comm, nullptr));
  if (kind == "AlltoAll")
    REQUIRE(ncclAlltoAll(in, out, c.count, c.type, comm, nullptr));
  size_t wrong = 0;
  for (size_t i = 0; i < length; ++i)
    wrong += std::memcmp(to.data() + i * type.bytes, wanted.data() + i * type.bytes, type.bytes) != 0;
  return wrong;
}

bool isQuick = false;

bool isMeant(const Case &c) {
  std::string type = types[c.type].name;
  bool isSize = c.count == 0 || c.count == 7 || type == "bf16";
  return !isQuick || (isSize && (c.reduction == 0 || type == "i32" || type == "f16" || type == "f8e4m3"));
}

int runRank(const UniqueId &id) {
  Comm comm = nullptr;
  REQUIRE(ncclCommInitRank(&comm, ranks, id, rank));
  int calls = 0;
  auto check = [&](const Case &c) {
    if (!isMeant(c))
      return;
    size_t wrong = run(comm, c);
    ++calls;
    failures += wrong != 0;
    if (wrong)
      std::printf("rank %d: %s of %zu %s, reduction %d, %zu off%s: #wrong %zu\n", rank, c.kind, c.count,
                  types[c.type].name, c.reduction, c.shift, c.isInPlace ? ", in place" : "", wrong);
  };
  for (int type = 0; type < int(std::size(types)); ++type)
    for (const char *kind : {"AllReduce", "ReduceScatter", "AllGather", "AlltoAll"})
      for (size_t count : {0, 1, 7, 64})
        for (size_t shift : {0, 1})
          for (bool isInPlace : {false, true}) {
            bool reduces = std::strstr(kind, "Reduce") != nullptr;
            if (isInPlace && !std::strcmp(kind, "AlltoAll"))
              continue;
            for (int reduction = 0; reduction < (reduces && count == 7 ? 4 : 1); ++reduction)
              check({kind, type, reduction, count, shift, isInPlace});
          }
  REQUIRE(ncclCommDestroy(comm));
  std::printf("rank %d: %d calls: #wrong %d\n", rank, calls, failures);
  return failures != 0;
}

} // namespace

int main(int count, char **words) {
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    if (word == "--quick") {
      isQuick = true;
    } else if (word == "--ranks" && i + 1 < count && std::atoi(words[i + 1]) > 1) {
      ranks = std::atoi(words[++i]);
    } else {
      std::fprintf(stderr, "nccl-matrix: error: what is `%s`?\nusage: nccl-matrix [--quick] [--ranks N]\n", words[i]);
      return 2;
    }
  }
  return startRanks("", runRank);
}
