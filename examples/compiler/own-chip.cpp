// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a kernel for a chip that is in no table, made of one that is: a chip is data.
// docs/tutorials/adding-a-chip.md.
#include "chips/Chip.h"
#include "compiler/pipeline/Compile.h"
#include "support/Error.h"
#include "support/File.h"
#include <cstdio>
#include <set>
#include <sstream>

using namespace heddle;

/// MI350X with the matrix instructions and the shared memory of MI300X.
static Chip makeChip() {
  Chip chip = lookupChip("gfx950");
  const Chip &smaller = lookupChip("gfx942");
  chip.name = "gfx950-small";
  chip.sharedMemoryBytes = smaller.sharedMemoryBytes;
  chip.matmuls = smaller.matmuls;
  return chip;
}

/// The matrix instructions of the code, each once.
static void printMatmuls(const std::string &file, const Chip &chip) {
  CompileOptions options;
  options.chip = &chip;
  options.stopAfter = "asm";
  std::istringstream text(compile(readFile(file), file, options).text);
  std::set<std::string> found;
  for (std::string word; text >> word;)
    if (word.starts_with("v_mfma_"))
      found.insert(word);
  for (const std::string &word : found)
    std::printf("%-14s %s\n", chip.name.c_str(), word.c_str());
}

int main(int argc, char **argv) {
  try {
    if (argc != 2)
      throw inputError("one file of Triton IR is wanted", {"own-chip tests/corpus/matmul_f16.gfx942.ttir"});
    printMatmuls(argv[1], lookupChip("gfx950"));
    printMatmuls(argv[1], makeChip());
    return 0;
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "  note: %s\n", note.c_str());
    return int(error.kind);
  }
}
