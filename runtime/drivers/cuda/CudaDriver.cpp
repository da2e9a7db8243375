// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaDriver.h"
#include "chips/Chip.h"
#include "runtime/drivers/cuda/CudaModule.h"
#include "runtime/drivers/cuda/CudaStream.h"
#include "support/Knobs.h"
#include <fmt/format.h>

namespace heddle {
namespace {

/// Null for a capability that Heddle has no code for.
const Chip *findNvidiaChip(const std::string &name) {
  for (const Chip *chip : allChips())
    if (chip->vendor == Vendor::Nvidia && chip->name == name)
      return chip;
  return nullptr;
}

std::string listNvidiaChips() {
  std::string list;
  for (const Chip *chip : allChips())
    if (chip->vendor == Vendor::Nvidia)
      list += (list.empty() ? "" : ", ") + chip->name;
  return list;
}

} // namespace

CudaDriver &cudaDriver() {
  static auto *driver = new CudaDriver;
  return *driver;
}

CudaDriver::CudaDriver(std::string library) : library(std::move(library)) {}

CudaDriver::~CudaDriver() {
  gate.collect();
  staging.freeAll();
  for (const auto &context : contexts)
    if (context)
      api->primaryContextRelease(context->number);
}

void CudaDriver::start() const {
  std::call_once(started, [&] {
    try {
      auto opened = std::make_unique<CudaApi>(library.empty() ? cudaLibrary() : library);
      opened->call("CUDA driver", opened->deviceGetCount, &count);
      if (count == 0)
        startProblem = "the CUDA driver has no device";
      peers.resize(size_t(count) * size_t(count));
      api = std::move(opened);
    } catch (const Error &error) {
      startProblem = error.what();
      for (const std::string &note : error.notes)
        startProblem += "; " + note;
    }
  });
}

std::string CudaDriver::description() const {
  start();
  return api ? fmt::format("CUDA {} in {}", cudaVersionText(api->version()), api->library()) : "";
}

std::string CudaDriver::problem() const {
  start();
  return startProblem;
}

int CudaDriver::deviceCount() const {
  start();
  return count;
}

bool CudaDriver::canAccessPeer(int from, int to) const {
  start();
  if (from < 0 || to < 0 || from >= count || to >= count)
    return false;
  std::lock_guard lock(mutex);
  return askPeer(from, to);
}

/// Called with the mutex held.
bool CudaDriver::askPeer(int from, int to) const {
  if (from == to)
    return true;
  std::optional<bool> &known = peers[size_t(from * count + to)];
  if (!known) {
    cuda::DeviceNumber fromNumber = 0, toNumber = 0;
    int able = 0;
    api->call(fmt::format("cuda:{}", from), api->deviceGet, &fromNumber, from);
    api->call(fmt::format("cuda:{}", to), api->deviceGet, &toNumber, to);
    api->call(fmt::format("cuda:{}", from), api->deviceCanAccessPeer, &able, fromNumber, toNumber);
    known = able != 0;
  }
  return *known;
}

std::unique_ptr<CudaContext> CudaDriver::makeContext(int ordinal) {
  std::string name = fmt::format("cuda:{}", ordinal);
  cuda::DeviceNumber number = 0;
  char product[256] = {};
  int major = 0, minor = 0, multiprocessors = 0, sharedBytes = 0;
  api->call(name, api->deviceGet, &number, ordinal);
  api->call(name, api->deviceGetName, product, int(sizeof product - 1), number);
  api->call(name, api->deviceGetAttribute, &major, cuda::attribute::capabilityMajor, number);
  api->call(name, api->deviceGetAttribute, &minor, cuda::attribute::capabilityMinor, number);
  std::string chipName = fmt::format("sm_{}{}", major, minor);
  const Chip *chip = findNvidiaChip(chipName);
  if (!chip)
    throw environmentError(fmt::format("{}: {} has compute capability {}, and Heddle makes code for {}", name, product,
                                       chipName, listNvidiaChips()));
  api->call(name, api->deviceGetAttribute, &multiprocessors, cuda::attribute::multiprocessorCount, number);
  api->call(name, api->deviceGetAttribute, &sharedBytes, cuda::attribute::maxSharedPerBlock, number);
  cuda::Context handle = nullptr;
  api->call(name, api->primaryContextRetain, &handle, number);
  return std::unique_ptr<CudaContext>(new CudaContext{*api, memory, gate, staging, ordinal, name, number, product, chip,
                                                      multiprocessors, sharedBytes, handle});
}

/// Lets kernels on `from` use the memory of `to`.
void CudaDriver::connect(const CudaContext &from, const CudaContext &to) {
  if (!askPeer(from.ordinal, to.ordinal))
    return;
  CudaScope scope(from);
  cuda::Result result = api->contextEnablePeerAccess(to.handle, 0u);
  if (result != cuda::result::success && result != cuda::result::peerAlreadyEnabled)
    throw api->error(fmt::format("{}, access to the memory of {}", from.name, to.name),
                     api->contextEnablePeerAccess.symbol, result);
}

std::shared_ptr<Device> CudaDriver::open(int ordinal) {
  start();
  if (ordinal < 0 || ordinal >= count)
    throw environmentError(fmt::format("device `cuda:{}`: there are {} CUDA devices", ordinal, count), {startProblem});
  std::lock_guard lock(mutex);
  contexts.resize(size_t(count));
  devices.resize(size_t(count));
  std::unique_ptr<CudaContext> &context = contexts[size_t(ordinal)];
  if (!context) {
    context = makeContext(ordinal);
    try {
      for (const auto &other : contexts)
        if (other && other != context) {
          connect(*context, *other);
          connect(*other, *context);
        }
    } catch (...) {
      api->primaryContextRelease(context->number);
      context.reset();
      throw;
    }
  }
  std::shared_ptr<Device> device = devices[size_t(ordinal)].lock();
  if (!device)
    devices[size_t(ordinal)] = device = std::make_shared<CudaDevice>(*this, *context);
  return device;
}

std::string CudaDevice::description() const {
  return fmt::format("{}, {}, {} multiprocessors, {} MiB of memory", gpu.product, gpu.chip->name, gpu.multiprocessors,
                     memoryInfo().totalBytes >> 20);
}

MemoryInfo CudaDevice::memoryInfo() const {
  CudaScope scope(gpu);
  size_t freeBytes = 0, totalBytes = 0;
  gpu.call(gpu.api.memoryGetInfo, &freeBytes, &totalBytes);
  return {totalBytes, freeBytes};
}

std::unique_ptr<Stream> CudaDevice::createStream() {
  return std::make_unique<CudaStream>(std::static_pointer_cast<CudaDevice>(shared_from_this()));
}

std::shared_ptr<Event> CudaDevice::createEvent() {
  return std::make_shared<CudaEvent>(std::static_pointer_cast<CudaDevice>(shared_from_this()));
}

std::shared_ptr<Module> CudaDevice::loadModule(const Package &package) {
  return CudaModule::load(std::static_pointer_cast<CudaDevice>(shared_from_this()), package);
}

uint64_t CudaDevice::allocateMemory(uint64_t sizeBytes, const std::string &bufferName) {
  return gpu.memory.allocate(gpu, sizeBytes, bufferName);
}

void CudaDevice::freeMemory(uint64_t address) noexcept {
  gpu.memory.retire(address);
}

} // namespace heddle
