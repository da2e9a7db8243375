// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel package (`.hpkg`): a binary for one chip and the description that a runtime needs to launch it. It is all
// that passes from the compiler to the runtime. On disk: an 8-byte magic, format version, JSON description, binary,
// and an xxHash checksum over everything before it; docs/package.md states the bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// One kernel argument, in order.
struct PackageArgument {
  std::string name;
  std::string type;     ///< element type in MLIR notation: `f32`, `i64`, ... ; for a pointer that of its pointee, and
                        ///< `ptr<f16>` etc. when the pointee is itself a pointer
  bool pointer = false; ///< a buffer address; else a scalar of `type`
  int64_t divisibility = 1; ///< tt.divisibility: alignment in bytes of a pointer, factor of an integer
};

/// A place in the kernel's source that a run-time report can name.
struct PackageSite {
  std::string operation; ///< `tt.load`, `tt.assert`, ...
  std::string file;      ///< empty when unknown
  int64_t line = 0, column = 0;
  std::string message; ///< tt.assert's text, tt.print's prefix
  /// tt.print's operands: element type, shape (empty for a scalar), and whether integers are signed.
  struct Operand {
    std::string type;
    std::vector<int64_t> shape;
    bool isSigned = true;
  };
  std::vector<Operand> operands;
  bool hex = false; ///< tt.print: as hexadecimal
};

/// A map that bulk tensor copies use: a tensor in device memory, and the box of it that one copy moves. A launch makes
/// it of the argument `argument`, the base pointer, and those after it: a size for each axis (i32, elements), then a
/// stride for each (i64, elements, the last 1), outermost axis first.
struct PackageTensorMap {
  int64_t argument = 0;     ///< its number
  std::string type;         ///< of an element: f16, bf16, f32, f64, i8, i16, i32, i64, f8E4M3FN, f8E5M2
  std::vector<int64_t> box; ///< elements along each of 1 to 5 axes, outermost first, each 1 to 256
  int64_t swizzle = 0;      ///< bytes of the pattern in shared memory: 0, 32, 64 or 128
  bool operator==(const PackageTensorMap &) const = default;
};

/// The code is larger than what the code generator handles as usual.
struct PackageLimit {
  std::string what;        ///< `accesses to memory in one block of code`
  int64_t found = 0;       ///< in this kernel
  int64_t most = 0;        ///< that are handled as usual
  std::string consequence; ///< `instructions are scheduled in less detail`
};

struct Package {
  static constexpr uint32_t formatVersion = 1;

  std::string kernel;    ///< the name of the kernel in its source
  std::string entry;     ///< the symbol to look up in the binary
  std::string target;    ///< `host`; later `sm_90`, `gfx942`, `gfx950`
  std::string processor; ///< what LLVM generated code for, e.g. `znver5` or `x86-64-v3`
  std::vector<std::string>
      features; ///< CPU features the code may use (LLVM names, without +); the driver refuses a machine that lacks one
  std::string binaryKind;  ///< `elf-shared-object`, `ptx`
  uint32_t abiVersion = 0; ///< hostAbiVersion for the host, cudaAbiVersion for PTX
  std::vector<PackageArgument> arguments;
  uint64_t scratchBytes = 0;                ///< per program instance
  int64_t threads = 0;                      ///< of a GPU block, which runs one program instance; 0 for the host
  uint64_t sharedBytes = 0;                 ///< dynamic shared memory of a GPU block
  bool dependentLaunch = false;             ///< the kernel waits itself for the launch before it in its stream
  bool checked = false;                     ///< compiled with bounds checks
  bool peers = false;                       ///< works with other devices, through the records of binary/PeerAbi.h
  std::vector<PackageTensorMap> tensorMaps; ///< a parameter each, after all others (binary/CudaAbi.h)
  std::vector<PackageSite> sites;
  std::vector<PackageLimit> limits; ///< that were reached when the code was generated
  std::vector<std::string> remarks; ///< of the compiler, on what it decided: `file:line:column: remark`
  std::string producer;             ///< `heddle 0.1.0`
  std::string sourceHash;           ///< xxHash of the source text, hex; empty for a built kernel
  std::string binary;               ///< the bytes

  /// Null where the kernel has no argument of that name.
  const PackageArgument *findArgument(const std::string &name) const;
  /// The file's bytes. Deterministic: equal packages give equal bytes.
  std::string serialize() const;
  /// The description alone, as indented JSON without the binary.
  std::string describe() const;
  /// Throws Error{Input} naming what is wrong: not a package, newer format (both versions), truncated (both sizes),
  /// checksum mismatch (both values), missing or ill-typed fields. `name` is the file's name for the message.
  static Package parse(const std::string &bytes, const std::string &name);
  static Package load(const std::string &path); ///< also Error{Environment} for an unreadable file
  void save(const std::string &path) const;     ///< atomically: a temporary file, then rename
};

} // namespace heddle
