// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machine code that a CUDA driver made of PTX, kept in files. An entry holds the PTX it was made of, so that it is used
// for nothing else, and a checksum, so that a damaged one is made again.
#pragma once
#include <optional>
#include <string>

namespace heddle {

class CubinCache {
public:
  /// An empty folder keeps nothing. `maker` is what else decides the code: chip and driver version, as `sm_90-13000`.
  CubinCache(std::string folder, std::string maker);

  std::optional<std::string> find(const std::string &ptx) const;
  /// In one step: a reader sees an entry whole or not at all. A folder that cannot be written keeps nothing.
  void store(const std::string &ptx, const std::string &cubin) const noexcept;
  std::string path(const std::string &ptx) const; ///< of the entry

private:
  const std::string folder, maker;
};

} // namespace heddle
