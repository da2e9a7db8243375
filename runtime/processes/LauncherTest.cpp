// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variables of each launcher, whole, in part and wrong.
#include "runtime/processes/Launcher.h"
#include "support/TestError.h"
#include <cstdlib>
#include <map>

namespace heddle {
namespace {

/// The variables of launchers, as they are within this object; those of before come back.
class Variables {
public:
  explicit Variables(const std::map<std::string, std::string> &values) {
    for (const char *name : {"RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "TORCHELASTIC_RUN_ID",
                             "TORCHELASTIC_RESTART_COUNT",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_NNODES",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS"}) {
      if (const char *value = std::getenv(name))
        before[name] = value;
      ::unsetenv(name);
    }
    for (const auto &[name, value] : values) {
      ::setenv(name.c_str(), value.c_str(), 1);
      names.push_back(name);
    }
  }
  ~Variables() {
    for (const std::string &name : names)
      ::unsetenv(name.c_str());
    for (const auto &[name, value] : before)
      ::setenv(name.c_str(), value.c_str(), 1);
  }

private:
  std::map<std::string, std::string> before;
  std::vector<std::string> names;
};

TEST(Launchers, None) {
  Variables set({});
  EXPECT_EQ(readLauncher().launcher, "");
}

TEST(Launchers, Torchrun) {
  std::map<std::string, std::string> values = {{"RANK", "2"},
                                               {"WORLD_SIZE", "4"},
                                               {"LOCAL_RANK", "2"},
                                               {"LOCAL_WORLD_SIZE", "4"},
                                               {"MASTER_ADDR", "n1"},
                                               {"MASTER_PORT", "29500"},
                                               {"TORCHELASTIC_RUN_ID", "x"},
                                               {"TORCHELASTIC_RESTART_COUNT", "0"}};
  std::string address;
  {
    Variables set(values);
    LauncherFacts facts = readLauncher();
    EXPECT_EQ(facts.launcher, "torchrun");
    EXPECT_EQ(facts.rank, 2);
    EXPECT_EQ(facts.size, 4);
    EXPECT_EQ(facts.localRank, 2);
    EXPECT_TRUE(facts.oneHost);
    EXPECT_TRUE(facts.address.starts_with("unix:@heddle-")) << facts.address;
    address = facts.address;
  }
  values["TORCHELASTIC_RESTART_COUNT"] = "1"; // what the start before has left cannot be reached
  EXPECT_NE((Variables(values), readLauncher().address), address);
  values["LOCAL_WORLD_SIZE"] = "2";
  Variables set(values);
  EXPECT_FALSE(readLauncher().oneHost);
  EXPECT_EQ(readLauncher().address, "");
}

TEST(Launchers, Slurm) {
  std::map<std::string, std::string> values = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "1"},
                                               {"SLURM_NNODES", "1"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}};
  Variables set(values);
  LauncherFacts facts = readLauncher();
  EXPECT_EQ(facts.launcher, "Slurm");
  EXPECT_EQ(facts.rank, 1);
  EXPECT_EQ(facts.size, 2);
  EXPECT_TRUE(facts.address.starts_with("unix:@heddle-"));
}

TEST(Launchers, MpiGivesNoAddress) {
  Variables set({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(readLauncher().launcher, "Open MPI");
  EXPECT_EQ(readLauncher().address, "");
}

TEST(Launchers, NamesWhatIsWrong) {
  {
    Variables set({{"RANK", "x"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "n1"}});
    EXPECT_CONTAINS(messageOf(readLauncher), "environment variable RANK: `x` is no integer");
  }
  Variables set({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "n1"}});
  EXPECT_CONTAINS(messageOf(readLauncher), "RANK is 4 and WORLD_SIZE is 4");
}

} // namespace
} // namespace heddle
