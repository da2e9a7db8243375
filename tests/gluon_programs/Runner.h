// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles random Gluon-like programs, runs what is accepted on simulated gfx942 and gfx950 with all checks, and judges
// what the compiler said and what the program left.
#pragma once
#include "tests/gluon_programs/Program.h"
#include <map>
#include <memory>

namespace heddle {
class Device;
}

namespace heddle::gluon_programs {

struct Tally {
  int programs = 0, accepted = 0, pipelined = 0; ///< `pipelined`: accepted ones with warp pipelines
  std::map<std::string, int> refused;            ///< by rule
  std::map<std::string, int> warned;             ///< programs with a warning, by what it says
};

class Runner {
public:
  /// Copies of the simulator come late, early or at random, and so do the waves, unless the environment has its own
  /// words.
  Runner();

  /// What is wrong with the program of a seed, in words, and the program, with as few steps as that takes; empty when
  /// all is well.
  std::string check(uint64_t seed, bool reduces = false);
  /// What is wrong with a program.
  std::string judge(const GluonProgram &program);
  const Tally &tally() const { return counts; }
  std::string summary() const;

private:
  std::string run(const GluonProgram &program, const struct CompiledProgram &compiled);
  /// What is wrong where all warps execute the stages of its warp pipelines one after the other.
  std::string judgeInOrder(const GluonProgram &program);
  void chooseSchedule(uint64_t seed) const;

  std::map<std::string, std::shared_ptr<Device>> devices;
  bool choosesPolicy = false, choosesSeed = false;
  Tally counts;
};

} // namespace heddle::gluon_programs
