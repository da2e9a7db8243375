// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of a launch as Python has them, read without a call of Python code: tensors by DLPack's C exchange
// interface, other arrays by the buffer protocol, and numbers. What is not as expected is left to the Python package,
// which takes longer and says what is wrong. Source: DLPack 1.3, dlpack.h; PEP 3118.
#pragma once
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000 // the first with the buffer protocol
#include "include/heddle.h"
#include <Python.h>
#include <string>
#include <vector>

namespace heddle::python {

/// An argument of a kernel.
struct Parameter {
  enum class Kind { Pointer, Integer, F32, F64, Other } kind = Kind::Other;
  // Of a pointer: the element types of DLPack that may stand for it, code << 8 | bits, and those of the buffer
  // protocol.
  std::vector<int> types = {};
  std::string formats = {};
  // Of an integer: the smallest and the largest that its type holds, and the mask of its bits.
  int64_t least = 0;
  uint64_t most = 0, mask = 0;
};

/// Where the arrays of one launch are.
struct Place {
  static constexpr int unknown = 0, host = 1, cuda = 2, hip = 10; // as DLPack counts
  int kind = unknown;
  int index = 0; ///< of the GPU

  /// False when another array is elsewhere.
  bool take(int otherKind, int otherIndex);
};

/// Memory that other libraries lend by the buffer protocol; kept until the launch has been made, on the host until it
/// is over: a bytearray is not resized meanwhile.
class Loans {
public:
  static constexpr size_t most = 64;

  Loans() = default;
  Loans(const Loans &) = delete;
  ~Loans() {
    while (count > 0)
      PyBuffer_Release(&views[--count]);
  }
  /// Null, without an exception, where the object does not lend what was asked for. The address of a view is part of
  /// it.
  const Py_buffer *borrow(PyObject *object, int flags);

private:
  size_t count = 0;
  Py_buffer views[most];
};

/// The class of PyTorch's tensors, which says by its capsule `exchange` how to read one. False with a Python exception.
bool useTensors(PyObject *tensorClass, PyObject *exchange);
/// Classes whose instances give their memory by the buffer protocol, and by nothing that comes before it.
bool useBufferClass(PyObject *bufferClass);

/// The bits of a value for a pointer, and where its memory is: of an array of the parameter's type, and of what Triton
/// takes, whose signature has been checked. False where the general way has to look at it; no Python exception is set.
bool readArray(PyObject *value, const Parameter &parameter, Place &place, Loans &loans, uint64_t &bits);
bool readAddress(PyObject *value, Place &place, uint64_t &bits);
/// The bits of a number. False likewise.
bool readScalar(PyObject *value, const Parameter &parameter, uint64_t &bits);
/// PyTorch's current stream of a GPU. False without an exception.
bool currentStream(const Place &place, uint64_t &stream);

} // namespace heddle::python
