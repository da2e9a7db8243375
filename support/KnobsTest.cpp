// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values, origins and ill-formed values of each knob.
#include "support/Knobs.h"
#include "support/TestError.h"
#include <cstdlib>

using namespace heddle;

namespace {

/// Sets a variable for one scope.
struct Setting {
  const char *name;
  Setting(const char *name, const char *value) : name(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name); }
};

TEST(Knobs, Defaults) {
  EXPECT_GE(hostThreads(), 1);
  EXPECT_EQ(hostMemoryBytes(), 0u);
  EXPECT_EQ(launchTimeoutSeconds(), 60.0);
  EXPECT_EQ(reproducerDirectory(), ".");
  EXPECT_EQ(cudaLibrary(), "libcuda.so.1");
  EXPECT_EQ(devicesPerGpu(), 1);
  EXPECT_EQ(hipLibrary(), "libamdhip64.so");
  EXPECT_EQ(ncclLibrary(), "libnccl.so.2");
  EXPECT_EQ(mpiExitSeconds(), 600.0);
  EXPECT_EQ(simulationPolicy(), "earliest");
  EXPECT_EQ(simulationSchedule(), "run-to-block");
  EXPECT_EQ(simulationSeed(), 0u);
  EXPECT_EQ(simulationChecks(), "none");
  EXPECT_EQ(ncclLibrary(/*isAmd=*/true), "librccl.so.1");
  for (const Knob &knob : listKnobs()) {
    EXPECT_EQ(knob.origin, Knob::Origin::Default) << knob.name;
    EXPECT_EQ(knob.value, knob.defaultValue) << knob.name;
    EXPECT_FALSE(knob.sentence.empty()) << knob.name;
  }
}

TEST(Knobs, Values) {
  Setting threads("HEDDLE_HOST_THREADS", "3"), memory("HEDDLE_HOST_MEMORY", "64M"),
      timeout("HEDDLE_LAUNCH_TIMEOUT", "0.5");
  Setting reproducer("HEDDLE_REPRODUCER_DIR", "/elsewhere"), cuda("HEDDLE_CUDA_LIBRARY", "/opt/libcuda.so");
  Setting dependent("HEDDLE_CUDA_DEPENDENT_LAUNCH", "off");
  Setting hip("HEDDLE_HIP_LIBRARY", "/opt/libamdhip64.so"), devices("HEDDLE_DEVICES_PER_GPU", "4");
  Setting cache("HEDDLE_CACHE_DIR", "/cache"), nccl("HEDDLE_NCCL_LIBRARY", "/opt/libnccl.so");
  Setting policy("HEDDLE_SIM_POLICY", "reordered"), schedule("HEDDLE_SIM_SCHEDULE", "leap-frog");
  Setting seed("HEDDLE_SIM_SEED", "7"), checks("HEDDLE_SIM_CHECKS", "all");
  Setting bytes("HEDDLE_NCCL_BYTES", "1048576"), deadline("HEDDLE_NCCL_DEADLINE", "60"),
      device("HEDDLE_NCCL_DEVICE", "host"), log("HEDDLE_NCCL_LOG", "calls"), reserve("HEDDLE_NCCL_RESERVE", "24");
  Setting library("HEDDLE_LIBRARY", "/opt/libheddle.so.0"), tuning("HEDDLE_TUNING_DATABASE", "/tuned.sqlite");
  Setting mpi("HEDDLE_MPI_LIBRARY", "/opt/libmpi.so"), address("HEDDLE_HOST_ADDRESS", "10.0.0.1");
  Setting exit("HEDDLE_MPI_EXIT_TIMEOUT", "7200");
  Setting secret("HEDDLE_SECRET", "hush"), secretFile("HEDDLE_SECRET_FILE", "/secret");
  EXPECT_EQ(simulationPolicy(), "reordered");
  EXPECT_EQ(simulationSchedule(), "leap-frog");
  EXPECT_EQ(simulationSeed(), 7u);
  EXPECT_EQ(simulationChecks(), "all");
  EXPECT_EQ(hostThreads(), 3);
  EXPECT_EQ(hostMemoryBytes(), 64u << 20);
  EXPECT_EQ(launchTimeoutSeconds(), 0.5);
  EXPECT_EQ(reproducerDirectory(), "/elsewhere");
  EXPECT_EQ(cudaLibrary(), "/opt/libcuda.so");
  EXPECT_EQ(devicesPerGpu(), 4);
  EXPECT_EQ(hipLibrary(), "/opt/libamdhip64.so");
  EXPECT_FALSE(cudaDependentLaunch());
  EXPECT_EQ(ncclLibrary(), "/opt/libnccl.so");
  EXPECT_EQ(ncclLibrary(/*isAmd=*/true), "/opt/libnccl.so");
  EXPECT_EQ(ncclDevice(), "host");
  EXPECT_EQ(cacheDirectory(), "/cache");
  EXPECT_EQ(tuningDatabase(), "/tuned.sqlite");
  EXPECT_EQ(mpiLibrary(), "/opt/libmpi.so");
  EXPECT_EQ(mpiExitSeconds(), 7200.0);
  EXPECT_EQ(hostAddress(), "10.0.0.1");
  EXPECT_EQ(sharedSecret(), "hush");
  EXPECT_EQ(sharedSecretFile(), "/secret");
  for (const Knob &knob : listKnobs()) {
    EXPECT_EQ(knob.origin, Knob::Origin::Environment) << knob.name;
    EXPECT_NE(knob.value, "hush") << knob.name; // what is shown
    EXPECT_EQ(knob.problem, "") << knob.name;
  }
}

TEST(Knobs, FilesFollowTheUsersFolders) {
  std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  {
    Setting user("HOME", "/users/u");
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("XDG_DATA_HOME");
    EXPECT_EQ(cacheDirectory(), "/users/u/.cache/heddle");
    Setting cache("XDG_CACHE_HOME", "/c");
    EXPECT_EQ(cacheDirectory(), "/c/heddle");
    EXPECT_EQ(tuningDatabase(), "/users/u/.local/share/heddle/tuning.sqlite");
    Setting data("XDG_DATA_HOME", "/d");
    EXPECT_EQ(tuningDatabase(), "/d/heddle/tuning.sqlite");
  }
  EXPECT_EQ(cacheDirectory(), "");
  EXPECT_EQ(tuningDatabase(), "");
  if (!home.empty())
    ::setenv("HOME", home.c_str(), 1);
}

TEST(Knobs, EmptyIsUnset) {
  Setting threads("HEDDLE_HOST_THREADS", "");
  EXPECT_GE(hostThreads(), 1);
}

TEST(Knobs, IllFormedNamesVariableValueAndForm) {
  for (const char *bad : {"0", "-1", "two", "1.5", "99999999999", "4 "}) {
    Setting setting("HEDDLE_HOST_THREADS", bad);
    Error error = errorOf([] { hostThreads(); });
    EXPECT_EQ(error.kind, ErrorClass::Input);
    EXPECT_EQ(std::string(error.what()),
              std::string("environment variable HEDDLE_HOST_THREADS: `") + bad + "` is not an integer from 1 to 1024");
  }
  for (const char *bad : {"-1", "1T", "M", "1.5G", "99999999999G"}) {
    Setting setting("HEDDLE_HOST_MEMORY", bad);
    EXPECT_CONTAINS(messageOf([] { hostMemoryBytes(); }), "HEDDLE_HOST_MEMORY: `");
  }
  for (const char *bad : {"0", "-1", "nan", "inf", "1s"}) {
    Setting setting("HEDDLE_LAUNCH_TIMEOUT", bad);
    EXPECT_CONTAINS(messageOf([] { launchTimeoutSeconds(); }), "is not seconds above 0");
    bool found = false;
    for (const Knob &knob : listKnobs())
      found |= knob.name == "HEDDLE_LAUNCH_TIMEOUT" && knob.value == bad && !knob.problem.empty();
    EXPECT_TRUE(found);
  }
}

TEST(Knobs, KnobsOfTheDropInAreChecked) {
  // The limits of nccl/Settings.cpp and nccl/Log.cpp.
  const std::pair<const char *, std::vector<const char *>> illFormed[] = {
      {"HEDDLE_NCCL_BYTES", {"-1", "1M", "1099511627777"}},
      {"HEDDLE_NCCL_DEADLINE", {"0", "soon", "nan", "1000001"}},
      {"HEDDLE_NCCL_DEVICE", {"hip", "cuda:0"}},
      {"HEDDLE_NCCL_LOG", {"on"}},
      {"HEDDLE_NCCL_RESERVE", {"-1", "1025", "1.5"}}};
  auto problemOf = [](const std::string &name) {
    for (const Knob &knob : listKnobs())
      if (knob.name == name)
        return knob.problem;
    return std::string("no such knob");
  };
  for (const auto &[name, texts] : illFormed)
    for (const char *text : texts) {
      Setting setting(name, text);
      EXPECT_CONTAINS(problemOf(name), std::string("environment variable ") + name + ": `" + text + "` is not ");
    }
  for (auto [name, text] : {std::pair("HEDDLE_NCCL_BYTES", "0"), std::pair("HEDDLE_NCCL_BYTES", "1099511627776"),
                            std::pair("HEDDLE_NCCL_DEADLINE", "0.001"), std::pair("HEDDLE_NCCL_RESERVE", "1024")}) {
    Setting setting(name, text);
    EXPECT_EQ(problemOf(name), "") << name;
  }
}

TEST(Knobs, UnknownVariablesAreListed) {
  Setting typo("HEDDLE_HOST_THREAD", "3"), known("HEDDLE_HOST_THREADS", "3"), jobs("HEDDLE_JOBS", "2"); // of ./dev
  EXPECT_EQ(unknownVariables(), std::vector<std::string>{"HEDDLE_HOST_THREAD"});
}

} // namespace
