// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens the database, runs a search for each shape, and exports, imports, lists and forgets results.
#include "api/Tune.h"
#include "api/EstimateClock.h"
#include "api/LibraryCall.h"
#include "autotune/Exchange.h"
#include "autotune/Lookup.h"
#include "autotune/Tuner.h"
#include "runtime/Driver.h"
#include "support/File.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <thread>

namespace heddle {
namespace {

using namespace autotune;
using namespace kernels;

constexpr int mostThreads = 16;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string wordsOf(const std::string &clock) {
  if (clock == "estimate")
    return "the simulator's estimate, not a measurement";
  std::string how = clock.starts_with("host") ? "the host's clock, calls in a row" : "device events around graphs";
  return clock.ends_with("-cold") ? how + ", caches emptied before each call" : how + ", warm caches";
}

std::vector<std::string> shapesOf(const TuneRequest &request) {
  return request.shapes.empty() ? std::vector<std::string>{""} : request.shapes;
}

/// Also checks the contents that are given, and the call.
BoundCall bindShape(const TuneRequest &request, const std::string &shape, const Chip &chip) {
  LibraryRequest library = request.library;
  library.shape = shape;
  BoundCall bound = bindLibraryCall(library, chip);
  Call call = checkCall(bound.kernel, bound.request);
  if (!bound.given.empty() && bound.kernel.checkContents) {
    HostArrays known = bound.given;
    for (const auto &[name, type] : call.inputs)
      if (!known.count(name))
        known[name] = {type, bound.kernel.contents ? bound.kernel.contents(call, name, 1) : ""};
    bound.kernel.checkContents(call, known);
  }
  return bound;
}

DeviceClockOptions clockOptions(const TuneRequest &request, bool isCareful,
                                const std::shared_ptr<CompiledPackages> &compiled) {
  int processors = int(std::max(1u, std::thread::hardware_concurrency()));
  int threads = request.threads ? request.threads : std::min(mostThreads, processors);
  return {.threads = isCareful ? 1 : threads,
          .isCold = request.isCold,
          .compiled = compiled,
          .compile = request.library.options};
}

void addCandidates(const std::vector<std::string> &names, const SearchOutcome &outcome, TuneResult &result) {
  for (size_t i = 0; i < outcome.candidates.size(); ++i) {
    const CandidateReport &report = outcome.candidates[i];
    result.candidates.push_back({names[i], nameOf(report.fate),
                                 report.failure ? report.failure->kind + ": " + report.failure->reason : "",
                                 report.microseconds, report.quartileRange, report.gain.gain,
                                 std::min(report.gain.halfWidth, 1.0), report.gain.rounds});
  }
}

void addPruned(const std::vector<PrunedConfiguration> &pruned, TuneResult &result) {
  for (const PrunedConfiguration &each : pruned)
    result.pruned.push_back({textOf(each.configuration), each.reason});
}

TuneResult describe(const TuneReport &report) {
  TuneResult result;
  result.key = report.key.id();
  result.keyParts = report.key.all();
  result.configuration = textOf(report.result.configuration);
  result.reason = report.wasKnown ? "the database had it; `--force` measures again" : report.outcome.reason;
  result.microseconds = report.result.microseconds;
  result.defaultMicroseconds = report.result.defaultMicroseconds;
  result.gain = report.result.gain;
  result.halfWidth = report.result.halfWidth;
  result.rounds = size_t(report.result.rounds);
  result.measurements = report.outcome.measurements;
  result.wasKnown = report.wasKnown;
  result.wasResumed = report.wasResumed;
  result.isCutShort = report.outcome.isCutShort;
  result.clock = wordsOf(report.key["clock"]);
  addCandidates(report.names, report.outcome, result);
  addPruned(report.pruned, result);
  return result;
}

TuneResult tuneShape(const TuneRequest &request, const std::string &shape, const std::shared_ptr<Device> &device,
                     Database &database, const TuneOptions &options,
                     const std::shared_ptr<CompiledPackages> &compiled) {
  BoundCall bound = bindShape(request, shape, device->chip());
  KeyPlace place = placeOf(*device, request.isCold);
  auto makeClock = [&](const Space &space, bool isCareful) -> std::unique_ptr<Clock> {
    DeviceClockOptions clock = clockOptions(request, isCareful, compiled);
    if (place.clock == "estimate")
      return std::make_unique<EstimateClock>(device->chip(), bound.kernel, space, bound.given, clock);
    return std::make_unique<DeviceClock>(device, bound.kernel, space, bound.given, clock);
  };
  TuneResult result = describe(tuneCall(bound.kernel, bound.request, place, makeClock, database, options));
  result.shape = shape;
  return result;
}

/// The part of the search's progress that is the same for all its steps.
std::function<void(const SearchProgress &)> progressOf(const TuneRequest &request, const std::string &shape,
                                                       size_t number, size_t count) {
  if (!request.progress)
    return nullptr;
  return [&request, shape, number, count](const SearchProgress &step) {
    request.progress({shape, step.stage, number, count, step.done, step.all, step.failures, step.bestMicroseconds,
                      step.defaultMicroseconds});
  };
}

} // namespace

void tuneLibraryKernel(const TuneRequest &request, const std::function<void(const TuneResult &)> &done) {
  std::vector<std::string> shapes = shapesOf(request);
  std::shared_ptr<Device> device = openDevice(request.library.device);
  for (const std::string &shape : shapes) // what can be refused is refused before anything is measured
    bindShape(request, shape, device->chip());
  Database database(tuningDatabasePath());
  auto compiled = std::make_shared<CompiledPackages>();
  const double end = request.budgetSeconds > 0 ? now() + request.budgetSeconds : 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    TuneOptions options;
    options.search.seed = request.seed;
    options.search.margin = request.margin;
    options.forceBefore = request.forceBefore;
    options.replays = request.replays;
    options.control.isCancelled = request.isCancelled;
    options.control.progress = progressOf(request, shapes[i], i, shapes.size());
    if (end > 0) // what is left in equal parts, and the little that a comparison takes when nothing is
      options.control.budgetSeconds = std::max((end - now()) / double(shapes.size() - i), 0.5);
    try {
      done(tuneShape(request, shapes[i], device, database, options, compiled));
    } catch (const SearchInterrupted &interrupted) {
      if (interrupted.isLost)
        throw TuneDeviceLost(ErrorClass::Environment, interrupted.what(),
                             {"the candidate is noted as failed; run the same command again to go on without it"});
      throw TuneCancelled(ErrorClass::Environment, interrupted.what(),
                          {"nothing is lost; run the same command again to go on"});
    } catch (const Error &error) {
      if (shapes.size() == 1 || error.kind == ErrorClass::Internal)
        throw;
      TuneResult failed;
      failed.shape = shapes[i];
      failed.error = error.what();
      done(failed);
    }
  }
}

std::vector<TuneResult> describeSpace(const TuneRequest &request, const std::string &target) {
  std::vector<TuneResult> results;
  std::shared_ptr<Device> device = target.empty() ? openDevice(request.library.device) : nullptr;
  const Chip &chip = device ? device->chip() : lookupChip(target);
  for (const std::string &shape : shapesOf(request)) {
    BoundCall bound = bindShape(request, shape, chip);
    Space space = makeSpace(bound.kernel, bound.request);
    TuneResult &result = results.emplace_back();
    result.shape = shape;
    result.keyParts =
        keyOf(bound.kernel, bound.request, device ? placeOf(*device, request.isCold) : KeyPlace{"-", "-", "-"}).all();
    for (const std::string &name : space.names())
      result.candidates.push_back({name, nameOf(Fate::NotReached), ""});
    addPruned(space.pruned, result);
  }
  return results;
}

//===-- The database
//-------------------------------------------------------------------------------------------------===//

std::string tuningTime() {
  return timeNow();
}

std::string tuningDatabasePath() {
  return Database::usualPath();
}

std::vector<TunedEntry> listTuned() {
  std::vector<TunedResult> results;
  if (std::unique_ptr<Database> database = Database::openExisting(tuningDatabasePath()))
    results = database->results();
  results.insert(results.end(), shippedResults().begin(), shippedResults().end());
  std::map<std::string, std::string> versions;
  for (const LibraryKernel *kernel : allKernels())
    versions[kernel->name] = versionOf(*kernel);
  std::vector<TunedEntry> entries;
  for (const TunedResult &result : results) {
    auto version = versions.find(result.key["kernel"]);
    entries.push_back({result.key.id(), result.origin, textOf(result.configuration), result.measuredAt,
                       result.key.all(), result.microseconds, result.defaultMicroseconds, result.gain, result.halfWidth,
                       version == versions.end() || version->second != result.key["kernel_version"]});
  }
  return entries;
}

std::string exportTuned() {
  std::unique_ptr<Database> database = Database::openExisting(tuningDatabasePath());
  return exportText(database ? database->results() : std::vector<TunedResult>());
}

std::pair<size_t, size_t> importTuned(const std::string &path) {
  constexpr std::string_view magic = "SQLite format 3";
  std::string bytes = readFile(path);
  std::vector<TunedResult> results =
      bytes.starts_with(magic) ? Database(path).results() : importText(bytes, path, "imported");
  for (TunedResult &result : results)
    result.origin = "imported";
  return {Database(tuningDatabasePath()).merge(results), results.size()};
}

size_t forgetTuned(const std::string &key) {
  return Database(tuningDatabasePath()).forget(key);
}

void noteTuningCrash(int64_t process, const std::string &reason) {
  if (std::unique_ptr<Database> database = Database::openExisting(tuningDatabasePath()))
    database->noteCrash(process, reason);
}

} // namespace heddle
