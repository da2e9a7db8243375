// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verb `probe-waits` of heddle-device-tests: which calls of the CUDA driver wait for a kernel that runs on another
// stream, and which calls of other threads wait with them. What CUDA promises of this is less than what the driver of a
// machine does; runtime/drivers/cuda relies on what this table says (docs/cuda.md, "Streams").
#include "tests/device/WaitProbe.h"
#include "support/Knobs.h"
#include <algorithm>
#include <atomic>
#include <thread>

using namespace heddle::probe;

namespace {

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double until(const std::function<bool()> &done, double milliseconds) {
  double start = now();
  while (!done() && now() - start < milliseconds)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  return now() - start;
}

/// How long a launch on `gpu` takes until it returned and until it has run, beside the call under test.
string launchBeside(const Gpu &gpu) {
  gpu.use();
  double start = now();
  Result result = gpu.launch(gpu.empty, gpu.third, 0);
  double returned = now() - start;
  until([&] { return cu("cuStreamQuery", gpu.third) != result::notReady; }, 2 * waitMilliseconds);
  char text[64];
  std::snprintf(text, sizeof text, "%6.1f %6.1f", returned, now() - start);
  return result ? "error " + std::to_string(result) : text;
}

void runTrial(const Trial &trial, const Words &words, const Gpu &spins, const Gpu &called, const Gpu *elsewhere) {
  called.use();
  trial.prepare();
  words.clear();
  spins.use();
  must(spins.launch(spins.spin, spins.spinning, words.device), "cuLaunchKernel of the spinning kernel");
  until([&] { return words.host[1] != 0; }, waitMilliseconds);
  std::atomic<bool> ended = false;
  double returned = 0, done = 0;
  Result result = 0;
  std::thread caller([&] {
    called.use();
    double start = now();
    result = trial.call();
    returned = now() - start;
    until([&] { return cu("cuStreamQuery", called.other) != result::notReady; }, 2 * waitMilliseconds);
    done = now() - start;
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  string same, far = "-";
  std::thread near([&] { same = launchBeside(called); });
  std::thread remote([&] {
    if (elsewhere)
      far = launchBeside(*elsewhere);
  });
  until([&] { return bool(ended); }, waitMilliseconds);
  words.host[0] = 1;
  for (std::thread *thread : {&caller, &near, &remote})
    thread->join();
  spins.use();
  cu("cuStreamSynchronize", spins.spinning);
  const char *verdict = returned > 0.9 * waitMilliseconds ? "WAITS" : done > 0.9 * waitMilliseconds ? "late" : "free";
  std::printf("%-44s %-6s %8.2f %8.2f   %-14s  %-14s%s\n", trial.name.c_str(), verdict, returned, done, same.c_str(),
              far.c_str(), result ? (" error " + std::to_string(result)).c_str() : "");
  std::fflush(stdout);
  called.use();
  trial.clean();
  cu("cuCtxSynchronize");
}

//===-- Passes ---------------------------------------------------------------------------------------------------===//

void runPass(const string &title, const std::vector<Gpu> &gpus, const Words &words, size_t called, int devices) {
  std::printf("\n%s\n%-44s %-6s %8s %8s   %-14s  %-14s\n", title.c_str(), "call", "", "returned", "done (ms)",
              "launch beside", "other device");
  const Gpu &gpu = gpus[called];
  const Gpu *elsewhere = devices > 1 ? &gpus[called ? called - 1 : 1] : nullptr;
  std::vector<Trial> trials;
  addWork(trials, gpu);
  if (called == 0)
    addQueues(trials, gpu);
  addObjects(trials, gpu);
  addModules(trials, gpu);
  addLibraries(trials, gpu);
  addMemory(trials, gpu);
  addMapping(trials, gpu, devices);
  if (devices > 1)
    addDevices(trials, gpu, gpus[called ? called - 1 : 1]);
  for (const Trial &trial : trials)
    runTrial(trial, words, gpus[0], gpu, elsewhere);
}

/// How many streams have a kernel that runs while those of all others spin.
void countQueues(const Gpu &gpu, const Words &words) {
  constexpr uint32_t count = 160;
  gpu.use();
  std::vector<Stream> streams(count);
  words.clear();
  for (Stream &stream : streams)
    must(cu("cuStreamCreateWithPriority", &stream, 1u, 0), "cuStreamCreateWithPriority");
  for (Stream stream : streams)
    gpu.launch(gpu.spin, stream, words.device);
  until([&] { return words.host[1] == count; }, waitMilliseconds / 2);
  std::printf("\n%u of %u streams run their kernels at once\n", words.host[1], count);
  words.host[0] = 1;
  cu("cuCtxSynchronize");
  for (Stream stream : streams)
    cu("cuStreamDestroy_v2", stream);
}

} // namespace

int probeWaits(int, char **) {
  cu.handle = ::dlopen(heddle::cudaLibrary().c_str(), RTLD_NOW);
  if (!cu.handle) {
    std::printf("probe-waits: there is no %s\n", heddle::cudaLibrary().c_str());
    return 3;
  }
  int count = 0, version = 0;
  must(cu("cuInit", 0u), "cuInit");
  must(cu("cuDeviceGetCount", &count), "cuDeviceGetCount");
  must(cu("cuDriverGetVersion", &version), "cuDriverGetVersion");
  if (count == 0)
    must(100, "cuDeviceGetCount");
  std::vector<Gpu> gpus(size_t(std::min(count, 4)));
  gpus[0].open(0);
  Words words;
  std::printf("CUDA %d.%d, %d devices; a kernel spins on cuda:0 for %.0f ms, or until the call is over.\n"
              "WAITS: the call returns when the kernel has ended; late: what it enqueued runs only then.\n"
              "launch beside, other device: until a launch of another thread returned, and until it had run.\n",
              version / 1000, version % 1000 / 10, count, waitMilliseconds);
  gpus[0].makePool(1);
  runPass("One device is open; calls on cuda:0", gpus, words, 0, 1);
  countQueues(gpus[0], words);
  if (count == 1)
    return 0;
  for (size_t i = 1; i < gpus.size(); ++i)
    gpus[i].open(int(i));
  for (const Gpu &from : gpus)
    for (const Gpu &to : gpus)
      if (&from != &to) {
        from.use();
        must(cu("cuCtxEnablePeerAccess", to.context, 0u), "cuCtxEnablePeerAccess");
      }
  for (Gpu &gpu : gpus) {
    gpu.use();
    gpu.makePool(int(gpus.size()));
  }
  runPass("All devices are open, with peer access; calls on cuda:0", gpus, words, 0, int(gpus.size()));
  runPass("All devices are open, with peer access; calls on cuda:1", gpus, words, 1, int(gpus.size()));
  return 0;
}
