// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One table of attributes: which opcodes have them, which need them, how their value is read.
#include "frontend/hlo/ParseAttributes.h"
#include "frontend/hlo/ParseGroups.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace heddle::hlo {
namespace {

using enum Opcode;
using Opcodes = std::vector<Opcode>;

struct Rule {
  const char *name;
  const char *form; ///< as the message about a missing one shows it
  Opcodes needing, allowing;
  void (*parse)(ParseContext &, Instruction &);
};

std::vector<int64_t> braced(ParseContext &context) {
  return context.cursor.integers("{", "}");
}

void parseSlice(ParseContext &context, Instruction &instruction) {
  Cursor &cursor = context.cursor;
  cursor.expect("{");
  if (cursor.accept("}"))
    return;
  do {
    cursor.expect("[");
    instruction.slice.starts.push_back(cursor.integer());
    cursor.expect(":");
    instruction.slice.limits.push_back(cursor.integer());
    instruction.slice.strides.push_back(cursor.accept(":") ? cursor.integer() : 1);
    cursor.expect("]");
  } while (cursor.accept(","));
  cursor.expect("}");
}

/// One dimension of `1_2x0_0_1`: low, high and, optionally, interior.
std::optional<PaddedDimension> parsePaddedDimension(std::string_view text) {
  int64_t values[3] = {0, 0, 0};
  const char *next = text.data(), *end = next + text.size();
  for (int i = 0; i < 3; ++i) {
    auto [stop, status] = std::from_chars(next, end, values[i]);
    if (status != std::errc())
      return std::nullopt;
    next = stop;
    if (next == end)
      return i == 0 ? std::nullopt : std::optional(PaddedDimension{values[0], values[1], values[2]});
    if (*next++ != '_')
      return std::nullopt;
  }
  return std::nullopt;
}

void parsePadding(ParseContext &context, Instruction &instruction) {
  Location location = context.cursor.here();
  std::string text(context.cursor.word("padding as `LOW_HIGH[_INTERIOR]x...`"));
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('x', begin), text.size());
    auto dimension = parsePaddedDimension(std::string_view(text).substr(begin, end - begin));
    if (!dimension)
      context.cursor.fail(location,
                          fmt::format("padding '{}' is not of the form LOW_HIGH[_INTERIOR]x...", text.substr(0, 60)));
    instruction.padding.push_back(*dimension);
    begin = end + 1;
  }
}

void parseDirection(ParseContext &context, Instruction &instruction) {
  Location location = context.cursor.here();
  std::string text(context.cursor.word("a comparison direction"));
  for (int i = 0; i < 6; ++i)
    if (text == compareDirectionName(CompareDirection(i))) {
      instruction.direction = CompareDirection(i);
      return;
    }
  context.cursor.fail(location, fmt::format("unknown comparison direction '{}'", text.substr(0, 60)),
                      {"the directions are EQ, NE, LT, LE, GT, GE"});
}

void parseCompareType(ParseContext &context, Instruction &instruction) {
  Location location = context.cursor.here();
  std::string text(context.cursor.word("a comparison type"));
  if (text == "TOTALORDER")
    instruction.totalOrder = true;
  else if (text != "FLOAT" && text != "SIGNED" && text != "UNSIGNED")
    context.cursor.fail(location, fmt::format("unknown comparison type '{}'", text.substr(0, 60)),
                        {"the types are FLOAT, TOTALORDER, SIGNED, UNSIGNED"});
}

void parseTranspose(ParseContext &context, Instruction &) {
  Location location = context.cursor.here();
  std::string text(context.cursor.word("a transpose"));
  if (text != "NO_TRANSPOSE" && text != "TRANSPOSE" && text != "ADJOINT")
    context.cursor.fail(location, fmt::format("unknown transpose_a '{}'", text.substr(0, 60)),
                        {"it is NO_TRANSPOSE, TRANSPOSE or ADJOINT"});
  context.attributes.triangular.transposed = text != "NO_TRANSPOSE";
  context.attributes.triangular.conjugated = text == "ADJOINT";
}

void parsePairs(ParseContext &context, Instruction &instruction) {
  Cursor &cursor = context.cursor;
  cursor.expect("{");
  if (cursor.accept("}"))
    return;
  do {
    Location location = cursor.here();
    std::vector<int64_t> pair = cursor.integers("{", "}");
    if (pair.size() != 2)
      cursor.fail(location, fmt::format("expects pairs {{source,target}}, got {} ids", pair.size()));
    instruction.collective->sourceTargetPairs.emplace_back(pair[0], pair[1]);
  } while (cursor.accept(","));
  cursor.expect("}");
}

void parseCalled(ParseContext &context, Instruction &instruction) {
  Location location = context.cursor.here();
  if (instruction.calledComputation >= 0)
    context.cursor.fail(location, "a second called computation; expects `to_apply` or `calls`, not both");
  instruction.calledComputation = parseComputationName(context);
}

/// Of a conditional, which is read as calls (ParseInstruction.cpp).
void parseBranch(ParseContext &context, Instruction &instruction) {
  context.attributes.branches.push_back(parseComputationName(context));
}

void parseBranches(ParseContext &context, Instruction &instruction) {
  context.cursor.expect("{");
  do
    parseBranch(context, instruction);
  while (context.cursor.accept(","));
  context.cursor.expect("}");
}

const Opcodes grouped = {AllReduce, AllGather, ReduceScatter, AllToAll, CollectiveBroadcast};
const Opcodes collectives = {AllReduce, AllGather, ReduceScatter, AllToAll, CollectiveBroadcast, CollectivePermute};

// Lambdas take the context as `c`, the instruction as `i`.
const std::vector<Rule> &rules() {
  static const std::vector<Rule> table = {
      {"dimensions",
       "dimensions={d}",
       {Broadcast, Transpose, Concatenate, Reverse, Reduce, AllGather, ReduceScatter},
       {AllToAll, Call},
       [](ParseContext &c, Instruction &i) { i.dimensions = braced(c); }},
      {"iota_dimension",
       "iota_dimension=d",
       {Iota},
       {},
       [](ParseContext &c, Instruction &i) { i.iotaDimension = c.cursor.integer(); }},
      {"slice", "slice={[start:limit],..}", {Slice}, {}, parseSlice},
      {"dynamic_slice_sizes",
       "dynamic_slice_sizes={n,..}",
       {DynamicSlice},
       {},
       [](ParseContext &c, Instruction &i) { i.dynamicSliceSizes = braced(c); }},
      {"padding", "padding=LOW_HIGHx..", {Pad}, {}, parsePadding},
      {"offset_dims",
       "offset_dims={d,..}",
       {Gather},
       {},
       [](ParseContext &c, Instruction &i) { i.gather.offsets = braced(c); }},
      {"collapsed_slice_dims",
       "",
       {},
       {Gather},
       [](ParseContext &c, Instruction &i) { i.gather.collapsed = braced(c); }},
      {"operand_batching_dims",
       "",
       {},
       {Gather},
       [](ParseContext &c, Instruction &i) { i.gather.operandBatch = braced(c); }},
      {"start_indices_batching_dims",
       "",
       {},
       {Gather},
       [](ParseContext &c, Instruction &i) { i.gather.indicesBatch = braced(c); }},
      {"start_index_map",
       "start_index_map={d,..}",
       {Gather},
       {},
       [](ParseContext &c, Instruction &i) { i.gather.startIndexMap = braced(c); }},
      {"index_vector_dim",
       "index_vector_dim=d",
       {Gather},
       {Call},
       [](ParseContext &c, Instruction &i) { i.gather.indexVectorDim = c.cursor.integer(); }},
      {"slice_sizes",
       "slice_sizes={n,..}",
       {Gather},
       {},
       [](ParseContext &c, Instruction &i) { i.gather.sliceSizes = braced(c); }},
      {"window", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.window = c.cursor.rawValue(); }},
      {"update_window_dims", "", {}, {Call}, [](ParseContext &c, Instruction &i) { i.gather.offsets = braced(c); }},
      {"inserted_window_dims", "", {}, {Call}, [](ParseContext &c, Instruction &i) { i.gather.collapsed = braced(c); }},
      {"scatter_dims_to_operand_dims",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &i) { i.gather.startIndexMap = braced(c); }},
      {"input_batching_dims",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &i) { i.gather.operandBatch = braced(c); }},
      {"scatter_indices_batching_dims",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &i) { i.gather.indicesBatch = braced(c); }},
      {"k", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.count = c.cursor.integer(); }},
      {"largest", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.largest = c.cursor.boolean(); }},
      {"exponent_bits",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.exponentBits = c.cursor.integer(); }},
      {"mantissa_bits",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.mantissaBits = c.cursor.integer(); }},
      {"custom_call_target",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.target = c.cursor.rawValue(); }},
      {"called_computations", "", {}, {Call}, parseBranches},
      {"lower",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.triangular.lower = c.cursor.boolean(); }},
      {"left_side",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.triangular.left = c.cursor.boolean(); }},
      {"unit_diagonal",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.triangular.unit = c.cursor.boolean(); }},
      {"transpose_a", "", {}, {Call}, parseTranspose},
      {"algorithm",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.algorithm = c.cursor.rawValue(); }},
      {"fft_type", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.fftType = c.cursor.rawValue(); }},
      {"fft_length", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.fftLength = braced(c); }},
      {"dim_labels", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.labels = c.cursor.rawValue(); }},
      {"feature_group_count",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.featureGroups = c.cursor.integer(); }},
      {"batch_group_count",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.batchGroups = c.cursor.integer(); }},
      {"select", "", {}, {Call}, [](ParseContext &c, Instruction &) { c.attributes.select = parseComputationName(c); }},
      {"scatter",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) { c.attributes.scatter = parseComputationName(c); }},
      {"branch_computations", "", {}, {Call}, parseBranches},
      {"true_computation",
       "",
       {},
       {Call},
       [](ParseContext &c, Instruction &) {
         c.attributes.branches.insert(c.attributes.branches.begin(), parseComputationName(c));
       }},
      {"false_computation", "", {}, {Call}, parseBranch},
      {"index",
       "index=k",
       {GetTupleElement},
       {},
       [](ParseContext &c, Instruction &i) { i.tupleIndex = c.cursor.integer(); }},
      {"direction", "direction=LT", {Compare}, {}, parseDirection},
      {"type", "type=TOTALORDER", {}, {Compare}, parseCompareType},
      {"to_apply", "to_apply=computation", {Reduce, Call, AllReduce, ReduceScatter}, {}, parseCalled},
      {"calls", "calls=computation", {Fusion}, {Call}, parseCalled},
      {"kind",
       "kind=kLoop",
       {},
       {Fusion},
       [](ParseContext &c, Instruction &i) { i.fusionKind = c.cursor.word("a fusion kind"); }},
      {"condition",
       "condition=computation",
       {While},
       {},
       [](ParseContext &c, Instruction &i) { i.condition = parseComputationName(c); }},
      {"body",
       "body=computation",
       {While},
       {},
       [](ParseContext &c, Instruction &i) { i.body = parseComputationName(c); }},
      {"lhs_batch_dims", "", {}, {Dot}, [](ParseContext &c, Instruction &i) { i.dot.lhsBatch = braced(c); }},
      {"rhs_batch_dims", "", {}, {Dot}, [](ParseContext &c, Instruction &i) { i.dot.rhsBatch = braced(c); }},
      {"lhs_contracting_dims",
       "",
       {},
       {Dot},
       [](ParseContext &c, Instruction &i) { i.dot.lhsContracting = braced(c); }},
      {"rhs_contracting_dims",
       "",
       {},
       {Dot},
       [](ParseContext &c, Instruction &i) { i.dot.rhsContracting = braced(c); }},
      {"replica_groups",
       "",
       {},
       grouped,
       [](ParseContext &c, Instruction &i) { i.collective->replicaGroups = parseReplicaGroups(c.cursor); }},
      {"channel_id",
       "",
       {},
       collectives,
       [](ParseContext &c, Instruction &i) { i.collective->channelId = c.cursor.integer(); }},
      {"use_global_device_ids",
       "",
       {},
       {AllReduce, AllGather, ReduceScatter},
       [](ParseContext &c, Instruction &i) { i.collective->useGlobalDeviceIds = c.cursor.boolean(); }},
      {"constrain_layout",
       "",
       {},
       collectives,
       [](ParseContext &c, Instruction &i) { i.collective->constrainLayout = c.cursor.boolean(); }},
      {"source_target_pairs", "source_target_pairs={{a,b},..}", {CollectivePermute}, {}, parsePairs},
  };
  return table;
}

/// Kept as text: they say nothing about the values, or only how to compute them.
const std::set<std::string, std::less<>> companions = {
    "metadata",
    "backend_config",
    "frontend_attributes",
    "sharding",
    "control-predecessors",
    "statistics",
    "async_execution_thread",
    "operand_precision",
    "origin",
    "result_accuracy",
    "algorithm",
    "mode",
    "parameter_replication",
    "indices_are_sorted",
    "is_stable",
    "operand_layout_constraints",
    "output_to_operand_aliasing",
    "api_version",
    "unique_indices",
};

bool has(const Opcodes &opcodes, Opcode opcode) {
  return std::find(opcodes.begin(), opcodes.end(), opcode) != opcodes.end();
}

/// Attributes that change the result in a way that is not supported: skipping them would compute something else.
void refuseAttribute(ParseContext &context, Location location, const std::string &name,
                     const Instruction &instruction) {
  bool meaningful = (name == "use_global_device_ids" && isCollective(instruction.opcode)) || name == "slice_sizes" ||
                    name == "has_dynamic_root";
  if (!meaningful || context.cursor.peekWord() == "false")
    return;
  context.cursor.fail(location, fmt::format("'{}' with {} is not supported", opcodeName(instruction.opcode), name));
}

void skipAttribute(ParseContext &context, Location location, const std::string &name, Instruction &instruction) {
  refuseAttribute(context, location, name, instruction);
  std::string value = context.cursor.rawValue();
  if (companions.contains(name)) {
    instruction.carried.push_back({name, value});
    return;
  }
  context.module.warnings.push_back(fmt::format("{}attribute '{}' of '{}' is not known and was skipped",
                                                context.cursor.prefix(location), name.substr(0, 60),
                                                opcodeName(instruction.opcode)));
}

void checkNeeded(ParseContext &context, const Instruction &instruction, const std::set<std::string> &seen,
                 AttributePlace place) {
  for (const Rule &rule : rules()) {
    if (!has(rule.needing, instruction.opcode) || seen.contains(rule.name))
      continue;
    if (instruction.opcode == Call &&
        (place == AttributePlace::SecondHalf || instruction.calledComputation >= 0 || context.writtenOut))
      continue; // `calls` serves as well as `to_apply`
    context.cursor.fail(instruction.location, fmt::format("'{}' needs {}", opcodeName(instruction.opcode), rule.form));
  }
}

} // namespace

int parseComputationName(ParseContext &context) {
  Location location = context.cursor.here();
  std::string name = context.cursor.name("the name of a computation");
  auto found = context.computationNames.find(name);
  if (found != context.computationNames.end())
    return found->second;
  std::vector<std::string> known, notes = {"a called computation stands before its caller"};
  for (const auto &[other, index] : context.computationNames)
    known.push_back(other);
  std::sort(known.begin(), known.end());
  std::string nearest = closestName(name, known);
  if (!nearest.empty())
    notes.insert(notes.begin(), fmt::format("did you mean '{}'?", nearest));
  context.cursor.fail(location, fmt::format("there is no computation '{}'", name.substr(0, 60)), notes);
}

void parseAttributes(ParseContext &context, Instruction &instruction, AttributePlace place) {
  Cursor &cursor = context.cursor;
  std::set<std::string> seen;
  if (isCollective(instruction.opcode))
    instruction.collective.emplace();
  while (place == AttributePlace::Operand ? cursor.acceptCommaBeforeAttribute() : cursor.accept(",")) {
    Location location = cursor.here();
    std::string name(cursor.word("an attribute"));
    cursor.expect("=");
    if (!seen.insert(name).second)
      cursor.fail(location, fmt::format("attribute '{}' is given twice", name.substr(0, 60)));
    auto rule = std::find_if(rules().begin(), rules().end(), [&](const Rule &candidate) {
      return name == candidate.name &&
             (has(candidate.needing, instruction.opcode) || has(candidate.allowing, instruction.opcode));
    });
    if (rule != rules().end())
      rule->parse(context, instruction);
    else
      skipAttribute(context, location, name, instruction);
  }
  checkNeeded(context, instruction, seen, place);
}

} // namespace heddle::hlo
