// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the program's heap gets its memory from the operating system.
#pragma once

namespace heddle {

/// Grows the main thread's heap at once by address space for which large pages are asked: a simulated kernel touches
/// much memory once, and a first touch of a small page takes longer than clearing it; with large pages LLVM
/// compiles some 3 % faster. Memory is taken when it is touched, and kept until the process ends. Call it first. Where
/// there is no room nothing changes, and where there are no large pages they are small.
void reserveHeap();

} // namespace heddle
