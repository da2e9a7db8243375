// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A decoded kernel: a flat array of operations on scalar registers of 32 lanes. Vectors and aggregates have one
// register a scalar, calls are inlined, and each operation points at the function that executes it.
#pragma once
#include "tests/thread_interpreter/ThreadInterpreter.h"
#include <array>
#include <map>
#include <string>

namespace heddle::threads {

struct Warp;
struct Op;

/// What the warp does after an operation.
enum class Flow : uint8_t {
  Next,   ///< go on after it
  Jumped, ///< go on at Warp::pc
  Switch, ///< the lanes' own program counters are up to date; choose a group of lanes again
  Yield,  ///< go on after it, after the other warps' turn
};
using Handler = Flow (*)(Warp &, const Op &);

/// What an access of device memory, or a fence, orders, and among whom. Plain accesses are the compiler's own.
enum class Order : uint8_t { Plain, Relaxed, Acquire, Release, AcquireRelease };
enum class Scope : uint8_t { Block, Device, System };
/// What an operation does to memory.
enum class Access : uint8_t { None = 0, Read = 1, Write = 2, Update = 3 };

/// Registers hold a value's bits, zero above its width.
struct Op {
  Handler run = nullptr;
  const uint32_t *in = nullptr;  ///< registers of operands
  const uint32_t *out = nullptr; ///< registers of results; never among the operands, except in copies
  uint16_t ins = 0, outs = 0;
  uint8_t width = 0;       ///< bits of the integer operand
  uint8_t space = 0;       ///< address space
  uint8_t elementSize = 0; ///< bytes in memory
  bool atomic = false;
  Order order = Order::Plain;
  Scope scope = Scope::System;
  Access access = Access::None; ///< of inline assembly
  uint32_t alignment = 1;
  uint32_t source = 0; ///< index for Program::describe
  uint64_t mask = 0;   ///< of the result's width
  int64_t immediate = 0;
  int64_t second = 0;
};

/// The class of a scalar; a table has one function for each.
enum class Scalar : uint8_t { Integer, F16, BF16, F32, F64 };

/// A row of a family's table: an operation or intrinsic of LLVM and who executes it for each class of scalar.
struct Entry {
  std::string_view name;
  std::array<Handler, 5> handlers;
};
inline Entry forAll(std::string_view name, Handler handler) {
  return {name, {handler, handler, handler, handler, handler}};
}
inline Entry forIntegers(std::string_view name, Handler handler) {
  return {name, {handler}};
}

// The families. Those of the first group work element by element; the others take all scalars of their operands at
// once.
std::span<const Entry> integerTable();
std::span<const Entry> floatTable();
std::span<const Entry> conversionTable();
std::span<const Entry> approximationTable();

std::span<const Entry> packedConversionTable();
std::span<const Entry> controlTable();
std::span<const Entry> memoryTable();
std::span<const Entry> atomicTable();
std::span<const Entry> warpTable();
std::span<const Entry> barrierTable();
std::span<const Entry> arrivalBarrierTable();
std::span<const Entry> registerTable();
std::span<const Entry> asyncCopyTable();
std::span<const Entry> bulkCopyTable();
/// Matrix instructions are named by their shape and types; null for an unknown one.
Handler findMatrixOp(std::string_view name);
/// wgmma and its waits, by the normalised text of its inline assembly; null for an unknown one.
Handler findGroupMatrixOp(std::string_view text);
Flow closeProductGroup(Warp &warp, const Op &op);
/// One space for each run of white space, none at the ends.
std::string normaliseAssembly(std::string_view text);
/// The inline assembly that needs no define(), by its normalised text.
const std::map<std::string, LaneFunction> &standardAssembly();

struct SwitchTable {
  std::vector<std::pair<uint64_t, uint32_t>> cases;
  uint32_t otherwise;
};

struct Program {
  std::vector<Op> ops;
  std::vector<uint32_t> operands; ///< what Op::in and Op::out point into
  std::vector<SwitchTable> switches;
  std::vector<LaneFunction> functions;
  std::vector<std::pair<uint32_t, uint64_t>> constants;    ///< register, value
  std::vector<uint32_t> parameters;                        ///< the registers of the kernel's parameters
  std::vector<uint32_t> barriers;                          ///< ops that are barriers, in the order of the text
  std::vector<std::unique_ptr<uint8_t[]>> globals;         ///< module globals in device memory
  std::vector<std::pair<uint64_t, uint64_t>> globalRanges; ///< begin, size
  uint32_t tensorMaps = 0;                                 ///< the last parameters
  uint32_t registers = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0; ///< of a thread
  std::function<std::string(const Op &)> describe;
  mutable std::vector<uint32_t> sites; ///< of each op: its number in DeviceOrder, from 1; empty before the first
};

} // namespace heddle::threads
