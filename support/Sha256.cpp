// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The constants are the first 32 bits of the fractional parts of roots of primes: computed, so that none is mistyped.
#include "support/Sha256.h"
#include <array>
#include <bit>
#include <cstdint>

namespace heddle {
namespace {

constexpr size_t blockBytes = 64;
using Words = std::array<uint32_t, 8>;

constexpr bool isPrime(uint32_t number) {
  for (uint32_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return false;
  return true;
}

/// Of the square root (`power` 2) or cube root (3) of `number`: floor(root * 2^32) modulo 2^32, by bisection.
constexpr uint32_t rootBits(uint32_t number, int power) {
  using Wide = unsigned __int128;
  uint64_t low = 0, high = uint64_t(20) << 32;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    // middle^2 < number * 2^64, or middle^3 < number * 2^96; the cube is compared by a quotient that fits 128 bits.
    bool below = power == 2 ? Wide(middle) * middle <= Wide(number) << 64
                            : Wide(middle) * middle <= ((Wide(number) << 96) / middle);
    (below ? low : high) = middle;
  }
  return uint32_t(low);
}

template <size_t count>
constexpr std::array<uint32_t, count> rootsOfPrimes(int power) {
  std::array<uint32_t, count> roots{};
  size_t found = 0;
  for (uint32_t number = 2; found < count; ++number)
    if (isPrime(number))
      roots[found++] = rootBits(number, power);
  return roots;
}

constexpr auto roundConstants = rootsOfPrimes<64>(3);
constexpr Words initialWords = rootsOfPrimes<8>(2);

void addBlock(Words &state, const unsigned char *block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 | uint32_t(block[4 * i + 2]) << 8 |
           block[4 * i + 3];
  for (size_t i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const Words sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < sum.size(); ++i)
    state[i] += sum[i];
}

} // namespace

std::string sha256(std::string_view bytes) {
  std::string padded(bytes);
  padded += char(0x80);
  padded.resize((padded.size() + 8 + blockBytes - 1) / blockBytes * blockBytes - 8);
  for (int shift = 56; shift >= 0; shift -= 8)
    padded += char(uint64_t(bytes.size()) * 8 >> shift);
  Words state = initialWords;
  for (size_t at = 0; at < padded.size(); at += blockBytes)
    addBlock(state, reinterpret_cast<const unsigned char *>(padded.data()) + at);
  std::string digest;
  for (uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8)
      digest += char(word >> shift);
  return digest;
}

std::string hmacSha256(std::string_view key, std::string_view bytes) {
  std::string block = key.size() > blockBytes ? sha256(key) : std::string(key);
  block.resize(blockBytes);
  std::string inner = block, outer = block;
  for (size_t i = 0; i < blockBytes; ++i) {
    inner[i] = char(inner[i] ^ 0x36);
    outer[i] = char(outer[i] ^ 0x5c);
  }
  return sha256(outer + sha256(inner + std::string(bytes)));
}

bool equalInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  int different = 0;
  for (size_t i = 0; i < a.size(); ++i)
    different |= a[i] ^ b[i];
  return different == 0;
}

} // namespace heddle
