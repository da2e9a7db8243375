// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of arguments: a file, a zeroed or random buffer, a table of addresses, or a scalar. Random
// contents are a fixed function of type, shape and seed, so that a result can be compared between machines.
#pragma once
#include "support/ElementType.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

struct BufferSpec {
  enum class Kind {
    File,     ///< `@file.npy`
    Zeros,    ///< `f32[64,128]`; `f32[]` is one element
    Random,   ///< `rand:bf16[64,128]:7`; without `:SEED` the seed is 0
    Pointers, ///< `ptrs:A,B`: an i64 buffer of the addresses of the buffers A and B
    Scalar,   ///< a number of the argument's type
  };
  Kind kind = Kind::Scalar;
  std::string text;                    ///< as given
  std::string path;                    ///< File
  ElementType type = ElementType::F32; ///< Zeros, Random; I64 for Pointers
  std::vector<int64_t> shape;          ///< Zeros, Random; for Pointers the number of names
  uint64_t seed = 0;                   ///< Random
  std::vector<std::string> names;      ///< Pointers

  int64_t elementCount() const; ///< product of the shape
  int64_t sizeBytes() const;
};

/// Throws Error{Input} naming the text, what is wrong, and the forms of a value. A scalar's range is not checked here:
/// parseScalar does that once its type is known.
BufferSpec parseBufferSpec(const std::string &text);

/// Parses `f32[64,128]` alone. Throws Error{Input}; also when the size in bytes exceeds 2^63-1.
BufferSpec parseBufferShape(const std::string &text);

/// The product of the dimensions, or Error{Input} naming the shape when it exceeds 2^63-1 or a dimension is negative.
int64_t countElements(const std::vector<int64_t> &shape);

/// `[64,128]`
std::string formatShape(const std::vector<int64_t> &shape);

/// The bytes of a Zeros or Random buffer; any other kind is Error{Internal}, too little memory Error{Environment}.
/// Element i of a random buffer comes from the i-th output z (from 0) of SplitMix64 started with the seed: for a
/// floating type (z >> 11) * 2^-52 - 1 rounded to nearest even, and 1 - ulp where that would be 1; for an integer
/// z >> 56 shifted into [-128, 127], for an unsigned one in [0, 255]; for i1 z >> 63.
std::string materialize(const BufferSpec &spec);

} // namespace heddle
