// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of NVIDIA's encodings, `#ttg.nvidia_mma` and `#ttg.nvmma_shared`, and their rules.
#include "compiler/dialects/ttg/EncodingText.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

Attribute NvidiaMmaAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
  int64_t major = fields.number("versionMajor"), minor = fields.number("versionMinor");
  Numbers warps = fields.list("warpsPerCTA"), shape = fields.list("instrShape");
  fields.oneBlock("CGALayout");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<NvidiaMmaAttr>(at, parser.getContext(), major, minor, List(warps), List(shape));
}

void NvidiaMmaAttr::print(AsmPrinter &printer) const {
  printer << "<{versionMajor = " << getVersionMajor() << ", versionMinor = " << getVersionMinor() << ", warpsPerCTA = ";
  printNumbers(printer, getWarpsPerCTA());
  printer << ", instrShape = ";
  printNumbers(printer, getInstrShape());
  printer << "}>";
}

LogicalResult NvidiaMmaAttr::verify(EmitError emitError, int64_t major, int64_t, ArrayRef<int64_t> warps,
                                    ArrayRef<int64_t> shape) {
  // Rule N1: Hopper has mma.sync (version 2) and wgmma (version 3).
  if (major != 2 && major != 3)
    return emitError() << "`nvidia_mma` of version " << major << ": sm_90 has versions 2 (`mma.sync`) and 3 (`wgmma`)";
  if (failed(verifyPowers(emitError, "warpsPerCTA", warps)) || failed(verifyPowers(emitError, "instrShape", shape)))
    return failure();
  // Rule N2: the instruction is 16 x 8 with a number for each axis, or 16 x N x K, with four warps along the rows.
  bool isKnown = major == 2
                     ? warps.size() >= 2 && shape.size() == warps.size() && shape[shape.size() - 2] == 16 &&
                           shape.back() == 8 && llvm::all_of(shape.drop_back(2), [](int64_t n) { return n == 1; })
                     : warps.size() == 2 && shape.size() == 3 && shape[0] == 16 && shape[1] >= 8 && shape[1] <= 256 &&
                           warps[0] % 4 == 0;
  if (!isKnown)
    return emitError() << "`nvidia_mma` of version " << major << " with instrShape " << textOf(shape)
                       << " and warpsPerCTA " << textOf(warps) << ": "
                       << (major == 2 ? "it is [16, 8], with as many numbers as axes"
                                      : "it is [16, N, K], N from 8 to 256, with 4 warps or a multiple along M");
  return success();
}

Attribute NvmmaSharedAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
  int64_t swizzle = fields.number("swizzlingByteWidth"), bits = fields.number("elementBitWidth");
  bool transposed = fields.flag("transposed");
  bool padded = fields.has("fp4Padded") && fields.flag("fp4Padded");
  int64_t rank = fields.number("rank", 2);
  fields.oneBlock("CGALayout");
  if (!fields.done() || parser.parseGreater())
    return {};
  if (padded) {
    parser.emitError(at) << "`fp4Padded` is for Blackwell's matmuls with scales: sm_90 has none";
    return {};
  }
  return parser.getChecked<NvmmaSharedAttr>(at, parser.getContext(), swizzle, transposed, bits, rank);
}

void NvmmaSharedAttr::print(AsmPrinter &printer) const {
  printer << "<{swizzlingByteWidth = " << getSwizzlingByteWidth()
          << ", transposed = " << (getTransposed() ? "true" : "false")
          << ", elementBitWidth = " << getElementBitWidth();
  if (getRank() != 2)
    printer << ", rank = " << getRank();
  printer << "}>";
}

LogicalResult NvmmaSharedAttr::verify(EmitError emitError, int64_t swizzle, bool transposed, int64_t bits,
                                      int64_t rank) {
  // Rule N3: the swizzles that Hopper's instructions know, and elements of whole bytes.
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "`swizzlingByteWidth` is " << swizzle << ": it is 0, 32, 64 or 128";
  if (!llvm::is_contained({8, 16, 32, 64}, bits))
    return emitError() << "`elementBitWidth` is " << bits << ": it is 8, 16, 32 or 64";
  if (rank < 1 || rank > 5 || (rank == 1 && transposed))
    return emitError() << "`rank` is " << rank << (transposed ? " of a transposed layout" : "") << ": it is 1 to 5";
  return success();
}
