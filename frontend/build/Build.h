// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The builder of tile programs: all that a kernel in C++ needs. docs/builder.md is its guide.
#pragma once
#include "frontend/build/Control.h"
#include "frontend/build/Kernel.h"
#include "frontend/build/Memory.h"
#include "frontend/build/Reduce.h"
