// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libnccl for machines without a GPU: the entry points of NcclApi.h on the memory and the streams of the fake libcuda
// that lies beside it. It sums f32 only. FAKE_NCCL_FAIL=symbol:result in the environment makes one call fail.
#include "tests/fake_cuda/FakeNccl.h"
#include "runtime/drivers/cuda/NcclApi.h"
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>

using namespace heddle;

namespace heddle::nccl {

struct CommunicatorHandle {
  int rank;
  size_t ranks;
};

} // namespace heddle::nccl

namespace {

using nccl::Communicator;
using nccl::Result;

struct Operation {
  std::string symbol;
  const char *input;
  char *output;
  size_t count;
  int type, peer;
  Communicator communicator;
  cuda::Stream stream;

  size_t elementBytes() const { return type == nccl::type::f32 ? 4 : 1; }
};

struct State {
  FakeNccl control;
  int depth = 0;
  std::vector<Operation> group;
  std::deque<std::function<void()>> work; ///< what streams and graphs may still call
};

State &state() {
  static auto *all = [] {
    auto *fresh = new State;
    if (const char *failure = std::getenv("FAKE_NCCL_FAIL"))
      if (const char *colon = std::strchr(failure, ':'))
        fresh->control.failures[std::string(failure, colon)] = std::atoi(colon + 1);
    return fresh;
  }();
  return *all;
}

Result enter(const char *symbol) {
  FakeNccl &control = state().control;
  control.calls.emplace_back(symbol);
  auto failure = control.failures.find(symbol);
  if (failure == control.failures.end())
    return nccl::result::success;
  Result result = failure->second;
  control.failures.erase(failure);
  return result;
}

/// cuLaunchHostFunc of the fake libcuda in the same folder.
auto launchHostFunction() {
  static auto *function = [] {
    Dl_info own = {};
    ::dladdr(reinterpret_cast<const void *>(&state), &own);
    std::string path = own.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + "fake-cuda.so";
    void *library = ::dlopen(path.c_str(), RTLD_NOW);
    return reinterpret_cast<cuda::Result (*)(cuda::Stream, cuda::HostFunction, void *)>(
        ::dlsym(library, "cuLaunchHostFunc"));
  }();
  return function;
}

std::string sumOf(const std::vector<std::string> &inputs, size_t firstByte, size_t count) {
  std::vector<float> sums(count, 0.0f);
  for (const std::string &input : inputs)
    for (size_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, input.data() + firstByte + 4 * i, 4);
      sums[i] += value;
    }
  return std::string(reinterpret_cast<const char *>(sums.data()), 4 * count);
}

/// Send and receive: the operations name the peers.
void exchange(const std::vector<Operation> &operations) {
  std::vector<std::pair<const Operation *, std::string>> arrived;
  for (const Operation &receive : operations)
    for (const Operation &send : operations)
      if (receive.output && send.input && send.peer == receive.communicator->rank &&
          receive.peer == send.communicator->rank)
        arrived.emplace_back(&receive, std::string(send.input, send.count * send.elementBytes()));
  for (const auto &[receive, bytes] : arrived)
    std::memcpy(receive->output, bytes.data(), bytes.size());
}

/// All of a group: every input is read before the first output is written, which may be the same memory.
void perform(const std::vector<Operation> &operations) {
  if (operations.front().peer >= 0)
    return exchange(operations);
  std::vector<std::string> inputs;
  for (const Operation &each : operations) {
    size_t parts = each.symbol == "ncclReduceScatter" ? each.communicator->ranks : 1;
    inputs.emplace_back(each.input, each.count * each.elementBytes() * parts);
  }
  for (const Operation &each : operations) {
    std::string result;
    if (each.symbol == "ncclAllGather")
      for (const std::string &input : inputs)
        result += input;
    else if (each.symbol == "ncclReduceScatter")
      result = sumOf(inputs, size_t(each.communicator->rank) * each.count * 4, each.count);
    else
      result = sumOf(inputs, 0, each.count);
    std::memcpy(each.output, result.data(), result.size());
  }
}

/// Into every stream of the group, so that each may be in a graph of its own; the last one moves the data.
Result enqueue(std::vector<Operation> operations) {
  std::vector<cuda::Stream> streams;
  for (const Operation &each : operations)
    if (streams.empty() || streams.back() != each.stream)
      streams.push_back(each.stream);
  for (cuda::Stream stream : streams) {
    if (stream == streams.back())
      state().work.emplace_back([operations] { perform(operations); });
    else
      state().work.emplace_back([] {});
    cuda::HostFunction call = [](void *work) { (*static_cast<std::function<void()> *>(work))(); };
    if (launchHostFunction()(stream, call, &state().work.back()))
      return nccl::result::unhandledCudaError;
  }
  return nccl::result::success;
}

Result add(Operation operation) {
  bool sums = operation.symbol == "ncclAllReduce" || operation.symbol == "ncclReduceScatter";
  if (!operation.communicator || !operation.stream || (sums && operation.type != nccl::type::f32))
    return nccl::result::invalidArgument;
  if (state().depth == 0)
    return nccl::result::invalidUsage; // one thread for several ranks: without a group it would wait for ever
  state().group.push_back(std::move(operation));
  return nccl::result::success;
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

FakeNccl *fakeNccl() {
  return &state().control;
}

#define ENTER(symbol)                                                                                                  \
  if (Result failure = enter(#symbol))                                                                                 \
  return failure

Result ncclGetVersion(int *version) {
  ENTER(ncclGetVersion);
  *version = state().control.version;
  return nccl::result::success;
}

const char *ncclGetErrorString(Result result) {
  return result == nccl::result::systemError ? "unhandled system error" : "what the fake says of it";
}

const char *ncclGetLastError(Communicator) {
  return state().control.lastError.c_str();
}

Result ncclCommInitAll(Communicator *communicators, int count, const int *devices) {
  ENTER(ncclCommInitAll);
  const char *multicast = std::getenv("NCCL_NVLS_ENABLE");
  state().control.multicast = multicast ? multicast : "";
  state().control.devices.assign(devices, devices + count);
  for (int rank = 0; rank < count; ++rank)
    communicators[rank] = new nccl::CommunicatorHandle{rank, size_t(count)};
  state().control.liveCommunicators += count;
  return nccl::result::success;
}

Result ncclCommDestroy(Communicator communicator) {
  ENTER(ncclCommDestroy);
  delete communicator;
  --state().control.liveCommunicators;
  return nccl::result::success;
}

Result ncclGroupStart() {
  ENTER(ncclGroupStart);
  ++state().depth;
  return nccl::result::success;
}

Result ncclGroupEnd() {
  std::vector<Operation> operations = std::exchange(state().group, {});
  --state().depth;
  ENTER(ncclGroupEnd);
  return operations.empty() ? nccl::result::success : enqueue(std::move(operations));
}

Result ncclAllReduce(const void *input, void *output, size_t count, int type, int reduction, Communicator communicator,
                     cuda::Stream stream) {
  ENTER(ncclAllReduce);
  return reduction != nccl::reduction::sum ? nccl::result::invalidArgument
                                           : add({"ncclAllReduce", static_cast<const char *>(input),
                                                  static_cast<char *>(output), count, type, -1, communicator, stream});
}

Result ncclAllGather(const void *input, void *output, size_t count, int type, Communicator communicator,
                     cuda::Stream stream) {
  ENTER(ncclAllGather);
  return add({"ncclAllGather", static_cast<const char *>(input), static_cast<char *>(output), count, type, -1,
              communicator, stream});
}

Result ncclReduceScatter(const void *input, void *output, size_t count, int type, int reduction,
                         Communicator communicator, cuda::Stream stream) {
  ENTER(ncclReduceScatter);
  return reduction != nccl::reduction::sum ? nccl::result::invalidArgument
                                           : add({"ncclReduceScatter", static_cast<const char *>(input),
                                                  static_cast<char *>(output), count, type, -1, communicator, stream});
}

Result ncclSend(const void *input, size_t count, int type, int peer, Communicator communicator, cuda::Stream stream) {
  ENTER(ncclSend);
  return add({"ncclSend", static_cast<const char *>(input), nullptr, count, type, peer, communicator, stream});
}

Result ncclRecv(void *output, size_t count, int type, int peer, Communicator communicator, cuda::Stream stream) {
  ENTER(ncclRecv);
  return add({"ncclRecv", nullptr, static_cast<char *>(output), count, type, peer, communicator, stream});
}

} // extern "C"
#pragma GCC visibility pop

// The signatures above are those of the table.
#define HEDDLE_NCCL_CHECK(name, symbol, result, ...)                                                                   \
  static_assert(std::is_same_v<decltype(&::symbol), result (*)(__VA_ARGS__)>);
HEDDLE_NCCL_REQUIRED(HEDDLE_NCCL_CHECK)
HEDDLE_NCCL_OPTIONAL(HEDDLE_NCCL_CHECK)
