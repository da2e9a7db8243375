// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of a plan: tile code with the operations of the `peer` dialect, the same for every rank.
#pragma once
#include "collectives/Plan.h"
#include "frontend/tile/TileWriter.h"
#include <functional>

namespace heddle {

/// Where a collective's input comes from and where its output goes. The plain form is two buffers; fused element-wise
/// code before and after a collective is another.
class CollectiveOperands {
public:
  virtual ~CollectiveOperands() = default;
  /// The kernel's arguments after those of the protocol.
  virtual std::vector<tile::TileWriter::Argument> arguments(tile::TileWriter &writer) const = 0;
  /// The elements of the input [outer][parts][inner] at `index` (tile of i64), as the storage type; zeros where `mask`
  /// is false; without a mask all are there. `arguments` are the values of arguments(). `first` as in output().
  virtual mlir::Value input(tile::TileWriter &writer, mlir::ValueRange arguments, mlir::Value index, mlir::Value mask,
                            mlir::Value first) const = 0;
  /// Whether a tile of the input is computed at length: then each is sent before the next one is computed.
  virtual bool hasCostlyInput() const { return false; }
  /// In a plan of rows the tile is one row (Plan::rowElements) or, where `mask` is false throughout, none; `first` is
  /// the index of its first element, an i64.
  virtual void output(tile::TileWriter &writer, mlir::ValueRange arguments, mlir::Value index, mlir::Value mask,
                      mlir::Value tile, mlir::Value first) const = 0;
  /// Writes of output() what can be done before the tile is there, loads above all; the function that is returned
  /// writes the rest, further on in the same code.
  using RestOfOutput = std::function<void(mlir::Value tile)>;
  virtual RestOfOutput beginOutput(tile::TileWriter &writer, mlir::ValueRange arguments, mlir::Value index,
                                   mlir::Value mask, mlir::Value first) const {
    return [=, this, &writer](mlir::Value tile) { output(writer, arguments, index, mask, tile, first); };
  }
  /// What a block does when it has put out all its tiles; a plan of one block puts out all there are.
  virtual void finish(tile::TileWriter &writer, mlir::ValueRange arguments) const {}
  /// Above 0: an all-gather whose result is not stored but computed with, in so many pieces of work for the input of
  /// each rank. Each reads that input from its beginning on, wherever it lies.
  virtual int64_t piecesOfInput() const { return 0; }
  /// The last element of a rank's input that a piece (i64) reads, an i64.
  virtual mlir::Value lastOfPiece(tile::TileWriter &writer, mlir::Value piece) const { return {}; }
  /// Does a piece of the input of `rank` (i64s), which lies at `input`, a multiple of 16. The first argument points to
  /// this rank's own input.
  virtual void writePiece(tile::TileWriter &writer, mlir::ValueRange arguments, mlir::Value rank, mlir::Value piece,
                          mlir::Value input) const {}
  /// Whether the arguments are two pointers, and another rank's code may use them in place of its own.
  virtual bool arePlainBuffers() const { return false; }
};

/// Two buffers: `input` and `output`.
class BufferOperands : public CollectiveOperands {
public:
  explicit BufferOperands(ElementType type, bool streams = false) : type(type), streams(streams) {}
  std::vector<tile::TileWriter::Argument> arguments(tile::TileWriter &writer) const override;
  mlir::Value input(tile::TileWriter &writer, mlir::ValueRange arguments, mlir::Value index, mlir::Value mask,
                    mlir::Value first) const override;
  void output(tile::TileWriter &writer, mlir::ValueRange arguments, mlir::Value index, mlir::Value mask,
              mlir::Value tile, mlir::Value first) const override;
  bool arePlainBuffers() const override { return true; }

private:
  ElementType type;
  bool streams; ///< Plan::streams
};

/// Arguments of the protocol: `group` (CollectiveGroups, binary/PeerAbi.h) and `arena` (this rank's, Plan::arena);
/// `staging_group` and `staging`, the same for the staging memory, whose addresses stand where a PeerGroup has those of
/// arenas; `rank` (i64, that of the PeerGroup: known before any memory is read), `tag` (i64, goes into the error
/// record), `outer` and `inner` (i64, Collective's sizes); then those of `operands`. One kernel serves all plans of one
/// kernelKey. Launch it cooperatively with a grid of Plan::blocks.
inline constexpr int protocolArguments = 8;
mlir::OwningOpRef<mlir::ModuleOp> writeKernel(mlir::MLIRContext &context, const Plan &plan,
                                              const CollectiveOperands &operands);

/// Loads what writeKernel needs.
void loadCollectiveDialects(mlir::MLIRContext &context);

} // namespace heddle
