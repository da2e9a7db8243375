// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the launches of one kernel share: how its arguments are read, and the handles of the kernel and of streams on
// each device. It holds no reference to a handle: a released one is an error of the C interface.
#pragma once
#include "python/launch/Values.h"
#include <array>

namespace heddle::python {

/// The functions of libheddle, and the Python function that raises the error of a status.
struct Interface {
  decltype(&heddle_launch) launch = nullptr;
  decltype(&heddle_stream_synchronize) synchronize = nullptr;
  PyObject *fail = nullptr;
  PyTypeObject *bufferClass = nullptr; ///< heddle.Buffer
};
extern Interface interface;

/// What became of a launch. Left: nothing was done, and the general way comes next.
enum class Outcome { Launched, Left, Raised };

struct Grid {
  std::array<int64_t, 3> extents = {1, 1, 1};
  /// A positive integer or a tuple of one to three. False, without an exception, for anything else.
  bool read(PyObject *given);
  /// Whether each is at least 1: for the C interface 0 may stand for 1.
  bool isWhole() const;
};

class Plan {
public:
  static constexpr size_t mostArguments = Loans::most;

  /// Of launches by Triton.
  struct Triton {
    Place place;
    bool cooperative = false;
    std::vector<Py_ssize_t> kept = {}; ///< of Triton's arguments those that the kernel has, in order
  };

  std::vector<Parameter> parameters;
  Triton triton;

  ~Plan() { Py_XDECREF(hostStreams); }
  void bindGpu(Place place, uint64_t rawStream, uint64_t stream, uint64_t kernel);
  /// `streams.handle.value` is the handle of a thread's own stream of the host.
  void bindHost(PyObject *streams, uint64_t kernel);

  /// On arrays; those of the host are ready at the return.
  Outcome onArrays(const Grid &grid, PyObject *arguments) const;
  /// On buffers, in `stream`.
  Outcome onBuffers(uint64_t stream, uint64_t kernel, const Grid &grid, PyObject *arguments) const;
  /// On the bits of values, which are integers.
  Outcome onValues(uint64_t stream, uint64_t kernel, const Grid &grid, PyObject *bits) const;
  /// Triton's arguments, in its stream of a GPU, or on the host, where the call returns when the kernel has run.
  Outcome onAddresses(uint64_t rawStream, const Grid &grid, PyObject *arguments) const;

private:
  struct Bound {
    Place place;
    uint64_t rawStream, stream, kernel;
  };
  const Bound *find(const Place &place, uint64_t rawStream) const;

  std::vector<Bound> bound; ///< by use: the latest last
  PyObject *hostStreams = nullptr;
  uint64_t hostKernel = 0;
};

/// An attribute that is an unsigned integer. False, without an exception, where it is not.
bool readNumber(PyObject *object, PyObject *name, uint64_t &number);

} // namespace heddle::python
