// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program heddle-device-tests: the GoogleTest programs that run kernels, and the random campaigns and heddle itself
// as verbs. It is carried with the tests' files to a machine with GPUs; HEDDLE_TEST_DEVICE says what to run on.
#include "support/TestMain.h"
#include <map>
#include <string>

int fuzzPrograms(int argc, char **argv);
int fuzzCollectives(int argc, char **argv);
int fuzzModules(int argc, char **argv);
int runHeddle(int argc, char **argv);
int probeWaits(int argc, char **argv);

int main(int argc, char **argv) {
  const std::map<std::string, int (*)(int, char **)> verbs = {{"fuzz", fuzzPrograms},
                                                              {"fuzz-collectives", fuzzCollectives},
                                                              {"fuzz-modules", fuzzModules},
                                                              {"heddle", runHeddle},
                                                              {"probe-waits", probeWaits}};
  if (argc > 1)
    if (auto verb = verbs.find(argv[1]); verb != verbs.end())
      return verb->second(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return heddle::runSelectedTests();
}
