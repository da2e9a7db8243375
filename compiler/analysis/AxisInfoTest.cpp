// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expected facts, rule by rule.
#include "compiler/analysis/AnalysisTest.h"
