// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What data sheets say that the matrix units of a chip do, for tests to hold the estimate against.
#pragma once
#include "chips/Chip.h"
#include <map>
#include <string>

namespace heddle::simulator {

/// Operations a second of dense matrices of `type`. Throws std::out_of_range for a type that the sheet does not have.
/// Sources: data sheets of AMD Instinct MI300X and MI355X.
inline double matrixPeak(const Chip &chip, const std::string &type) {
  static const std::map<std::string, double> cdna3 = {{"f64", 163.4e12},  {"f32", 163.4e12},   {"tf32", 653.7e12},
                                                      {"f16", 1307.4e12}, {"bf16", 1307.4e12}, {"fp8", 2614.9e12},
                                                      {"i8", 2614.9e12}};
  static const std::map<std::string, double> cdna4 = {{"f64", 78.6e12},    {"f32", 157.3e12},  {"f16", 2516.6e12},
                                                      {"bf16", 2516.6e12}, {"fp8", 5033.2e12}, {"i8", 5033.2e12},
                                                      {"fp6", 10066.3e12}, {"fp4", 10066.3e12}};
  return (chip.simulated == InstructionSet::Cdna4 ? cdna4 : cdna3).at(type);
}

} // namespace heddle::simulator
