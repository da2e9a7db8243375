// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulator's door: load an AMD code object, allocate buffers, launch its kernels. docs/simulator.md.
#pragma once
#include "binary/AmdCodeObject.h"
#include "simulator/machine/Machine.h"
#include <memory>
#include <span>

namespace heddle::simulator {

class Simulator {
public:
  /// Throws Error{Input} for the object of a chip that is not simulated, Error{Environment} when this machine lacks
  /// AVX2 and FMA.
  explicit Simulator(const AmdCodeObject &object);
  ~Simulator();

  /// Zeroed memory; returns its address for kernels.
  uint64_t allocate(uint64_t sizeBytes, const std::string &name);
  /// The bytes of what starts at `address`.
  std::span<uint8_t> bytes(uint64_t address);

  /// `arguments` are the explicit part of the kernel's argument segment. Throws Error{Input} for a geometry that does
  /// not fit, Error{WrongResult} with instruction and place when the kernel does what it must not, when it reaches an
  /// instruction that the simulator does not know, or when it does not end.
  RunStatistics launch(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments,
                       const RunOptions &options);

  const AmdCodeObject &object() const { return code; }
  uint64_t codeBase() const { return base; } ///< where the file's address 0 lies

private:
  class Code;
  const AmdCodeObject code;
  AddressSpace memory;
  uint64_t base = 0;
  std::unique_ptr<Code> program;
};

/// The instructions that can be executed, in alphabetical order. Throws Error{Input} for a chip that is not simulated.
std::vector<std::string> instructionNames(const std::string &chip);

} // namespace heddle::simulator
