// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an instruction does to the poison of registers, and whether it depends on poison where it must not.
#pragma once
#include "simulator/checks/Poison.h"
#include "simulator/checks/PoisonRules.h"
#include "simulator/checks/RegisterUse.h"

namespace heddle::simulator {

/// What a load's name says of the form of its data.
struct LoadForm {
  bool extendsSign = false, keepsOther = false, isHigh = false;
  LoadForm() = default;
  explicit LoadForm(std::string_view name);
};

/// What is known of an instruction before it executes.
struct PoisonPlan {
  enum class Kind : uint8_t {
    Nothing,
    Scalar,
    Vector,
    Compare,
    Packed,
    Mixed, ///< v_fma_mix
    PackedMove,
    Matrix,
    Swap,
    ReadLane,
    WriteLane,
    SaveExec,
    Branch,
    Jump,
    Index, ///< s_set_gpr_idx
    ScalarMemory,
    VectorMemory,
    LocalMemory,
  };
  Kind kind = Kind::Nothing;
  bool staysClean = false; ///< when none of `registers` is poison, nothing becomes so, and nothing is reported
  RegisterMask registers;  ///< that it names; of memory instructions, those that it reads
  RegisterMask sources;    ///< that it reads
  bool namesScc = false, readsScc = false;
  bool overwrites = false; ///< when no source is poison, its destinations become clean as they are written
  LoadForm load;
  PoisonRule rule = nullptr;
  uint8_t destinations = 0;
  bool carries = false; ///< SCC is a carry or an overflow, not whether the result is 0
  int8_t mask = -1;     ///< position of a source that is a bit for each lane
};
PoisonPlan poisonPlanOf(const Instruction &instruction);

/// Whether operands of the type take half of a register.
constexpr bool isHalfWide(DataType type) {
  return type == DataType::B16 || type == DataType::I16 || type == DataType::F16 || type == DataType::BF16;
}

/// Of scalar instructions: what SCC depends on, known when the result is.
struct PoisonOfScc {
  bool isWritten = false, is64 = false;
  int destination = -1;
  uint64_t bits = 0;
};

class PoisonStep {
public:
  PoisonStep(Wave &wave, PoisonRegisters &registers, const Instruction &instruction, const PoisonPlan &plan,
             PoisonReporter &reporter)
      : wave(wave), registers(registers), instruction(instruction), plan(plan), reporter(reporter) {}

  /// Before it executes. Afterwards SCC is to be settled.
  PoisonOfScc run();

private:
  struct Source {
    PoisonRow low, high;
    uint64_t lanes = 0; ///< with any poison in what is read
  };

  // Sources.
  uint64_t scalarBits(const Operand &operand);
  PoisonRow rowOf(const Operand &operand, unsigned word);
  Source vectorSource(unsigned position, unsigned number);
  void moveByDpp(PoisonRow &row) const;
  uint64_t maskSource();
  void noteOrigin(const Operand &operand, unsigned word);
  PoisonBits valueOf(const Operand &operand, uint64_t poison) const;

  // Results.
  uint64_t writtenLanes() const;
  void writeScalar(const Operand &operand, uint64_t bits);
  void writeRow(unsigned row, const PoisonRow &poison, uint64_t lanes);
  void writeResult(const PoisonRow &low, const PoisonRow &high);
  PoisonRow placed(PoisonRow result, const PoisonRow &old) const;
  void sink(PoisonSink sink, int lane = -1) { reporter.reached(wave, instruction, sink, origin, lane); }

  // Kinds.
  PoisonOfScc scalar();
  void saveExec();
  void branch();
  void jump();
  void setIndex();
  void vector();
  void applyRule(const Source (&sources)[mostRuleSources], unsigned count, uint64_t lanes, PoisonRow &low,
                 PoisonRow &high);
  uint64_t exactBits(unsigned position, const Source &source, unsigned lane) const;
  void compare();
  void packed();
  void mixed();
  void packedMove();
  void matrix();
  void swap();
  void readLane();
  void writeLane();
  void checkScalarMemory();
  void checkLocalMemory();
  void checkVectorMemory();
  void checkLanes(const Operand &operand, PoisonSink kind);
  void checkScalars(const Operand &operand, PoisonSink kind);

  Wave &wave;
  PoisonRegisters &registers;
  const Instruction &instruction;
  const PoisonPlan &plan;
  PoisonReporter &reporter;
  PoisonOrigin origin = 0;          ///< of the first poison that was read
  std::vector<PartialWord> partial; ///< of the result
};

} // namespace heddle::simulator
