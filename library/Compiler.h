// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What libheddle has and libheddle_runtime has not. WithCompiler.cpp defines it for the one, WithoutCompiler.cpp for
// the other, where what cannot be had is an Error{Environment} that says what to link.
#pragma once
#include "collectives/KernelSource.h"
#include "program/RankCollective.h"
#include <memory>
#include <string>
#include <string_view>

namespace heddle {

class Device;

/// Adds the simulated devices, once; of libheddle only.
void useAllDevices();

/// Opens a device of any driver; simulated ones are in libheddle only. Throws as openDevice.
std::shared_ptr<Device> openAnyDevice(const std::string &name);

/// Kernels of collectives that are in no bundle.
std::shared_ptr<const KernelSource> kernelsInNoBundle();

/// As program::compileRankCollective.
program::RankCollective compileModule(std::string_view text, const std::string &name, int ranks, const Chip &chip,
                                      int computeUnits);

} // namespace heddle
