// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows (tokens) that came from several ranks, each ordered by expert, in the order of experts instead, with groups
// padded to multiples of a size: the indices of this order, the rows in it, and back. No size is read on the host.
#include "kernels/Kernels.h"
#include "kernels/Rows.h"
#include "support/Error.h"
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfIndices = Choices<128, 256, 512, 1024>;
using BlocksOfRows = Choices<1, 4, 16>;
using BlocksOfK = Choices<128, 512, 1024, 2048>;
constexpr int ranksAtOnce = 16, expertsAtOnce = 64;

//===-- Indices --------------------------------------------------------------------------------------------------===//

/// What the counts of all ranks say about the rows of one rank for one expert.
struct Rows {
  Scalar<i32> source; ///< the first one in the order of ranks
  Scalar<i32> count;
  Scalar<i32> group;      ///< where the expert's group begins
  Scalar<i32> groupSize;  ///< with padding
  Scalar<i32> inTheGroup; ///< rows of ranks before
};

struct IndicesBody {
  const TypedArguments &values;
  const Call &call;

  Scalar<i32> R = values.scalar<i32>("R"), E = values.scalar<i32>("E"), length = values.scalar<i32>("length");
  Scalar<i32> expert = programId(0), rank = programId(1);

  Tile<i32, ranksAtOnce, expertsAtOnce> readCounts(const Tile<i32, ranksAtOnce> &r,
                                                   const Tile<i32, expertsAtOnce> &e) const {
    std::optional<Tile<i32, ranksAtOnce, expertsAtOnce>> made;
    withType<i32, i64>(values.pointer("counts").type, [&]<class T>() {
      auto at = values.pointer("counts").as<T>() + column(cast<i64>(r) * cast<i64>(E)) + row(cast<i64>(e));
      auto counts = load(at, column(r < R) && row(e < E), 0);
      if (call.is("check", "true"))
        assertThat(counts >= 0, "a count is negative");
      made = cast<i32>(minimum(maximum(counts, 0), INT32_MAX));
    });
    return *made;
  }

  Rows find() const {
    int align = int(call.number("align"));
    auto nothing = full<i32>(0);
    auto none = zeros<i32, expertsAtOnce>();
    auto [source, count, group, groupSize, inTheGroup] = forRange(
        0, E, expertsAtOnce, carry(nothing, nothing, nothing, nothing, nothing),
        [&](Scalar<i32> firstExpert, auto source, auto count, auto group, auto groupSize, auto inTheGroup) {
          auto e = firstExpert + range<expertsAtOnce>();
          auto [all, before, same] = forRange(
              0, R, ranksAtOnce, carry(none, none, none), [&](Scalar<i32> firstRank, auto all, auto before, auto same) {
                auto r = firstRank + range<ranksAtOnce>();
                auto counts = readCounts(r, e);
                return carry(all + sum(counts, axis<0>()), before + sum(select(column(r) < rank, counts, 0), axis<0>()),
                             same + sum(select(column(r) == rank, counts, 0), axis<0>()));
              });
          auto sizes = select(e < E, maximum(ceilDivide(all, align), 1) * align, 0);
          auto isOwn = e == expert, isEarlier = e < expert;
          return carry(source + sum(before) + sum(select(isEarlier, same, 0)), count + sum(select(isOwn, same, 0)),
                       group + sum(select(isEarlier, sizes, 0)), groupSize + sum(select(isOwn, sizes, 0)),
                       inTheGroup + sum(select(isOwn, before, 0)));
        });
    return {source, count, group, groupSize, inTheGroup};
  }

  template <int64_t block>
  void write() const {
    Rows rows = find();
    if (call.is("check", "true"))
      assertThat(rows.group + rows.groupSize <= length, "the groups need more than `length` rows");
    when(rank == 0, [&] {
      store(values.pointer("sizes").as<i32>() + expert, rows.groupSize);
      store(values.pointer("ends").as<i32>() + expert, rows.group + rows.groupSize);
    });
    auto begin = rows.group + rows.inTheGroup;
    auto room = select(begin >= 0 && begin <= length, length - begin, 0); // sums of wrong counts may overflow
    auto count = minimum(rows.count, room);
    forRange(0, count, int(block), [&](Scalar<i32> first) {
      auto i = first + range<block>();
      store(values.pointer("indices").as<i32>() + begin + i, rows.source + i, i < count);
    });
  }
};

int64_t alignOf(const Call &call) {
  return checkedNumber(call, "align", 1, 1 << 20, "groups are padded to multiples of it");
}

Plan planIndices(const Call &call) {
  requireDense(call, "counts");
  int64_t R = call.extent("R"), E = call.extent("E"), align = alignOf(call), least = E * align;
  if (least > INT32_MAX)
    throw inputError(fmt::format("kernel `{}`: {} experts with at least {} rows each are more than {} rows",
                                 call.kernel, E, align, INT32_MAX));
  int64_t length = checkedNumber(
      call, "length", least, INT32_MAX,
      fmt::format("each expert has at least {} rows; tokens + {} is enough for any counts of so many tokens", align,
                  least));
  Plan plan;
  plan.results = {
      {"indices", {ElementType::I32, {length}}}, {"sizes", {ElementType::I32, {E}}}, {"ends", {ElementType::I32, {E}}}};
  if (length > 0)
    plan.steps.push_back(fillStep("indices", 0xff)); // -1
  if (E == 0)
    return plan;
  StepWriter writer("permute_indices");
  ElementType type = call.input("counts").type;
  writer.buffer("counts", type, int(elementSizeBytes(type)));
  for (const char *result : {"indices", "sizes", "ends"})
    writer.buffer(result, ElementType::I32);
  writer.count("R", R);
  writer.count("E", E);
  writer.count("length", length);
  plan.steps.push_back(
      writer.finish({E, std::max<int64_t>(R, 1), 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
        choose(BlocksOfIndices(), call.tile("block", 512),
               [&]<int64_t block>() { IndicesBody{values, call}.write<block>(); });
      }));
  return plan;
}

/// The counts [R, E]. Those that are negative, or need more rows than there are indices, are Error{Input}.
std::vector<int64_t> countsOf(const Call &call, const HostArrays &arrays) {
  const HostArray &counts = arrays.at("counts");
  int64_t R = call.extent("R"), E = call.extent("E"), align = call.number("align"), needed = 0;
  std::vector<int64_t> made, ofExperts(size_t(E), 0);
  for (int64_t r = 0; r < R; ++r)
    for (int64_t e = 0; e < E; ++e) {
      made.push_back(loadInt(counts.type.type, counts.bytes.data() + counts.offset({r, e})));
      if (made.back() < 0)
        throw inputError(fmt::format("counts[{}, {}] is {}, and a count is 0 or above", r, e, made.back()));
      ofExperts[size_t(e)] += made.back();
    }
  for (int64_t count : ofExperts)
    needed += std::max<int64_t>(blocksFor(count, align), 1) * align;
  if (needed > call.number("length"))
    throw inputError(
        fmt::format("the groups of all experts need {} rows, and `length` is {}", needed, call.number("length")),
        {"a group has at least `align` rows, and a multiple of it"});
  return made;
}

void referenceIndices(const Call &call, HostArrays &arrays) {
  int64_t R = call.extent("R"), E = call.extent("E"), align = call.number("align"), group = 0;
  std::vector<int64_t> counts = countsOf(call, arrays), sources(counts.size(), 0);
  for (size_t i = 1; i < counts.size(); ++i)
    sources[i] = sources[i - 1] + counts[i - 1];
  HostArray &indices = arrays.at("indices");
  for (int64_t i = 0; i < call.number("length"); ++i)
    indices.set({i}, -1);
  for (int64_t e = 0; e < E; ++e) {
    int64_t at = group;
    for (int64_t r = 0; r < R; ++r)
      for (int64_t i = 0; i < counts[size_t(r * E + e)]; ++i)
        indices.set({at++}, double(sources[size_t(r * E + e)] + i));
    int64_t size = std::max<int64_t>(blocksFor(at - group, align), 1) * align;
    arrays.at("sizes").set({e}, double(size));
    arrays.at("ends").set({e}, double(group += size));
  }
}

/// Counts that fit into the length, some of them 0.
std::string makeCounts(const Call &call, const std::string &, uint64_t seed) {
  const ArrayType &type = call.input("counts");
  HostArray counts{type, std::string(size_t(type.sizeBytes()), '\0')};
  int64_t R = call.extent("R"), E = call.extent("E");
  int64_t most = R * E ? (call.number("length") - E * call.number("align")) / (R * E) : 0;
  for (int64_t r = 0; r < R; ++r)
    for (int64_t e = 0; e < E; ++e) {
      uint64_t random = nextRandom(seed);
      int64_t count = random >> 27 < 2 ? 0 : int64_t(random % uint64_t(most + 1)); // of the 31 bits the highest 4
      storeInt(type.type, count, counts.bytes.data() + counts.offset({r, e}));
    }
  return counts.bytes;
}

//===-- Rows -----------------------------------------------------------------------------------------------------===//

template <int64_t bm, int64_t bk>
struct RowsBody {
  const StepWriter &writer;
  const TypedArguments &values;

  Scalar<i32> L = values.scalar<i32>("L"), K = values.scalar<i32>("K"), rows = values.scalar<i32>("rows");
  Tile<i32, bm> l = programId(0) * int(bm) + range<bm>();
  Tile<i32, bk> k = programId(1) * int(bk) + range<bk>();

  /// The index of each l, -1 where it names no row.
  Tile<i32, bm> readIndices() const {
    std::optional<Tile<i32, bm>> made;
    withType<i32, i64>(values.pointer("indices").type, [&]<class T>() {
      auto index = load(values.pointer("indices").as<T>() + l, l < L, -1);
      made = cast<i32>(select(index >= 0 && index < cast<T>(rows), index, -1));
    });
    return *made;
  }
  template <class Bits>
  auto from(const char *source, const Tile<i32, bm> &which) const {
    return advance(advance(bitsOf<Bits>(values.pointer(source)), column(which), writer.strideOf(values, "x_row")),
                   row(k), writer.strideOf(values, "x_k"));
  }
  template <class Bits>
  auto to(const char *target, const Tile<i32, bm> &which) const {
    return bitsOf<Bits>(values.pointer(target)) + column(cast<i64>(which) * cast<i64>(K)) + row(k);
  }

  void gather() const {
    auto index = readIndices();
    withBits(values.pointer("x").type, [&]<class Bits>() {
      auto bits = load(from<Bits>("x", index), column(index >= 0) && row(k < K), 0);
      store(to<Bits>("y", l), bits, column(l < L) && row(k < K));
    });
  }
  void scatter() const {
    auto index = readIndices();
    withBits(values.pointer("y").type, [&]<class Bits>() {
      auto inside = column(index >= 0) && row(k < K);
      store(to<Bits>("x", index), load(from<Bits>("y", l), inside, 0), inside);
    });
  }
};

/// `source` is read through its strides, `target` is dense; `rows` are those that indices name.
Step rowsStep(const Call &call, const std::string &source, const std::string &target, int64_t rows) {
  StepWriter writer(call.kernel);
  const ArrayType &from = call.input(source), &indices = call.input("indices");
  int64_t L = call.extent("L"), K = call.extent("K");
  writer.buffer(source, from.type);
  writer.buffer("indices", indices.type, int(elementSizeBytes(indices.type)));
  writer.buffer(target, from.type);
  writer.count("L", L);
  writer.count("K", K);
  writer.count("rows", rows);
  writer.stride("x_row", from.stride(0));
  writer.stride("x_k", from.stride(1));
  int64_t bk = call.tile("block_k", K > 512 ? 1024 : 512), bm = call.tile("block_m", 4);
  return writer.finish({blocksFor(L, bm), blocksFor(K, bk), 1}, call.tile("warps", 4),
                       [&](const TypedArguments &values) {
                         choose(BlocksOfRows(), bm, [&]<int64_t m>() {
                           choose(BlocksOfK(), bk, [&]<int64_t k>() {
                             RowsBody<m, k> body{writer, values};
                             source == "x" ? body.gather() : body.scatter();
                           });
                         });
                       });
}

Plan planPermute(const Call &call) {
  requireDense(call, "indices");
  int64_t L = call.extent("L"), K = call.extent("K");
  Plan plan;
  plan.results = {{"y", {call.input("x").type, {L, K}}}};
  if (L * K > 0)
    plan.steps.push_back(rowsStep(call, "x", "y", call.extent("M")));
  return plan;
}

Plan planUnpermute(const Call &call) {
  requireDense(call, "indices");
  int64_t rows = checkedNumber(call, "rows", 0, INT32_MAX, "give the number of rows of the result, as `rows=100`");
  int64_t L = call.extent("L"), K = call.extent("K");
  Plan plan;
  plan.results = {{"x", {call.input("y").type, {rows, K}}}};
  if (rows * K > 0)
    plan.steps.push_back(fillStep("x", 0));
  if (rows * K * L > 0)
    plan.steps.push_back(rowsStep(call, "y", "x", rows));
  return plan;
}

void copyRows(const Call &call, HostArrays &arrays, bool gathers) {
  const HostArray &indices = arrays.at("indices");
  HostArray &x = arrays.at("x"), &y = arrays.at("y");
  for (int64_t l = 0; l < call.extent("L"); ++l) {
    int64_t index = loadInt(indices.type.type, indices.bytes.data() + indices.offset({l}));
    if (index < 0 || index >= x.type.shape[0])
      continue;
    for (int64_t k = 0; k < call.extent("K"); ++k) {
      int64_t inX = x.offset({index, k}), inY = y.offset({l, k});
      gathers ? copyElement(x, inX, y, inY) : copyElement(y, inY, x, inX);
    }
  }
}

/// Each row once in any order, and where there are more indices, -1.
std::string makeIndices(const Call &call, const std::string &input, uint64_t seed, int64_t rows) {
  if (input != "indices")
    return "";
  const ArrayType &type = call.input("indices");
  HostArray indices{type, std::string(size_t(type.sizeBytes()), '\0')};
  int64_t L = call.extent("L");
  std::vector<int64_t> order(size_t(std::max(L, rows)), -1);
  for (int64_t i = 0; i < rows; ++i)
    order[size_t(i)] = i;
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[size_t(nextRandom(seed) % i)]);
  for (int64_t l = 0; l < L; ++l)
    storeInt(type.type, order[size_t(l)], indices.bytes.data() + indices.offset({l}));
  return indices.bytes;
}

const std::vector<TileParameter> rowTiles = {{"block_m", BlocksOfRows::list(), "rows of a tile"},
                                             {"block_k", BlocksOfK::list(), "columns of a tile"},
                                             {"warps", {1, 2, 4, 8}, "warps of a block"}};
const Parameter indicesParameter = {
    "indices", {"L"}, {ElementType::I32, ElementType::I64}, "rows, dense; -1, or any that is no row: padding"};

} // namespace

const LibraryKernel permuteIndices = {
    .name = "permute_indices",
    .sentence = "finds the order of rows by expert, padded, from the numbers of rows by rank and expert",
    .contract =
        "rows lie by rank, those of a rank by expert; counts[r, e] are those of rank r for expert e. indices has the "
        "rows "
        "of expert 0 from all ranks in order, then -1 up to a multiple of align, then those of expert 1, ..., and "
        "-1 up to length. A group has at least align indices. Indices that would pass length are left out",
    .inputs = {{"counts", {"R", "E"}, {ElementType::I32, ElementType::I64}, "numbers of rows, dense"}},
    .results = {{"indices", "[length]", "rows, i32; -1: padding"},
                {"sizes", "[E]", "indices of each expert with padding, i32"},
                {"ends", "[E]", "where each expert's indices end, i32"}},
    .options =
        {{"length", {}, "-1", "number of indices, at least E * align; it must be given"},
         {"align", {}, "32", "the indices of an expert are a multiple of it"},
         {"check", {"true", "false"}, "false", "a launch fails where a count is negative or length is too small"}},
    .tiles = {{"block", BlocksOfIndices::list(), "indices written at once"},
              {"warps", {1, 2, 4, 8}, "warps of a block"}},
    .forms = {{"indices", "i32", {{"option length"}}}, {"sizes", "i32", {{"E"}}}, {"ends", "i32", {{"E"}}}},
    .plan = planIndices,
    .reference = referenceIndices,
    .contents = makeCounts,
    .checkContents = [](const Call &call, const HostArrays &arrays) { countsOf(call, arrays); },
    .tuning = {.counts = {}, .example = {{"R", 2}, {"E", 4}}, .exampleOptions = {{"length", "256"}}},
};

const LibraryKernel permuteRows = {
    .name = "permute_rows",
    .sentence = "takes the rows of a matrix in the order of indices",
    .contract = "y[l, k] = x[indices[l], k]; 0 where the index is no row of x, as -1",
    .inputs = {{"x", {"M", "K"}, movedTypes, "the rows, of any strides; contiguous along K is fast"}, indicesParameter},
    .results = {{"y", "[L, K]", "rows of x and rows of zeros"}},
    .options = {},
    .tiles = rowTiles,
    .forms = {{"y", "input x", {{"L"}, {"K"}}}},
    .plan = planPermute,
    .reference = [](const Call &call, HostArrays &arrays) { copyRows(call, arrays, true); },
    .contents = [](const Call &call, const std::string &input,
                   uint64_t seed) { return makeIndices(call, input, seed, call.extent("M")); },
    .tuning = {.counts = {"M", "L"}, .example = {{"M", 256}, {"K", 256}, {"L", 384}}},
};

const LibraryKernel unpermuteRows = {
    .name = "unpermute_rows",
    .sentence = "puts rows in the order of indices back",
    .contract =
        "x[indices[l], k] = y[l, k], and rows of x that no index names are 0. Indices that are no row of x, as -1, are "
        "left out; of equal ones any may be the last",
    .inputs = {{"y", {"L", "K"}, movedTypes, "the rows, of any strides; contiguous along K is fast"}, indicesParameter},
    .results = {{"x", "[rows, K]", "rows of y and rows of zeros"}},
    .options = {{"rows", {}, "-1", "rows of the result; it must be given"}},
    .tiles = rowTiles,
    .forms = {{"x", "input y", {{"option rows"}, {"K"}}}},
    .plan = planUnpermute,
    .reference = [](const Call &call, HostArrays &arrays) { copyRows(call, arrays, false); },
    .contents = [](const Call &call, const std::string &input,
                   uint64_t seed) { return makeIndices(call, input, seed, call.number("rows")); },
    .tuning = {.counts = {"L"}, .example = {{"L", 384}, {"K", 256}}, .exampleOptions = {{"rows", "256"}}},
};

} // namespace heddle::kernels
