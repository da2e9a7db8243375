// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which features code may use: not all that a processor has, since some change what numbers are.
#include "compiler/emit/HostProcessor.h"
#include "compiler/emit/CodeGenerator.h"
#include "support/Error.h"
#include "support/Suggest.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <algorithm>
#include <set>

namespace heddle {
namespace {

/// The features that code generation from plain LLVM IR can use. Others (`sgx`, `rdseed`, ...) are reached by
/// intrinsics only, and a package shall not ask a machine for them.
constexpr const char *usedFeatures[] = {
    "adx",        "avx",         "avx2",         "avx512bitalg", "avx512bw",
    "avx512cd",   "avx512dq",    "avx512f",      "avx512fp16",   "avx512ifma",
    "avx512vbmi", "avx512vbmi2", "avx512vl",     "avx512vnni",   "avx512vpopcntdq",
    "avxifma",    "avxvnni",     "avxvnniint16", "avxvnniint8",  "bmi",
    "bmi2",       "cmov",        "cx16",         "cx8",          "f16c",
    "fma",        "gfni",        "lzcnt",        "mmx",          "movbe",
    "pclmul",     "popcnt",      "sahf",         "sse",          "sse2",
    "sse3",       "sse4.1",      "sse4.2",       "ssse3",        "vpclmulqdq",
};

/// Never used, whatever the processor has: AVX512-BF16's conversions flush denormal inputs and results to zero.
constexpr const char *refusedFeatures[] = {"avx512bf16", "avxneconvert"};

constexpr const char *neededFeatures[] = {"avx2", "f16c", "fma"};

std::set<std::string> featuresOf(const std::string &processor, bool native) {
  std::set<std::string> features;
  if (native) {
    for (const auto &[name, present] : llvm::sys::getHostCPUFeatures())
      if (present)
        features.insert(name.str());
    return features;
  }
  initializeTargets();
  llvm::Triple triple("x86_64-pc-linux-gnu");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target ? target->createMCSubtargetInfo(triple, processor, "")
                                                          : nullptr);
  for (const char *name : usedFeatures)
    if (subtarget && subtarget->checkFeatures(std::string("+") + name))
      features.insert(name);
  return features;
}

void checkKnown(const std::string &name) {
  if (llvm::X86::parseArchX86(name, /*Only64Bit=*/true) != llvm::X86::CK_None)
    return;
  std::vector<std::string> notes;
  if (std::string closest = closestName(name, hostProcessorNames()); !closest.empty())
    notes.push_back("the closest name is `" + closest + "`");
  notes.push_back("`native` is this machine's processor, `x86-64-v3` and `x86-64-v4` are common ground");
  throw inputError("unknown processor `" + name + "`", notes);
}

int vectorBitsOf(const std::set<std::string> &features) {
  for (const char *name : {"avx512f", "avx512bw", "avx512dq", "avx512vl"})
    if (!features.count(name))
      return 256;
  return 512;
}

} // namespace

HostProcessor resolveHostProcessor(const std::string &request) {
  bool native = request == "native";
  HostProcessor processor;
  processor.name = native ? llvm::sys::getHostCPUName().str() : request;
  if (!native)
    checkKnown(request);
  std::set<std::string> present = featuresOf(processor.name, native);
  for (const char *needed : neededFeatures)
    if (!present.count(needed)) {
      std::string message = "processor `" + processor.name + "` lacks " + needed + ", which host code needs";
      if (native)
        throw environmentError(message);
      throw inputError(message, {"the smallest processor with all of it is `x86-64-v3`"});
    }
  for (const char *name : usedFeatures)
    if (present.count(name)) {
      processor.features.push_back(name);
      processor.featureString += std::string("+") + name + ",";
    } else {
      processor.featureString += std::string("-") + name + ",";
    }
  for (const char *name : refusedFeatures)
    processor.featureString += std::string("-") + name + ",";
  processor.featureString.pop_back();
  processor.vectorBits = vectorBitsOf(present);
  return processor;
}

std::vector<std::string> hostProcessorNames() {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  std::vector<std::string> result;
  for (llvm::StringRef name : names)
    result.push_back(name.str());
  return result;
}

std::string llvmVersion() {
  return LLVM_VERSION_STRING;
}

} // namespace heddle
