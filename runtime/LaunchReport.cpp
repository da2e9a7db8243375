// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels may write anywhere, so a record is believed only as far as it makes sense.
#include "runtime/LaunchReport.h"
#include "runtime/Print.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <tuple>

namespace heddle {

static_assert(printLineLimit == recordedLines);

const PackageSite &siteOf(const Package &package, int32_t site) {
  static const PackageSite unknown;
  return site >= 0 && size_t(site) < package.sites.size() ? package.sites[size_t(site)] : unknown;
}

std::string placeText(const Package &package, int32_t site) {
  const PackageSite &place = siteOf(package, site);
  return place.file.empty() ? fmt::format("kernel `{}`: ", package.kernel)
                            : fmt::format("{}:{}:{}: ", place.file, place.line, place.column);
}

std::string programNote(const std::array<int32_t, 3> &program) {
  return fmt::format("in program instance ({}, {}, {})", program[0], program[1], program[2]);
}

Error assertionError(const Package &package, int32_t site, const std::array<int32_t, 3> &program, int64_t element) {
  return inputError(fmt::format("{}assertion failed: {}", placeText(package, site), siteOf(package, site).message),
                    {fmt::format("{}, element {}", programNote(program), element)});
}

namespace {

struct Piece {
  PrintPiece header;
  const char *elements;
};

/// Whether the piece has the elements that its site says, as far as they are kept.
bool holdsItsElements(const Package &package, const PrintPiece &piece) {
  const PackageSite &site = siteOf(package, piece.site);
  int64_t lines = countPrintLines(site, piece.operand, &piece), bytes = printedElementBytes(site, piece.operand);
  return piece.sizeBytes >= printPieceBytes(lines, bytes);
}

/// In the order of the programs, and for each in the order in which it printed.
std::vector<Piece> piecesOf(const Package &package, const char *first, int64_t sizeBytes) {
  std::vector<Piece> pieces;
  for (int64_t at = 0; at + int64_t(sizeof(PrintPiece)) <= sizeBytes;) {
    Piece piece;
    std::memcpy(&piece.header, first + at, sizeof piece.header);
    piece.elements = first + at + sizeof piece.header;
    int64_t size = piece.header.sizeBytes;
    if (size < int64_t(sizeof(PrintPiece)) || size % 8 != 0 || at + size > sizeBytes ||
        !holdsItsElements(package, piece.header))
      break; // a piece that found no room
    pieces.push_back(piece);
    at += size;
  }
  auto numberOf = [](const Piece &piece) {
    const int32_t (&id)[3] = piece.header.program;
    return std::tuple(id[2], id[1], id[0], piece.elements);
  };
  std::sort(pieces.begin(), pieces.end(), [&](const Piece &a, const Piece &b) { return numberOf(a) < numberOf(b); });
  return pieces;
}

} // namespace

void reportLaunch(const Package &package, const std::array<int64_t, 3> &grid, const void *data) {
  LaunchRecord record;
  std::memcpy(&record, data, sizeof record);
  int64_t left = printLineLimit;
  auto emit = [&](const std::string &line) {
    emitPrintLine(line);
    return --left > 0;
  };
  auto used = int64_t(std::min(record.bytes, uint64_t(recordedPieceBytes)));
  for (const Piece &piece : piecesOf(package, static_cast<const char *>(data) + sizeof record, used)) {
    if (left <= 0)
      break;
    const auto &id = piece.header.program;
    formatPrint(siteOf(package, piece.header.site), piece.header.operand, piece.elements, {id[0], id[1], id[2]}, emit);
  }
  if (uint64_t printed = uint64_t(printLineLimit - left); record.lines > printed)
    emitPrintLine(droppedLinesText(package.kernel, int64_t(record.lines - printed)));
  if (record.failure == 0)
    return;
  uint64_t key = ~record.failure;
  auto element = int64_t(key & ((uint64_t(1) << failureElementBits) - 1));
  auto site = int32_t(key >> failureElementBits & uint64_t(mostRecordedSites - 1));
  auto program = int64_t(key >> (failureElementBits + failureSiteBits));
  throw assertionError(
      package, site,
      {int32_t(program % grid[0]), int32_t(program / grid[0] % grid[1]), int32_t(program / grid[0] / grid[1])},
      element);
}

} // namespace heddle
