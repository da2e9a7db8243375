// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with its geometry and arguments, made once and run any number of times, also on several threads at once:
// each run has a simulator of its own. What `simulate`, `check` and `mutate` have in common.
#pragma once
#include "api/ArgumentLayout.h"
#include "api/ArgumentValue.h"
#include "api/Binding.h"
#include "api/Simulate.h"
#include "simulator/Simulator.h"
#include "simulator/decode/SourceLines.h"
#include <map>

namespace heddle {

/// A buffer of one device, or of the host.
struct SimulatedBuffer {
  std::string base; ///< `out`
  Array array;      ///< the name is `out`, or `out@1` with several devices; without bytes: zeros
  int device = -1;  ///< of several; -1: on the host, or the only one
  simulator::Placement placement = simulator::Placement::Normal;
  bool isInitialised = true;    ///< false: only type and extents were given
  std::vector<size_t> pointers; ///< of the buffers whose addresses it holds
  uint64_t sizeBytes = 0;
  uint64_t slackBytes = 0; ///< readable bytes after them
};

/// An instruction that some wave reached.
struct ReachedInstruction {
  uint64_t pc = 0; ///< in the file
  uint32_t sizeBytes = 0;
  std::string mnemonic, text;
  bool approximates = false;
  bool isKnown = true; ///< whether the simulator has it
};

/// The bytes of a buffer into which a store wrote uninitialised data, as far as Check::Uninitialised knows.
struct UnwrittenStores {
  std::vector<bool> bytes;                    ///< empty when there are none
  std::optional<simulator::ReportLine> first; ///< the first such store
};

/// What one run did.
struct KernelOutcome {
  simulator::SimulationReport report;
  std::vector<std::string> contents;      ///< by index of SimulatedKernel::buffers; none after an error
  std::vector<UnwrittenStores> unwritten; ///< likewise
  std::vector<ReachedInstruction> reached;
  uint64_t codeBase = 0;                      ///< where the file's address 0 was
  std::vector<std::vector<uint64_t>> records; ///< by device: what it printed; none when it was given no record
  double seconds = 0;                         ///< of processor time, of the run alone
  double elapsedSeconds = 0;                  ///< on the clock
};

/// For what a name is given.
enum class NameUse { Argument, Buffer, Output, Ignored, Address, Pointers };
/// `argument `x``, `output `x``, ``addr:x``.
std::string describeUse(NameUse use, const std::string &name);

class SimulatedKernel {
public:
  /// Throws Error{Input} for an object or arguments that do not fit. `request` must outlive it.
  SimulatedKernel(const std::string &file, const std::string &name, const SimulateRequest &request);

  /// Sees a wave before each instruction, with the instruction's address in the file.
  using Tracer =
      std::function<void(const simulator::Wave &wave, const simulator::Instruction &instruction, uint64_t pc)>;
  /// Runs the kernel in `code`, which is the object or a changed copy of it. The outcome has the contents of the
  /// buffers that `wanted` names by index, or of all of them when it is empty.
  KernelOutcome run(const AmdCodeObject &code, const simulator::SimulationOptions &options, const Tracer &tracer = {},
                    const std::vector<bool> &wanted = {}) const;
  /// What the request says of a run, but for its trace.
  simulator::SimulationOptions options() const;

  /// The buffers, by index, that a name or position, perhaps with `@DEVICE`, denotes. Throws Error{Input}.
  std::vector<size_t> buffersNamed(const std::string &name, NameUse use) const;
  /// Where the object's debug information says that an instruction comes from.
  InstructionPlace placeOf(uint64_t pc) const;
  /// Those that the lines name, in their order.
  std::vector<InstructionPlace> placesOf(const std::vector<simulator::ReportLine> &lines) const;
  /// The same as text for reports.
  simulator::SourceOf sources() const;
  std::string lineOf(uint64_t pc) const { return lines.lineAt(pc); } ///< `scan.cl:12`, or nothing
  std::string pathOf(uint64_t pc) const { return lines.pathAt(pc); } ///< of its source file, or nothing
  /// Hands what the run printed to the sink, and throws the error of a failed assertion.
  void reportRecord(const std::vector<uint64_t> &record) const;

  const AmdCodeObject object;
  const AmdKernel &kernel;
  const SimulateRequest &request;
  std::vector<SimulatedBuffer> buffers;
  simulator::Geometry geometry;

private:
  /// What gets a value: an argument, or a field of one that is a structure.
  struct Slot {
    std::string name; ///< the argument's, or its position where that is no name of its own; `ARG.FIELD`
    AmdArgument argument;
    std::optional<ElementType> type;  ///< of a field that is a number
    std::optional<std::string> value; ///< that its description has
    bool isStructure = false;         ///< its fields are slots
  };
  /// By device, as text; empty where nothing was given.
  using Texts = std::vector<std::optional<std::string>>;
  using Values = std::map<std::string, Texts>; ///< by name
  struct Target {
    std::string name;
    std::optional<unsigned> device;
    std::vector<size_t> slots; ///< that the name denotes: several where arguments share it
  };

  void makeSlots();
  void expand(const NamedValue &given);
  void addFields(const ArgumentLayout &layout, const std::string &prefix, uint64_t base);
  void takeKernarg();
  std::vector<std::string> argumentNotes() const;
  std::vector<size_t> slotsNamed(const std::string &name) const;
  Target targetOf(const std::string &name, NameUse use) const;
  ArgumentError noArgument(const std::string &name) const;
  ArgumentError repeatedName(const Target &target, const std::string &what) const;
  void checkTarget(const NamedValue &value, const Target &target, NameUse use) const;
  void collect(const std::vector<NamedValue> &given, NameUse use, Values &values) const;
  void put(const Target &target, const std::string &text, Values &values) const;
  void checkMissing(const Values &values) const;
  void setDefaults(Values &values) const;
  void prepareDevice(unsigned device, const Values &values, const Values &extra);
  void addBuffer(const std::string &name, const ArgumentValue &value, unsigned device);
  void prepare(const Slot &slot, const ArgumentValue &value, unsigned device);
  void prepareBuffer(const Slot &slot, const ArgumentValue &value, unsigned device);
  bool takesAddress(const Slot &slot) const;
  ElementType scalarType(const Slot &slot, const ArgumentValue &value) const;
  void putScalar(const Slot &slot, const ArgumentValue &value, unsigned device);
  void putBytes(const AmdArgument &argument, const void *bytes, uint64_t size, unsigned device);
  void resolveAddresses();
  void resolvePointers();
  std::vector<uint64_t> placeBuffers(simulator::Simulator &simulator, uint64_t seed) const;
  void makeGeometry();
  const AmdArgument *findRecord() const;
  void readRecords(simulator::Simulator &simulator, const std::vector<uint64_t> &places, KernelOutcome &outcome) const;

  /// An address in the argument segment.
  struct Address {
    uint64_t offset = 0;
    size_t buffer = 0;
    uint64_t inside = 0; ///< bytes from the buffer's first one
  };
  /// One of a buffer that may not be made yet.
  struct NamedAddress {
    uint64_t offset = 0;
    unsigned device = 0; ///< in whose segment
    std::string slot;
    ArgumentValue value;
  };
  std::vector<Slot> slots;  ///< arguments in their order, then fields
  size_t argumentCount = 0; ///< of the slots
  std::vector<NamedAddress> namedAddresses;
  std::map<std::string, std::vector<size_t>> byName;
  std::vector<std::vector<std::string>> pointerNames; ///< of each buffer
  std::vector<std::string> segments;                  ///< by device
  std::vector<std::vector<Address>> addresses;
  std::vector<uint64_t> dynamicLds;
  const AmdArgument *record = nullptr; ///< which runs supply; null: given, or not there
  simulator::SourceLines lines;
};

} // namespace heddle
