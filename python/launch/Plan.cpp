// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches by the C interface, with Python's lock released: a full queue of the device makes a launch wait.
#include "python/launch/Plan.h"
#include <algorithm>
#include <utility>

namespace heddle::python {
namespace {

constexpr size_t mostBound = 32;

struct Names {
  PyObject *handle = PyUnicode_InternFromString("handle");
  PyObject *ownHandle = PyUnicode_InternFromString("_handle");
  PyObject *value = PyUnicode_InternFromString("value");
};

const Names &names() {
  static const Names all;
  return all;
}

template <typename Handle>
Handle handleOf(uint64_t number) {
  return reinterpret_cast<Handle>(number);
}

using Values = std::array<heddle_value, Plan::mostArguments>;

Outcome outcomeOf(heddle_status status) {
  if (status == HEDDLE_OK)
    return Outcome::Launched;
  Py_XDECREF(PyObject_CallFunction(interface.fail, "i", int(status)));
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError, "heddle_launch gave %d", int(status));
  return Outcome::Raised;
}

Outcome launch(uint64_t stream, uint64_t kernel, const Grid &grid, bool cooperative, const Values &values, size_t count,
               bool waits = false) {
  heddle_launch_options options = {
      sizeof options, {grid.extents[0], grid.extents[1], grid.extents[2]}, 0, cooperative, 0};
  heddle_status status;
  if (!interface.launch) {
    PyErr_SetString(PyExc_RuntimeError, "heddle_launch.set_up was not called");
    return Outcome::Raised;
  }
  PyThreadState *thread = PyEval_SaveThread();
  status = interface.launch(handleOf<heddle_stream>(stream), handleOf<heddle_kernel>(kernel), &options, values.data(),
                            count);
  if (waits && status == HEDDLE_OK)
    status = interface.synchronize(handleOf<heddle_stream>(stream));
  PyEval_RestoreThread(thread);
  return outcomeOf(status);
}

bool readExtent(PyObject *given, int64_t &extent) {
  if (!PyLong_CheckExact(given))
    return false;
  int overflow = 0;
  extent = PyLong_AsLongLongAndOverflow(given, &overflow);
  return !overflow;
}

/// Of a thread's own stream of the host.
bool readHostStream(PyObject *streams, uint64_t &stream) {
  PyObject *handle = PyObject_GetAttr(streams, names().handle);
  if (!handle) {
    PyErr_Clear();
    return false;
  }
  bool found = readNumber(handle, names().value, stream);
  Py_DECREF(handle);
  return found;
}

/// Of a heddle.Buffer.
bool readBufferHandle(PyObject *buffer, uint64_t &number) {
  PyObject *handle = PyObject_GetAttr(buffer, names().ownHandle);
  if (!handle) {
    PyErr_Clear();
    return false;
  }
  bool found = readNumber(handle, names().value, number);
  Py_DECREF(handle);
  return found;
}

} // namespace

Interface interface;

bool readNumber(PyObject *object, PyObject *name, uint64_t &number) {
  PyObject *value = PyObject_GetAttr(object, name);
  bool found = value && PyLong_CheckExact(value);
  if (found)
    number = PyLong_AsUnsignedLongLong(value);
  Py_XDECREF(value);
  if (!PyErr_Occurred())
    return found;
  PyErr_Clear();
  return false;
}

bool Grid::isWhole() const {
  return std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent >= 1; });
}

bool Grid::read(PyObject *given) {
  if (!PyTuple_CheckExact(given))
    return readExtent(given, extents[0]) && isWhole();
  Py_ssize_t count = PyTuple_Size(given);
  if (count < 1 || count > 3)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!readExtent(PyTuple_GetItem(given, i), extents[size_t(i)]))
      return false;
  return isWhole();
}

const Plan::Bound *Plan::find(const Place &place, uint64_t rawStream) const {
  for (const Bound &each : bound)
    if (each.rawStream == rawStream && each.place.index == place.index && each.place.kind == place.kind)
      return &each;
  return nullptr;
}

void Plan::bindGpu(Place place, uint64_t rawStream, uint64_t stream, uint64_t kernel) {
  std::erase_if(bound, [&](const Bound &each) {
    return each.rawStream == rawStream && each.place.index == place.index && each.place.kind == place.kind;
  });
  if (bound.size() == mostBound)
    bound.erase(bound.begin());
  bound.push_back({place, rawStream, stream, kernel});
}

void Plan::bindHost(PyObject *streams, uint64_t kernel) {
  Py_INCREF(streams);
  Py_XDECREF(std::exchange(hostStreams, streams));
  hostKernel = kernel;
}

Outcome Plan::onArrays(const Grid &grid, PyObject *arguments) const {
  size_t count = parameters.size();
  if (PyTuple_Size(arguments) != Py_ssize_t(count))
    return Outcome::Left;
  Values values;
  Place place;
  Loans loans;
  for (size_t i = 0; i < count; ++i) {
    PyObject *given = PyTuple_GetItem(arguments, Py_ssize_t(i));
    const Parameter &parameter = parameters[i];
    bool isPointer = parameter.kind == Parameter::Kind::Pointer;
    values[i] = {isPointer ? HEDDLE_ADDRESS : HEDDLE_SCALAR, 0, 0};
    if (isPointer ? !readArray(given, parameter, place, loans, values[i].bits)
                  : !readScalar(given, parameter, values[i].bits))
      return Outcome::Left;
  }
  uint64_t stream = 0;
  if (place.kind == Place::host)
    return hostStreams && readHostStream(hostStreams, stream)
               ? launch(stream, hostKernel, grid, false, values, count, true)
               : Outcome::Left;
  if (place.kind == Place::unknown || bound.empty() || !currentStream(place, stream))
    return Outcome::Left;
  const Bound *found = find(place, stream);
  return found ? launch(found->stream, found->kernel, grid, false, values, count) : Outcome::Left;
}

Outcome Plan::onBuffers(uint64_t stream, uint64_t kernel, const Grid &grid, PyObject *arguments) const {
  size_t count = parameters.size();
  if (PyTuple_Size(arguments) != Py_ssize_t(count))
    return Outcome::Left;
  Values values;
  for (size_t i = 0; i < count; ++i) {
    PyObject *given = PyTuple_GetItem(arguments, Py_ssize_t(i));
    const Parameter &parameter = parameters[i];
    values[i] = {HEDDLE_SCALAR, 0, 0};
    if (parameter.kind != Parameter::Kind::Pointer) {
      if (!readScalar(given, parameter, values[i].bits))
        return Outcome::Left;
    } else if (given == Py_None) {
      values[i].kind = HEDDLE_ADDRESS;
    } else {
      values[i].kind = HEDDLE_BUFFER;
      if (Py_TYPE(given) != interface.bufferClass || !readBufferHandle(given, values[i].bits))
        return Outcome::Left;
    }
  }
  return launch(stream, kernel, grid, false, values, count);
}

Outcome Plan::onValues(uint64_t stream, uint64_t kernel, const Grid &grid, PyObject *bits) const {
  size_t count = parameters.size();
  if (PyTuple_Size(bits) != Py_ssize_t(count))
    return Outcome::Left;
  Values values;
  for (size_t i = 0; i < count; ++i) {
    bool isPointer = parameters[i].kind == Parameter::Kind::Pointer;
    values[i] = {isPointer ? HEDDLE_ADDRESS : HEDDLE_SCALAR, 0,
                 PyLong_AsUnsignedLongLong(PyTuple_GetItem(bits, Py_ssize_t(i)))};
  }
  if (PyErr_Occurred())
    return Outcome::Raised;
  return launch(stream, kernel, grid, false, values, count);
}

Outcome Plan::onAddresses(uint64_t rawStream, const Grid &grid, PyObject *arguments) const {
  size_t count = parameters.size();
  const auto &[wanted, cooperative, kept] = triton;
  Place place = wanted;
  bool isHost = place.kind == Place::host;
  const Bound *found = isHost ? nullptr : find(place, rawStream);
  uint64_t stream = found ? found->stream : 0, kernel = found ? found->kernel : hostKernel;
  if (isHost ? !hostStreams || !readHostStream(hostStreams, stream) : !found)
    return Outcome::Left;
  if (kept.size() != count || (count && kept.back() >= PyTuple_Size(arguments)) || !grid.isWhole())
    return Outcome::Left;
  Values values;
  for (size_t i = 0; i < count; ++i) {
    PyObject *given = PyTuple_GetItem(arguments, kept[i]);
    const Parameter &parameter = parameters[i];
    bool isPointer = parameter.kind == Parameter::Kind::Pointer;
    values[i] = {isPointer ? HEDDLE_ADDRESS : HEDDLE_SCALAR, 0, 0};
    if (isPointer ? !readAddress(given, place, values[i].bits) : !readScalar(given, parameter, values[i].bits))
      return Outcome::Left;
  }
  return launch(stream, kernel, grid, cooperative, values, count, isHost);
}

} // namespace heddle::python
