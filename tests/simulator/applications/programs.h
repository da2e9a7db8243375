// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of one work-item, in what OpenCL C and C++ have in common: loops and branches that each lane takes its own
// way through, calls, arrays in scratch, tables, 64-bit and floating-point arithmetic. The host's compiler makes the
// expected results of the same text.
#ifdef __OPENCL_C_VERSION__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef int i32;
typedef long i64;
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
typedef half f16;
#define TABLE static __constant const
#else
#include <cstdint>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
typedef _Float16 f16;
#define TABLE static const
#endif
#define CALLED static __attribute__((noinline))

static inline u32 next(u32 *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8 ^ *state;
}

TABLE u32 roundConstants[16] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
                                0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
                                0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};
static inline u32 rotate(u32 x, u32 by) {
  return x >> by | x << (32 - by);
}

// The first rounds of SHA-256.
static u32 mixing(u32 seed) {
  u32 words[16], s[8];
  for (int i = 0; i < 16; ++i)
    words[i] = next(&seed);
  for (int i = 0; i < 8; ++i)
    s[i] = roundConstants[i + 8];
  for (int i = 0; i < 16; ++i) {
    u32 sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25), choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    u32 first = s[7] + sum1 + choice + roundConstants[i] + words[i];
    u32 sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    u32 second = sum0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; --j)
      s[j] = s[j - 1];
    s[4] += first;
    s[0] = first + second;
  }
  return s[0] ^ s[3] ^ s[7];
}

CALLED void siftDown(u32 *heap, int root, int size) {
  for (int child; (child = 2 * root + 1) < size; root = child) {
    if (child + 1 < size && heap[child] < heap[child + 1])
      ++child;
    if (heap[root] >= heap[child])
      return;
    u32 other = heap[root];
    heap[root] = heap[child];
    heap[child] = other;
  }
}

// A heap sort in scratch, of as many numbers as the seed says.
static u32 sorting(u32 seed) {
  u32 heap[24];
  int size = 3 + (int)(next(&seed) % 21);
  for (int i = 0; i < size; ++i)
    heap[i] = next(&seed) % 1000;
  for (int i = size / 2; i-- > 0;)
    siftDown(heap, i, size);
  for (int left = size; left > 1;) {
    u32 most = heap[0];
    heap[0] = heap[--left];
    heap[left] = most;
    siftDown(heap, 0, left);
  }
  u32 sum = 0;
  for (int i = 0; i < size; ++i)
    sum = sum * 31 + heap[i];
  return sum;
}

// Powers modulo a number of 32 bits, and divisions of all kinds.
static u32 dividing(u32 seed) {
  u64 modulus = next(&seed) | 1, base = next(&seed), result = 1;
  for (u32 exponent = next(&seed); exponent; exponent >>= 1) {
    if (exponent & 1)
      result = result * base % modulus;
    base = base * base % modulus;
  }
  i32 a = (i32)next(&seed), b = (i32)(next(&seed) % 1000) - 500;
  i64 wide = (i64)((u64)next(&seed) << 32 | next(&seed));
  if (b == 0 || b == -1)
    b = 7;
  return (u32)result + (u32)(a / b) * 3 + (u32)(a % b) * 5 + (u32)(wide / b) * 7 + (u32)(wide % b) * 11;
}

// Euclid's algorithm: lanes leave the loop one by one.
static u32 dividers(u32 seed) {
  u32 steps = 0, sum = 0;
  for (int round = 0; round < 4; ++round) {
    u32 a = next(&seed) % 100000, b = next(&seed) % 100000;
    while (b) {
      u32 rest = a % b;
      a = b;
      b = rest;
      if (++steps == 61)
        break;
    }
    sum = sum * 17 + a;
    if (sum & 1)
      continue;
    sum += steps;
  }
  return sum;
}

// Decimal digits there and back, byte by byte.
static u32 digits(u32 seed) {
  char text[24];
  u64 value = (u64)next(&seed) << (next(&seed) % 33), back = 0;
  value = value * next(&seed) + next(&seed);
  int length = 0;
  do {
    text[length++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  for (int i = 0; i < length / 2; ++i) {
    char other = text[i];
    text[i] = text[length - 1 - i];
    text[length - 1 - i] = other;
  }
  for (int i = 0; i < length; ++i)
    back = back * 10 + (u64)(text[i] - '0');
  return (u32)(back ^ back >> 32) + (u32)length;
}

static u32 choosing(u32 seed) {
  u32 x = next(&seed), sum = 0;
  for (int i = 0; i < 12; ++i) {
    switch (x & 15) {
    case 0:
      sum += (u32)__builtin_popcount(x);
      break;
    case 1:
      sum ^= (u32)__builtin_clz(x | 1);
      break;
    case 2:
      sum += (u32)__builtin_ctz(x | 0x80000000);
      // and also:
    case 3:
      sum = rotate(sum, 7);
      break;
    case 5:
      sum -= (u32)((i32)x >> 5);
      break;
    case 6:
      sum += (u32)(((u64)x * x) >> 32);
      break;
    case 9:
      sum = (u32)((u8)x * (i32)(signed char)(x >> 8)) + sum;
      break;
    case 12:
      sum = sum > x ? sum - x : x - sum;
      break;
    default:
      sum = sum * 3 + 1;
    }
    x = x >> 1 | x << 31;
  }
  return sum;
}

// How long a point stays, in f32, and a chaotic sequence in f64.
static u32 floating(u32 seed) {
  float x = (float)(next(&seed) % 4096) / 1024.0f - 2.5f, y = (float)(next(&seed) % 4096) / 2048.0f - 1.0f;
  float re = 0, im = 0;
  u32 steps = 0;
  while (re * re + im * im < 4.0f && steps < 60) {
    float newRe = re * re - im * im + x;
    im = 2.0f * re * im + y;
    re = newRe;
    ++steps;
  }
  double value = (double)(next(&seed) % 1000 + 1) / 1001.0;
  for (int i = 0; i < 10; ++i)
    value = 3.75 * value * (1.0 - value);
  float root = __builtin_sqrtf((float)next(&seed)) / (1.0f + (float)steps);
  f16 little = (f16)(root * 0.001f);
  little = (f16)(little * little);
  little = (f16)(little + (f16)0.25f);
  return steps + (u32)(value * 1e9) * 3 + (u32)root * 5 + (u32)(i32)((float)little * 4096.0f) * 7;
}

CALLED u32 twice(u32 x) {
  return 2 * x + 1;
}
CALLED u32 squared(u32 x) {
  return x * x ^ 0x55;
}
CALLED u32 mixed(u32 x) {
  return rotate(x, 9) + mixing(x) % 7;
}

// Lanes call different functions by address.
static u32 calling(u32 seed) {
  u32 x = next(&seed);
  for (int i = 0; i < 5; ++i) {
    u32 (*function)(u32) = x % 3 == 0 ? twice : x % 3 == 1 ? squared : mixed;
    x = function(x) + (u32)i;
  }
  return x;
}

#ifndef __OPENCL_C_VERSION__              // whose functions do not call themselves
CALLED u32 paths(u32 rows, u32 columns) { // of a grid
  if (rows == 0 || columns == 0)
    return 1;
  return paths(rows - 1, columns) + paths(rows, columns - 1);
}
static u32 recursing(u32 seed) {
  u32 rows = next(&seed) % 5;
  return paths(rows, next(&seed) % 5);
}
#endif

enum { PROGRAMS_OF_OPENCL = 8, PROGRAMS = 9 };
static u32 runProgram(u32 program, u32 seed) {
  switch (program) {
  case 0:
    return mixing(seed);
  case 1:
    return sorting(seed);
  case 2:
    return dividing(seed);
  case 3:
    return dividers(seed);
  case 4:
    return digits(seed);
  case 5:
    return choosing(seed);
  case 6:
    return floating(seed);
#ifndef __OPENCL_C_VERSION__
  case 8:
    return recursing(seed);
#endif
  default:
    return calling(seed);
  }
}
