// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pointer arithmetic, loads, stores and atomics. Elements in row-major order, each access checked against the buffers.
#include "compiler/dialects/triton/Triton.h"
#include "support/Error.h"
#include "tests/reference/Atomics.h"
#include "tests/reference/BlockAccess.h"
#include "tests/reference/Program.h"

using namespace mlir;
using namespace heddle::reference;

static Type pointeeOf(Type pointer) {
  return cast<heddle::triton::PointerType>(getElementTypeOrSelf(pointer)).getPointeeType();
}

static Results addPointer(Program &, Operation *op, const Inputs &in) {
  uint64_t size = elementBytes(pointeeOf(in[0].type));
  return {buildTile(in[0].type, [&](int64_t i) { return in[0].bits[i] + uint64_t(signedAt(in[1], i)) * size; })};
}

static uint64_t readElement(Program &program, uint64_t address, Type type) {
  uint64_t bits = program.launch.memory.read(address, elementBytes(type));
  return elementWidth(type) == 1 ? bits != 0 : bits; // a bool is a byte that is not zero
}

static Results load(Program &program, Operation *op, const Inputs &in) {
  auto loadOp = cast<heddle::triton::LoadOp>(op);
  if (heddle::triton::isBlockPointer(in[0].type))
    return {loadBlock(program, in[0], loadOp.getBoundaryCheck(), loadOp.getPadding())};
  bool hasMask = bool(loadOp.getMask()), hasOther = bool(loadOp.getOther());
  Type type = op->getResult(0).getType();
  return {buildTile(type, [&](int64_t i) {
    if (!hasMask || in[1].bits[i])
      return readElement(program, in[0].bits[i], type);
    return hasOther ? in[2].bits[i] : program.undefinedBits(type);
  })};
}

static Results store(Program &program, Operation *op, const Inputs &in) {
  auto storeOp = cast<heddle::triton::StoreOp>(op);
  if (heddle::triton::isBlockPointer(in[0].type)) {
    storeBlock(program, in[0], in[1], storeOp.getBoundaryCheck());
    return {};
  }
  for (int64_t i = 0; i < in[1].size(); ++i)
    if (in.size() < 3 || in[2].bits[i])
      program.launch.memory.write(in[0].bits[i], elementBytes(in[1].type), in[1].bits[i]);
  return {};
}

static Results atomicUpdate(Program &program, Operation *op, const Inputs &in) {
  auto atomic = cast<heddle::triton::AtomicRMWOp>(op);
  Type element = in[1].elementType();
  return {buildTile(op->getResult(0).getType(), [&](int64_t i) {
    if (in.size() > 2 && !in[2].bits[i])
      return program.undefinedBits(element);
    uint64_t old = readElement(program, in[0].bits[i], element);
    uint64_t updated = update(atomic.getAtomicRmwOp(), element, old, in[1].bits[i]);
    program.launch.memory.write(in[0].bits[i], elementBytes(element), updated);
    return old;
  })};
}

static Results compareAndSwap(Program &program, Operation *op, const Inputs &in) {
  Type element = in[1].elementType();
  return {buildTile(op->getResult(0).getType(), [&](int64_t i) {
    uint64_t old = readElement(program, in[0].bits[i], element);
    if (old == in[1].bits[i])
      program.launch.memory.write(in[0].bits[i], elementBytes(element), in[2].bits[i]);
    return old;
  })};
}

static Results atomicLoad(Program &program, Operation *op, const Inputs &in) {
  Type type = op->getResult(0).getType();
  return {buildTile(type, [&](int64_t i) {
    bool isActive = in.size() < 2 || in[1].bits[i];
    return isActive ? readElement(program, in[0].bits[i], type) : program.undefinedBits(type);
  })};
}

static Results atomicStore(Program &program, Operation *, const Inputs &in) {
  for (int64_t i = 0; i < in[1].size(); ++i)
    if (in.size() < 3 || in[2].bits[i])
      program.launch.memory.write(in[0].bits[i], elementBytes(in[1].type), in[1].bits[i]);
  return {};
}

// No other program runs, so waiting cannot change the answer.
static Results poll(Program &program, Operation *op, const Inputs &in) {
  return {buildTile(op->getResult(0).getType(), [&](int64_t i) -> uint64_t {
    bool arrived = readElement(program, in[0].bits[i], in[1].type) == in[1].bits[i];
    if (!arrived && in.size() < 3)
      throw heddle::inputError("the program does not end: the awaited value does not come");
    return arrived;
  })};
}

void heddle::reference::addMemoryHandlers(HandlerTable &table) {
  table["tt.addptr"] = addPointer;
  table["tt.load"] = load;
  table["tt.store"] = store;
  table["tt.atomic_rmw"] = atomicUpdate;
  table["tt.atomic_cas"] = compareAndSwap;
  table["tt.atomic_load"] = atomicLoad;
  table["tt.atomic_store"] = atomicStore;
  table["tt.atomic_poll"] = poll;
}
