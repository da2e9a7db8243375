// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of the library by name, for tools and bindings: what there is, runs on given or made inputs against the plain
// reference, times, and plans with their packages as files.
#pragma once
#include "api/Heddle.h"
#include <map>

namespace heddle {

/// `kernel:fp8_rowwise_2d`: an input of verbs that means a kernel of the library.
bool isLibraryKernel(const std::string &input);

/// Of `kernel:NAME`, its contract and arguments; of `kernel:` or `kernel:list`, every kernel in a line. Throws
/// Error{Input} with the closest name.
std::string describeLibraryKernel(const std::string &input);

/// The same as data, JSON: of a kernel its inputs, the forms of its results, its options and tile parameters; of
/// `kernel:` the names and sentences of all.
std::string libraryKernelAsJson(const std::string &input);

struct LibraryRequest {
  std::string kernel; ///< `kernel:NAME`
  std::string device = "host";
  std::vector<NamedValue> arguments;     ///< arrays as parseBufferSpec takes them, options, tile parameters
  std::vector<std::string> permutations; ///< `x=0,2,1`: dimension i of x is dimension order[i] of what was given
  std::vector<std::string> strides;      ///< `x=1,5120`: in elements, of the shape that was given
  std::string shape;                     ///< `E=16,K=5120,N=8192`: makes the arrays that are not given
  std::string elements = "bf16";         ///< of those
  bool tuned = false;                    ///< use what `heddle tune` found, if anything
  bool verify = false;                   ///< compare with the plain reference
  std::vector<std::string> outputs;      ///< results to return
  int warmup = 0, repeat = 0;            ///< launches after the first, of which `repeat` are timed
  CompileOptions options;
};

struct LibraryResult {
  std::string kernel, target;
  std::vector<Array> outputs;
  std::vector<double> milliseconds;
  std::vector<std::string> differences; ///< for each result that differs, how many elements and the first
  int64_t compared = 0;                 ///< elements
  double tolerance = 0;                 ///< in parts of the largest result; 0: bit by bit
  std::vector<std::string> inputs;      ///< `x: bf16[16,128]`
  int64_t leastBytes = 0, operations = 0;
  int launches = 0;  ///< and fills, of one call
  std::string tuned; ///< where it was asked for: which entry it is, or that there is none
};

/// Runs a kernel once, and again as `repeat` says; on GPUs calls are timed in a graph.
LibraryResult runLibraryKernel(const LibraryRequest &request);

/// Bytes a second that a copy in the device's memory reads and writes: what bounds kernels that move data. Of a
/// simulated device, which has no time, 0.
double copyBandwidth(const std::string &device);

/// Compiles a call for a target and writes its packages and `plan.json` into a folder, which is made when missing; the
/// text of that file.
std::string compileLibraryKernel(const LibraryRequest &request, const std::string &target, const std::string &folder);

/// What a phase of the compilation of each launch left, one after the other.
std::string libraryKernelPhase(const LibraryRequest &request, const std::string &target, const std::string &phase);

} // namespace heddle
