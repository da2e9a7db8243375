// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of every type and operation, compiled by LLVM for an AMD chip and run in the simulator, against the same IR
// compiled for this processor.
#include "KernelPair.h"
#include "simulator/numbers/Conversions.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

uint64_t elementBits(const Bytes &bytes, const KernelType &type, unsigned index) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + size_t(index) * type.elementBits / 8, type.elementBits / 8);
  return bits;
}

double elementValue(const KernelType &type, uint64_t bits) {
  if (type.element == "half")
    return decodeFloat(f16, uint32_t(bits));
  if (type.element == "bfloat")
    return decodeFloat(bf16, uint32_t(bits));
  return type.element == "float" ? double(std::bit_cast<float>(uint32_t(bits))) : std::bit_cast<double>(bits);
}

/// minnum and maxnum may give either zero; of NaNs any may come out.
bool agree(const GeneratedKernel &kernel, uint64_t found, uint64_t expected) {
  if (found == expected)
    return true;
  if (!kernel.result.isFloat())
    return false;
  double left = elementValue(kernel.result, found), right = elementValue(kernel.result, expected);
  if (std::isnan(left) && std::isnan(right))
    return true;
  bool openZero = kernel.body.find("minnum") != std::string::npos || kernel.body.find("maxnum") != std::string::npos;
  if (openZero && left == 0 && right == 0)
    return true;
  return kernel.tolerance > 0 && std::fabs(left - right) <= kernel.tolerance * std::max(std::fabs(right), kernel.unit);
}

/// The first thread whose result differs, as text; empty when none does.
std::string compare(const GeneratedKernel &kernel, const Outcome &simulated, const Outcome &host) {
  if (!simulated.error.empty())
    return simulated.error;
  KernelData data = makeData(kernel);
  for (unsigned index = 0; index < threadCount * kernel.result.count; ++index) {
    uint64_t found = elementBits(simulated.result, kernel.result, index);
    uint64_t expected = elementBits(host.result, kernel.result, index);
    if (!agree(kernel, found, expected))
      return fmt::format("element {}: x 0x{:x}, y 0x{:x}, z 0x{:x} gives 0x{:x}, on the host 0x{:x}", index,
                         elementBits(data.x, kernel.input, index), elementBits(data.y, kernel.input, index),
                         elementBits(data.z, kernel.third, index), found, expected);
  }
  return "";
}

void compareAll(const std::string &chip) {
  std::vector<GeneratedKernel> kernels = generateKernels();
  ASSERT_GE(kernels.size(), 590u);
  std::set<std::string> mnemonics;
  std::map<std::string, Outcome> simulated = simulate(kernels, compileForChip(kernels, chip), mnemonics),
                                 host = runOnHost(kernels);
  size_t good = 0;
  for (const GeneratedKernel &kernel : kernels) {
    std::string difference = compare(kernel, simulated[kernel.name], host[kernel.name]);
    EXPECT_EQ(difference, "") << chip << ", kernel " << kernel.name << ":\n" << kernel.body;
    good += difference.empty();
  }
  fmt::print("{}: {} of {} generated kernels agree with the host; they executed {} different instructions\n", chip,
             good, kernels.size(), mnemonics.size());
  EXPECT_GE(mnemonics.size(), 200u);
}

/// What a compiler makes waits for its loads, and nothing undefined decides what it does.
void checkAll(const std::string &chip) {
  CheckSet checks;
  checks.add(Check::RegisterWait);
  checks.add(Check::Uninitialised);
  checks.add(Check::Bounds);
  checks.add(Check::Misaligned);
  checks.add(Check::MisalignedSlow);
  std::vector<GeneratedKernel> kernels = generateKernels();
  std::set<std::string> mnemonics;
  for (const auto &[name, outcome] : simulate(kernels, compileForChip(kernels, chip), mnemonics, checks))
    EXPECT_EQ(outcome.error, "") << chip << ", kernel " << name;
}

TEST(GeneratedKernels, Gfx942HasNoFindings) {
  checkAll("gfx942");
}
TEST(GeneratedKernels, Gfx950HasNoFindings) {
  checkAll("gfx950");
}

TEST(GeneratedKernels, Gfx942) {
  compareAll("gfx942");
}
TEST(GeneratedKernels, Gfx950) {
  compareAll("gfx950");
}

} // namespace
} // namespace heddle::simulator
