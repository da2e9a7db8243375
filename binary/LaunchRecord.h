// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the threads of one launch on a GPU leave in device memory for the runtime: the lines of tt.print and the first
// failed tt.assert. The compiler emits code against these layouts and the runtime reads them; neither includes the
// other. `site` indexes `Package::sites`.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heddle {

/// Lines of tt.print that one launch keeps; those beyond are counted.
inline constexpr int64_t recordedLines = 4096;

/// At the start of the record. The runtime zeroes all of the record before the launch.
struct LaunchRecord {
  uint64_t failure; ///< 0, or the complement of the lowest key of a failed assertion: kernels take the maximum
  uint64_t bytes;   ///< of all pieces that were asked for, also those for which there was no room
  uint64_t lines;   ///< of all prints
  uint64_t unused;
};

/// One operand of a tt.print of one program, or a print without operands. Its elements follow, row-major in storage
/// form (i1 as bytes of 0 and 1, pointers as 8 bytes): the first `recordedLines` of them. Pieces follow each other at
/// multiples of 8 bytes; a program's pieces are in the order in which it printed.
struct PrintPiece {
  uint32_t sizeBytes; ///< with this header, a multiple of 8; 0 after the last piece
  int32_t site;
  int32_t operand; ///< -1 for a print without operands
  int32_t program[3];
};

/// Bytes of a piece with so many elements of so many bytes each.
constexpr int64_t printPieceBytes(int64_t elements, int64_t elementBytes) {
  int64_t kept = elements < recordedLines ? elements : recordedLines;
  return (int64_t(sizeof(PrintPiece)) + kept * elementBytes + 7) / 8 * 8;
}

/// What the pieces may take. Whatever is printed, the first `recordedLines` lines fit: each has 8 bytes and a header at
/// most, and before the last piece there are fewer.
inline constexpr int64_t recordedPieceBytes = recordedLines * printPieceBytes(1, 8) + printPieceBytes(recordedLines, 8);
inline constexpr int64_t launchRecordBytes = int64_t(sizeof(LaunchRecord)) + recordedPieceBytes;

/// The key of a failed assertion: the program's number (x first, then y, then z), the site, the element's row-major
/// index. The lowest is the first program that failed, at its assertion, and that one's first element. A launch has
/// fewer than 2^31 programs, so that 32 bits are left for their numbers, and a tile at most 2^20 elements.
inline constexpr int failureElementBits = 20, failureSiteBits = 12;
inline constexpr int64_t mostRecordedSites = int64_t(1) << failureSiteBits;

static_assert(sizeof(LaunchRecord) == 32 && offsetof(LaunchRecord, bytes) == 8 && offsetof(LaunchRecord, lines) == 16);
static_assert(sizeof(PrintPiece) == 24 && offsetof(PrintPiece, site) == 4 && offsetof(PrintPiece, operand) == 8 &&
              offsetof(PrintPiece, program) == 12);

} // namespace heddle
