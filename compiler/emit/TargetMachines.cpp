// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small pool, by the options that make a target machine.
#include "compiler/emit/TargetMachines.h"
#include "compiler/emit/LlvmOptions.h"
#include "support/Error.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

using namespace heddle;

namespace {
struct Idle {
  using Key = std::tuple<std::string, std::string, std::string, int>;
  static Key keyOf(const MachineKey &key) { return {key.triple, key.processor, key.features, key.level}; }

  std::mutex mutex;
  std::map<Key, std::vector<std::unique_ptr<llvm::TargetMachine>>> machines;
};

/// Never destroyed: LLVM's own statics may be gone before.
Idle &idle() {
  static Idle *const all = new Idle;
  return *all;
}

/// More are not kept: as many as compile at once on a large machine.
constexpr size_t mostIdle = 16;

llvm::CodeGenOptLevel codeGenLevel(int level) {
  switch (level) {
  case 0:
    return llvm::CodeGenOptLevel::None;
  case 1:
    return llvm::CodeGenOptLevel::Less;
  case 2:
    return llvm::CodeGenOptLevel::Default;
  default:
    return llvm::CodeGenOptLevel::Aggressive;
  }
}
} // namespace

std::unique_ptr<llvm::TargetMachine> heddle::takeTargetMachine(const MachineKey &key) {
  {
    std::lock_guard lock(idle().mutex);
    auto &machines = idle().machines[Idle::keyOf(key)];
    if (!machines.empty()) {
      std::unique_ptr<llvm::TargetMachine> machine = std::move(machines.back());
      machines.pop_back();
      return machine;
    }
  }
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(llvm::Triple(key.triple), message);
  if (!target)
    throw internalError("LLVM has no back end for " + key.triple + ": " + message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // a fused product is asked for by name, never found
  auto held = keepLlvmOptions();
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(llvm::Triple(key.triple), key.processor,
                                                                           key.features, options, llvm::Reloc::PIC_,
                                                                           std::nullopt, codeGenLevel(key.level)));
  if (!machine)
    throw internalError("LLVM made no target machine for processor `" + key.processor + "`");
  return machine;
}

void heddle::giveTargetMachineBack(const MachineKey &key, std::unique_ptr<llvm::TargetMachine> machine) noexcept {
  try {
    std::lock_guard lock(idle().mutex);
    auto &machines = idle().machines[Idle::keyOf(key)];
    if (machines.size() < mostIdle)
      machines.push_back(std::move(machine));
  } catch (const std::bad_alloc &) { // it is made again
  }
}
