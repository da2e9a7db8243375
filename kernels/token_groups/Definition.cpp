// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of rows (tokens of an expert) padded with rows of zeros to multiples of a size, as grouped matmuls and blocks
// of scales want them, and the inverse. No size is read on the host: the result has room for any groups.
#include "kernels/Jagged.h"
#include "kernels/Kernels.h"
#include "kernels/Rows.h"
#include "support/Error.h"
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfRows = Choices<1, 4, 16>;
using BlocksOfK = Choices<128, 512, 1024, 2048>;

struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  const Call &call;

  Scalar<i32> K = values.scalar<i32>("K"), G = values.scalar<i32>("G");

  bool checks() const { return call.is("check", "true"); }

  /// Rows of `target` from those of `source` that `from` names, zeros where `isThere` is false.
  template <int64_t bm, int64_t bk>
  void copy(const char *source, const char *target, const Tile<i32, bm> &to, const Tile<i1, bm> &isWritten,
            const Tile<i32, bm> &from, const Tile<i1, bm> &isThere) const {
    auto k = programId(1) * int(bk) + range<bk>();
    withBits(values.pointer(source).type, [&]<class Bits>() {
      auto at = advance(advance(bitsOf<Bits>(values.pointer(source)), column(from), writer.strideOf(values, "x_row")),
                        row(k), writer.strideOf(values, "x_k"));
      auto bits = load(at, column(isThere) && row(k < K), 0);
      store(bitsOf<Bits>(values.pointer(target)) + column(cast<i64>(to) * cast<i64>(K)) + row(k), bits,
            column(isWritten) && row(k < K));
    });
  }

  template <int64_t bm, int64_t bk>
  void pad() const {
    int align = int(call.number("align"));
    auto M = values.scalar<i32>("M"), rows = values.scalar<i32>("rows");
    auto r = programId(0) * int(bm) + range<bm>();
    auto none = zeros<i32, bm>();
    // A row is in one group at most: sums over groups are what that one has.
    auto [last, shift, end] = forRange(
        0, G, groupsAtOnce, carry(full<i32>(0), none, none), [&](Scalar<i32> chunk, auto filled, auto shift, auto end) {
          auto g = chunk + range<groupsAtOnce>();
          auto [begins, ends] = readGroups(values, g, G, M, checks());
          auto sizes = ceilDivide(ends - begins, align) * align;
          auto paddedEnds = filled + cumulativeSum(sizes, axis<0>());
          auto paddedStarts = paddedEnds - sizes;
          auto first = g < G && programId(0) == 0 && programId(1) == 0;
          store(values.pointer("starts").template as<i32>() + g, paddedStarts, first);
          store(values.pointer("ends").template as<i32>() + g, paddedEnds, first);
          auto isIn = column(r) >= row(paddedStarts) && column(r) < row(paddedEnds);
          return carry(filled + sum(sizes), shift + sum(select(isIn, row(begins - paddedStarts), 0), axis<1>()),
                       end + sum(select(isIn, row(ends), 0), axis<1>()));
        });
    copy<bm, bk>("x", "padded", r, r < rows, r + shift, r + shift < end && r < rows);
  }

  template <int64_t bm, int64_t bk>
  void unpad() const {
    auto P = values.scalar<i32>("P"), rows = values.scalar<i32>("rows");
    auto r = programId(0) * int(bm) + range<bm>();
    auto none = zeros<i32, bm>();
    auto [shift, isFound] =
        forRange(0, G, groupsAtOnce, carry(none, none), [&](Scalar<i32> chunk, auto shift, auto isFound) {
          auto g = chunk + range<groupsAtOnce>();
          auto [begins, ends] = readGroups(values, g, G, rows, checks());
          std::optional<Groups> starts;
          withType<i32, i64>(values.pointer("starts").type, [&]<class E>() {
            auto given = load(values.pointer("starts").as<E>() + g, g < G, 0);
            auto bounded = minimum(maximum(given, -1), cast<E>(P)); // of a start outside no row is there
            starts = select(cast<i32>(bounded) < 0, P, cast<i32>(bounded));
          });
          auto isIn = column(r) >= row(begins) && column(r) < row(ends);
          if (checks())
            assertThat(ends - begins <= P - *starts, "a group of the padded rows passes their end");
          return carry(shift + sum(select(isIn, row(*starts - begins), 0), axis<1>()),
                       isFound + sum(select(isIn, full<i32, bm, groupsAtOnce>(1), 0), axis<1>()));
        });
    auto from = r + shift;
    copy<bm, bk>("padded", "x", r, r < rows, from, isFound > 0 && from >= 0 && from < P);
  }
};

/// The rows of `source`, seen as `x_row` and `x_k`, and all other arguments but the extents of one kernel.
StepWriter writerOf(const Call &call, const std::string &name, const std::string &source, const std::string &target) {
  StepWriter writer(name);
  const ArrayType &from = call.input(source), &offs = call.input("offs");
  writer.buffer(source, from.type);
  writer.buffer("offs", offs.type, int(elementSizeBytes(offs.type)));
  writer.buffer(target, from.type);
  writer.count("K", call.extent("K"));
  writer.count("G", call.extent("G"));
  writer.stride("x_row", from.stride(0));
  writer.stride("x_k", from.stride(1));
  return writer;
}

/// One block for a tile of the result's rows, and of its columns.
Step finish(StepWriter &writer, const Call &call, int64_t rows, bool pads) {
  int64_t K = call.extent("K"), bk = call.tile("block_k", K > 512 ? 1024 : 512), bm = call.tile("block_m", 4);
  return writer.finish({blocksFor(rows, bm), std::max<int64_t>(blocksFor(K, bk), 1), 1}, call.tile("warps", 4),
                       [&](const TypedArguments &values) {
                         choose(BlocksOfRows(), bm, [&]<int64_t m>() {
                           choose(BlocksOfK(), bk, [&]<int64_t k>() {
                             Body body{writer, values, call};
                             pads ? body.pad<m, k>() : body.unpad<m, k>();
                           });
                         });
                       });
}

Plan planPad(const Call &call) {
  requireGroups(call, "M", call.extent("M"));
  int64_t align = checkedNumber(call, "align", 1, 1 << 20, "groups are padded to multiples of it");
  int64_t M = call.extent("M"), K = call.extent("K"), G = call.extent("G");
  int64_t rows = blocksFor(M + G * align, align) * align;
  if (rows > INT32_MAX)
    throw inputError(
        fmt::format("kernel `{}`: M = {}, and {} groups padded to multiples of {} need {} rows, and there are "
                    "at most {}",
                    call.kernel, M, G, align, rows, INT32_MAX));
  ElementType type = call.input("x").type;
  Plan plan;
  plan.results = {
      {"padded", {type, {rows, K}}}, {"starts", {ElementType::I32, {G}}}, {"ends", {ElementType::I32, {G}}}};
  if (rows == 0)
    return plan;
  StepWriter writer = writerOf(call, "token_group_pad", "x", "padded");
  writer.buffer("starts", ElementType::I32);
  writer.buffer("ends", ElementType::I32);
  writer.count("M", M);
  writer.count("rows", rows);
  plan.steps.push_back(finish(writer, call, rows, true));
  return plan;
}

Plan planUnpad(const Call &call) {
  int64_t P = call.extent("P"), K = call.extent("K");
  int64_t rows = checkedNumber(call, "rows", 0, P, "give the number of rows before they were padded, as `rows=100`");
  requireDense(call, "starts");
  requireGroups(call, "rows", rows);
  ElementType type = call.input("padded").type;
  Plan plan;
  plan.results = {{"x", {type, {rows, K}}}};
  if (rows * K == 0)
    return plan;
  StepWriter writer = writerOf(call, "token_group_unpad", "padded", "x");
  ElementType ofStarts = call.input("starts").type;
  writer.buffer("starts", ofStarts, int(elementSizeBytes(ofStarts)));
  writer.count("P", P);
  writer.count("rows", rows);
  plan.steps.push_back(finish(writer, call, rows, false));
  return plan;
}

void copyRow(const HostArray &from, int64_t fromRow, HostArray &to, int64_t toRow) {
  for (int64_t k = 0; k < to.type.shape[1]; ++k)
    copyElement(from, from.offset({fromRow, k}), to, to.offset({toRow, k}));
}

void referencePad(const Call &call, HostArrays &arrays) {
  int64_t align = call.number("align"), row = 0, padded = 0;
  std::vector<int64_t> ends = offsetsOf(arrays, call.extent("M"));
  for (size_t g = 0; g < ends.size(); ++g) {
    arrays.at("starts").set({int64_t(g)}, double(padded));
    int64_t end = padded + blocksFor(ends[g] - row, align) * align;
    for (; row < ends[g]; ++row)
      copyRow(arrays.at("x"), row, arrays.at("padded"), padded++);
    arrays.at("ends").set({int64_t(g)}, double(padded = end));
  }
}

/// Where each group starts in the padded rows. A group that passes their end is Error{Input}.
std::vector<int64_t> startsOf(const Call &call, const HostArrays &arrays) {
  const HostArray &starts = arrays.at("starts");
  std::vector<int64_t> ends = offsetsOf(arrays, call.number("rows")), made;
  for (size_t g = 0; g < ends.size(); ++g) {
    int64_t start = loadInt(starts.type.type, starts.bytes.data() + starts.offset({int64_t(g)}));
    int64_t size = ends[g] - (g ? ends[g - 1] : 0), P = call.extent("P");
    if (start < 0 || start > P - size)
      throw inputError(
          fmt::format("starts[{}] is {}, and must be from 0 to {}: the group has {} rows, and `padded` has {}", g,
                      start, P - size, size, P));
    made.push_back(start);
  }
  return made;
}

void referenceUnpad(const Call &call, HostArrays &arrays) {
  std::vector<int64_t> ends = offsetsOf(arrays, call.number("rows")), starts = startsOf(call, arrays);
  for (size_t g = 0, row = 0; g < ends.size(); ++g)
    for (int64_t from = starts[g]; int64_t(row) < ends[g]; ++row, ++from)
      copyRow(arrays.at("padded"), from, arrays.at("x"), int64_t(row));
}

/// Starts whose groups have what rows there are between them.
std::string unpadContents(const Call &call, const std::string &input, uint64_t seed) {
  int64_t rows = call.number("rows"), G = call.extent("G");
  if (input == "offs")
    return makeOffsets(call, rows, seed);
  if (input != "starts")
    return "";
  HostArray offs{call.input("offs"), makeOffsets(call, rows, seed)};
  HostArray starts{call.input("starts"), std::string(size_t(call.input("starts").sizeBytes()), '\0')};
  for (int64_t g = 0, begin = 0; g < G; ++g) {
    storeInt(starts.type.type, begin + g * ((call.extent("P") - rows) / G), starts.bytes.data() + starts.offset({g}));
    begin = loadInt(offs.type.type, offs.bytes.data() + offs.offset({g}));
  }
  return starts.bytes;
}

const std::vector<TileParameter> tiles = {{"block_m", BlocksOfRows::list(), "rows of a tile"},
                                          {"block_k", BlocksOfK::list(), "columns of a tile"},
                                          {"warps", {1, 2, 4, 8}, "warps of a block"}};
const Option checkOption = {
    "check", {"true", "false"}, "false", "a launch fails where offs decreases or a group passes the end"};

} // namespace

const LibraryKernel tokenGroupPad = {
    .name = "token_group_pad",
    .sentence = "pads groups of rows with zeros to multiples of a size",
    .contract =
        "group g has the rows from offs[g - 1], or 0, up to offs[g]; padded has them from row starts[g] on, where "
        "starts[g] = ends[g - 1], or 0, and ends[g] = starts[g] + rows of the group, rounded up to a multiple of "
        "align; "
        "all other rows are zeros",
    .inputs = {{"x", {"M", "K"}, movedTypes, "the rows, of any strides; contiguous along K is fast"},
               offsetsParameter()},
    .results = {{"padded", "[M + G * align, K]", "the rows, as many as any groups may need, a multiple of align"},
                {"starts", "[G]", "the row at which each group starts, i32"},
                {"ends", "[G]", "the row before which each padded group ends, i32"}},
    .options = {{"align", {}, "32", "a padded group has a multiple of so many rows; an empty group has none"},
                checkOption},
    .tiles = tiles,
    .forms = {{"padded", "input x", {{.of = "M", .plus = "G", .unit = "align"}, {"K"}}},
              {"starts", "i32", {{"G"}}},
              {"ends", "i32", {{"G"}}}},
    .plan = planPad,
    .reference = referencePad,
    .contents = makeOffsetsOfM,
    .checkContents = [](const Call &call, const HostArrays &arrays) { offsetsOf(arrays, call.extent("M")); },
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 256}, {"G", 4}}},
};

const LibraryKernel tokenGroupUnpad = {
    .name = "token_group_unpad",
    .sentence = "takes the padding between groups of rows away",
    .contract = "x[m, k] = padded[starts[g] + m - offs[g - 1], k] of the group g of row m, which has the rows from "
                "offs[g - 1], "
                "or 0, up to offs[g]; 0 where no group has the row",
    .inputs = {{"padded", {"P", "K"}, movedTypes, "the padded rows, of any strides"},
               {"offs", {"G"}, {ElementType::I32, ElementType::I64}, "where each group ends without padding, dense"},
               {"starts", {"G"}, {ElementType::I32, ElementType::I64}, "where each group starts in padded, dense"}},
    .results = {{"x", "[rows, K]", "the rows without padding"}},
    .options = {{"rows", {}, "-1", "rows of the result, at most P; it must be given"}, checkOption},
    .tiles = tiles,
    .forms = {{"x", "input padded", {{"option rows"}, {"K"}}}},
    .plan = planUnpad,
    .reference = referenceUnpad,
    .contents = unpadContents,
    .checkContents = [](const Call &call, const HostArrays &arrays) { startsOf(call, arrays); },
    .tuning = {.counts = {"P"}, .example = {{"P", 384}, {"K", 256}, {"G", 4}}, .exampleOptions = {{"rows", "256"}}},
};

} // namespace heddle::kernels
