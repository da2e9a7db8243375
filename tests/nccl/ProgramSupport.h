// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the programs of NCCL's users share, of which each rank is a process: NCCL's functions, memory of a GPU or of the
// host, values whose sums are exact.
#pragma once
#include "nccl/Nccl.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace heddle::dropin {
extern "C" {
Result ncclGetVersion(int *);
const char *ncclGetErrorString(Result);
const char *ncclGetLastError(Comm);
Result ncclGetUniqueId(UniqueId *);
#define DECLARE(name, symbol, ...) Result symbol(__VA_ARGS__);
HEDDLE_NCCL_CALLS(DECLARE)
Result ncclBroadcast(const void *, void *, size_t, int, int, Comm, Stream);
Result ncclRedOpCreatePreMulSum(int *reduction, void *scalar, int type, int residence, Comm);
__attribute__((weak)) decltype(ncclAlltoAll) ncclAlltoAll; // from NCCL 2.28 on
}
} // namespace heddle::dropin

namespace heddle::ncclprogram {
using namespace heddle::dropin;

inline int rank = 0, ranks = 2, failures = 0;
inline bool isHost = true, checks = true;

inline void require(Result done, const char *what) {
  if (!done)
    return;
  std::printf("rank %d: %s: %s (%d): %s\n", rank, what, ncclGetErrorString(done), done, ncclGetLastError(nullptr));
  std::fflush(stdout);
  std::_Exit(1);
}
#define REQUIRE(call) require(call, #call)

inline void *cudaLibrary() {
  static void *const library =
      ::dlopen(std::getenv("HEDDLE_CUDA_LIBRARY") ? std::getenv("HEDDLE_CUDA_LIBRARY") : "libcuda.so.1", RTLD_NOW);
  return library;
}

/// The CUDA driver's functions that it takes.
template <typename... Parameters>
int cuda(const char *symbol, Parameters... parameters) {
  void *library = cudaLibrary();
  auto *function = reinterpret_cast<int (*)(Parameters...)>(library ? ::dlsym(library, symbol) : nullptr);
  int done = function ? function(parameters...) : -1;
  if (done) {
    std::printf("rank %d: %s: CUDA error %d\n", rank, symbol, done);
    std::fflush(stdout);
    std::_Exit(1);
  }
  return done;
}

/// Memory where collectives work.
class Memory {
public:
  explicit Memory(size_t count) : count(count) {
    if (isHost)
      address = reinterpret_cast<uint64_t>(std::calloc(count, sizeof(float)));
    else
      cuda("cuMemAlloc_v2", &address, count * sizeof(float));
  }
  Memory(const Memory &) = delete;
  ~Memory() {
    if (isHost)
      std::free(data());
    else
      cuda("cuMemFree_v2", address);
  }
  float *data() const { return reinterpret_cast<float *>(address); }
  void set(const std::function<float(size_t)> &value, Stream stream) {
    host.resize(count);
    for (size_t i = 0; i < count; ++i)
      host[i] = value(i);
    if (isHost)
      std::memcpy(data(), host.data(), count * sizeof(float));
    else
      cuda("cuMemcpyHtoDAsync_v2", address, static_cast<const void *>(host.data()), count * sizeof(float), stream);
  }
  size_t countWrong(const std::function<float(size_t)> &value, Stream stream) {
    std::vector<float> seen(count);
    if (isHost) {
      std::memcpy(seen.data(), data(), count * sizeof(float));
    } else {
      cuda("cuMemcpyDtoHAsync_v2", static_cast<void *>(seen.data()), address, count * sizeof(float), stream);
      cuda("cuStreamSynchronize", stream);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i)
      wrong += seen[i] != value(i);
    return checks ? wrong : 0;
  }

private:
  const size_t count;
  uint64_t address = 0;
  std::vector<float> host;
};

inline Stream makeStream() {
  Stream stream = nullptr;
  if (!isHost)
    cuda("cuStreamCreateWithPriority", &stream, 1u, 0);
  return stream;
}

inline void report(const char *what, size_t bytes, size_t wrong) {
  failures += wrong != 0;
  std::printf("rank %d: %s of %zu bytes: #wrong %zu\n", rank, what, bytes, wrong);
  std::fflush(stdout);
}

inline float valueOf(int of, size_t i) {
  return float((of + 1) * int(i % 61));
}
inline float sumOf(int members, size_t i) {
  return float(members * (members + 1) / 2 * int(i % 61));
}

struct Group {
  Comm comm;
  Stream stream;
  int rank, ranks;
};

inline std::atomic<int> *arrived = nullptr; ///< in memory of all ranks

/// Waits, once in a program, until so many ranks are here.
inline void meet(int count) {
  ++*arrived;
  while (*arrived < count)
    ::usleep(1000);
}

/// Starts a process for each rank; `ofLast` is a variable NAME=VALUE of the last one's. The worst exit code, 3 for a
/// signal.
inline int startRanks(const std::string &ofLast, const std::function<int(const UniqueId &)> &run) {
  // Before CUDA starts: the id of the first process goes to all through a pipe.
  int ends[2];
  void *shared = ::mmap(nullptr, sizeof *arrived, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || ::pipe(ends))
    return 2;
  arrived = new (shared) std::atomic<int>(0);
  std::vector<pid_t> children;
  for (rank = 0; rank < ranks; ++rank) {
    pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::alarm(100); // nothing waits for ever
      if (size_t equals = ofLast.find('='); equals < ofLast.size() && rank == ranks - 1)
        ::setenv(ofLast.substr(0, equals).c_str(), ofLast.substr(equals + 1).c_str(), 1);
      UniqueId id{};
      if (rank == 0) {
        REQUIRE(ncclGetUniqueId(&id));
        for (int other = 1; other < ranks; ++other)
          if (::write(ends[1], &id, sizeof id) != ssize_t(sizeof id))
            return 1;
      } else if (::read(ends[0], &id, sizeof id) != ssize_t(sizeof id)) {
        return 1;
      }
      int code = run(id);
      std::fflush(stdout);
      std::_Exit(code); // a rank of a program often leaves so
    }
    children.push_back(child);
  }
  int worst = 0;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 3);
  }
  return worst;
}

} // namespace heddle::ncclprogram
