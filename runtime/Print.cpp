// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of tt.print from raw elements, and the one sink of the process.
#include "runtime/Print.h"
#include "support/ElementType.h"
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <mutex>

namespace heddle {
namespace {

struct Sink {
  std::recursive_mutex mutex; ///< held in a call: one thread at a time; a sink may replace itself
  std::shared_ptr<const PrintSink> function = std::make_shared<PrintSink>();
};

thread_local int callDepth = 0; ///< of the sink, on this thread

struct CallScope {
  CallScope() { ++callDepth; }
  ~CallScope() { --callDepth; }
};

Sink &theSink() {
  static auto *sink = new Sink; // never destroyed: an abandoned kernel may print while the process ends
  return *sink;
}

/// Triton's text is ` x: `; a line gets ` x: ` whatever spaces and colon the source has.
std::string prefixOf(const PackageSite &site) {
  size_t first = site.message.find_first_not_of(" "), last = site.message.find_last_not_of(" :");
  if (first == std::string::npos || last == std::string::npos || last < first)
    return {};
  return " " + site.message.substr(first, last - first + 1);
}

/// Triton numbers the operands where there are several.
std::string operandText(const PackageSite &site, int32_t operand) {
  return site.operands.size() > 1 && operand >= 0 ? fmt::format("(operand {})", operand) : std::string();
}

/// The type to print as; nothing for a pointer.
std::optional<ElementType> printedType(const PackageSite::Operand &operand) {
  auto type = findElementType(operand.type);
  if (!type || operand.isSigned)
    return type;
  switch (*type) {
  case ElementType::I64:
    return ElementType::UI64;
  case ElementType::I32:
    return ElementType::UI32;
  case ElementType::I16:
    return ElementType::UI16;
  case ElementType::I8:
    return ElementType::UI8;
  default:
    return type;
  }
}

std::string formatValue(std::optional<ElementType> type, const char *element, bool hex) {
  if (type && isFloat(*type)) {
    double number = loadDouble(*type, element);
    return hex ? fmt::format("{:a}", number) : fmt::format("{:f}", number);
  }
  if (type && !hex)
    return formatElement(*type, element);
  size_t size = type ? size_t(elementSizeBytes(*type)) : 8;
  uint64_t bits = 0;
  std::memcpy(&bits, element, size);
  return fmt::format("0x{:0{}x}", bits, size * 2);
}

/// Row-major index `element` of `shape` as `(1,  2)`: as wide as the last index of each dimension.
std::string formatIndex(int64_t element, const std::vector<int64_t> &shape) {
  std::vector<std::string> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    index[d] = fmt::format("{:>{}}", element % shape[d], std::to_string(shape[d] - 1).size());
  return fmt::format("({})", fmt::join(index, ", "));
}

/// The operand whose elements are printed; null when the line has no value.
const PackageSite::Operand *printedOperand(const PackageSite &site, int32_t operand, const void *data) {
  return operand < 0 || size_t(operand) >= site.operands.size() || !data ? nullptr : &site.operands[size_t(operand)];
}

} // namespace

PrintSink setPrintSink(PrintSink sink) {
  auto next = std::make_shared<const PrintSink>(std::move(sink));
  std::lock_guard lock(theSink().mutex);
  std::swap(next, theSink().function);
  return *next;
}

bool isInsidePrintSink() {
  return callDepth > 0;
}

void emitPrintLine(const std::string &line) {
  std::lock_guard lock(theSink().mutex);
  auto sink = theSink().function; // lives until it returns, whatever it replaces
  if (*sink) {
    CallScope scope;
    (*sink)(line);
    return;
  }
  std::string text = line + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int64_t countPrintLines(const PackageSite &site, int32_t operand, const void *data) {
  int64_t count = 1;
  if (const PackageSite::Operand *what = printedOperand(site, operand, data))
    for (int64_t dimension : what->shape)
      count *= dimension;
  return count;
}

std::string droppedLinesText(const std::string &kernel, int64_t lines) {
  return fmt::format("kernel `{}`: {} more lines of print were dropped", kernel, lines);
}

int64_t printedElementBytes(const PackageSite &site, int32_t operand) {
  const PackageSite::Operand *what = printedOperand(site, operand, &site);
  if (!what)
    return 0;
  auto type = findElementType(what->type);
  return type ? elementSizeBytes(*type) : 8;
}

void formatPrint(const PackageSite &site, int32_t operand, const void *data, const std::array<int32_t, 3> &program,
                 const std::function<bool(const std::string &line)> &emit) {
  std::string pid = fmt::format("pid ({}, {}, {})", program[0], program[1], program[2]);
  std::string prefix = prefixOf(site), number = operandText(site, operand);
  const PackageSite::Operand *what = printedOperand(site, operand, data);
  if (!what) {
    emit(pid + prefix + (number.empty() ? "" : " " + number));
    return;
  }
  if (!number.empty())
    number += " ";
  auto type = printedType(*what);
  int64_t size = type ? elementSizeBytes(*type) : 8, count = countPrintLines(site, operand, data);
  for (int64_t i = 0; i < count; ++i) {
    std::string value = formatValue(type, static_cast<const char *>(data) + i * size, site.hex);
    if (!emit(fmt::format("{} idx {}{}: {}{}", pid, formatIndex(i, what->shape), prefix, number, value)))
      return;
  }
}

} // namespace heddle
