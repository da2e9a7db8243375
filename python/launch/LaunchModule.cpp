// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Python module `heddle_launch`: launches without the cost of Python code. The package works without it, by ctypes;
// it decides what is launched here (python/heddle/_launcher.py), and does itself what is Left. The module is linked to
// nothing: it gets the addresses of libheddle's functions. One file serves all Pythons from 3.11 on.
#include "python/launch/Plan.h"
#include <structmember.h>

namespace heddle::python {
namespace {

struct PlanObject {
  PyObject_HEAD Plan *plan;
};

struct LauncherObject {
  PyObject_HEAD PyObject *kernel, *grid;
  PyObject *plan; ///< null where every launch takes the general way
  Grid extents;
};

PyObject *planType, *callName, *planName;

void freeObject(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *allocate(PyTypeObject *type) {
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

/// True or False: whether the launch was made; null where it failed.
PyObject *answerOf(Outcome outcome) {
  return outcome == Outcome::Raised ? nullptr : PyBool_FromLong(outcome == Outcome::Launched);
}

Plan &planOf(PyObject *self) {
  return *reinterpret_cast<PlanObject *>(self)->plan;
}

//===-- Plan ----------------------------------------------------------------------------------------------------===//

/// `("p", ((code, bits), ...), formats)`, `("i", least, most, mask)`, `("f", bits)` or `("",)`.
bool readParameter(PyObject *given, Parameter &parameter) {
  const char *kind = nullptr, *formats = "";
  PyObject *first = nullptr, *second = nullptr, *third = nullptr;
  if (!PyTuple_Check(given))
    return PyErr_Format(PyExc_TypeError, "a tuple is wanted for each argument"), false;
  if (!PyArg_ParseTuple(given, "s|OOO", &kind, &first, &second, &third))
    return false;
  if (kind[0] == 'p' && first && second) {
    parameter.kind = Parameter::Kind::Pointer;
    for (Py_ssize_t i = 0; i < PyTuple_Size(first); ++i) {
      int code = 0, bits = 0;
      if (!PyArg_ParseTuple(PyTuple_GetItem(first, i), "ii", &code, &bits))
        return false;
      parameter.types.push_back(code << 8 | bits);
    }
    if (!(formats = PyUnicode_AsUTF8AndSize(second, nullptr)))
      return false;
    parameter.formats = formats;
  } else if (kind[0] == 'i' && third) {
    parameter.kind = Parameter::Kind::Integer;
    parameter.least = PyLong_AsLongLong(first);
    parameter.most = PyLong_AsUnsignedLongLong(second);
    parameter.mask = PyLong_AsUnsignedLongLong(third);
  } else if (kind[0] == 'f' && first) {
    parameter.kind = PyLong_AsLong(first) == 64 ? Parameter::Kind::F64 : Parameter::Kind::F32;
  }
  return !PyErr_Occurred();
}

PyObject *makePlan(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *parameters = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &parameters))
    return nullptr;
  Py_ssize_t count = PyTuple_Size(parameters);
  if (count > Py_ssize_t(Plan::mostArguments))
    return PyErr_Format(PyExc_ValueError, "%zd arguments, and at most %zd are wanted", count,
                        Py_ssize_t(Plan::mostArguments));
  PyObject *self = allocate(type);
  if (!self)
    return nullptr;
  auto *plan = reinterpret_cast<PlanObject *>(self)->plan = new Plan;
  plan->parameters.resize(size_t(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!readParameter(PyTuple_GetItem(parameters, i), plan->parameters[size_t(i)])) {
      Py_DECREF(self);
      return nullptr;
    }
  return self;
}

void freePlan(PyObject *self) {
  delete reinterpret_cast<PlanObject *>(self)->plan;
  freeObject(self);
}

PyObject *keep(PyObject *self, PyObject *arguments) {
  Plan::Triton triton;
  int cooperative;
  PyObject *indices;
  if (!PyArg_ParseTuple(arguments, "iipO!", &triton.place.kind, &triton.place.index, &cooperative, &PyTuple_Type,
                        &indices))
    return nullptr;
  triton.cooperative = cooperative != 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(indices); ++i) {
    Py_ssize_t before = i == 0 ? -1 : triton.kept.back(), index = PyLong_AsSsize_t(PyTuple_GetItem(indices, i));
    if (PyErr_Occurred())
      return nullptr;
    if (index <= before)
      return PyErr_Format(PyExc_ValueError, "the position %zd comes after %zd", index, before);
    triton.kept.push_back(index);
  }
  planOf(self).triton = std::move(triton);
  Py_RETURN_NONE;
}

PyObject *bindGpu(PyObject *self, PyObject *arguments) {
  Place place;
  unsigned long long rawStream, stream, kernel;
  if (!PyArg_ParseTuple(arguments, "iiKKK", &place.kind, &place.index, &rawStream, &stream, &kernel))
    return nullptr;
  planOf(self).bindGpu(place, rawStream, stream, kernel);
  Py_RETURN_NONE;
}

PyObject *bindHost(PyObject *self, PyObject *arguments) {
  PyObject *streams;
  unsigned long long kernel;
  if (!PyArg_ParseTuple(arguments, "OK", &streams, &kernel))
    return nullptr;
  planOf(self).bindHost(streams, kernel);
  Py_RETURN_NONE;
}

using StreamLaunch = Outcome (Plan::*)(uint64_t stream, uint64_t kernel, const Grid &grid, PyObject *given) const;

template <StreamLaunch launch>
PyObject *inStream(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  if (count != 4 || !PyTuple_Check(given[3]))
    return PyErr_Format(PyExc_TypeError, "stream, kernel, grid and a tuple are wanted");
  unsigned long long stream = PyLong_AsUnsignedLongLong(given[0]), kernel = PyLong_AsUnsignedLongLong(given[1]);
  if (PyErr_Occurred())
    return nullptr;
  Grid grid;
  return answerOf(grid.read(given[2]) ? (planOf(self).*launch)(stream, kernel, grid, given[3]) : Outcome::Left);
}

PyObject *onAddresses(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  if (count != 5 || !PyTuple_Check(given[4]))
    return PyErr_Format(PyExc_TypeError, "on_addresses takes stream, x, y, z and a tuple of arguments");
  unsigned long long rawStream = PyLong_AsUnsignedLongLong(given[0]);
  Grid grid;
  for (size_t i = 0; i < 3; ++i)
    grid.extents[i] = PyLong_AsLongLong(given[1 + i]);
  return PyErr_Occurred() ? nullptr : answerOf(planOf(self).onAddresses(rawStream, grid, given[4]));
}

PyCFunction methodOf(PyObject *(*function)(PyObject *, PyObject *const *, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef planMethods[] = {
    {"keep", keep, METH_VARARGS,
     "(kind, index, cooperative, indices): for launches by Triton, with the positions of the kernel's arguments."},
    {"bind_gpu", bindGpu, METH_VARARGS,
     "(kind, index, raw stream, stream, kernel): handles for launches of that place."},
    {"bind_host", bindHost, METH_VARARGS, "(thread-local object with `handle`, kernel)"},
    {"on_buffers", methodOf(inStream<&Plan::onBuffers>), METH_FASTCALL,
     "(stream, kernel, grid, arguments): whether it was launched"},
    {"on_values", methodOf(inStream<&Plan::onValues>), METH_FASTCALL,
     "(stream, kernel, grid, bits of the arguments): whether it was launched"},
    {"on_addresses", methodOf(onAddresses), METH_FASTCALL, "(raw stream, x, y, z, arguments): whether it was launched"},
    {}};

PyType_Slot planSlots[] = {{Py_tp_new, reinterpret_cast<void *>(makePlan)},
                           {Py_tp_dealloc, reinterpret_cast<void *>(freePlan)},
                           {Py_tp_methods, planMethods},
                           {Py_tp_doc, const_cast<char *>("How the arguments of one kernel are read.")},
                           {}};
PyType_Spec planSpec = {"heddle_launch.Plan", sizeof(PlanObject), 0, Py_TPFLAGS_DEFAULT, planSlots};

//===-- Launcher ------------------------------------------------------------------------------------------------===//

PyObject *makeLauncher(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *kernel, *grid;
  if (!PyArg_ParseTuple(arguments, "OO", &kernel, &grid))
    return nullptr;
  PyObject *plan = PyObject_GetAttr(kernel, planName);
  PyObject *self = plan ? allocate(type) : nullptr;
  if (!self) {
    Py_XDECREF(plan);
    return nullptr;
  }
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  launcher->extents = {};
  Py_INCREF(kernel);
  Py_INCREF(grid);
  launcher->kernel = kernel;
  launcher->grid = grid;
  bool isQuick = Py_TYPE(plan) == reinterpret_cast<PyTypeObject *>(planType) && launcher->extents.read(grid);
  launcher->plan = isQuick ? plan : nullptr;
  if (!isQuick)
    Py_DECREF(plan);
  return self;
}

void freeLauncher(PyObject *self) {
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  Py_XDECREF(launcher->kernel);
  Py_XDECREF(launcher->grid);
  Py_XDECREF(launcher->plan);
  freeObject(self);
}

PyObject *callLauncher(PyObject *self, PyObject *arguments, PyObject *named) {
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  if (launcher->plan && (!named || PyDict_Size(named) == 0)) {
    Outcome outcome = planOf(launcher->plan).onArrays(launcher->extents, arguments);
    if (outcome == Outcome::Launched)
      Py_RETURN_NONE;
    if (outcome == Outcome::Raised)
      return nullptr;
  }
  PyObject *general = PyObject_GetAttr(self, callName);
  PyObject *result = general ? PyObject_Call(general, arguments, named) : nullptr;
  Py_XDECREF(general);
  return result;
}

PyMemberDef launcherMembers[] = {{"kernel", T_OBJECT_EX, offsetof(LauncherObject, kernel), READONLY, nullptr},
                                 {"_grid", T_OBJECT_EX, offsetof(LauncherObject, grid), READONLY, nullptr},
                                 {}};

PyType_Slot launcherSlots[] = {{Py_tp_new, reinterpret_cast<void *>(makeLauncher)},
                               {Py_tp_dealloc, reinterpret_cast<void *>(freeLauncher)},
                               {Py_tp_call, reinterpret_cast<void *>(callLauncher)},
                               {Py_tp_members, launcherMembers},
                               {Py_tp_doc, const_cast<char *>("A kernel with a grid; `_call` is the general way.")},
                               {}};
PyType_Spec launcherSpec = {"heddle_launch.Launcher", sizeof(LauncherObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, launcherSlots};

//===-- The module ----------------------------------------------------------------------------------------------===//

PyObject *setUp(PyObject *, PyObject *arguments) {
  unsigned long long launch, synchronize;
  PyObject *fail, *bufferClass;
  if (!PyArg_ParseTuple(arguments, "KKOO!", &launch, &synchronize, &fail, &PyType_Type, &bufferClass))
    return nullptr;
  Py_INCREF(fail);
  Py_INCREF(bufferClass);
  interface = {reinterpret_cast<decltype(&heddle_launch)>(launch),
               reinterpret_cast<decltype(&heddle_stream_synchronize)>(synchronize), fail,
               reinterpret_cast<PyTypeObject *>(bufferClass)};
  Py_RETURN_NONE;
}

PyObject *useTensorClass(PyObject *, PyObject *arguments) {
  PyObject *tensorClass, *exchange;
  if (!PyArg_ParseTuple(arguments, "OO", &tensorClass, &exchange) || !useTensors(tensorClass, exchange))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *useBuffers(PyObject *, PyObject *bufferClass) {
  if (!useBufferClass(bufferClass))
    return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_up", setUp, METH_VARARGS, "(heddle_launch, heddle_stream_synchronize, function of a status, heddle.Buffer)"},
    {"use_tensors", useTensorClass, METH_VARARGS, "(class, its __dlpack_c_exchange_api__)"},
    {"use_buffers", useBuffers, METH_O, "A class of arrays with the buffer protocol."},
    {}};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "heddle_launch",
                      "Launches of Heddle's kernels.",
                      -1,
                      functions,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

} // namespace
} // namespace heddle::python

PyMODINIT_FUNC PyInit_heddle_launch() {
  using namespace heddle::python;
  callName = PyUnicode_InternFromString("_call");
  planName = PyUnicode_InternFromString("_plan");
  planType = PyType_FromSpec(&planSpec);
  PyObject *launcherType = PyType_FromSpec(&launcherSpec);
  PyObject *made = PyModule_Create(&module);
  if (!callName || !planName || !planType || !launcherType || !made || PyModule_AddIntConstant(made, "version", 1) ||
      PyModule_AddObjectRef(made, "Plan", planType) || PyModule_AddObjectRef(made, "Launcher", launcherType)) {
    Py_XDECREF(launcherType);
    Py_XDECREF(made);
    return nullptr;
  }
  Py_DECREF(launcherType);
  return made;
}
