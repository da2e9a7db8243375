// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the launchers torchrun, srun and mpirun tell a process by environment variables.
#pragma once
#include <string>

namespace heddle {

struct LauncherFacts {
  std::string launcher; ///< `torchrun`, `Slurm`, `Open MPI`, `MPICH`; empty for none
  int rank = -1, size = 0;
  int localRank = -1;  ///< among the processes of this host; -1: unknown
  bool oneHost = true; ///< all processes are on this host
  std::string job;     ///< equal for the processes of one start of a job
  std::string address; ///< of rank 0, as BootstrapOptions::address; empty: the launcher does not say
};

/// Of torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_*), Slurm
/// (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_NNODES, SLURM_JOB_ID, SLURM_STEP_ID), Open MPI and MPICH, in this
/// order. On one host rank 0 listens at a socket without a file, whose name is made of the user and the job. Throws
/// Error{Input} for variables that contradict each other or are no numbers, naming them.
LauncherFacts readLauncher();

} // namespace heddle
