// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The read-modify-write operations of global, buffer and LDS instructions, one list for all. Memory changes and the old
// value is taken in one event, lane after lane. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture.
#pragma once
#include "simulator/instructions/MemoryAccess.h"
#include <cmath>

namespace heddle::simulator {

/// Two halves of a word.
struct Halves {
  uint16_t low, high;
};

uint32_t addHalves(uint32_t a, uint32_t b);  ///< f16
uint32_t addBfloats(uint32_t a, uint32_t b); ///< bf16

/// Lane `lane`'s value of type T in the request's data, from word `first`.
template <typename T>
T requestValue(const MemoryRequest &request, unsigned first, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(request.data[first][lane] | uint64_t(request.data[first + 1][lane]) << 32);
  else
    return std::bit_cast<T>(request.data[first][lane]);
}

template <typename T>
void setRequestValue(MemoryRequest &request, unsigned lane, T value) {
  uint32_t words[sizeof(T) / 4];
  std::memcpy(words, &value, sizeof value);
  for (unsigned word = 0; word < sizeof(T) / 4; ++word)
    request.data[word][lane] = words[word];
}

[[noreturn]] void faultMisaligned(uint64_t address, unsigned size, unsigned lane);

/// Whether changing a lane's word would change bytes past the end of the allocation that it begins in.
template <Space space, typename T>
bool changesBehind(Wave &wave, uint64_t address, T old, T changed) {
  if constexpr (sizeof(T) == 4 && (space == Space::Global || space == Space::Flat))
    return (std::bit_cast<uint32_t>(old) ^ std::bit_cast<uint32_t>(changed)) & wave.memory->global.bitsBehind(address);
  return false;
}

/// Where lanes change global memory through the caches: a line is asked for once for lanes that follow each other.
class LineChanger {
public:
  LineChanger(Wave &wave, const MemoryRequest &request, unsigned size) : wave(wave), request(request), size(size) {}
  /// The aligned bytes of `lane`, until the next call.
  uint8_t *at(unsigned lane) {
    uint64_t address = request.address[lane];
    if (address / lineBytes != line || !covered.covers(ByteMask::of(unsigned(address % lineBytes), size)))
      begin(lane);
    return bytes + address % lineBytes;
  }

private:
  /// A lane whose access is at fault, or may be, is asked for by itself.
  void begin(unsigned lane) {
    uint64_t address = request.address[lane];
    line = ~uint64_t(0); // what is asked for may be at fault
    const Allocation *allocation = wave.memory->global.around(address, true);
    covered = {};
    for (uint64_t rest = request.inRange[0] >> lane << lane; rest && allocation; rest &= rest - 1) {
      uint64_t other = request.address[std::countr_zero(rest)];
      if (other / lineBytes != address / lineBytes || other % size || !allocation->allows(other, size, true))
        break;
      covered = covered | ByteMask::of(unsigned(other % lineBytes), size);
    }
    bytes = wave.memory->change(wave, request, address, size, covered) - address % lineBytes;
    line = address / lineBytes;
  }

  Wave &wave;
  const MemoryRequest &request;
  unsigned size;
  uint64_t line = ~uint64_t(0);
  ByteMask covered;         ///< of the line
  uint8_t *bytes = nullptr; ///< of the line
};

inline uint8_t *placeInLine(LineChanger &changer, unsigned lane) {
  try {
    return changer.at(lane);
  } catch (Fault &fault) {
    fault.lane = int(lane);
    throw;
  }
}

/// `operation(old, data)` is the new value; one of three parameters also gets the value to compare with, which lies in
/// the words after the data.
template <Space space, typename T, auto operation>
void sampleAtomic(Wave &wave, MemoryRequest &request) {
  forLanes(request.lanes & ~request.inRange[0], [&](unsigned lane) { setRequestValue(request, lane, T(0)); });
  LineChanger changer(wave, request, sizeof(T));
  bool usesLines = space == Space::Global && !wave.memory->isDirect() && !wave.memory->speculation();
  forLanes(request.inRange[0], [&](unsigned lane) {
    if (request.address[lane] % sizeof(T))
      faultMisaligned(request.address[lane], sizeof(T), lane);
    uint8_t *place = usesLines ? placeInLine(changer, lane) : placeToChange<space>(wave, request, lane, sizeof(T));
    T old, data = requestValue<T>(request, 0, lane), changed;
    std::memcpy(&old, place, sizeof old);
    if constexpr (requires { operation(old, data, data); })
      changed = operation(old, data, requestValue<T>(request, sizeof(T) / 4, lane));
    else
      changed = operation(old, data);
    if (changesBehind<space>(wave, request.address[lane], old, changed))
      bytesAt(wave, space, lane, request.address[lane], sizeof(T), true); // is the fault of any other write
    std::memcpy(place, &changed, sizeof changed);
    setRequestValue(request, lane, old);
  });
}

template <typename T>
T incrementBelow(T old, T limit) {
  return old >= limit ? 0 : old + 1;
}
template <typename T>
T decrementAbove(T old, T limit) {
  return old == 0 || old > limit ? limit : old - 1;
}
template <typename T>
T exchangeIfEqual(T old, T data, T compare) {
  return old == compare ? data : old;
}

/// Calls `add.template operator()<T, operation>(name)` for the integer operations of one width.
template <typename U, typename Add>
void forEachIntegerAtomic(Add add) {
  using I = std::make_signed_t<U>;
  add.template operator()<U, [](U, U data) { return data; }>("swap");
  add.template operator()<U, [](U old, U data) -> U { return old + data; }>("add");
  add.template operator()<U, [](U old, U data) -> U { return old - data; }>("sub");
  add.template operator()<I, [](I old, I data) { return data < old ? data : old; }>("smin");
  add.template operator()<U, [](U old, U data) { return data < old ? data : old; }>("umin");
  add.template operator()<I, [](I old, I data) { return data > old ? data : old; }>("smax");
  add.template operator()<U, [](U old, U data) { return data > old ? data : old; }>("umax");
  add.template operator()<U, [](U old, U data) -> U { return old & data; }>("and");
  add.template operator()<U, [](U old, U data) -> U { return old | data; }>("or");
  add.template operator()<U, [](U old, U data) -> U { return old ^ data; }>("xor");
  add.template operator()<U, incrementBelow<U>>("inc");
  add.template operator()<U, decrementAbove<U>>("dec");
}

/// And for the floating ones, by their names in global instructions.
template <typename Add>
void forEachFloatAtomic(Add add) {
  add.template operator()<float, [](float old, float data) { return old + data; }>("add_f32");
  add.template operator()<double, [](double old, double data) { return old + data; }>("add_f64");
  add.template operator()<double, [](double old, double data) { return std::fmin(old, data); }>("min_f64");
  add.template operator()<double, [](double old, double data) { return std::fmax(old, data); }>("max_f64");
  add.template operator()<uint32_t, addHalves>("pk_add_f16");
  add.template operator()<uint32_t, addBfloats>("pk_add_bf16");
}

} // namespace heddle::simulator
