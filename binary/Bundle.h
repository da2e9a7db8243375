// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bundle (`.hbundle`): many packages in one file, and how they are called as kernels of the library and as
// collectives, for programs that have no compiler. `heddle package` writes it; docs/package.md states the bytes.
#pragma once
#include "binary/Package.h"
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

/// An array of a call, dense unless its strides say otherwise.
struct BundleArray {
  std::string name, type; ///< `bf16`
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< in elements
  uint64_t sizeBytes = 0;       ///< from the first byte to the end of the last element
};

struct BundleArgument {
  std::string array; ///< of the call; empty: a scalar
  int64_t value = 0;
};

/// A fill of a whole array with one byte, or a launch.
struct BundleStep {
  std::string fills; ///< the array, a result or a temporary; empty: a launch
  uint8_t byte = 0;
  size_t package = 0; ///< its number in the bundle
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<BundleArgument> arguments;
};

/// A kernel of the library for arrays of one shape.
struct BundleCall {
  std::string kernel, target;
  /// What tells calls of one kernel apart, by name: extents (`M`: `16640`), the types of the inputs (`x`: `bf16`, with
  /// strides where they are not dense), options and tile parameters.
  std::map<std::string, std::string> choices;
  std::vector<BundleArray> inputs, results, temporaries;
  std::vector<BundleStep> steps; ///< in order

  /// The inputs, then the results: what a launch takes.
  std::vector<const BundleArray *> arrays() const;
  bool isResult(const BundleArray &array) const;               ///< of an array of arrays()
  const BundleArray *findArray(const std::string &name) const; ///< also a temporary; null for none
};

/// The kernel of a collective.
struct BundleCollective {
  std::string target;
  std::string key;    ///< of its plan: kernelKey (collectives/Plan.h)
  std::string layout; ///< of the protocol's memory: layoutKey
  size_t package = 0;
};

struct Bundle {
  static constexpr uint32_t formatVersion = 1;

  std::string producer;                                 ///< `heddle 0.1.0`
  std::vector<std::shared_ptr<const Package>> packages; ///< no two are equal
  std::vector<BundleCall> calls;
  std::vector<BundleCollective> collectives;

  /// The number of the package, which is added unless an equal one is there.
  size_t add(Package package);
  /// Whether a call of the same kernel, target and choices is there.
  bool hasCall(const BundleCall &call) const;
  /// Adds what another bundle has; of calls and collectives that both have, this one's stay.
  void join(const Bundle &other);

  /// The one call of a kernel for a target that has all of `choices`. Throws Error{Input} for a kernel, a target and a
  /// choice that the bundle lacks, with what it has, and where several calls fit, with what tells them apart.
  const BundleCall &findCall(const std::string &kernel, const std::string &target,
                             const std::map<std::string, std::string> &choices) const;
  /// Null where there is none.
  const BundleCollective *findCollective(const std::string &target, const std::string &key) const;

  /// The file's bytes. Deterministic: equal bundles give equal bytes.
  std::string serialize() const;
  /// The description alone, as indented JSON.
  std::string describe() const;
  /// Throws Error{Input} as Package::parse, and for a call that names what the bundle does not have.
  static Bundle parse(const std::string &bytes, const std::string &name);
  static Bundle load(const std::string &path); ///< also Error{Environment} for an unreadable file
  void save(const std::string &path) const;    ///< atomically: a temporary file, then rename
};

} // namespace heddle
