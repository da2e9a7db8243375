// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What can be wrong with a package is found here, before a launch: a kernel that does not fit its description would
// read parameters that are not there.
#include "runtime/drivers/cuda/CudaModule.h"
#include "binary/CudaAbi.h"
#include "chips/Chip.h"
#include "runtime/drivers/cuda/CubinCache.h"
#include "support/ElementType.h"
#include "support/Knobs.h"
#include <array>
#include <bit>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

void checkPackage(const GpuContext &context, const Package &package) {
  const std::string &chip = context.chip->name;
  if (package.target != chip)
    throw inputError(fmt::format("kernel `{}` was compiled for target {}, the device {} is {}", package.kernel,
                                 package.target, context.name, chip),
                     {fmt::format("compile it with `--target {}`", chip)});
  if (package.binaryKind != "ptx")
    throw inputError(
        fmt::format("kernel `{}`: its binary of kind `{}` is no PTX text", package.kernel, package.binaryKind));
  uint32_t version = cudaAbiVersionOf(!package.tensorMaps.empty());
  if (package.abiVersion != version)
    throw inputError(
        fmt::format("kernel `{}` was compiled for version {} of the CUDA interface, this runtime has version {}",
                    package.kernel, package.abiVersion, version),
        {"compile it again"});
  checkTensorMaps(package);
  if (package.threads < 1 || package.threads > cudaMaxThreads)
    throw inputError(fmt::format("kernel `{}` has {} threads in a block: a block has 1 to {}", package.kernel,
                                 package.threads, cudaMaxThreads));
  if (package.sharedBytes > uint64_t(context.sharedBytesPerBlock))
    throw inputError(fmt::format("kernel `{}` needs {} bytes of shared memory in a block, {} has {}", package.kernel,
                                 package.sharedBytes, context.name, context.sharedBytesPerBlock));
}

/// The driver's compiler, with its messages.
class Compilation {
public:
  Compilation(const GpuContext &context, const Package &package)
      : context(context), api(static_cast<const CudaApi &>(context.api)), package(package) {
    void *sizes[2];
    for (int i = 0; i < 2; ++i)
      sizes[i] = reinterpret_cast<void *>(uintptr_t(logs[size_t(i)].size()));
    int options[] = {cuda::jit::errorLog, cuda::jit::errorLogSize, cuda::jit::infoLog, cuda::jit::infoLogSize,
                     cuda::jit::target};
    void *values[] = {logs[0].data(), sizes[0], logs[1].data(), sizes[1],
                      reinterpret_cast<void *>(uintptr_t(acceleratedTarget()))};
    // What a chip alone has (`.target sm_90a`) is asked for by name; else the device decides.
    context.call(api.linkCreate, acceleratedTarget() ? 5u : 4u, options, values, &link);
  }
  Compilation(const Compilation &) = delete;
  ~Compilation() { api.linkDestroy(link); }

  std::string run() {
    std::string text = package.binary; // ends with a zero
    check(api.linkAddData, link, cuda::jit::inputPtx, text.data(), text.size() + 1, package.kernel.c_str(), 0u, nullptr,
          nullptr);
    void *code = nullptr;
    size_t sizeBytes = 0;
    check(api.linkComplete, link, &code, &sizeBytes);
    return std::string(static_cast<const char *>(code), sizeBytes);
  }

private:
  /// Of `.target sm_90a`: 90 and the mark of such targets; 0 for others.
  int acceleratedTarget() const {
    const std::string &own = context.chip->processor;
    if (own == context.chip->name || package.binary.find(".target " + own) == std::string::npos)
      return 0;
    return std::atoi(own.c_str() + own.find('_') + 1) + cuda::jit::acceleratedTarget;
  }
  template <typename... Parameters, typename... Arguments>
  void check(const CudaFunction<Parameters...> &function, Arguments... arguments) {
    cuda::Result result = function(arguments...);
    if (result == cuda::result::success)
      return;
    Error error = api.error(fmt::format("{}: kernel `{}`", context.name, package.kernel), function.symbol, result);
    std::string_view log(logs[0].data());
    while (!log.empty()) {
      std::string_view line = log.substr(0, log.find('\n'));
      log.remove_prefix(std::min(log.size(), line.size() + 1));
      if (!line.empty())
        error.notes.emplace_back(line);
    }
    error.notes.push_back(fmt::format("the driver is for CUDA {}", cudaVersionText(api.version())));
    throw error;
  }

  const GpuContext &context;
  const CudaApi &api;
  const Package &package;
  std::array<std::array<char, 8192>, 2> logs = {};
  cuda::Link link = nullptr;
};

int64_t parameterBytes(const PackageArgument &argument) {
  auto type = findElementType(argument.type);
  return cudaParameterBytes(argument.pointer, type ? elementSizeBytes(*type) : 8);
}

} // namespace

std::shared_ptr<CudaModule> CudaModule::load(std::shared_ptr<CudaDevice> device, const Package &package) {
  checkPackage(device->context(), package);
  GpuScope scope(device->context());
  std::shared_ptr<CudaModule> module(new CudaModule(std::move(device), package));
  module->loadCode(package.binary);
  module->findEntry();
  module->checkParameters();
  module->checkLimits();
  module->prepare();
  return module;
}

bool CudaModule::tryLoad(const std::string &code, cuda::Result &result) {
  context().gate.whileIdle(context(), [&] { result = api().moduleLoad(&handle, code.c_str(), 0u, nullptr, nullptr); });
  return result == cuda::result::success;
}

/// Whether warps take registers from others. The driver's linker compiles code that others might call, and ignores it
/// there (ptxas says C7504); the driver compiles whole programs itself, and keeps them in its own cache.
static bool movesRegisters(const std::string &ptx) {
  return ptx.find("setmaxnreg") != std::string::npos;
}

void CudaModule::loadCode(const std::string &ptx) {
  cuda::Result result;
  if (movesRegisters(ptx) && tryLoad(ptx, result))
    return;
  CubinCache cache(cacheDirectory(), fmt::format("{}-{}", context().chip->name, api().version()));
  if (auto cubin = cache.find(ptx); cubin && tryLoad(*cubin, result))
    return;
  Package whole = package();
  whole.binary = ptx;
  std::string cubin;
  try {
    cubin = Compilation(context(), whole).run();
  } catch (const Error &) {
    if (!tryLoad(ptx, result)) // the other way to compile, which gives nothing to keep
      throw;
    return;
  }
  if (!tryLoad(cubin, result))
    throw api().error(fmt::format("{}: kernel `{}`", context().name, package().kernel), api().moduleLoad.symbol,
                      result);
  cache.store(ptx, cubin);
}

/// Drivers before CUDA 12.4 cannot tell.
void CudaModule::checkParameters() const {
  if (!api().functionGetParamInfo)
    return;
  std::vector<int64_t> wanted;
  for (const PackageArgument &argument : package().arguments)
    wanted.push_back(parameterBytes(argument));
  wanted.push_back(8); // the launch's record
  wanted.resize(wanted.size() + package().tensorMaps.size(), cudaTensorMapBytes);
  for (size_t i = 0; i <= wanted.size(); ++i) {
    size_t offset = 0, sizeBytes = 0;
    bool there = api().functionGetParamInfo(entry, i, &offset, &sizeBytes) == cuda::result::success;
    if (i == wanted.size() ? there : !there)
      throw inputError(fmt::format("kernel `{}`: its PTX has {} parameters than the {} that its description says",
                                   package().kernel, there ? "more" : "fewer", wanted.size()),
                       {"those of the arguments, one of 8 bytes, and one of 128 bytes for each tensor map"});
    if (there && int64_t(sizeBytes) != wanted[i])
      throw inputError(fmt::format("kernel `{}`: parameter {} of its PTX has {} bytes, its description says {}",
                                   package().kernel, i, sizeBytes, wanted[i]));
  }
}

void CudaModule::prepare() {
  if (package().sharedBytes > 0)
    context().call(api().functionSetAttribute, entry, cuda::function::maxDynamicShared, int(package().sharedBytes));
  // Otherwise the first launch loads it, and may wait for kernels that wait for this launch.
  if (api().functionLoad)
    context().call(api().functionLoad, entry);
  reserveLocalMemory();
  constexpr int capturesDependentLaunches = 12030; // in graphs too
  waitsItself = package().dependentLaunch && api().version() >= capturesDependentLaunches && cudaDependentLaunch();
  if (waitsItself)
    resident = residentBlocks();
}

/// A thread's local memory is part of the device's memory, cut up for all threads that can live. Otherwise the first
/// launch of a kernel that wants more than all before would wait for them, and cut it up again.
void CudaModule::reserveLocalMemory() {
  int localBytes = 0;
  context().call(api().functionGetAttribute, &localBytes, cuda::function::localBytes, entry);
  auto isEnough = [&] {
    size_t limitBytes = 0;
    context().call(api().contextGetLimit, &limitBytes, cuda::limitStackBytes);
    return size_t(localBytes) <= limitBytes;
  };
  if (!isEnough())
    context().gate.whileIdle(context(), [&] {
      if (!isEnough()) // another thread may have asked for more
        context().call(api().contextSetLimit, cuda::limitStackBytes, size_t(localBytes));
    });
}

void CudaModule::checkGrid(const Launch &launch) const {
  const auto &[x, y, z] = launch.grid;
  if (y > cudaMaxGridYZ || z > cudaMaxGridYZ)
    throw inputError(fmt::format("kernel `{}`: grid {} x {} x {}: on a CUDA device y and z are at most {}",
                                 package().kernel, x, y, z, cudaMaxGridYZ));
  if (launch.cooperative)
    checkCooperative(launch);
}

//===-- Tensor maps ----------------------------------------------------------------------------------------------===//

static int typeOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return cuda::tensorMap::typeF16;
  case ElementType::BF16:
    return cuda::tensorMap::typeBF16;
  case ElementType::F32:
    return cuda::tensorMap::typeF32;
  case ElementType::F64:
    return cuda::tensorMap::typeF64;
  case ElementType::I16:
    return cuda::tensorMap::typeU16;
  case ElementType::I32:
    return cuda::tensorMap::typeI32;
  case ElementType::I64:
    return cuda::tensorMap::typeI64;
  default: // of one byte
    return cuda::tensorMap::typeU8;
  }
}

static int swizzleOf(int64_t bytes) {
  return bytes == 128  ? cuda::tensorMap::swizzle128
         : bytes == 64 ? cuda::tensorMap::swizzle64
         : bytes == 32 ? cuda::tensorMap::swizzle32
                       : cuda::tensorMap::swizzleNone;
}

/// The driver counts axes from the innermost one, whose stride it does not take.
TensorMapParameter CudaModule::encode(const TensorMap &map, size_t index) const {
  std::vector<uint64_t> sizes(map.sizes.rbegin(), map.sizes.rend());
  std::vector<uint64_t> strides(map.strideBytes.rbegin() + 1, map.strideBytes.rend());
  std::vector<uint32_t> box(map.box.rbegin(), map.box.rend()), steps(box.size(), 1);
  strides.reserve(1); // the driver takes no null, of one axis neither
  cuda::TensorMap encoded;
  cuda::Result result = api().tensorMapEncode(
      &encoded, typeOf(map.type), uint32_t(box.size()), reinterpret_cast<void *>(map.address), sizes.data(),
      strides.data(), box.data(), steps.data(), cuda::tensorMap::notInterleaved, swizzleOf(map.swizzle),
      cuda::tensorMap::promotionOf128Bytes, cuda::tensorMap::outsideIsZero);
  if (result != cuda::result::success) {
    Error error = api().error(fmt::format("{}: kernel `{}`: tensor map {}", context().name, package().kernel, index),
                              api().tensorMapEncode.symbol, result);
    error.notes.push_back(fmt::format("of {} at {:#x}, sizes {}, strides of {} bytes, a box of {}, innermost first",
                                      elementTypeName(map.type), map.address, fmt::join(sizes, " x "),
                                      strides.empty() ? "no" : fmt::format("{}", fmt::join(strides, " and ")),
                                      fmt::join(box, " x ")));
    throw error;
  }
  return std::bit_cast<TensorMapParameter>(encoded);
}

std::vector<TensorMapParameter> CudaModule::tensorMaps(const Launch &launch) const {
  std::vector<TensorMapParameter> parameters;
  if (package().tensorMaps.empty())
    return parameters;
  for (const TensorMap &map : resolveTensorMaps(package(), argumentSlots(launch)))
    parameters.push_back(encode(map, parameters.size()));
  return parameters;
}

//===-- Launches -------------------------------------------------------------------------------------------------===//

bool CudaModule::leavesRoom(const Launch &launch) const {
  return !launch.cooperative || (waitsItself && fitsFourTimes(launch));
}

GpuResult CudaModule::launch(const Launch &launch, gpu::Stream stream, void **parameters, bool startsEarly) const {
  cuda::LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  auto add = [&](int id) -> auto & {
    attributes[count].id = id;
    return attributes[count++].value;
  };
  if (startsEarly && waitsItself && fitsFourTimes(launch))
    add(cuda::launchDependent).dependent = 1;
  if (!count)
    return launchBlocks(launch, {unsigned(package().threads), 1, 1}, stream, parameters);
  if (needsWholeDevice(launch))
    add(cuda::launchCooperative).cooperative = 1;
  cuda::LaunchConfig config = {{uint32_t(launch.grid[0]), uint32_t(launch.grid[1]), uint32_t(launch.grid[2])},
                               {uint32_t(package().threads), 1, 1},
                               uint32_t(package().sharedBytes),
                               stream,
                               attributes,
                               count};
  return {api().launchKernelEx.symbol, api().launchKernelEx(&config, entry, parameters, nullptr)};
}

} // namespace heddle
