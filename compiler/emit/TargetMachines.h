// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's target machines, kept for the next compilation: to make one and its tables of registers takes a tenth of a
// small kernel's time. One compilation at a time uses a machine.
#pragma once
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace heddle {

/// What a machine is made for. `level` is LLVM's, 0 to 3.
struct MachineKey {
  std::string triple, processor, features;
  int level;
};

/// A machine for `key` that nobody else uses, an idle one or a new one. It has its level when it is given back. Throws
/// Error{Internal} when LLVM makes none.
std::unique_ptr<llvm::TargetMachine> takeTargetMachine(const MachineKey &key);
/// For the next who asks for `key`; not what LLVM failed with, whose state nobody knows.
void giveTargetMachineBack(const MachineKey &key, std::unique_ptr<llvm::TargetMachine> machine);

} // namespace heddle
