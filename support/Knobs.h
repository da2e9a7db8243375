// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one registry of environment variables: name, type, default, one sentence, current value and where it comes from.
// Only what must cross a process is a knob; everything else is a flag.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// One knob as `heddle doctor` shows it.
struct Knob {
  enum class Origin { Default, Environment };
  std::string name; ///< `HEDDLE_HOST_THREADS`
  std::string type; ///< what a value looks like: `integer from 1 to 1024`
  std::string defaultValue;
  std::string sentence; ///< what it does
  std::string value;    ///< in force now; the text of the variable even when ill-formed
  Origin origin = Origin::Default;
  /// The message of the error that using it would throw; empty when well-formed, or for others to read.
  std::string problem;
};

/// The value of an option that stands in for HEDDLE_LAUNCH_TIMEOUT. Throws Error{Input} in that knob's words.
double parseTimeoutOption(const std::string &option, const std::string &text);

/// The variables that are set and begin with HEDDLE_ but are no knob, in order: misspelt ones, most likely.
std::vector<std::string> unknownVariables();

/// Every knob, by name. Does not throw on ill-formed values.
std::vector<Knob> listKnobs();

// Each reads the environment at the call, and throws Error{Input} naming variable, value and expected form.

int hostThreads();                 ///< HEDDLE_HOST_THREADS: threads of one launch at most; default the machine's
uint64_t hostMemoryBytes();        ///< HEDDLE_HOST_MEMORY: memory of each host device in bytes; 0 is no limit
double launchTimeoutSeconds();     ///< HEDDLE_LAUNCH_TIMEOUT
std::string simulationPolicy();    ///< HEDDLE_SIM_POLICY, as the simulator reads it
std::string simulationSchedule();  ///< HEDDLE_SIM_SCHEDULE, likewise
uint64_t simulationSeed();         ///< HEDDLE_SIM_SEED
std::string simulationChecks();    ///< HEDDLE_SIM_CHECKS, likewise
std::string reproducerDirectory(); ///< HEDDLE_REPRODUCER_DIR
inline constexpr int maxDevicesPerGpu = 8;
inline constexpr const char *hipLibraryDefault = "libamdhip64.so"; ///< also with the versions 7 and 6
int devicesPerGpu();        ///< HEDDLE_DEVICES_PER_GPU: devices that each GPU stands for, 1 to maxDevicesPerGpu
std::string hipLibrary();   ///< HEDDLE_HIP_LIBRARY: name or path of the HIP runtime
std::string cudaLibrary();  ///< HEDDLE_CUDA_LIBRARY: name or path of the CUDA driver
bool cudaDependentLaunch(); ///< HEDDLE_CUDA_DEPENDENT_LAUNCH; read when a module is loaded
std::string ncclLibrary(bool isAmd = false); ///< HEDDLE_NCCL_LIBRARY: name or path of NCCL, or of RCCL
std::string ncclDevice();                    ///< HEDDLE_NCCL_DEVICE: cuda, or host for tests
std::string mpiLibrary();                    ///< HEDDLE_MPI_LIBRARY: name or path of MPI; empty: whichever is found
double mpiExitSeconds();        ///< HEDDLE_MPI_EXIT_TIMEOUT: of the wait for other ranks before MPI_Finalize
std::string hostAddress();      ///< HEDDLE_HOST_ADDRESS: of the interface that ranks of other hosts connect to
std::string sharedSecret();     ///< HEDDLE_SECRET: what the processes of a group know; empty for none
std::string sharedSecretFile(); ///< HEDDLE_SECRET_FILE: the file that has it; empty for none
std::string
cacheDirectory(); ///< HEDDLE_CACHE_DIR: default `heddle` in the user's cache folder; empty when there is none
/// HEDDLE_TUNING_DATABASE: default `heddle/tuning.sqlite` in the user's data folder; empty when there is none.
std::string tuningDatabase();

} // namespace heddle
