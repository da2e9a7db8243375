// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembles one program for each wave, which compares its number to find its own, and runs them.
#include "tests/simulator/checks/AssembledKernel.h"
#include "tests/simulator/AssembledObject.h"
#include <cstring>

namespace heddle::simulator {
namespace {

constexpr uint32_t bufferWords = 1024;

/// Where the number of a wave's program comes from: its work-items, its workgroup (s2), an argument.
constexpr const char *numberOf[] = {"v_readfirstlane_b32 s2, v0\ns_lshr_b32 s2, s2, 6\n", "",
                                    "s_load_dword s2, s[0:1], 0x8\n"};

std::string programOf(const std::vector<std::string> &programs, WavesOf together) {
  std::string text = std::string(numberOf[unsigned(together)]) + "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                                                                 "v_and_b32 v1, 63, v0\n"
                                                                 "v_lshlrev_b32 v1, 2, v1\n"
                                                                 "s_mov_b32 m0, 0\n"
                                                                 "s_waitcnt lgkmcnt(0)\n"
                                                                 "v_mov_b32 v3, s5\n"
                                                                 "v_add_co_u32 v2, vcc, s4, v1\n"
                                                                 "v_addc_co_u32 v3, vcc, 0, v3, vcc\n";
  for (size_t wave = 0; wave < programs.size(); ++wave) {
    std::string next = "wave_" + std::to_string(wave + 1);
    text += "s_cmp_lg_u32 s2, " + std::to_string(wave) + "\ns_cbranch_scc1 " + next + "\n" + programs[wave] +
            "\ns_endpgm\n" + next + ":\n";
  }
  return text + "s_endpgm\n";
}

AmdCodeObject objectOf(const std::vector<std::string> &programs, WavesOf together, const std::string &chip) {
  AmdCodeObject object = assembledObject(chip, "test", programOf(programs, together), 12);
  AmdKernel &kernel = object.kernels.front();
  kernel.groupBytes = 8192;
  kernel.privateBytes = 16;
  kernel.resource1 |= 0xc0 << 12; // denormals
  kernel.resource2 |= 1 << 7;     // the workgroup, after the argument pointer
  kernel.mostWorkItems = 1024;
  return object;
}

} // namespace

AssembledKernel::AssembledKernel(const std::vector<std::string> &programs, WavesOf together, const std::string &chip)
    : together(together), waves(uint32_t(programs.size())), simulator(chip, together == WavesOf::System ? waves : 1),
      loaded(simulator.load(objectOf(programs, together, chip))),
      buffer(simulator.allocate(4 * bufferWords, "buffer")) {}

SimulationReport AssembledKernel::run(const SimulationOptions &options) {
  std::span<uint8_t> bytes = simulator.bytes(buffer);
  for (uint32_t i = 0; i < bufferWords; ++i)
    std::memcpy(&bytes[4 * i], &i, 4);
  Geometry geometry = {.groups = {together == WavesOf::Device ? waves : 1},
                       .items = {together == WavesOf::Group ? 64 * waves : 64}};
  std::vector<std::unique_ptr<KernelRun>> runs;
  for (uint32_t device = 0; device < simulator.deviceCount(); ++device) {
    std::string arguments(12, '\0');
    std::memcpy(arguments.data(), &buffer, 8);
    std::memcpy(arguments.data() + 8, &device, 4);
    runs.push_back(simulator.prepare(loaded, loaded.object.kernel("test"), geometry, arguments, device, options));
  }
  return simulator.run(runs, options);
}

uint32_t AssembledKernel::word(size_t index) {
  uint32_t value;
  std::memcpy(&value, &simulator.bytes(buffer)[4 * index], 4);
  return value;
}

} // namespace heddle::simulator
