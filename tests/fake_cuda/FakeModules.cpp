// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake libcuda: compiled text, functions, and kernels, of which a few do something.
#include "binary/LaunchRecord.h"
#include "tests/fake_cuda/FakeCudaState.h"
#include <string>
#include <utility>

namespace heddle::fake {
namespace {

constexpr const char *cubinMagic = "FAKECUBIN";

/// The record that two programs leave who print a number each, the later one first, and fail if it is above 9.
void runSay(uint64_t number, uint64_t recordAddress) {
  auto *record = pointerTo<LaunchRecord>(recordAddress);
  auto *place = reinterpret_cast<char *>(record + 1) + record->bytes;
  for (int32_t program : {1, 0}) {
    PrintPiece piece{uint32_t(printPieceBytes(1, 4)), 0, 0, {program, 0, 0}};
    auto value = int32_t(number);
    std::memcpy(place, &piece, sizeof piece);
    std::memcpy(place + sizeof piece, &value, sizeof value);
    place += piece.sizeBytes;
    record->bytes += piece.sizeBytes;
    ++record->lines;
  }
  if (number > 9)
    record->failure = ~((uint64_t(1) << (failureElementBits + failureSiteBits)) | (1u << failureElementBits) | 7u);
}

void runKernel(const FakeLaunch &launch) {
  state().control.launches.push_back(launch);
  auto value = [&](size_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, launch.parameters[i].data(), launch.parameters[i].size());
    return bits;
  };
  if (launch.entry == "illegal")
    state().control.lost = result::illegalAddress;
  if (launch.entry == "say")
    runSay(value(0), value(1));
  if (launch.entry == "fill_words")
    for (uint64_t i = 0; i < value(2); ++i)
      pointerTo<uint32_t>(value(0))[i] = uint32_t(value(1));
}

} // namespace

Result launch(const char *symbol, Function function, FakeLaunch launch, Stream stream, void **parameters) {
  FakeCuda &control = state().control;
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (launch.sharedBytes > unsigned(function->dynamicLimit))
    return result::invalidValue;
  if (launch.cooperative && blocks > uint64_t(control.blocksPerMultiprocessor) * uint64_t(control.multiprocessors))
    return result::cooperativeTooLarge;
  StreamHandle &queue = streamOf(stream);
  if (size_t(function->localBytes) > stackLimit(queue.device)) {
    waitForTheDevice(symbol);
    stackLimit(queue.device) = size_t(function->localBytes);
  }
  launch.entry = function->entry;
  launch.stream = stream;
  for (size_t i = 0; i < function->sizes.size(); ++i)
    launch.parameters.emplace_back(static_cast<const char *>(parameters[i]), function->sizes[i]);
  queue.hostFunction([launch] { runKernel(launch); });
  return result::success;
}

/// Of `.param .u64 x` or `.param .align 64 .b8 x[128]`.
static size_t parameterBytes(const std::string &text) {
  size_t bracket = text.find('['), letter = text.find('.', 1) + 1;
  return size_t(bracket != std::string::npos ? std::atoi(text.c_str() + bracket + 1)
                                             : std::atoi(text.c_str() + letter + 1) / 8);
}

std::unique_ptr<FunctionHandle> findFunction(gpu::Module module, const std::string &name) {
  const std::string &text = module->text;
  size_t at = text.find(".entry " + name + "(");
  if (at == std::string::npos)
    return nullptr;
  auto function = std::make_unique<FunctionHandle>();
  function->entry = name;
  std::string parameters = text.substr(at, text.find(')', at) - at);
  for (size_t i = 0; (i = parameters.find(".param .", i)) != std::string::npos; ++i)
    function->sizes.push_back(parameterBytes(parameters.substr(i, parameters.find(',', i) - i)));
  if (size_t local = text.find(".local"); local != std::string::npos)
    if (size_t bracket = text.find('[', local); bracket != std::string::npos)
      function->localBytes = std::atoi(text.c_str() + bracket + 1);
  if (size_t shared = text.find(".shared"); shared != std::string::npos)
    if (size_t bracket = text.find('[', shared); bracket != std::string::npos)
      function->staticBytes = std::atoi(text.c_str() + bracket + 1);
  return function;
}

// ---- For tests in Python ----

extern "C" {

/// A line for each launch since the last call: entry, grid, block, bytes of shared memory, whether it is cooperative,
/// the stream's address, and each parameter's bytes in hexadecimal digits, memory order.
__attribute__((visibility("default"))) const char *fakeCudaLaunches() {
  static std::string text;
  std::lock_guard lock(state().mutex);
  text.clear();
  for (const FakeLaunch &each : std::exchange(state().control.launches, {})) {
    text += each.entry;
    for (unsigned number : {each.grid[0], each.grid[1], each.grid[2], each.block[0], each.block[1], each.block[2],
                            each.sharedBytes, unsigned(each.cooperative)})
      text += ' ' + std::to_string(number);
    text += ' ' + std::to_string(reinterpret_cast<uint64_t>(each.stream));
    for (const std::string &parameter : each.parameters) {
      text += ' ';
      for (unsigned char byte : parameter) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
      }
    }
    text += '\n';
  }
  return text.c_str();
}

/// The `call`-th call of the entry point from now on gives `result`.
__attribute__((visibility("default"))) void fakeCudaFail(const char *entry, int call, int result) {
  std::lock_guard lock(state().mutex);
  state().control.failures[entry] = {call, result};
}

} // extern "C"

extern "C" {

Result linkCreate(unsigned count, int *options, void **values, Link *link) {
  ENTER(linkCreate);
  *link = new LinkHandle;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == cuda::jit::errorLog)
      (*link)->log = static_cast<char *>(values[i]);
    else if (options[i] == cuda::jit::target)
      state().control.jitTarget = int(reinterpret_cast<uintptr_t>(values[i]));
    else if (options[i] == cuda::jit::errorLogSize)
      (*link)->logSize = size_t(reinterpret_cast<uintptr_t>(values[i]));
  return result::success;
}

Result linkAddData(Link link, int type, void *data, size_t bytes, const char *, unsigned, int *, void **) {
  ENTER(linkAddData);
  link->text.assign(static_cast<const char *>(data), bytes - 1);
  if (type != cuda::jit::inputPtx || link->text.find("nonsense") != std::string::npos) {
    std::strncpy(link->log, "ptxas application ptx input, line 7; error : Unknown symbol 'nonsense'\nptxas fatal",
                 link->logSize);
    return cuda::result::invalidPtx;
  }
  return link->text.find(".version 99") == std::string::npos ? result::success : cuda::result::unsupportedPtxVersion;
}

Result linkComplete(Link link, void **cubin, size_t *bytes) {
  ENTER(linkComplete);
  link->cubin = cubinMagic + link->text;
  *cubin = link->cubin.data();
  *bytes = link->cubin.size();
  return result::success;
}

Result linkDestroy(Link link) {
  ENTER(linkDestroy);
  delete link;
  return result::success;
}

Result moduleLoad(gpu::Module *module, const void *image, unsigned, int *, void **) {
  ENTER(moduleLoad);
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text, cubinMagic, std::strlen(cubinMagic)) != 0 && !state().control.loadsPtx)
    return result::invalidImage;
  waitForTheDevice(symbol::moduleLoad);
  *module = new ModuleHandle{text, {}};
  return count(&FakeGpu::liveModules, 1);
}

Result functionSetAttribute(Function function, int which, int value) {
  ENTER(functionSetAttribute);
  if (which == cuda::function::maxDynamicShared)
    function->dynamicLimit = value;
  return result::success;
}

Result functionGetAttribute(int *value, int which, Function function) {
  ENTER(functionGetAttribute);
  *value = which == cuda::function::maxThreadsPerBlock ? state().control.maxThreads
           : which == cuda::function::sharedBytes      ? function->staticBytes
           : which == cuda::function::localBytes       ? function->localBytes
                                                       : 40;
  return result::success;
}

Result functionLoad(Function) {
  ENTER(functionLoad);
  return result::success;
}

Result functionGetParamInfo(Function function, size_t index, size_t *offset, size_t *bytes) {
  ENTER(functionGetParamInfo);
  if (index >= function->sizes.size())
    return result::invalidValue;
  *offset = 8 * index;
  *bytes = function->sizes[index];
  return result::success;
}

Result maxActiveBlocks(int *blocks, Function, int, size_t) {
  ENTER(maxActiveBlocks);
  *blocks = state().control.blocksPerMultiprocessor;
  return result::success;
}

/// Refuses what the guide of CUDA's driver interface says.
Result tensorMapEncode(cuda::TensorMap *encoded, int type, uint32_t rank, void *address, const uint64_t *sizes,
                       const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
                       int promotion, int outside) {
  ENTER(tensorMapEncode);
  auto isMultiple = [](uint64_t value, uint64_t of) { return value % of == 0; };
  if (rank < 1 || rank > 5 || !isMultiple(Address(address), 16) || !isMultiple(Address(encoded), 64))
    return result::invalidValue;
  FakeTensorMap map = {};
  map.address = Address(address), map.type = uint32_t(type), map.rank = rank;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (!sizes[axis] || sizes[axis] > uint64_t(1) << 32 || !box[axis] || box[axis] > 256)
      return result::invalidValue;
    if (axis > 0 && (!isMultiple(strides[axis - 1], 16) || strides[axis - 1] >> 40))
      return result::invalidValue;
    map.sizes[axis] = sizes[axis];
    map.box[axis] = uint8_t(box[axis] - 1);
    map.steps[axis] = uint8_t(steps[axis]);
    if (axis > 0)
      map.strides[axis - 1] = strides[axis - 1];
  }
  map.interleave = uint8_t(interleave), map.swizzle = uint8_t(swizzle);
  map.promotion = uint8_t(promotion), map.outside = uint8_t(outside);
  std::memset(encoded, 0, sizeof *encoded);
  std::memcpy(encoded, &map, sizeof map);
  return result::success;
}

Result launchKernelEx(const LaunchConfig *config, Function function, void **parameters, void **) {
  ENTER(launchKernelEx);
  FakeLaunch launch{.entry = "",
                    .grid = {config->grid[0], config->grid[1], config->grid[2]},
                    .block = {config->block[0], config->block[1], config->block[2]},
                    .sharedBytes = config->sharedBytes};
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id == cuda::launchCooperative)
      launch.cooperative = config->attributes[i].value.cooperative != 0;
    else if (config->attributes[i].id == cuda::launchDependent)
      launch.dependent = config->attributes[i].value.dependent != 0;
  return fake::launch(symbol::launchKernelEx, function, launch, config->stream, parameters);
}

} // extern "C"

} // namespace heddle::fake
