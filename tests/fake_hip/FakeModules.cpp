// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake libamdhip64: code objects, their kernels, and launches. A kernel's arguments are read as HIP reads them: as
// many as the metadata say, each of the size that they say.
#include "binary/AmdPackage.h"
#include "runtime/drivers/simulated/SimulatedModule.h"
#include "tests/fake_hip/FakeHipState.h"
#include <algorithm>
#include <cstring>
#include <elf.h>

namespace heddle::fake_hip {
namespace {

/// HIP is given an address alone: the file reaches to the end of its section table, or of a section behind it.
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

heddle::Launch launchOf(FunctionHandle &function, const std::array<unsigned, 3> &grid,
                        const std::array<unsigned, 3> &items, unsigned sharedBytes, void **parameters) {
  const auto &wanted = function.kernel.requiredWorkgroup;
  if (wanted[0] ? !std::equal(items.begin(), items.end(), wanted.begin()) : items[1] != 1 || items[2] != 1)
    throw inputError("the workgroup's shape is not the kernel's");
  heddle::Launch launch;
  launch.kernel.module = loadFor(function, items[0] * items[1] * items[2], sharedBytes);
  launch.grid = {grid[0], grid[1], grid[2]};
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

extern "C" {

Result hipModuleLoadData(Module *module, const void *image) {
  ENTER(hipModuleLoadData);
  auto made = std::make_unique<ModuleHandle>();
  made->device = current;
  if (Result failure = attempt("hipModuleLoadData", result::invalidImage, [&] {
        made->code = fileAt(image);
        made->object = parseAmdCodeObject(made->code, "the image");
      }))
    return failure;
  if (made->object.chip != deviceOf(current).chip().name)
    return result::noBinaryForGpu;
  *module = made.release();
  std::lock_guard lock(state().mutex);
  ++state().control.liveModules;
  return result::success;
}

Result hipModuleUnload(Module module) {
  ENTER(hipModuleUnload);
  waitForTheDevice("hipModuleUnload");
  delete module;
  std::lock_guard lock(state().mutex);
  --state().control.liveModules;
  return result::success;
}

Result hipModuleGetFunction(Function *function, Module module, const char *name) {
  ENTER(hipModuleGetFunction);
  for (const AmdKernel &kernel : module->object.kernels)
    if (kernel.name == name) {
      module->functions.push_back(std::make_unique<FunctionHandle>(FunctionHandle{module, kernel, {}}));
      *function = module->functions.back().get();
      return result::success;
    }
  return result::notFound;
}

Result hipFuncGetAttribute(int *value, int which, Function function) {
  ENTER(hipFuncGetAttribute);
  const AmdKernel &kernel = function->kernel;
  *value = which == gpu::function::maxThreadsPerBlock ? int(kernel.mostWorkItems ? kernel.mostWorkItems : 1024)
           : which == gpu::function::sharedBytes      ? int(kernel.groupBytes)
           : which == gpu::function::localBytes       ? int(kernel.privateBytes)
           : which == gpu::function::registers        ? int(kernel.vectorRegisters())
                                                      : 0;
  return result::success;
}

Result hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function function, int items, size_t shared) {
  ENTER(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor);
  return attempt("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", result::invalidValue, [&] {
    int units = deviceOf(function->module->device).chip().computeUnits;
    *blocks = int(residentBlocks(*function, unsigned(items), unsigned(shared)) / units);
  });
}

Result hipModuleLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned x, unsigned y,
                             unsigned z, unsigned sharedBytes, Stream stream, void **parameters, void **) {
  ENTER(hipModuleLaunchKernel);
  stream->asked = 0;
  return attempt("hipModuleLaunchKernel", 9, [&] {
    stream->stream->launch(launchOf(*function, {gridX, gridY, gridZ}, {x, y, z}, sharedBytes, parameters));
  });
}

Result hipModuleLaunchCooperativeKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned x,
                                        unsigned y, unsigned z, unsigned sharedBytes, Stream stream,
                                        void **parameters) {
  ENTER(hipModuleLaunchCooperativeKernel);
  stream->asked = 0;
  return attempt("hipModuleLaunchCooperativeKernel", result::cooperativeTooLarge, [&] {
    heddle::Launch launch = launchOf(*function, {gridX, gridY, gridZ}, {x, y, z}, sharedBytes, parameters);
    launch.cooperative = true;
    stream->stream->launch(launch);
  });
}

} // extern "C"

} // namespace heddle::fake_hip
