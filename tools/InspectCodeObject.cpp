// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of the table, the text of waits, and the same as JSON.
#include "tools/InspectCodeObject.h"
#include "api/SurveyObjects.h"
#include "tools/Output.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

std::string describeOccupancy(const InspectedKernel &kernel) {
  if (!kernel.occupancy)
    return "not known: the code object does not say how many work-items a workgroup has";
  const AmdOccupancy &occupancy = *kernel.occupancy;
  if (occupancy.groupsPerUnit == 0)
    return fmt::format("a workgroup of {} waves does not fit: too few {}", occupancy.wavesPerGroup, occupancy.limit());
  return fmt::format("{} waves on a SIMD, {} workgroups on a compute unit, which {} limit (waves alone {}, vector "
                     "registers {}, scalar registers {}, LDS {})",
                     occupancy.wavesPerSimd, occupancy.groupsPerUnit, occupancy.limit(), occupancy.byWaves,
                     occupancy.byVectorRegisters, occupancy.byScalarRegisters, occupancy.byLds);
}

/// How many of the kernel's waits are of the kind.
struct WaitCounts {
  int64_t all = 0, tooLong = 0, forNothing = 0;
  std::map<std::string, int64_t> byClass; ///< of those that are too long
  explicit WaitCounts(const InspectedKernel &kernel) {
    for (const InspectedWait &wait : kernel.waits) {
      ++all;
      tooLong += wait.waitsTooLong;
      forNothing += wait.waitsForNothing;
      if (wait.waitsTooLong)
        ++byClass[wait.tooLongClass];
    }
  }
};

std::string describePlace(const InspectedInstruction &instruction) {
  return fmt::format("0x{:x}  {}{}", instruction.address, instruction.text,
                     instruction.line.empty() ? "" : "  ; " + instruction.line);
}

/// `exact count: lgkmcnt(3) for 0x...`, or why there is none.
std::string describeExact(const InspectedKernel &kernel, const InspectedCounter &counter) {
  std::string user = counter.exactUser ? ", " + describePlace(kernel.instructions[*counter.exactUser]) : std::string();
  std::string count = counter.exact && *counter.exact > counter.count
                          ? fmt::format("{}({})", counter.name, *counter.exact)
                          : counter.exactText;
  return fmt::format("  exact count: {}{} ({})\n", count, user, counter.exactClass);
}

std::string describeCounter(const InspectedKernel &kernel, const InspectedCounter &counter) {
  std::string name = fmt::format("{}({})", counter.name, counter.count);
  if (counter.waitsFor.empty())
    return fmt::format("  {} waits for nothing\n", name);
  std::string text = fmt::format("  {} waits for\n", name);
  for (size_t index : counter.waitsFor)
    text += "    " + describePlace(kernel.instructions[index]) + "\n";
  if (!counter.enough)
    return text + "  too long: nothing needs that before the next wait\n" + describeExact(kernel, counter);
  text += fmt::format("  {} {}({}){} for {}\n", counter.waitsTooLong ? "too long:" : "needed:", counter.name,
                      *counter.enough, counter.waitsTooLong ? " would be enough" : "",
                      describePlace(kernel.instructions[*counter.user]));
  return counter.waitsTooLong ? text + describeExact(kernel, counter) : text;
}

nlohmann::ordered_json toJson(const InspectedInstruction &instruction) {
  return {{"address", instruction.address}, {"text", instruction.text}, {"line", instruction.line}};
}

nlohmann::ordered_json toJson(const InspectedKernel &kernel, const InspectedWait &wait) {
  nlohmann::ordered_json json = toJson(kernel.instructions[wait.instruction]);
  json["forNothing"] = wait.waitsForNothing;
  json["tooLong"] = wait.waitsTooLong;
  json["counters"] = nlohmann::ordered_json::array();
  for (const InspectedCounter &counter : wait.counters) {
    nlohmann::ordered_json each = {{"counter", counter.name}, {"count", counter.count}};
    each["enough"] = counter.enough ? nlohmann::ordered_json(*counter.enough) : nlohmann::ordered_json();
    each["neededBy"] = counter.user ? toJson(kernel.instructions[*counter.user]) : nlohmann::ordered_json();
    each["exact"] = {{"class", counter.exactClass}};
    each["exact"]["count"] = counter.exact ? nlohmann::ordered_json(*counter.exact) : nlohmann::ordered_json();
    each["exact"]["neededBy"] =
        counter.exactUser ? toJson(kernel.instructions[*counter.exactUser]) : nlohmann::ordered_json();
    each["waitsFor"] = nlohmann::ordered_json::array();
    for (size_t index : counter.waitsFor)
      each["waitsFor"].push_back(toJson(kernel.instructions[index]));
    json["counters"].push_back(std::move(each));
  }
  return json;
}

std::string describeArguments(const AmdKernel &kernel) {
  std::string text = fmt::format("{} bytes", kernel.kernargBytes);
  if (kernel.kernargBytes > kernel.declaredKernargBytes)
    text += fmt::format("; {} are declared, and an argument ends beyond them", kernel.declaredKernargBytes);
  return text;
}

} // namespace

std::vector<std::vector<std::string>> describeCode(const InspectedKernel &inspected) {
  const AmdKernel &kernel = inspected.kernel;
  const AmdRegisterCounts &used = kernel.registers;
  std::vector<std::vector<std::string>> rows = {
      {"workgroup", fmt::format("{} work-items, {} waves", inspected.workItems, (inspected.workItems + 63) / 64)},
      {"vector registers", fmt::format("{}: {} architected, {} accumulation; {} are allocated", used.vector,
                                       used.architected(), used.accumulation, kernel.vectorRegisters())},
      {"scalar registers", fmt::format("{}; {} are allocated", used.scalar, kernel.scalarRegisters())},
      {"LDS", fmt::format("{} bytes ({} declared, {} dynamic) of {}", kernel.groupBytes + inspected.dynamicLdsBytes,
                          kernel.groupBytes, inspected.dynamicLdsBytes, inspected.ldsBytesOfUnit)},
      {"scratch", fmt::format("{} bytes for each work-item, {} instructions", kernel.privateBytes,
                              inspected.count("scratch").all)},
      {"spilled", fmt::format("{} vector, {} scalar registers", used.vectorSpills, used.scalarSpills)},
      {"arguments", describeArguments(kernel)},
      {"occupancy", describeOccupancy(inspected)},
  };
  std::vector<std::string> classes;
  for (const InstructionCount &count : inspected.counts)
    if (count.all && count.name != "all")
      classes.push_back(fmt::format("{} {}", count.all, count.name));
  const InstructionCount &all = inspected.count("all");
  rows.push_back({"instructions",
                  fmt::format("{} in {} bytes, {} in loops: {}{}", all.all, inspected.codeBytes(), all.inLoops,
                              fmt::join(classes, ", "), inspected.isComplete ? "" : "; more code cannot be followed")});
  WaitCounts waits(inspected);
  rows.push_back({"waits", fmt::format("{}: {} too long, {} without effect (`--waits` shows them)", waits.all,
                                       waits.tooLong, waits.forNothing)});
  return rows;
}

std::string describeWaits(const InspectedKernel &kernel) {
  std::string text;
  for (const InspectedWait &wait : kernel.waits) {
    text += describePlace(kernel.instructions[wait.instruction]) + "\n";
    for (const InspectedCounter &counter : wait.counters)
      text += describeCounter(kernel, counter);
  }
  WaitCounts counts(kernel);
  text += fmt::format("{} waits: {} too long, {} without effect\n", counts.all, counts.tooLong, counts.forNothing);
  for (const CountClassText &kind : tooLongClasses())
    if (int64_t count = counts.byClass[kind.name])
      text += fmt::format("too long {}: {} ({})\n", count, kind.what, kind.name);
  return text;
}

std::string listInstructions(const InspectedKernel &kernel) {
  std::string text = kernel.kernel.name + ":\n";
  uint64_t end = kernel.instructions.empty() ? 0 : kernel.instructions.front().address;
  for (const InspectedInstruction &instruction : kernel.instructions) {
    if (instruction.address != end)
      text += "  ...\n";
    text += "  " + describePlace(instruction) + "\n";
    end = instruction.address + instruction.sizeBytes;
  }
  return text;
}

nlohmann::ordered_json argumentsAsJson(const AmdKernel &kernel) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const AmdArgument &argument : kernel.arguments)
    if (!argument.isHidden())
      json.push_back({{"position", json.size()},
                      {"name", argument.name},
                      {"offset", argument.offset},
                      {"bytes", argument.sizeBytes},
                      {"kind", argument.valueKind},
                      {"type", argument.typeName}});
  return json;
}

void addCode(nlohmann::ordered_json &json, const InspectedKernel &inspected, bool waits) {
  const AmdKernel &kernel = inspected.kernel;
  const AmdRegisterCounts &used = kernel.registers;
  json["resources"] = {{"workItems", inspected.workItems},
                       {"vectorRegisters", used.vector},
                       {"architectedRegisters", used.architected()},
                       {"accumulationRegisters", used.accumulation},
                       {"scalarRegisters", used.scalar},
                       {"allocatedVectorRegisters", kernel.vectorRegisters()},
                       {"allocatedScalarRegisters", kernel.scalarRegisters()},
                       {"declaredLdsBytes", kernel.groupBytes},
                       {"dynamicLdsBytes", inspected.dynamicLdsBytes},
                       {"scratchBytes", kernel.privateBytes},
                       {"scratchInstructions", inspected.count("scratch").all},
                       {"vectorSpills", used.vectorSpills},
                       {"scalarSpills", used.scalarSpills},
                       {"argumentBytes", kernel.kernargBytes},
                       {"declaredArgumentBytes", kernel.declaredKernargBytes}};
  json["occupancy"] = nlohmann::ordered_json();
  if (const auto &occupancy = inspected.occupancy)
    json["occupancy"] = {{"wavesPerSimd", occupancy->wavesPerSimd},
                         {"groupsPerUnit", occupancy->groupsPerUnit},
                         {"wavesPerGroup", occupancy->wavesPerGroup},
                         {"limit", occupancy->limit()},
                         {"groupsByWaves", occupancy->byWaves},
                         {"groupsByVectorRegisters", occupancy->byVectorRegisters},
                         {"groupsByScalarRegisters", occupancy->byScalarRegisters},
                         {"groupsByLds", occupancy->byLds}};
  nlohmann::ordered_json classes = nlohmann::ordered_json::object();
  for (const InstructionCount &count : inspected.counts)
    classes[count.name] = {{"all", count.all}, {"inLoops", count.inLoops}};
  json["code"] = {{"bytes", inspected.codeBytes()}, {"complete", inspected.isComplete}, {"instructions", classes}};
  if (!waits)
    return;
  WaitCounts counts(inspected);
  json["waits"] = {{"all", counts.all},
                   {"tooLong", counts.tooLong},
                   {"forNothing", counts.forNothing},
                   {"tooLongByClass", counts.byClass},
                   {"list", nlohmann::ordered_json::array()}};
  for (const InspectedWait &wait : inspected.waits)
    json["waits"]["list"].push_back(toJson(inspected, wait));
}

} // namespace heddle
