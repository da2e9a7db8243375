// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads each launcher's variables; those that contradict each other or are no numbers are errors that quote them.
#include "runtime/processes/Launcher.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace heddle {
namespace {

std::string textOf(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// None when it is not set; `most` is the largest that makes sense.
std::optional<int> numberOf(const char *name, int most = 1 << 20) {
  std::string text = textOf(name);
  if (text.empty())
    return std::nullopt;
  int value = 0;
  const char *end = text.data() + text.size();
  auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || value < 0 || value > most)
    throw inputError(fmt::format("environment variable {}: `{}` is no integer from 0 to {}", name, text, most),
                     {"the launcher sets it"});
  return value;
}

/// The address at which processes of one host and one job connect. The user is in the name, so that users do not take
/// it from each other.
std::string addressOf(const std::string &job) {
  return fmt::format("unix:@heddle-{}-{}", ::geteuid(), hashHex(job));
}

struct Names {
  const char *launcher, *rank, *size, *localRank, *localSize;
};
constexpr Names torch = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names slurm = {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr};
constexpr Names openMpi = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                           "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names mpich = {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

std::optional<LauncherFacts> read(const Names &names) {
  if (textOf(names.rank).empty() || textOf(names.size).empty()) // one alone is some other program's
    return std::nullopt;
  std::optional<int> rank = numberOf(names.rank), size = numberOf(names.size);
  if (*rank >= *size)
    throw inputError(
        fmt::format("environment variables: {} is {} and {} is {}: ranks are below the number of processes", names.rank,
                    *rank, names.size, *size));
  LauncherFacts facts;
  facts.launcher = names.launcher;
  facts.rank = *rank;
  facts.size = *size;
  facts.localRank = numberOf(names.localRank).value_or(-1);
  if (names.localSize)
    facts.oneHost = numberOf(names.localSize).value_or(*size) == *size;
  return facts;
}

std::string valuesOf(std::initializer_list<const char *> names) {
  std::string values;
  for (const char *name : names)
    values += textOf(name) + "/";
  return values;
}

} // namespace

LauncherFacts readLauncher() {
  if (auto facts = textOf("MASTER_ADDR").empty() ? std::nullopt : read(torch)) {
    facts->job = valuesOf({"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"});
    // torchrun's own store listens at MASTER_PORT.
    if (facts->oneHost)
      facts->address = addressOf("torch/" + facts->job);
    return *facts;
  }
  if (auto facts = read(slurm)) {
    facts->oneHost = numberOf("SLURM_NNODES").value_or(1) == 1;
    facts->job = valuesOf({"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
    if (facts->oneHost && !textOf("SLURM_JOB_ID").empty())
      facts->address = addressOf("slurm/" + facts->job);
    return *facts;
  }
  // These have no name of the job that two jobs of one user could not share.
  if (auto facts = read(openMpi))
    return *facts;
  if (auto facts = read(mpich))
    return *facts;
  return {};
}

} // namespace heddle
