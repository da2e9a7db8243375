// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One row a knob: the readers and the list share name, form and parser, so that they cannot disagree.
#include "support/Knobs.h"
#include "support/Error.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <optional>
#include <thread>
#include <unistd.h>

namespace heddle {
namespace {

constexpr const char *jobsName = "HEDDLE_JOBS"; // of ./dev, which builds; no program reads it
constexpr const char *threadsName = "HEDDLE_HOST_THREADS";
constexpr const char *memoryName = "HEDDLE_HOST_MEMORY";
constexpr const char *timeoutName = "HEDDLE_LAUNCH_TIMEOUT";
constexpr const char *reproducerName = "HEDDLE_REPRODUCER_DIR";
constexpr const char *cudaName = "HEDDLE_CUDA_LIBRARY";
constexpr const char *dependentName = "HEDDLE_CUDA_DEPENDENT_LAUNCH";
constexpr const char *devicesName = "HEDDLE_DEVICES_PER_GPU";
constexpr const char *hipName = "HEDDLE_HIP_LIBRARY";
constexpr const char *heddleLibraryName = "HEDDLE_LIBRARY"; // of python/heddle/_library.py and nccl/Libraries.cpp
constexpr const char *mpiName = "HEDDLE_MPI_LIBRARY";
constexpr const char *mpiExitName = "HEDDLE_MPI_EXIT_TIMEOUT";
constexpr const char *addressName = "HEDDLE_HOST_ADDRESS";
constexpr const char *ncclName = "HEDDLE_NCCL_LIBRARY";
// Of libheddle_nccl.so (nccl/Settings.cpp), which is loaded into programs of others and reads them itself.
constexpr const char *ncclBytesName = "HEDDLE_NCCL_BYTES";
constexpr const char *ncclDeadlineName = "HEDDLE_NCCL_DEADLINE";
constexpr const char *ncclDeviceName = "HEDDLE_NCCL_DEVICE";
constexpr const char *ncclReserveName = "HEDDLE_NCCL_RESERVE";
constexpr const char *ncclLogName = "HEDDLE_NCCL_LOG";
constexpr const char *cacheName = "HEDDLE_CACHE_DIR";
constexpr const char *tuningName = "HEDDLE_TUNING_DATABASE";
constexpr const char *secretName = "HEDDLE_SECRET";
constexpr const char *secretFileName = "HEDDLE_SECRET_FILE";
constexpr const char *policyName = "HEDDLE_SIM_POLICY";
constexpr const char *scheduleName = "HEDDLE_SIM_SCHEDULE";
constexpr const char *seedName = "HEDDLE_SIM_SEED";
constexpr const char *checksName = "HEDDLE_SIM_CHECKS";
constexpr const char *threadsForm = "an integer from 1 to 1024";
constexpr const char *devicesForm = "an integer from 1 to 8";
constexpr const char *memoryForm = "bytes, as 1048576, 512K, 64M or 8G; 0 is no limit";
constexpr const char *timeoutForm = "seconds above 0 up to 1000000, as 60 or 0.5";
constexpr const char *folderForm = "a folder";
constexpr const char *fileForm = "a file";
constexpr const char *secretForm = "a text of 16 to 4096 bytes";
constexpr const char *secretFileForm = "a file that only this user may read";
constexpr const char *switchForm = "on or off";
constexpr const char *addressForm = "the number of a network interface's address";
constexpr const char *libraryForm = "a library's name or path";
constexpr const char *ncclBytesForm = "bytes, an integer from 0 to 2^40";
constexpr const char *ncclDeadlineForm = "seconds from 0.001 to 1000000";
constexpr const char *ncclDeviceForm = "cuda, or host for tests";
constexpr const char *ncclLogForm = "off or calls";
constexpr const char *ncclReserveForm = "an integer from 0 to 1024";
constexpr const char *policyForm = "a policy of the simulator";
constexpr const char *scheduleForm = "a schedule of the simulator";
constexpr const char *policyDefault = "earliest";
constexpr const char *scheduleDefault = "run-to-block";
constexpr const char *seedForm = "an integer from 0 to 2^64-1";
constexpr const char *checksForm = "all, none, or checks with + or - before each, as all,-uninitialised";
constexpr const char *cudaDefault = "libcuda.so.1";
constexpr const char *ncclDefault = "libnccl.so.2";
constexpr const char *rcclDefault = "librccl.so.1"; // the same functions, for AMD's GPUs

template <typename T>
std::optional<T> wholeNumber(std::string_view text) {
  T value{};
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<bool> parseSwitch(std::string_view text) {
  return text == "on" ? std::optional(true) : text == "off" ? std::optional(false) : std::nullopt;
}

std::optional<int> parseThreads(std::string_view text) {
  auto value = wholeNumber<int>(text);
  return value && *value >= 1 && *value <= 1024 ? value : std::nullopt;
}

std::optional<int> parseDevices(std::string_view text) {
  static_assert(maxDevicesPerGpu == 8, "devicesForm says so");
  auto value = wholeNumber<int>(text);
  return value && *value >= 1 && *value <= maxDevicesPerGpu ? value : std::nullopt;
}

std::optional<uint64_t> parseMemory(std::string_view text) {
  int shift = text.ends_with('K') ? 10 : text.ends_with('M') ? 20 : text.ends_with('G') ? 30 : 0;
  if (shift)
    text.remove_suffix(1);
  auto value = wholeNumber<uint64_t>(text);
  if (!value || *value > UINT64_MAX >> shift)
    return std::nullopt;
  return *value << shift;
}

std::optional<double> parseTimeout(std::string_view text) {
  auto value = wholeNumber<double>(text);
  return value && *value > 0 && *value <= 1e6 ? value : std::nullopt;
}

std::string defaultThreads() {
  return std::to_string(std::max(1u, std::thread::hardware_concurrency()));
}

/// `heddle` in the folder that a variable names, else in one below the user's; empty where a user has neither.
std::string userFolder(const char *variable, const char *below) {
  const char *folder = std::getenv(variable), *home = std::getenv("HOME");
  if (folder && *folder)
    return std::string(folder) + "/heddle";
  return home && *home ? std::string(home) + below + "/heddle" : "";
}

std::string defaultCache() {
  return userFolder("XDG_CACHE_HOME", "/.cache");
}

std::string defaultTuningDatabase() {
  std::string folder = userFolder("XDG_DATA_HOME", "/.local/share");
  return folder.empty() ? "" : folder + "/tuning.sqlite";
}

Error illFormed(const char *name, const std::string &text, const char *form) {
  return inputError(fmt::format("environment variable {}: `{}` is not {}", name, text, form),
                    {fmt::format("unset {} to use the default", name)});
}

/// An empty variable counts as unset.
std::optional<std::string> environmentText(const char *name) {
  const char *text = std::getenv(name);
  return text && *text ? std::optional<std::string>(text) : std::nullopt;
}

template <typename T>
T readKnob(const char *name, const char *form, const T &byDefault, std::optional<T> (*parse)(std::string_view)) {
  auto text = environmentText(name);
  if (!text)
    return byDefault;
  if (auto value = parse(*text))
    return *value;
  throw illFormed(name, *text, form);
}

Knob describeKnob(const char *name, const char *form, const std::string &byDefault, const char *sentence,
                  const std::function<void()> &use) {
  Knob knob{name, form, byDefault, sentence, byDefault, Knob::Origin::Default, ""};
  if (auto text = environmentText(name)) {
    knob.value = *text;
    knob.origin = Knob::Origin::Environment;
    try {
      use();
    } catch (const Error &error) {
      knob.problem = error.what();
    }
  }
  return knob;
}

/// What readKnob would throw where a number is not from `least` to `most`; for the checks of knobs that others read.
template <typename T>
void requireNumber(const char *name, const char *form, T least, T most) {
  auto text = environmentText(name);
  auto value = text ? wholeNumber<T>(*text) : least;
  if (!value || !(*value >= least && *value <= most))
    throw illFormed(name, *text, form);
}

void requireWord(const char *name, const char *form, std::initializer_list<std::string_view> words) {
  auto text = environmentText(name);
  if (text && std::find(words.begin(), words.end(), *text) == words.end())
    throw illFormed(name, *text, form);
}

/// Its value is secret.
Knob describeSecret() {
  Knob knob = describeKnob(secretName, secretForm, "", "the secret itself; HEDDLE_SECRET_FILE is safer", [] {});
  if (knob.origin == Knob::Origin::Environment)
    knob.value = "(hidden)";
  return knob;
}

} // namespace

int hostThreads() {
  int byDefault = int(std::min(1024u, std::max(1u, std::thread::hardware_concurrency())));
  return readKnob<int>(threadsName, threadsForm, byDefault, parseThreads);
}

uint64_t hostMemoryBytes() {
  return readKnob<uint64_t>(memoryName, memoryForm, 0, parseMemory);
}

double launchTimeoutSeconds() {
  return readKnob<double>(timeoutName, timeoutForm, 60.0, parseTimeout);
}

std::string simulationPolicy() {
  return environmentText(policyName).value_or(policyDefault);
}

std::string simulationSchedule() {
  return environmentText(scheduleName).value_or(scheduleDefault);
}

uint64_t simulationSeed() {
  return readKnob<uint64_t>(seedName, seedForm, 0, wholeNumber<uint64_t>);
}

std::string simulationChecks() {
  return environmentText(checksName).value_or("none");
}

double parseTimeoutOption(const std::string &option, const std::string &text) {
  if (auto value = parseTimeout(text))
    return *value;
  throw inputError(fmt::format("`{} {}` is not {}", option, text, timeoutForm));
}

std::vector<std::string> unknownVariables() {
  std::vector<std::string> names;
  std::vector<Knob> knobs = listKnobs();
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string name = std::string(*entry).substr(0, std::string_view(*entry).find('='));
    bool isKnown = name == jobsName;
    for (const Knob &knob : knobs)
      isKnown |= name == knob.name;
    if (name.starts_with("HEDDLE_") && !isKnown)
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string reproducerDirectory() {
  return environmentText(reproducerName).value_or(".");
}

std::string cudaLibrary() {
  return environmentText(cudaName).value_or(cudaDefault);
}

bool cudaDependentLaunch() {
  return readKnob<bool>(dependentName, switchForm, true, parseSwitch);
}

int devicesPerGpu() {
  return readKnob<int>(devicesName, devicesForm, 1, parseDevices);
}

std::string hipLibrary() {
  return environmentText(hipName).value_or(hipLibraryDefault);
}

std::string ncclLibrary(bool isAmd) {
  return environmentText(ncclName).value_or(isAmd ? rcclDefault : ncclDefault);
}

std::string ncclDevice() {
  return environmentText(ncclDeviceName).value_or("cuda");
}

std::string mpiLibrary() {
  return environmentText(mpiName).value_or("");
}

double mpiExitSeconds() {
  return readKnob<double>(mpiExitName, timeoutForm, 600.0, parseTimeout);
}

std::string hostAddress() {
  return environmentText(addressName).value_or("");
}

std::string sharedSecret() {
  return environmentText(secretName).value_or("");
}

std::string sharedSecretFile() {
  return environmentText(secretFileName).value_or("");
}

std::string cacheDirectory() {
  return environmentText(cacheName).value_or(defaultCache());
}

std::string tuningDatabase() {
  return environmentText(tuningName).value_or(defaultTuningDatabase());
}

std::vector<Knob> listKnobs() {
  return {
      describeKnob(cacheName, folderForm, defaultCache(), "where code that was compiled for a GPU is kept",
                   [] { cacheDirectory(); }),
      describeKnob(dependentName, switchForm, "on",
                   "whether a small launch on CUDA may start while the preceding one still runs",
                   [] { cudaDependentLaunch(); }),
      describeKnob(cudaName, libraryForm, cudaDefault,
                   "the CUDA driver's library; read once, when a device is looked for", [] { cudaLibrary(); }),
      describeKnob(devicesName, devicesForm, "1",
                   "devices that each GPU stands for, which share it; read once, when a device is looked for",
                   [] { devicesPerGpu(); }),
      describeKnob(hipName, libraryForm, hipLibraryDefault,
                   "the HIP runtime's library; read once, when a device is looked for", [] { hipLibrary(); }),
      describeKnob(addressName, addressForm, "",
                   "where ranks of other hosts connect to this one; empty: the address by which it reached rank 0",
                   [] { hostAddress(); }),
      describeKnob(memoryName, memoryForm, "0", "memory of each host device", [] { hostMemoryBytes(); }),
      describeKnob(threadsName, threadsForm, defaultThreads(),
                   "threads of one launch at most, its stream's own included; read once, at the first launch",
                   [] { hostThreads(); }),
      describeKnob(timeoutName, timeoutForm, "60",
                   "seconds after which a launch that names no limit is stopped; on simulated devices, of waiting",
                   [] { launchTimeoutSeconds(); }),
      describeKnob(heddleLibraryName, libraryForm, "", "libheddle for the Python package and libheddle_nccl.so", [] {}),
      describeKnob(mpiExitName, timeoutForm, "600",
                   "seconds that a rank which has ended in order waits for the others, before MPI is finalised",
                   [] { mpiExitSeconds(); }),
      describeKnob(mpiName, libraryForm, "",
                   "MPI's library, for `--bootstrap mpi`; empty: that of the launcher's family first",
                   [] { mpiLibrary(); }),
      describeKnob(ncclBytesName, ncclBytesForm, "",
                   "of libheddle_nccl.so: the largest collective that Heddle makes; empty: what the plans have packets "
                   "for",
                   [] { requireNumber<int64_t>(ncclBytesName, ncclBytesForm, 0, int64_t(1) << 40); }),
      describeKnob(ncclDeadlineName, ncclDeadlineForm, "1800",
                   "of libheddle_nccl.so: how long a collective may wait for other ranks",
                   [] { requireNumber<double>(ncclDeadlineName, ncclDeadlineForm, 0.001, 1e6); }),
      describeKnob(ncclDeviceName, ncclDeviceForm, "cuda",
                   "of libheddle_nccl.so and `--transport nccl`: where the ranks' memory is",
                   [] { requireWord(ncclDeviceName, ncclDeviceForm, {"cuda", "host"}); }),
      describeKnob(
          ncclName, libraryForm, ncclDefault,
          "NCCL's library, for `heddle bench --peer nccl`, `--transport nccl` (there of AMD's GPUs librccl.so.1) and "
          "libheddle_nccl.so",
          [] { ncclLibrary(); }),
      describeKnob(ncclLogName, ncclLogForm, "off",
                   "of libheddle_nccl.so: a line on standard error for each call, with who made it",
                   [] { requireWord(ncclLogName, ncclLogForm, {"off", "calls"}); }),
      describeKnob(ncclReserveName, ncclReserveForm, "32",
                   "of libheddle_nccl.so: compute units that NCCL's kernels find free beside Heddle's",
                   [] { requireNumber<int>(ncclReserveName, ncclReserveForm, 0, 1024); }),
      describeKnob(reproducerName, folderForm, ".", "where a fault of ours leaves its reproducer file",
                   [] { reproducerDirectory(); }),
      describeSecret(),
      describeKnob(secretFileName, secretFileForm, "",
                   "has the secret by which the processes of a group trust each other", [] { sharedSecretFile(); }),
      describeKnob(checksName, checksForm, "none", "what simulated devices check while kernels run",
                   [] { simulationChecks(); }),
      describeKnob(policyName, policyForm, policyDefault, "when memory operations of simulated devices happen",
                   [] { simulationPolicy(); }),
      describeKnob(scheduleName, scheduleForm, scheduleDefault, "in which order waves of simulated devices run",
                   [] { simulationSchedule(); }),
      describeKnob(seedName, seedForm, "0", "chooses among the runs that policy and schedule allow",
                   [] { simulationSeed(); }),
      describeKnob(tuningName, fileForm, defaultTuningDatabase(), "what `heddle tune` has measured and chosen",
                   [] { tuningDatabase(); }),
  };
}

} // namespace heddle
