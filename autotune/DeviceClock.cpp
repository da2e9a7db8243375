// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prepares a candidate, runs it once against the results of the default, and takes samples of graphs or calls.
#include "autotune/DeviceClock.h"
#include "autotune/SameBytes.h"
#include "autotune/Statistics.h"
#include "kernels/RunOnce.h"
#include "runtime/Driver.h"
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "runtime/Stream.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace heddle::autotune {

using namespace kernels;

namespace {

constexpr uint8_t unwritten = 0xa5;                  ///< in results before a candidate writes them
constexpr int64_t mostRandomBytes = 64 << 20;        ///< larger inputs repeat these
constexpr uint64_t flushBytes = uint64_t(256) << 20; ///< more than any cache
constexpr double sampleMicroseconds = 200;           ///< at least that long, so that events and launches do not count
constexpr int samples = 5, mostCalls = 50;
constexpr double hopeless = 20, leastHopeless = 50'000; ///< times the default's time, and microseconds

/// Larger results are compared on a GPU first, and only what differs travels.
constexpr int64_t leastComparedThere = 1 << 20;
/// Of a result that differs, so much is looked at on the host: a NaN may have any payload, and sums a tolerance.
constexpr int64_t mostComparedHere = int64_t(1) << 30;

} // namespace

void requireSame(const std::string &name, const HostArray &ours, const HostArray &theirs, double tolerance) {
  Difference difference = compareArrays(name, ours, theirs, tolerance, "the default");
  if (difference.elements)
    throw CandidateFailure("wrong", fmt::format("{} elements of `{}` are not those of the default; {}",
                                                difference.elements, name, difference.first));
}

class DeviceClock::State {
public:
  State(std::shared_ptr<Device> device, const LibraryKernel &kernel, const Space &space, HostArrays given,
        const DeviceClockOptions &options)
      : options(options), compiler(space, device->chip(), options), device(std::move(device)), kernel(kernel),
        space(space), given(std::move(given)), isHost(this->device->chip().vendor == Vendor::Host) {}

  void prepare(size_t candidate) {
    // The driver compiles what was not compiled for its GPU before: also by several threads, and not while measuring.
    auto packages = compiler.packagesOf(candidate, [&](const Package &package) { device->loadModule(package); });
    if (!stream)
      begin();
    const Candidate &chosen = space.candidates[candidate];
    try {
      std::unique_ptr<Prepared> prepared = load(chosen, packages);
      for (const NamedArray &result : chosen.plan.results)
        if (result.type.sizeBytes())
          stream->fill(buffers.at(result.name), unwritten);
      checkTime(candidate, timeOnce(*prepared));
      runners[candidate].prepared = std::move(prepared);
    } catch (const CandidateFailure &) {
      throw;
    } catch (const Error &error) {
      // After a fault of a kernel a GPU's context takes no more work.
      throw CandidateFailure("launch", error.what(), !isHost && !worksStill());
    }
    check(candidate);
  }

  double measure(size_t candidate) {
    if (!runners.count(candidate)) // another one needed its memory
      prepare(candidate);
    try {
      Runner &runner = runners.at(candidate);
      if (callsOfSample == 0)
        callsOfSample = calibrate(*runner.prepared);
      if (!isHost && !runner.graph)
        capture(runner);
      return medianOf(sample(runner));
    } catch (const Error &error) {
      throw CandidateFailure("launch", error.what(), !isHost && !worksStill());
    }
  }

  void release(size_t candidate) { runners.erase(candidate); }

  const DeviceClockOptions options;
  CandidateCompiler compiler;

private:
  struct Runner {
    std::unique_ptr<Prepared> prepared;
    std::unique_ptr<Graph> graph; ///< of the calls of a sample
  };

  void begin() {
    stream = device->createStream();
    const Candidate &standard = space.candidates[0];
    for (const auto &[name, type] : standard.call.inputs)
      addInput(name, type);
    for (const NamedArray &result : standard.plan.results)
      addBuffer(result.name, result.type);
    if (options.isCold)
      flushed = device->allocate(flushBytes, "flushed");
    stream->synchronize();
  }

  /// Temporaries may be large: where they do not fit, those of the other candidates go.
  std::unique_ptr<Prepared> load(const Candidate &chosen, const std::vector<std::shared_ptr<const Package>> &packages) {
    auto make = [&] { return std::make_unique<Prepared>(device, chosen.call, chosen.plan, packages); };
    try {
      return make();
    } catch (const Error &error) {
      if (error.kind != ErrorClass::Environment || runners.empty())
        throw;
    }
    runners.clear();
    return make();
  }

  Buffer &addBuffer(const std::string &name, const ArrayType &type) {
    Buffer &buffer = buffers[name] = device->allocate(uint64_t(type.sizeBytes()), name);
    addresses[name] = buffer.address();
    return buffer;
  }

  void addInput(const std::string &name, const ArrayType &type) {
    Buffer &buffer = addBuffer(name, type);
    std::string bytes;
    if (auto found = given.find(name); found != given.end())
      bytes = found->second.bytes;
    else if (kernel.contents)
      bytes = kernel.contents(space.candidates[0].call, name, options.inputSeed);
    const int64_t size = type.sizeBytes();
    if (bytes.empty() && size > 0) {
      BufferSpec spec;
      spec.kind = BufferSpec::Kind::Random;
      spec.type = type.type;
      spec.seed = options.inputSeed + addresses.size();
      spec.shape = {std::min(size, mostRandomBytes) / elementSizeBytes(type.type)};
      bytes = materialize(spec);
    }
    const int64_t first = int64_t(bytes.size());
    if (first == 0)
      return;
    stream->copyToDevice(buffer.address(), bytes.data(), uint64_t(first));
    for (int64_t at = first; at < size; at += first)
      stream->copy(buffer.address() + uint64_t(at), buffer.address(), uint64_t(std::min(first, size - at)));
    stream->synchronize(); // before the bytes go
  }

  /// Waits for the stream as long as a call may take; a GPU's kernel that has not ended then never will be stopped.
  void finish() {
    std::shared_ptr<Event> end = device->createEvent();
    stream->record(end);
    auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.secondsPerCall);
    while (!isHost && !end->query()) {
      if (std::chrono::steady_clock::now() > limit)
        throw CandidateFailure("time", fmt::format("did not end within {} s", options.secondsPerCall), true);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    stream->synchronize();
  }

  /// Microseconds of one call by itself, after all work of the stream.
  double timeOnce(const Prepared &prepared) {
    std::shared_ptr<Event> start = device->createEvent(), end = device->createEvent();
    stream->record(start);
    prepared.launch(*stream, addresses, options.secondsPerCall);
    stream->record(end);
    finish();
    return 1e3 * end->millisecondsSince(*start);
  }

  bool worksStill() {
    try {
      if (!stream)
        return true;
      std::unique_ptr<Stream> other = device->createStream();
      other->synchronize();
      return true;
    } catch (const Error &) {
      return false;
    }
  }

  /// What takes so much longer is not worth to be measured several times.
  void checkTime(size_t candidate, double microseconds) {
    if (candidate == 0)
      firstOfDefault = microseconds;
    else if (microseconds > hopeless * firstOfDefault && microseconds > leastHopeless)
      throw CandidateFailure("time", fmt::format("takes {:.0f} us, and the default {:.0f} us at its first call",
                                                 microseconds, firstOfDefault));
  }

  bool isComparedThere(const NamedArray &result) const {
    int64_t size = result.type.sizeBytes();
    return !isHost && size >= leastComparedThere && size % 4 == 0;
  }

  /// The results of the default are kept; those of another must be the same.
  void check(size_t candidate) {
    for (const NamedArray &result : space.candidates[candidate].plan.results) {
      const uint64_t address = buffers.at(result.name).address(), size = uint64_t(result.type.sizeBytes());
      if (size == 0)
        continue;
      if (candidate == 0) {
        keep(result, address, size);
        continue;
      }
      if (isComparedThere(result) && sameBytes->compare(*stream, address, kept.at(result.name).address(), size))
        continue;
      compare(result, address);
    }
  }

  void keep(const NamedArray &result, uint64_t address, uint64_t size) {
    if (!isComparedThere(result)) {
      expected[result.name] = fetch(result.type, address);
      return;
    }
    if (!sameBytes)
      sameBytes = std::make_unique<SameBytes>(device);
    kept[result.name] = device->allocate(size, result.name + " of the default");
    stream->copy(kept.at(result.name).address(), address, size);
    finish();
  }

  /// What of an array may travel, as a row where that is not all.
  HostArray fetch(const ArrayType &type, uint64_t address) {
    HostArray array{type, std::string(size_t(std::min(type.sizeBytes(), mostComparedHere)), '\0')};
    if (int64_t(array.bytes.size()) < type.sizeBytes())
      array.type = {type.type, {int64_t(array.bytes.size()) / elementSizeBytes(type.type)}};
    stream->copyToHost(array.bytes.data(), address, array.bytes.size());
    finish();
    return array;
  }

  void compare(const NamedArray &result, uint64_t address) {
    HostArray ours = fetch(result.type, address);
    auto known = expected.find(result.name);
    HostArray theirs = known != expected.end() ? known->second : fetch(result.type, kept.at(result.name).address());
    requireSame(result.name, ours, theirs, kernel.tolerance);
    if (int64_t(ours.bytes.size()) < result.type.sizeBytes())
      throw CandidateFailure("wrong",
                             fmt::format("elements of `{}` after the first {} bytes are not those of the default",
                                         result.name, ours.bytes.size()));
  }

  int calibrate(const Prepared &prepared) {
    if (options.isCold)
      return 1;
    std::vector<double> times;
    for (int i = 0; i < 3; ++i)
      times.push_back(timeOnce(prepared));
    return int(std::clamp(std::ceil(sampleMicroseconds / std::max(medianOf(times), 0.1)), 1.0, double(mostCalls)));
  }

  void capture(Runner &runner) {
    stream->beginCapture();
    for (int call = 0; call < callsOfSample; ++call)
      runner.prepared->launch(*stream, addresses, options.secondsPerCall);
    runner.graph = stream->endCapture();
  }

  /// Microseconds of a call, in each sample. They are put into the stream in one go, so that none waits for the host;
  /// the first one does, and finds in the caches what another candidate left, so it does not count.
  std::vector<double> sample(Runner &runner) {
    std::vector<std::pair<std::shared_ptr<Event>, std::shared_ptr<Event>>> marks;
    for (int i = 0; i <= samples; ++i) {
      if (options.isCold)
        stream->fill(flushed, uint8_t(i));
      marks.push_back({device->createEvent(), device->createEvent()});
      stream->record(marks.back().first);
      if (runner.graph)
        stream->launch(*runner.graph);
      for (int call = 0; call < callsOfSample && !runner.graph; ++call)
        runner.prepared->launch(*stream, addresses, options.secondsPerCall);
      stream->record(marks.back().second);
    }
    finish();
    std::vector<double> times;
    for (size_t i = 1; i < marks.size(); ++i)
      times.push_back(1e3 * marks[i].second->millisecondsSince(*marks[i].first) / callsOfSample);
    return times;
  }

  std::shared_ptr<Device> device;
  const LibraryKernel &kernel;
  const Space &space;
  HostArrays given, expected;         ///< results of the default: here
  std::map<std::string, Buffer> kept; ///< and on the device
  std::unique_ptr<SameBytes> sameBytes;
  const bool isHost;
  int callsOfSample = 0;
  double firstOfDefault = 0; ///< microseconds
  std::unique_ptr<Stream> stream;
  std::map<std::string, Buffer> buffers;
  std::map<std::string, uint64_t> addresses;
  Buffer flushed;
  std::map<size_t, Runner> runners;
};

DeviceClock::DeviceClock(std::shared_ptr<Device> device, const LibraryKernel &kernel, const Space &space,
                         HostArrays given, const DeviceClockOptions &options)
    : state(std::make_unique<State>(std::move(device), kernel, space, std::move(given), options)) {}

DeviceClock::~DeviceClock() = default;

void DeviceClock::expect(const std::vector<size_t> &candidates) {
  state->compiler.expect(candidates);
}

void DeviceClock::prepare(size_t candidate) {
  try {
    state->prepare(candidate);
  } catch (const CandidateFailure &failure) {
    if (failure.isLost)
      (void)state.release(); // its end would wait for the device for ever
    else
      state->release(candidate);
    throw;
  }
}

double DeviceClock::measure(size_t candidate) {
  try {
    return state->measure(candidate);
  } catch (const CandidateFailure &failure) {
    if (failure.isLost)
      (void)state.release();
    throw;
  }
}

void DeviceClock::release(size_t candidate) {
  state->release(candidate);
}

} // namespace heddle::autotune
