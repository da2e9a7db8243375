// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npy files (formats 1.0, 2.0 and 3.0, as numpy.lib.format states them): how buffers enter and leave.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// An array in memory: little endian, row-major (C order), without padding.
struct NpyArray {
  std::string dtype; ///< `<f4`, `|b1`, ...: b1, i1-i8, u1-u8, f2, f4, f8
  std::vector<int64_t> shape;
  std::string bytes;
};

/// Big-endian data is swapped and Fortran order turned into C order. Throws Error{Input} naming `name` and what is
/// wrong: no .npy file, newer version, malformed header, structured or object or other unsupported dtype, a shape too
/// large, truncated or trailing bytes (both sizes).
NpyArray parseNpy(const std::string &bytes, const std::string &name);
NpyArray readNpy(const std::string &path); ///< also Error{Environment} for an unreadable file

/// Format 1.0, or 2.0 when the header needs it, data aligned to 64 bytes. Throws Error{Internal} when the array's
/// bytes do not agree with dtype and shape.
std::string serializeNpy(const NpyArray &array);
void writeNpy(const std::string &path,
              const NpyArray &array); ///< atomically; Error{Environment} as writeFileAtomically

/// Bytes of one element of a supported dtype, else 0.
int64_t npyElementSizeBytes(const std::string &dtype);

} // namespace heddle
