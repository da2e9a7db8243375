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

/// A machine for `key` that no other compilation has: an idle one or a new one. Throws Error{Internal} when LLVM makes
/// none. Both functions may be called from any thread.
std::unique_ptr<llvm::TargetMachine> takeTargetMachine(const MachineKey &key);
/// Keeps a machine for a later compilation. The caller has restored its optimisation level. Not for a machine with
/// which LLVM failed: its state is unknown.
void giveTargetMachineBack(const MachineKey &key, std::unique_ptr<llvm::TargetMachine> machine) noexcept;

} // namespace heddle
