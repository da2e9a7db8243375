// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A row of the table: a name, what it compares, its target, and how it is measured.
#pragma once
#include "bench/Measure.h"
#include <map>
#include <optional>

namespace heddle::bench {

/// What a row found. One of the two is set, or `skipped` says why neither is.
struct Outcome {
  std::optional<Comparison> comparison;
  std::optional<Spread> milliseconds;                 ///< of a whole compilation, or of a call
  std::vector<std::pair<std::string, double>> phases; ///< p50 of each phase, milliseconds
  std::string rate;                                   ///< Heddle's side in GB/s or GFLOP/s
  std::string skipped;
};

struct Row {
  std::string name;
  std::string what;                               ///< one line
  int threads = 0;                                ///< of the host device; 0: one for each core
  double target = 0;                              ///< least speed, or most milliseconds; 0: the row only informs
  bool ratio = true;                              ///< else `target` is in milliseconds
  std::function<Outcome(const Budget &)> measure; ///< throws Error, also when a result is wrong
};

void addVectorAddRows(std::vector<Row> &rows);
void addSoftmaxRows(std::vector<Row> &rows);
void addMatmulRow(std::vector<Row> &rows);
void addCollectiveRows(std::vector<Row> &rows);
void addCompileRows(std::vector<Row> &rows);

} // namespace heddle::bench
