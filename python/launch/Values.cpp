// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads arguments. Nothing here runs long or calls Python code of others, but for getters of PyTorch.
#include "python/launch/Values.h"
#include <cmath>
#include <cstring>

namespace heddle::python {
namespace {

// ---- DLPack's C exchange interface, as far as it is used ----

struct DlTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t typeCode, typeBits;
  uint16_t typeLanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

struct DlExchange {
  uint32_t major, minor;
  DlExchange *previous;
  void *allocator, *managedFromObject, *managedToObject;
  int (*tensorFromObject)(void *object, DlTensor *out); ///< borrows; may be null
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

struct Tensors {
  PyTypeObject *tensorClass = nullptr;
  const DlExchange *exchange = nullptr;
  PyObject *isNegated = nullptr; ///< the method of the class; null where tensors have none
};

// One interpreter: what subinterpreters would share.
Tensors tensors;
std::vector<PyTypeObject *> bufferClasses;
PyObject *requiresGradient = nullptr; ///< the attribute's name

/// Row-major, as PyTorch's is_contiguous says it.
bool isContiguous(const DlTensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  bool dense = true;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0)
      return true;
    dense &= tensor.shape[i] == 1 || tensor.strides[i] == expected;
    expected *= tensor.shape[i];
  }
  return dense;
}

bool holds(const std::vector<int> &types, int type) {
  for (int each : types)
    if (each == type)
      return true;
  return false;
}

/// Whether calling `function(argument)` gives `wanted`; an exception counts as another answer.
bool answers(PyObject *result, PyObject *wanted) {
  if (!result)
    PyErr_Clear();
  Py_XDECREF(result);
  return result == wanted;
}

/// Neither part of a gradient nor a view that PyTorch negates when it reads it.
bool isPlain(PyObject *tensor) {
  return answers(PyObject_GetAttr(tensor, requiresGradient), Py_False) &&
         (!tensors.isNegated || answers(PyObject_CallFunctionObjArgs(tensors.isNegated, tensor, nullptr), Py_False));
}

bool readTensor(PyObject *value, DlTensor &tensor) {
  if (!tensors.exchange->tensorFromObject(value, &tensor))
    return true;
  PyErr_Clear(); // as of a sparse tensor
  return false;
}

bool isTensor(PyObject *value) {
  return tensors.tensorClass && Py_TYPE(value) == tensors.tensorClass;
}

uint64_t addressOf(const DlTensor &tensor) {
  return reinterpret_cast<uint64_t>(tensor.data) + tensor.byteOffset;
}

bool isBuffer(PyObject *value) {
  for (PyTypeObject *each : bufferClasses)
    if (Py_TYPE(value) == each)
      return true;
  return false;
}

bool readInteger(PyObject *value, const Parameter &parameter, uint64_t &bits) {
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow > 0 && parameter.most > uint64_t(INT64_MAX)) {
    bits = PyLong_AsUnsignedLongLong(value);
    if (!PyErr_Occurred())
      return true;
    PyErr_Clear();
    return false;
  }
  bits = uint64_t(number) & parameter.mask;
  return !overflow && number >= parameter.least && (number < 0 || uint64_t(number) <= parameter.most);
}

bool isInteger(PyObject *value) {
  return PyLong_CheckExact(value) || PyBool_Check(value);
}

} // namespace

bool Place::take(int otherKind, int otherIndex) {
  if (kind == unknown) {
    kind = otherKind;
    index = otherIndex;
  }
  return kind == otherKind && index == otherIndex;
}

bool useTensors(PyObject *tensorClass, PyObject *exchange) {
  auto *given = static_cast<DlExchange *>(PyCapsule_GetPointer(exchange, "dlpack_exchange_api"));
  if (!given)
    return false;
  while (given && given->major != 1)
    given = given->previous;
  if (!PyType_Check(tensorClass) || !given || !given->tensorFromObject) {
    PyErr_SetString(PyExc_ValueError, "these tensors cannot be read by DLPack's C exchange interface of version 1");
    return false;
  }
  PyObject *isNegated = PyObject_GetAttrString(tensorClass, "is_neg");
  if (!isNegated)
    PyErr_Clear();
  if (!requiresGradient && !(requiresGradient = PyUnicode_InternFromString("requires_grad")))
    return false;
  Py_INCREF(tensorClass);
  tensors = {reinterpret_cast<PyTypeObject *>(tensorClass), given, isNegated}; // for good
  return true;
}

bool useBufferClass(PyObject *bufferClass) {
  if (!PyType_Check(bufferClass)) {
    PyErr_SetString(PyExc_TypeError, "a class is wanted");
    return false;
  }
  Py_INCREF(bufferClass);
  bufferClasses.push_back(reinterpret_cast<PyTypeObject *>(bufferClass));
  return true;
}

const Py_buffer *Loans::borrow(PyObject *object, int flags) {
  if (count == most || PyObject_GetBuffer(object, &views[count], flags)) {
    PyErr_Clear();
    return nullptr;
  }
  return &views[count++];
}

bool readArray(PyObject *value, const Parameter &parameter, Place &place, Loans &loans, uint64_t &bits) {
  bits = 0;
  if (value == Py_None)
    return true;
  if (isTensor(value)) {
    DlTensor tensor;
    if (!readTensor(value, tensor) || tensor.typeLanes != 1 ||
        !holds(parameter.types, tensor.typeCode << 8 | tensor.typeBits) || !isContiguous(tensor) || !isPlain(value))
      return false;
    bits = addressOf(tensor);
    return place.take(tensor.deviceType, tensor.deviceId);
  }
  if (!isBuffer(value))
    return false;
  const Py_buffer *view = loans.borrow(value, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE);
  if (!view)
    return false;
  const char *format = view->format ? view->format : "B";
  bits = view->len ? reinterpret_cast<uint64_t>(view->buf) : 0;
  return format[0] && !format[1] && parameter.formats.find(format[0]) != std::string::npos &&
         place.take(Place::host, 0);
}

bool readAddress(PyObject *value, Place &place, uint64_t &bits) {
  static const Parameter address{.kind = Parameter::Kind::Integer, .most = UINT64_MAX, .mask = UINT64_MAX};
  bits = 0;
  if (value == Py_None)
    return true;
  if (!isTensor(value))
    return PyLong_CheckExact(value) && readInteger(value, address, bits);
  DlTensor tensor;
  if (!readTensor(value, tensor))
    return false;
  bits = addressOf(tensor);
  return place.take(tensor.deviceType, tensor.deviceId);
}

bool readScalar(PyObject *value, const Parameter &parameter, uint64_t &bits) {
  if (parameter.kind == Parameter::Kind::Integer)
    return isInteger(value) && readInteger(value, parameter, bits);
  if (parameter.kind == Parameter::Kind::Other || !PyFloat_CheckExact(value))
    return false;
  double number = PyFloat_AsDouble(value);
  if (parameter.kind == Parameter::Kind::F64) {
    std::memcpy(&bits, &number, sizeof number);
    return true;
  }
  auto narrow = float(number);
  uint32_t word;
  std::memcpy(&word, &narrow, sizeof narrow);
  bits = word;
  return std::isfinite(narrow) || !std::isfinite(number); // one that is too large is an error
}

bool currentStream(const Place &place, uint64_t &stream) {
  void *handle = nullptr;
  if (!tensors.exchange || !tensors.exchange->currentStream ||
      tensors.exchange->currentStream(place.kind, place.index, &handle)) {
    PyErr_Clear();
    return false;
  }
  stream = reinterpret_cast<uint64_t>(handle);
  return true;
}

} // namespace heddle::python
