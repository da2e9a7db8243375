// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of the library in the verbs `run`, `bench` and `compile`: their options, and what each verb prints.
#pragma once
#include "api/KernelLibrary.h"

namespace CLI {
class App;
}

namespace heddle {

/// Adds `--shape`, `--permute`, `--strides` and `--elements` to a verb. `shapes` gets each `--shape`.
void addArrayOptions(CLI::App &verb, LibraryRequest &request, std::vector<std::string> &shapes);
/// And `--tuned`.
void addLibraryOptions(CLI::App &verb, LibraryRequest &request, std::vector<std::string> &shapes);
/// The first of these options that was given; empty for none.
std::string givenLibraryOption(const CLI::App &verb);

/// Throws Error{Input} where such an option was given for a file.
void refuseLibraryOption(const std::string &option, const std::string &input, const std::string &verb);

/// `files` are the texts of `--out`. The exit code: ErrorClass::WrongResult where the reference differs.
int runLibraryVerb(LibraryRequest request, const std::vector<std::string> &files, bool asJson);

struct LibraryBench {
  LibraryRequest request;
  std::vector<std::string> shapes;
  bool json = false, csv = false;
  std::string plot; ///< file of the picture; empty: none
};
int benchLibraryVerb(const LibraryBench &bench);

/// Writes packages into the folder `output`, or prints what the phase `stopAfter` of the options left.
int compileLibraryVerb(const LibraryRequest &request, const std::string &target, const std::string &output,
                       bool asJson);

} // namespace heddle
