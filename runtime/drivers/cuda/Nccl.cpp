// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a communicator of all devices, and calls NCCL's collectives in a group.
#include "runtime/drivers/cuda/Nccl.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/cuda/NcclApi.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include "support/Knobs.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace heddle {
namespace {

std::optional<int> findType(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return nccl::type::f64;
  case ElementType::F32:
    return nccl::type::f32;
  case ElementType::F16:
    return nccl::type::f16;
  case ElementType::BF16:
    return nccl::type::bf16;
  case ElementType::F8E4M3FN:
    return nccl::type::f8E4M3FN;
  case ElementType::F8E5M2:
    return nccl::type::f8E5M2;
  case ElementType::I64:
    return nccl::type::i64;
  case ElementType::I32:
    return nccl::type::i32;
  case ElementType::I8:
    return nccl::type::i8;
  case ElementType::UI64:
    return nccl::type::ui64;
  case ElementType::UI32:
    return nccl::type::ui32;
  case ElementType::UI8:
    return nccl::type::ui8;
  default:
    return std::nullopt;
  }
}

bool reduces(const NcclCollective &collective) {
  return collective.kind == NcclCollective::Kind::AllReduce || collective.kind == NcclCollective::Kind::ReduceScatter;
}

int reductionOf(NcclCollective::Reduction reduction) {
  switch (reduction) {
  case NcclCollective::Reduction::Sum:
    return nccl::reduction::sum;
  case NcclCollective::Reduction::Product:
    return nccl::reduction::product;
  case NcclCollective::Reduction::Minimum:
    return nccl::reduction::minimum;
  case NcclCollective::Reduction::Maximum:
    return nccl::reduction::maximum;
  }
  return nccl::reduction::sum;
}

/// What is only moved goes as bytes.
struct Elements {
  explicit Elements(const NcclCollective &collective)
      : type(reduces(collective) ? findType(collective.type).value() : nccl::type::ui8),
        count(size_t(collective.partElements) * (reduces(collective) ? 1 : size_t(elementSizeBytes(collective.type)))),
        partBytes(uint64_t(collective.partElements) * uint64_t(elementSizeBytes(collective.type))) {}
  int type;
  size_t count;
  uint64_t partBytes;
};

const GpuContext &contextOf(Device &device) {
  auto *own = dynamic_cast<CudaDevice *>(&device);
  if (!own)
    throw inputError(fmt::format("NCCL runs on CUDA devices, not on {}", device.name()));
  return own->context();
}

} // namespace

NcclGroup::NcclGroup(const std::vector<std::shared_ptr<Device>> &theDevices, const std::string &library)
    : devices(theDevices) {
  std::vector<int> numbers;
  for (const auto &device : devices) {
    int number = contextOf(*device).number;
    auto same = std::find(numbers.begin(), numbers.end(), number);
    if (same != numbers.end())
      throw inputError(fmt::format("NCCL has each GPU once, and {} and {} are one GPU",
                                   devices[size_t(same - numbers.begin())]->name(), device->name()),
                       {"HEDDLE_DEVICES_PER_GPU lets a GPU stand for several devices"});
    numbers.push_back(number);
  }
  api = std::make_unique<NcclApi>(library.empty() ? ncclLibrary() : library);
  for (const auto &device : devices)
    streams.push_back(device->createStream());
  GpuScope scope(contextOf(*devices.front())); // NCCL leaves another context current
  std::vector<nccl::Communicator> made(devices.size());
  api->call(api->initAll, made.data(), int(numbers.size()), static_cast<const int *>(numbers.data()));
  communicators = std::move(made);
}

// NCCL waits in ncclCommDestroy for the graphs that hold its work, which the streams may hold, and for ever when a
// context is lost: then its communicators are left to the end of the process.
NcclGroup::~NcclGroup() {
  try {
    for (const auto &stream : streams)
      stream->synchronize();
  } catch (const Error &) {
    failed = true;
  }
  streams.clear();
  if (failed || communicators.empty())
    return;
  try {
    GpuScope scope(contextOf(*devices.front()));
    for (nccl::Communicator communicator : communicators)
      api->destroy(communicator);
  } catch (const Error &) { // the context is lost
  }
}

std::string NcclGroup::description() const {
  return fmt::format("NCCL {} ({})", ncclVersionText(api->version()), api->library());
}

void NcclGroup::check(const NcclCollective &collective) {
  if (reduces(collective) && !findType(collective.type))
    throw inputError(fmt::format("NCCL does not reduce {} elements", elementTypeName(collective.type)),
                     {"it has f64, f32, f16, bf16, f8E4M3FN, f8E5M2, and integers of 8, 32 and 64 bits"});
}

void NcclGroup::launchRank(const NcclCollective &collective, size_t rank, const Operands &operands) {
  GpuScope scope(contextOf(*devices[rank]));
  Elements elements(collective);
  nccl::Communicator communicator = communicators[rank];
  cuda::Stream stream = static_cast<GpuStream &>(*streams[rank]).raw();
  const auto *input = reinterpret_cast<const char *>(operands.input);
  auto *output = reinterpret_cast<char *>(operands.output);
  int reduction = reductionOf(collective.reduction);
  switch (collective.kind) {
  case NcclCollective::Kind::AllReduce:
    return api->call(api->allReduce, static_cast<const void *>(input), static_cast<void *>(output), elements.count,
                     elements.type, reduction, communicator, stream);
  case NcclCollective::Kind::AllGather:
    return api->call(api->allGather, static_cast<const void *>(input), static_cast<void *>(output), elements.count,
                     elements.type, communicator, stream);
  case NcclCollective::Kind::ReduceScatter:
    return api->call(api->reduceScatter, static_cast<const void *>(input), static_cast<void *>(output), elements.count,
                     elements.type, reduction, communicator, stream);
  case NcclCollective::Kind::AllToAll:
    for (size_t peer = 0; peer < devices.size(); ++peer) {
      uint64_t offset = peer * elements.partBytes;
      api->call(api->send, static_cast<const void *>(input + offset), elements.count, elements.type, int(peer),
                communicator, stream);
      api->call(api->receive, static_cast<void *>(output + offset), elements.count, elements.type, int(peer),
                communicator, stream);
    }
  }
}

void NcclGroup::launch(const NcclCollective &collective, const std::vector<Operands> &operands) {
  check(collective);
  try {
    const GpuContext &context = contextOf(*devices.front());
    GpuScope scope(context);
    auto admitted = context.gate.admit();
    api->call(api->groupStart);
    // Without its end the group would swallow all later calls.
    std::exception_ptr error;
    try {
      for (size_t rank = 0; rank < devices.size(); ++rank)
        launchRank(collective, rank, operands[rank]);
    } catch (const Error &) {
      error = std::current_exception();
    }
    nccl::Result end = api->groupEnd();
    if (error)
      std::rethrow_exception(error);
    if (end)
      throw api->error(api->groupEnd.symbol, end);
  } catch (...) {
    failed = true;
    throw;
  }
}

} // namespace heddle
