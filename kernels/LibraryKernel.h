// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel of the library is: its parameters with types and contract, its options and tile parameters as data, a
// function that checks a call and plans its launches, and a plain reference. docs/kernels.md lists the kernels.
#pragma once
#include "kernels/Plan.h"
#include <string>
#include <vector>

namespace heddle::kernels {

/// An array that a kernel reads.
struct Parameter {
  std::string name;
  std::vector<std::string> extents; ///< names: `E`, `K`, `N`; one name is one number in a call
  std::vector<ElementType> types;   ///< that it may have
  std::string sentence;
  std::vector<int> order = {}; ///< how `--shape` lays it out: its dimensions, outermost first; empty: in their order
};

/// An array that a kernel writes, dense and row-major.
struct Result {
  std::string name;
  std::string shape; ///< `[E, K, N]`, for people
  std::string sentence;
};

/// An extent of a result: `of` times `times`, divided by `per` and rounded up. With a `unit` it is `of` and `plus`
/// units, rounded up to a multiple of the unit.
struct ResultExtent {
  std::string of; ///< the name of an extent of the inputs, or `option rows`, a whole number; empty: 1
  int64_t times = 1, per = 1;
  std::string plus = "", unit = ""; ///< an extent of the inputs; the name of an option, a whole number
};

/// A result under some choice of options, for who allocates results or traces a program without making a plan. Every
/// plan is held against it.
struct ResultForm {
  std::string result;
  std::string type; ///< an element type, `option dtype`, or `input a`: the type that these have
  std::vector<ResultExtent> extents;
  std::string option = ""; ///< when this option has one of `values`; empty: always
  std::vector<std::string> values = {};
};

/// A choice of the caller.
struct Option {
  std::string name;
  std::vector<std::string> values; ///< empty: a whole number
  std::string standard;            ///< empty: it depends on the target
  std::string sentence;
};

/// A size that changes the time of a kernel and never its result.
struct TileParameter {
  std::string name;
  std::vector<int64_t> values; ///< that the kernel is written for
  std::string sentence;
};

/// A part of what a tuner may choose from (autotune/): options that it sets, none of which changes results but for the
/// order of sums, and the tile parameters that matter with them.
struct TuningVariant {
  std::map<std::string, std::string> options = {};
  std::vector<std::string> tiles = {};
  bool (*applies)(const Call &) = nullptr; ///< to a call with these options; null: always
};

struct Tuning {
  std::vector<TuningVariant> variants = {}; ///< none: the tile parameters, all of them
  /// Extents that count tokens or the like: what is best for one is good for others of about its size.
  std::vector<std::string> counts = {};
  /// Of a small call, with which programs of one version of heddle are compared with those of another.
  std::map<std::string, int64_t> example = {};
  std::map<std::string, std::string> exampleOptions = {}; ///< those that it needs
};

struct LibraryKernel {
  std::string name;
  std::string sentence; ///< what it computes
  std::string contract; ///< formulas and rules, lines for `--help`
  std::vector<Parameter> inputs;
  std::vector<Result> results;
  std::vector<Option> options;
  std::vector<TileParameter> tiles;
  /// Of each result one that holds, or none where the options leave it out.
  std::vector<ResultForm> forms;
  /// The launches of a checked call. Throws Error{Input} for what the kernel refuses.
  Plan (*plan)(const Call &);
  /// The results by plain loops, into arrays of the plan's types.
  void (*reference)(const Call &, HostArrays &);
  /// Contents of an input of a problem that is given by extents alone, where random numbers will not do; null: random.
  std::string (*contents)(const Call &, const std::string &input, uint64_t seed) = nullptr;
  /// Refuses inputs whose contents, where the host knows them, break the contract; null: none do.
  void (*checkContents)(const Call &, const HostArrays &) = nullptr;
  /// Largest difference from the reference, in parts of its largest result; 0: the bits are the same.
  double tolerance = 0;
  Tuning tuning = {};
};

/// All kernels, by name.
const std::vector<const LibraryKernel *> &allKernels();

/// Throws Error{Input} with the closest name for one that there is not.
const LibraryKernel &lookupKernel(const std::string &name);

/// What a caller gives, by name.
struct CallRequest {
  const Chip *chip = &hostChip; ///< that it is for
  std::map<std::string, ArrayType> inputs;
  std::map<std::string, std::string> options; ///< also tile parameters
};

/// Checks names, ranks, element types, extents that must agree, options and tile parameters. Throws Error{Input} naming
/// both values.
Call checkCall(const LibraryKernel &kernel, const CallRequest &request);

/// checkCall, and the kernel's own plan.
Plan planCall(const LibraryKernel &kernel, const Call &call);

/// The arrays of a problem that is given by its extents: `{{"M", 128}, {"K", 4096}}`, all of the type `type`, or of the
/// first type that a parameter may have where it may not be of that. Throws Error{Input} for a missing or unknown name.
std::map<std::string, ArrayType> arraysOfShape(const LibraryKernel &kernel,
                                               const std::map<std::string, int64_t> &extents, ElementType type);

} // namespace heddle::kernels
