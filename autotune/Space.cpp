// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multiplies out the declared choices and prunes them by the chip, before anything is compiled.
#include "autotune/Space.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace heddle::autotune {

using namespace kernels;

namespace {

/// Elements and bytes of the tile type whose text begins at `at`, after `tensor<`: `64x128xf32>`.
struct TileSize {
  int64_t elements = 1, bytes = 0;
  bool isF32 = false;
};
TileSize tileSizeAt(const std::string &text, size_t at) {
  TileSize size;
  for (;;) {
    int64_t extent = 0;
    auto [stop, status] = std::from_chars(text.data() + at, text.data() + text.size(), extent);
    if (status != std::errc() || stop == text.data() + text.size() || *stop != 'x')
      break;
    size.elements *= extent;
    at = size_t(stop - text.data()) + 1;
  }
  std::string element = text.substr(at, text.find_first_of(">,", at) - at);
  constexpr std::pair<const char *, int64_t> types[] = {{"f32", 4}, {"i32", 4}, {"i64", 8}, {"f64", 8}, {"bf16", 2},
                                                        {"f16", 2}, {"i16", 2}, {"i8", 1},  {"f8", 1}};
  for (const auto &[name, bytes] : types)
    if (element == name || (bytes == 1 && element.starts_with(name)))
      size.bytes = size.elements * bytes;
  size.isF32 = element == "f32";
  return size; // no bytes of what is no number, as of a mask or addresses
}

/// The largest tile of f32, which lies in registers. Integers may be indices, which the compiler folds.
TileSize largestTile(const std::string &text) {
  TileSize largest{0, 0};
  for (size_t at = text.find("tensor<"); at != std::string::npos; at = text.find("tensor<", at + 1))
    if (TileSize size = tileSizeAt(text, at + 7); size.isF32 && size.bytes > largest.bytes)
      largest = size;
  return largest;
}

/// The largest tile that is transposed, which goes through shared memory.
int64_t transposedBytes(const std::string &text) {
  int64_t most = 0;
  for (size_t at = text.find("tt.trans "); at != std::string::npos; at = text.find("tt.trans ", at + 1))
    if (size_t type = text.find("tensor<", at); type < text.find('\n', at))
      most = std::max(most, tileSizeAt(text, type + 7).bytes);
  return most;
}

template <class T>
const T *findNamed(const std::vector<T> &things, const std::string &name) {
  auto found = std::find_if(things.begin(), things.end(), [&](const T &thing) { return thing.name == name; });
  return found == things.end() ? nullptr : &*found;
}

std::vector<TuningVariant> variantsOf(const LibraryKernel &kernel) {
  if (!kernel.tuning.variants.empty())
    return kernel.tuning.variants;
  TuningVariant all;
  for (const TileParameter &tile : kernel.tiles)
    all.tiles.push_back(tile.name);
  return {all};
}

void checkVariant(const LibraryKernel &kernel, const TuningVariant &variant) {
  for (const auto &[name, value] : variant.options) {
    const Option *option = findNamed(kernel.options, name);
    if (!option)
      throw internalError(
          fmt::format("kernel `{}` declares `{}` for tuning, and has no such option", kernel.name, name));
    if (!option->values.empty() &&
        std::find(option->values.begin(), option->values.end(), value) == option->values.end())
      throw internalError(fmt::format("kernel `{}` declares `{}={}` for tuning, which its option `{}` has not",
                                      kernel.name, name, value, name));
  }
  for (const std::string &name : variant.tiles)
    if (!findNamed(kernel.tiles, name))
      throw internalError(
          fmt::format("kernel `{}` declares `{}` for tuning, and has no such tile parameter", kernel.name, name));
}

/// Every choice of the variant's tile parameters that the caller left open.
std::vector<Configuration> configurationsOf(const LibraryKernel &kernel, const TuningVariant &variant,
                                            const CallRequest &request) {
  Configuration options;
  for (const auto &[name, value] : variant.options) {
    auto given = request.options.find(name);
    if (given == request.options.end())
      options[name] = value;
    else if (given->second != value)
      return {};
  }
  std::vector<Configuration> all = {options};
  for (const std::string &name : variant.tiles) {
    if (request.options.count(name))
      continue;
    std::vector<Configuration> longer;
    for (const Configuration &configuration : all)
      for (int64_t value : findNamed(kernel.tiles, name)->values) {
        longer.push_back(configuration);
        longer.back()[name] = std::to_string(value);
      }
    all = std::move(longer);
  }
  return all;
}

/// What is launched and on what: plans of one text do the same. On the host a block has one thread.
std::string identityOf(const Plan &plan, const Chip &chip) {
  std::string text;
  for (const Step &step : plan.steps) {
    text += fmt::format("{} {} {} {} {} {}\n", step.fills, step.byte, chip.vendor == Vendor::Host ? 0 : step.warps,
                        step.grid[0], step.grid[1], step.grid[2]);
    for (const StepArgument &argument : step.arguments)
      text += fmt::format("{} {} ", argument.buffer, argument.value);
    text += step.text;
  }
  for (const NamedArray &array : plan.temporaries)
    text += fmt::format("{} {}\n", array.name, array.type.sizeBytes());
  return hashHex(text);
}

class SpaceMaker {
public:
  SpaceMaker(const LibraryKernel &kernel, const CallRequest &request) : kernel(kernel), request(request) {}

  Space make() {
    Candidate standard{{}, {}, checkCall(kernel, request)};
    standard.plan = planCall(kernel, standard.call);
    known[identityOf(standard.plan, *request.chip)] = textOf({});
    space.candidates.push_back(std::move(standard));
    for (const std::string &count : kernel.tuning.counts)
      if (!space.candidates[0].call.extents.count(count))
        throw internalError(
            fmt::format("kernel `{}` declares `{}` as a count for tuning, and has no such extent", kernel.name, count));
    for (const TuningVariant &variant : variantsOf(kernel)) {
      checkVariant(kernel, variant);
      for (const Configuration &configuration : configurationsOf(kernel, variant, request))
        if (!configuration.empty())
          add(variant, configuration);
    }
    return std::move(space);
  }

private:
  void add(const TuningVariant &variant, const Configuration &configuration) {
    Candidate candidate{configuration, {}, {}};
    try {
      candidate.call = checkCall(kernel, configured(request, configuration));
      if (variant.applies && !variant.applies(candidate.call))
        return; // the definition has another variant for such calls
      candidate.plan = planCall(kernel, candidate.call);
    } catch (const Error &error) {
      if (error.kind != ErrorClass::Input)
        throw;
      space.pruned.push_back({configuration, error.what()});
      return;
    }
    for (const Step &step : candidate.plan.steps)
      if (std::string reason = whyImpossible(step, *request.chip); !reason.empty()) {
        space.pruned.push_back({configuration, reason});
        return;
      }
    auto [same, isNew] = known.try_emplace(identityOf(candidate.plan, *request.chip), textOf(configuration));
    if (isNew)
      space.candidates.push_back(std::move(candidate));
    else
      space.pruned.push_back({configuration, fmt::format("makes the same launches as `{}`", same->second)});
  }

  const LibraryKernel &kernel;
  const CallRequest &request;
  Space space;
  std::map<std::string, std::string> known; ///< identities, and who had them first
};

} // namespace

std::vector<std::string> Space::names() const {
  std::vector<std::string> names;
  for (const Candidate &candidate : candidates)
    names.push_back(textOf(candidate.configuration));
  return names;
}

std::string Space::hash() const {
  std::string text;
  for (const std::string &name : names())
    text += name + "\n";
  return hashHex(text);
}

Space makeSpace(const LibraryKernel &kernel, const CallRequest &request) {
  return SpaceMaker(kernel, request).make();
}

CallRequest configured(const CallRequest &request, const Configuration &configuration) {
  CallRequest result = request;
  for (const auto &[name, value] : configuration)
    result.options[name] = value;
  return result;
}

std::vector<std::string> tunableNames(const LibraryKernel &kernel) {
  std::set<std::string> names;
  for (const TuningVariant &variant : variantsOf(kernel)) {
    names.insert(variant.tiles.begin(), variant.tiles.end());
    for (const auto &[name, value] : variant.options)
      names.insert(name);
  }
  for (const TileParameter &tile : kernel.tiles)
    names.insert(tile.name);
  return {names.begin(), names.end()};
}

std::string whyImpossible(const Step &step, const Chip &chip) {
  if (!step.fills.empty() || chip.vendor == Vendor::Host)
    return "";
  const int64_t threads = int64_t(step.warps) * chip.threadsPerWarp;
  if (threads > chip.threadsPerBlock)
    return fmt::format("{} warps are {} threads, and a block has at most {}", step.warps, threads,
                       chip.threadsPerBlock);
  const int64_t words = step.heldWords.value_or(largestTile(step.text).elements);
  if (int64_t registers = words / threads; registers >= chip.registersPerThread)
    return fmt::format("a block of {} threads holds {} numbers, {} registers of each thread, which has {}", threads,
                       words, registers, chip.registersPerThread);
  if (int64_t bytes = transposedBytes(step.text); bytes > chip.sharedMemoryBytes)
    return fmt::format("a transposed tile takes {} bytes of shared memory, and a block has {}", bytes,
                       chip.sharedMemoryBytes);
  return "";
}

} // namespace heddle::autotune
