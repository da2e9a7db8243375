// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words, sizes and plans; api/CollectiveBenchmark.cpp measures.
#include "api/Collectives.h"
#include "chips/Chip.h"
#include "collectives/kernel/CompileKernel.h"
#include "collectives/model/ProtocolModel.h"
#include "runtime/Driver.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

namespace heddle {
namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                    CollectiveKind::AllToAll,  CollectiveKind::Permute,   CollectiveKind::Broadcast};
constexpr Reduction reductions[] = {Reduction::Sum,     Reduction::Product, Reduction::Minimum,
                                    Reduction::Maximum, Reduction::And,     Reduction::Or};

struct Alias {
  const char *name;
  ElementType type;
};
constexpr Alias ncclNames[] = {
    {"float", ElementType::F32},         {"double", ElementType::F64},      {"half", ElementType::F16},
    {"bfloat16", ElementType::BF16},     {"int8", ElementType::I8},         {"uint8", ElementType::UI8},
    {"int32", ElementType::I32},         {"uint32", ElementType::UI32},     {"int64", ElementType::I64},
    {"uint64", ElementType::UI64},       {"f8e4m3", ElementType::F8E4M3FN}, {"f8e5m2", ElementType::F8E5M2},
    {"fp8_e4m3", ElementType::F8E4M3FN}, {"fp8_e5m2", ElementType::F8E5M2}};

/// The notes of an unknown word: the closest one, and all.
std::vector<std::string> notesFor(const std::string &word, const std::vector<std::string> &known, const char *what) {
  std::vector<std::string> notes;
  if (std::string close = closestName(word, known); !close.empty())
    notes.push_back(fmt::format("the closest is `{}`", close));
  notes.push_back(fmt::format("the {} are {}", what, fmt::join(known, ", ")));
  return notes;
}

bool hasParts(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll;
}

} // namespace

const CollectiveKind *findCollective(std::string_view name) {
  for (const CollectiveKind &kind : kinds)
    if (name == collectiveName(kind))
      return &kind;
  return nullptr;
}

std::vector<std::string> collectiveNames() {
  std::vector<std::string> names;
  for (CollectiveKind kind : kinds)
    names.push_back(collectiveName(kind));
  return names;
}

CollectiveKind parseCollective(const std::string &name) {
  if (const CollectiveKind *kind = findCollective(name))
    return *kind;
  throw inputError(fmt::format("there is no collective `{}`", name), notesFor(name, collectiveNames(), "collectives"));
}

const char *shortReductionName(Reduction reduction) {
  switch (reduction) {
  case Reduction::Product:
    return "prod";
  case Reduction::Minimum:
    return "min";
  case Reduction::Maximum:
    return "max";
  default:
    return reductionName(reduction);
  }
}

Reduction parseReduction(const std::string &name) {
  std::vector<std::string> known;
  for (Reduction reduction : reductions) {
    if (name == reductionName(reduction) || name == shortReductionName(reduction))
      return reduction;
    known.push_back(shortReductionName(reduction));
  }
  throw inputError(fmt::format("there is no reduction `{}`", name), notesFor(name, known, "reductions"));
}

Reduction parseReductionOf(CollectiveKind kind, const std::string &name) {
  if (name.empty())
    return Reduction::Sum;
  Reduction reduction = parseReduction(name);
  if (!reduces(kind))
    throw inputError(fmt::format("`--op {}`: {} reduces nothing", name, collectiveName(kind)),
                     {"leave `--op` out; it is for all-reduce and reduce-scatter"});
  return reduction;
}

ElementType parseDatatype(const std::string &name) {
  if (auto type = findElementType(name))
    return *type;
  std::vector<std::string> known;
  for (ElementType type : allElementTypes())
    known.push_back(elementTypeName(type));
  for (const Alias &alias : ncclNames) {
    if (name == alias.name)
      return alias.type;
    known.push_back(alias.name);
  }
  throw inputError(fmt::format("there is no element type `{}`", name), notesFor(name, known, "types"));
}

int64_t parseByteSize(const std::string &option, const std::string &text) {
  double value = 0, unit = 1;
  const char *end = text.data() + text.size();
  auto [stop, status] = std::from_chars(text.data(), end, value);
  bool isWhole = stop == end;
  if (status == std::errc() && stop + 1 == end) {
    static constexpr std::string_view units = "KkMmGg";
    size_t found = units.find(*stop);
    isWhole = found != std::string_view::npos;
    unit = isWhole ? double(int64_t(1) << (10 * (found / 2 + 1))) : 1;
  }
  if (status != std::errc() || !isWhole || !(value >= 0))
    throw inputError(fmt::format("`{} {}` is no size in bytes", option, text),
                     {"a size is a number, or one followed by K, M or G: 512, 64K, 1.5M"});
  // As in nccl-tests 1.3K is cut to whole bytes, but there is no half a byte.
  if (value * unit != std::floor(value * unit) && (unit == 1 || value * unit < 1))
    throw inputError(fmt::format("`{} {}` is no whole number of bytes", option, text),
                     {"a size is a number, or one followed by K, M or G: 512, 64K, 1.5M"});
  if (value * unit > std::ldexp(1.0, 56))
    throw inputError(fmt::format("`{} {}` is above 2^56 bytes", option, text));
  return int64_t(value * unit);
}

//===-- Sizes ----------------------------------------------------------------------------------------------------===//

static Collective sizedCollective(CollectiveKind kind, ElementType type, Reduction reduction, int ranks,
                                  int64_t bytes) {
  Collective collective;
  collective.kind = kind;
  collective.type = type;
  collective.reduction = reduction;
  collective.ranks = ranks;
  int64_t size = elementSizeBytes(type);
  collective.inner = bytes / size;
  if (hasParts(kind) && ranks > 0)
    collective.inner = collective.inner / ranks / (16 / size) * (16 / size);
  if (kind == CollectiveKind::Permute)
    for (int rank = 0; rank < ranks; ++rank)
      collective.sources.push_back((rank + ranks - 1) % ranks);
  return collective;
}

Collective collectiveOfSize(CollectiveKind kind, ElementType type, Reduction reduction, int ranks, int64_t bytes) {
  Collective collective = sizedCollective(kind, type, reduction, ranks, bytes);
  checkCollective(collective);
  return collective;
}

Collective hostCollectiveOfSize(CollectiveKind kind, ElementType type, Reduction reduction, int ranks, int64_t bytes) {
  return sizedCollective(kind, type, reduction, ranks, bytes); // makeHostPlan checks it
}

int64_t sizeColumn(const Collective &collective) {
  return std::max(collective.inputElements(), collective.outputElements()) * elementSizeBytes(collective.type);
}

int64_t countColumn(const Collective &collective) {
  return collective.partElements();
}

double busFactor(CollectiveKind kind, int ranks) {
  double others = double(ranks - 1) / ranks;
  return kind == CollectiveKind::AllReduce ? 2 * others : hasParts(kind) ? others : 1;
}

//===-- Plans ----------------------------------------------------------------------------------------------------===//

/// For plans without a device: the first chip of NVIDIA in the table.
static const Chip &chipWithoutDevice() {
  for (const Chip *chip : allChips())
    if (chip->vendor == Vendor::Nvidia)
      return *chip;
  throw internalError("no chip of NVIDIA");
}

const Chip &chipOfDriver(const std::string &driver) {
  return driver == "cuda" ? chipWithoutDevice() : openDevice(driver + ":0")->chip();
}

static void requireDriver(const std::string &device) {
  std::string name = driverNameOf(device);
  bool exists = std::any_of(allDrivers().begin(), allDrivers().end(),
                            [&](const Driver *driver) { return driver->name() == name; });
  if (exists && name != device)
    throw inputError(fmt::format("`--device {}`: a collective takes a driver's devices from 0 on", device),
                     {fmt::format("`--device {} --devices N`", name)});
}

Plan planFor(const Collective &collective, const std::string &driver, const PlanOptions &options) {
  requireDriver(driver);
  PlanOptions onBuffers = options;
  onBuffers.direct = true;
  if (driver == "cuda") { // whose plan needs no device
    const Chip &chip = chipWithoutDevice();
    onBuffers.computeUnits = std::max(1, chip.computeUnits / devicesPerGpu());
    return makePlan(collective, chip, onBuffers);
  }
  auto device = openDevice(driver + ":0");
  onBuffers.computeUnits = device->computeUnits();
  return makePlan(collective, device->chip(), onBuffers);
}

std::string planKernelText(const Plan &plan) {
  return kernelText(plan);
}

std::string planModelText(const Plan &plan) {
  return promelaModel(plan);
}

} // namespace heddle
