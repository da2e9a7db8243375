// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which line of the source an address in a code object comes from: DWARF's line table, where the compiler made one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace heddle::simulator {

class SourceLines {
public:
  /// `file` is the whole ELF file. One that LLVM cannot read has no lines.
  explicit SourceLines(std::string file);
  ~SourceLines();

  /// `softmax.cl:12`, or `softmax.cl:12:5` if the column is wanted and known, without folders; empty where nothing is
  /// known.
  std::string at(uint64_t address, bool withColumn = false) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle::simulator
