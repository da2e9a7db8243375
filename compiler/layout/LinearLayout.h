// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linear layouts: which element of a tile a place of the hardware holds, as a linear map of bits over F2. One class for
// every register and shared-memory layout; constructors of the named ones are in Encodings.h. Mathematics only: no IR.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::layout {

/// The names of inputs and outputs. Places of the hardware are Register, Lane, Warp, Block (minor to major), or Offset
/// (in elements) in shared memory; coordinates of a tile are Dim0, Dim1, ...
enum class Dim : uint8_t {
  Register,
  Lane,
  Warp,
  Block,
  Offset,
  Dim0,
  Dim1,
  Dim2,
  Dim3,
  Dim4,
  Dim5,
  Dim6,
  Dim7,
  Dim8,
  Dim9,
  Dim10,
  Dim11,
  Dim12,
  Dim13,
  Dim14,
  Dim15,
  Dim16,
  Dim17,
  Dim18,
  Dim19,
  Dim20,
  Dim21,
  Dim22,
  Dim23
};

/// A tile has at most as many dimensions (rule T7): 20 for the bits of the largest tile, as `tl.sort` makes them, and
/// some of 1.
inline constexpr int maxTileRank = 24;

/// Dim0 + axis; `axis` is from 0 to maxTileRank - 1.
Dim tileDim(int axis);
const char *dimName(Dim dim); ///< `register`, `lane`, ..., `dim0`

/// A place or an index: a coordinate for each dimension.
using Coordinates = std::vector<std::pair<Dim, int64_t>>;

/// L(a xor b) = L(a) xor L(b). Given by its bases: for each bit of each input dimension what that bit adds to each
/// output dimension. Input and output dimensions have an order, minor to major, that matters for reshaping only. Sizes
/// are powers of two, and each side has at most 63 bits. Values: a copy shares the bases, and comparison is by value.
/// What breaks a precondition (sizes that are no powers of two, dimensions that a layout does not have) is a fault of
/// ours: an Error of class Internal.
class LinearLayout {
public:
  struct Input {
    Dim dim;
    /// bases[bit][k]: what this bit adds to the k-th output dimension.
    std::vector<std::vector<int64_t>> bases;
    bool operator==(const Input &) const = default;
  };
  struct Output {
    Dim dim;
    int64_t size;
    bool operator==(const Output &) const = default;
  };

  LinearLayout(); ///< no inputs, no outputs: the unit of the product
  LinearLayout(std::vector<Input> inputs, std::vector<Output> outputs);

  static LinearLayout identity1D(int64_t size, Dim in, Dim out);                   ///< x -> x
  static LinearLayout strided1D(int64_t size, int64_t stride, Dim in, Dim out);    ///< x -> x * stride
  static LinearLayout zeros1D(int64_t size, Dim in, Dim out, int64_t outSize = 1); ///< x -> 0

  /// The references hold while a copy of this layout lives.
  const std::vector<Input> &inputs() const;
  const std::vector<Output> &outputs() const;
  bool hasInput(Dim dim) const;
  bool hasOutput(Dim dim) const;
  int inputBits(Dim dim) const;      ///< 0 for a dimension that it does not have
  int64_t inputSize(Dim dim) const;  ///< 1 for a dimension that it does not have
  int64_t outputSize(Dim dim) const; ///< 1 for a dimension that it does not have
  int totalInputBits() const;
  int totalOutputBits() const;
  int64_t basis(Dim in, int bit, Dim out) const;

  /// Missing coordinates count as 0. The result is in the order of outputs().
  std::vector<int64_t> apply(const Coordinates &place) const;
  /// As one number: the outputs side by side, the first in the low bits.
  int64_t applyFlat(const Coordinates &place) const;

  bool isSurjective() const;
  bool isInjective() const;
  bool isInvertible() const { return isSurjective() && isInjective(); }

  /// Direct sum: bits of `other` come after those of this layout in a shared input, and its outputs are shifted above
  /// those of this layout in a shared output.
  LinearLayout operator*(const LinearLayout &other) const;
  LinearLayout &operator*=(const LinearLayout &other) { return *this = *this * other; }

  LinearLayout transposeInputs(const std::vector<Dim> &order) const;
  LinearLayout transposeOutputs(const std::vector<Dim> &order) const;
  LinearLayout reshapeInputs(const std::vector<std::pair<Dim, int64_t>> &sizes) const; ///< total size stays
  LinearLayout reshapeOutputs(const std::vector<Output> &sizes) const;                 ///< total size stays
  LinearLayout flattenInputs(Dim name) const { return reshapeInputs({{name, int64_t(1) << totalInputBits()}}); }
  LinearLayout flattenOutputs(Dim name) const { return reshapeOutputs({{name, int64_t(1) << totalOutputBits()}}); }
  LinearLayout renameInput(Dim from, Dim to) const;
  LinearLayout renameOutput(Dim from, Dim to) const;
  /// Only these dimensions: other inputs are 0, other outputs are dropped. Sizes stay.
  LinearLayout sublayout(const std::vector<Dim> &inputs, const std::vector<Dim> &outputs) const;
  bool sublayoutIsZero(const std::vector<Dim> &inputs, const std::vector<Dim> &outputs) const;
  LinearLayout removeZeroBases(Dim in) const;
  /// Without these bits of an input; `bits` is a mask. What the others do stays.
  LinearLayout removeInputBits(Dim in, uint64_t bits) const;

  /// `outer` after this layout. The outputs of this layout are the inputs of `outer`, of at most its sizes.
  LinearLayout compose(const LinearLayout &outer) const;
  /// B with this(B(y)) = y for all y, the smallest solution. This layout is surjective.
  LinearLayout pseudoinvert() const;
  /// C with this(x) = other(C(x)) for all x. `other` reaches everything that this layout reaches. Free bits of the
  /// solution are 0, so that copies collapse onto one; but an input dimension on which both layouts agree maps to
  /// itself.
  LinearLayout invertAndCompose(const LinearLayout &other) const;

  /// C with this = left * C, or this = C * right; nothing when there is none. C keeps the dimensions of this layout.
  std::optional<LinearLayout> divideLeft(const LinearLayout &left) const { return divide(left, true); }
  std::optional<LinearLayout> divideRight(const LinearLayout &right) const { return divide(right, false); }

  /// The identity on these dimensions (equal input and output sizes), and nothing crosses between them and the others.
  bool isIdentityOver(const std::vector<Dim> &dims) const;
  /// Input bits that change nothing given the bits below them: copies of one element differ in them. A mask for `in`.
  /// Pivots are taken from the low bits of the first input first.
  uint64_t freeBits(Dim in) const;
  /// The largest power of two V with L(aV + v, ..) = L(aV, ..) + v for v < V, on the first input and output.
  int64_t consecutive() const;

  bool operator==(const LinearLayout &other) const;
  /// `register=1 -> (0, 1); register=2 -> ...`, a line for each input; and the sizes of the outputs.
  std::string toString() const;
  uint64_t hash() const;

private:
  struct Flat;
  explicit LinearLayout(Flat flat);
  const Flat &flat() const;
  std::optional<LinearLayout> divide(const LinearLayout &factor, bool factorIsLeft) const;

  struct State;
  std::shared_ptr<const State> state; ///< never changed, so that copies may share it
};

} // namespace heddle::layout
