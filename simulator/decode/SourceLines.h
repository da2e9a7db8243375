// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which line of the source an address in a code object comes from: DWARF's line table, where the compiler made one.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace heddle::simulator {

struct SourcePlace {
  std::string file;              ///< without folders
  unsigned line = 0, column = 0; ///< 0: not known
  /// `softmax.cl:12:5`, or `softmax.cl:12`.
  std::string text() const;
};

class SourceLines {
public:
  /// `file` is the whole ELF file. One that LLVM cannot read has no lines.
  explicit SourceLines(std::string file);
  ~SourceLines();

  std::optional<SourcePlace> find(uint64_t address) const;
  /// The path of the source file as the compiler was given it, made absolute by the folder that it ran in; empty where
  /// nothing is known. The file may be on another machine.
  std::string pathAt(uint64_t address) const;
  /// `softmax.cl:12`; empty where nothing is known.
  std::string lineAt(uint64_t address) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle::simulator
