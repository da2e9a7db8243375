// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a CUDA toolkit is installed, its header judges our declarations: number and sizes of parameters, layouts,
// values. Compiled, not run.
#include "runtime/drivers/cuda/CudaApi.h"
#include <cuda.h>
#include <type_traits>

#if CUDA_VERSION >= 13000

namespace {

template <typename Ours, typename Theirs>
constexpr bool sameParameter =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_pointer_v<std::remove_pointer_t<Ours>> == std::is_pointer_v<std::remove_pointer_t<Theirs>>;

template <typename Ours, typename Theirs>
struct Same : std::false_type {};
template <typename... Ours, typename... Theirs>
struct Same<heddle::CudaFunction<Ours...>, CUresult (*)(Theirs...)> {
  static constexpr bool test() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
      return (sameParameter<Ours, Theirs> && ...);
    return false;
  }
  static constexpr bool value = test();
};

using namespace heddle;

#define HEDDLE_CUDA_COMPARE(name, symbol, ...)                                                                         \
  static_assert(Same<heddle::CudaFunction<__VA_ARGS__>, decltype(&::symbol)>::value, #symbol);
#define HEDDLE_GPU_COMPARE(name, symbol, hipSymbol, ...) HEDDLE_CUDA_COMPARE(name, symbol, __VA_ARGS__)
HEDDLE_GPU_ENTRIES(HEDDLE_GPU_COMPARE)
HEDDLE_CUDA_REQUIRED(HEDDLE_CUDA_COMPARE)
HEDDLE_CUDA_OPTIONAL(HEDDLE_CUDA_COMPARE)

static_assert(sizeof(cuda::LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(cuda::LaunchConfig, attributeCount) == offsetof(CUlaunchConfig, numAttrs) &&
              offsetof(cuda::LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(cuda::LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(sizeof(cuda::LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(cuda::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));

static_assert(sizeof(cuda::TensorMap) == sizeof(CUtensorMap) && alignof(cuda::TensorMap) == alignof(CUtensorMap));
static_assert(cuda::tensorMap::typeU8 == CU_TENSOR_MAP_DATA_TYPE_UINT8 &&
              cuda::tensorMap::typeU16 == CU_TENSOR_MAP_DATA_TYPE_UINT16 &&
              cuda::tensorMap::typeI32 == CU_TENSOR_MAP_DATA_TYPE_INT32 &&
              cuda::tensorMap::typeI64 == CU_TENSOR_MAP_DATA_TYPE_INT64 &&
              cuda::tensorMap::typeF16 == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
              cuda::tensorMap::typeF32 == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 &&
              cuda::tensorMap::typeF64 == CU_TENSOR_MAP_DATA_TYPE_FLOAT64 &&
              cuda::tensorMap::typeBF16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
              cuda::tensorMap::notInterleaved == CU_TENSOR_MAP_INTERLEAVE_NONE &&
              cuda::tensorMap::promotionOf128Bytes == CU_TENSOR_MAP_L2_PROMOTION_L2_128B &&
              cuda::tensorMap::outsideIsZero == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE &&
              cuda::tensorMap::swizzleNone == CU_TENSOR_MAP_SWIZZLE_NONE &&
              cuda::tensorMap::swizzle32 == CU_TENSOR_MAP_SWIZZLE_32B &&
              cuda::tensorMap::swizzle64 == CU_TENSOR_MAP_SWIZZLE_64B &&
              cuda::tensorMap::swizzle128 == CU_TENSOR_MAP_SWIZZLE_128B);

static_assert(sizeof(cuda::MemoryProperties) == sizeof(CUmemAllocationProp) &&
              offsetof(cuda::MemoryProperties, handleTypes) == offsetof(CUmemAllocationProp, requestedHandleTypes) &&
              offsetof(cuda::MemoryProperties, location) == offsetof(CUmemAllocationProp, location) &&
              sizeof(cuda::MemoryAccess) == sizeof(CUmemAccessDesc) &&
              offsetof(cuda::MemoryAccess, access) == offsetof(CUmemAccessDesc, flags) &&
              sizeof(cuda::IpcHandle) == sizeof(CUipcMemHandle) && sizeof(cuda::DeviceId) == sizeof(CUuuid));
static_assert(cuda::memory::pinned == CU_MEM_ALLOCATION_TYPE_PINNED &&
              cuda::memory::fileDescriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
              cuda::memory::onDevice == CU_MEM_LOCATION_TYPE_DEVICE &&
              cuda::memory::readWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
              cuda::memory::minimumGranularity == CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
              cuda::memory::ipcLazyPeerAccess == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS &&
              cuda::attribute::virtualMemory == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED &&
              cuda::attribute::memoryDescriptors == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);

static_assert(cuda::result::outOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              cuda::result::deinitialized == CUDA_ERROR_DEINITIALIZED &&
              cuda::result::invalidImage == CUDA_ERROR_INVALID_IMAGE &&
              cuda::result::noBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU &&
              cuda::result::invalidPtx == CUDA_ERROR_INVALID_PTX &&
              cuda::result::unsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
              cuda::result::notFound == CUDA_ERROR_NOT_FOUND && cuda::result::notReady == CUDA_ERROR_NOT_READY &&
              cuda::result::illegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS &&
              cuda::result::outOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES &&
              cuda::result::timeout == CUDA_ERROR_LAUNCH_TIMEOUT &&
              cuda::result::peerAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED &&
              cuda::result::launchFailed == CUDA_ERROR_LAUNCH_FAILED &&
              cuda::result::cooperativeTooLarge == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE &&
              cuda::result::captureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
              cuda::result::captureInvalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
              cuda::result::captureWrongThread == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
static_assert(cuda::attribute::multiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              cuda::attribute::capabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              cuda::attribute::capabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              cuda::attribute::maxSharedPerBlock == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(cuda::function::maxThreadsPerBlock == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
              cuda::function::sharedBytes == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              cuda::function::localBytes == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES &&
              cuda::function::registers == CU_FUNC_ATTRIBUTE_NUM_REGS &&
              cuda::function::maxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(cuda::jit::infoLog == CU_JIT_INFO_LOG_BUFFER && cuda::jit::errorLog == CU_JIT_ERROR_LOG_BUFFER &&
              cuda::jit::errorLogSize == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
              cuda::jit::inputPtx == CU_JIT_INPUT_PTX && cuda::jit::target == CU_JIT_TARGET &&
              cuda::jit::acceleratedTarget + 90 == CU_TARGET_COMPUTE_90A);
static_assert(cuda::limitStackBytes == CU_LIMIT_STACK_SIZE);
static_assert(cuda::launchCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
              cuda::launchDependent == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
              cuda::streamNonBlocking == CU_STREAM_NON_BLOCKING &&
              cuda::hostAllocPortable == CU_MEMHOSTALLOC_PORTABLE &&
              cuda::captureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED &&
              cuda::captureNone == CU_STREAM_CAPTURE_STATUS_NONE &&
              cuda::pointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              cuda::memoryTypeHost == CU_MEMORYTYPE_HOST);

} // namespace

#endif
