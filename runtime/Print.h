// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the lines of tt.print go, and how they look: the same on every device.
#pragma once
#include "binary/Package.h"
#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace heddle {

/// Called with one line, without its newline, by one thread at a time.
using PrintSink = std::function<void(const std::string &line)>;

/// Lines of one launch beyond this number are counted and dropped.
inline constexpr int64_t printLineLimit = 4096;

/// Replaces the sink and returns the one before; an empty sink is the default, which writes to stderr. When it returns,
/// no other thread is inside the one before. A sink may call it.
PrintSink setPrintSink(PrintSink sink);

/// Whether this thread is inside the sink, where it must not wait for a stream.
bool isInsidePrintSink();

/// Hands one line to the sink.
void emitPrintLine(const std::string &line);

/// What is said of lines beyond the limit.
std::string droppedLinesText(const std::string &kernel, int64_t lines);

/// How many lines formatPrint makes.
int64_t countPrintLines(const PackageSite &site, int32_t operand, const void *data);
/// Of one element of the operand in storage form; 0 where there is no such operand.
int64_t printedElementBytes(const PackageSite &site, int32_t operand);

/// Calls `emit` for each element of one operand with `pid (0, 0, 0) idx (1,  2) prefix: value`, until it returns false:
/// Triton's layout, which has `(operand 0)` before a value where there are several operands, and six decimals of a
/// float, or C's hexadecimal form. `data` is as HostLaunch::print says; with operand -1 there is one line without a
/// value.
void formatPrint(const PackageSite &site, int32_t operand, const void *data, const std::array<int32_t, 3> &program,
                 const std::function<bool(const std::string &line)> &emit);

} // namespace heddle
