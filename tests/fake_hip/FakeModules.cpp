// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake libamdhip64: code objects, their kernels, and launches. A kernel's arguments are read as HIP reads them: as
// many as the metadata say, each of the size that they say.
#include "binary/AmdPackage.h"
#include "runtime/drivers/simulated/SimulatedModule.h"
#include "tests/fake_hip/FakeHipState.h"
#include <algorithm>
#include <cstring>
#include <elf.h>

namespace heddle::fake {
namespace {

/// HIP is given an address alone: the file reaches to the end of its section table, or of a section after it.
std::string fileAt(const void *image) {
  const auto *start = static_cast<const char *>(image);
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    throw inputError("the image is no code object");
  uint64_t end = header.e_shoff + uint64_t(header.e_shnum) * sizeof(Elf64_Shdr);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, start + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return std::string(start, end);
}

std::shared_ptr<heddle::Module> loadFor(FunctionHandle &function, unsigned items, unsigned sharedBytes) {
  std::lock_guard lock(state().mutex);
  auto &module = function.loaded[{items, sharedBytes}];
  if (!module) {
    const ModuleHandle &owner = *function.module;
    auto &device = state().devices.at({owner.object.chip, owner.device});
    module = device->loadModule(
        packageOfCodeObject(owner.code, "the code", function.kernel.name, int64_t(items), sharedBytes));
  }
  return module;
}

heddle::Launch launchOf(FunctionHandle &function, const FakeLaunch &asked, void **parameters) {
  const auto &wanted = function.kernel.requiredWorkgroup;
  const auto &[x, y, z] = asked.block;
  if (wanted[0] ? !std::equal(wanted.begin(), wanted.end(), asked.block) : y != 1 || z != 1)
    throw inputError("the workgroup's shape is not the kernel's");
  heddle::Launch launch;
  launch.kernel.module = loadFor(function, x * y * z, asked.sharedBytes);
  launch.grid = {asked.grid[0], asked.grid[1], asked.grid[2]};
  launch.cooperative = asked.cooperative;
  size_t i = 0;
  for (const AmdArgument &argument : explicitArguments(function.kernel)) {
    uint64_t bits = 0;
    std::memcpy(&bits, parameters[i++], argument.sizeBytes);
    if (argument.isBuffer())
      launch.arguments.push_back(DeviceAddress(bits));
    else
      launch.arguments.push_back(ScalarBits{bits});
  }
  return launch;
}

int64_t residentBlocks(FunctionHandle &function, unsigned items, unsigned sharedBytes) {
  return std::static_pointer_cast<SimulatedModule>(loadFor(function, items, sharedBytes))->mostCooperative();
}

} // namespace

std::unique_ptr<FunctionHandle> findFunction(gpu::Module module, const std::string &name) {
  for (const AmdKernel &kernel : module->object.kernels)
    if (kernel.name == name)
      return std::make_unique<FunctionHandle>(FunctionHandle{module, kernel, {}});
  return nullptr;
}

Result launch(const char *symbol, Function function, FakeLaunch launch, Stream stream, void **parameters) {
  stream->asked = 0;
  return attempt(symbol, launch.cooperative ? result::cooperativeTooLarge : 9,
                 [&] { stream->stream->launch(launchOf(*function, launch, parameters)); });
}

extern "C" {

Result moduleLoad(gpu::Module *module, const void *image) {
  ENTER(moduleLoad);
  auto made = std::make_unique<ModuleHandle>();
  made->device = currentDevice();
  if (Result failure = attempt(symbol::moduleLoad, result::invalidImage, [&] {
        made->code = fileAt(image);
        made->object = parseAmdCodeObject(made->code, "the image");
      }))
    return failure;
  if (made->object.chip != deviceOf(currentDevice()).chip().name)
    return result::noBinaryForGpu;
  *module = made.release();
  return count(&FakeGpu::liveModules, 1);
}

Result functionGetAttribute(int *value, int which, Function function) {
  ENTER(functionGetAttribute);
  const AmdKernel &kernel = function->kernel;
  *value = which == gpu::function::maxThreadsPerBlock ? int(kernel.mostWorkItems ? kernel.mostWorkItems : 1024)
           : which == gpu::function::sharedBytes      ? int(kernel.groupBytes)
           : which == gpu::function::localBytes       ? int(kernel.privateBytes)
           : which == gpu::function::registers        ? int(kernel.vectorRegisters())
                                                      : 0;
  return result::success;
}

Result maxActiveBlocks(int *blocks, Function function, int items, size_t shared) {
  ENTER(maxActiveBlocks);
  return attempt(symbol::maxActiveBlocks, result::invalidValue, [&] {
    int units = deviceOf(function->module->device).chip().computeUnits;
    *blocks = int(residentBlocks(*function, unsigned(items), unsigned(shared)) / units);
  });
}

} // extern "C"

} // namespace heddle::fake
