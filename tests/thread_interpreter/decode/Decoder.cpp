// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of decoding: functions, blocks, and the edges between them with the copies that phi nodes ask for.
#include "tests/thread_interpreter/decode/Decoder.h"
#include "support/Error.h"
#include <algorithm>
#include <llvm/IR/CFG.h>
#include <llvm/Support/raw_ostream.h>
#include <unordered_map>

using namespace heddle::threads;
using namespace llvm;

const Entry *heddle::threads::findEntry(StringRef name, bool elementwise) {
  using Table = std::unordered_map<std::string_view, const Entry *>;
  auto collect = [](std::initializer_list<std::span<const Entry>> families) {
    Table table;
    for (std::span<const Entry> family : families)
      for (const Entry &entry : family)
        table[entry.name] = &entry;
    return table;
  };
  static const Table elements = collect({integerTable(), floatTable(), conversionTable(), approximationTable()});
  static const Table whole =
      collect({packedConversionTable(), controlTable(), memoryTable(), atomicTable(), warpTable(), barrierTable(),
               arrivalBarrierTable(), registerTable(), asyncCopyTable(), bulkCopyTable()});
  const Table &table = elementwise ? elements : whole;
  auto found = table.find(std::string_view(name.data(), name.size()));
  return found == table.end() ? nullptr : found->second;
}

static std::string textOf(const Instruction &instruction) {
  std::string text;
  raw_string_ostream stream(text);
  instruction.print(stream);
  constexpr size_t longest = 200;
  StringRef trimmed = StringRef(text).trim();
  return trimmed.size() > longest ? (trimmed.take_front(longest) + "...").str() : trimmed.str();
}

Decoder::Decoder(const Module &module, const std::map<std::string, LaneFunction> &functions)
    : module(module), layout(module.getDataLayout()), functions(functions) {}

void Decoder::refuse(const Twine &why) {
  std::string where = sources.empty() || !sources.back() ? "" : "`" + textOf(*sources.back()) + "`: ";
  throw inputError(where + why.str());
}

PendingOp &Decoder::emit(StringRef name, Scalar scalar, Slots in, Slots out) {
  const Entry *entry = findEntry(name, true);
  if (!entry)
    entry = findEntry(name, false);
  Handler handler = entry ? entry->handlers[size_t(scalar)] : findMatrixOp(std::string_view(name.data(), name.size()));
  if (!handler)
    handler = findGroupMatrixOp(std::string_view(name.data(), name.size()));
  if (!handler)
    refuse("'" + name + "' is not known for these types");
  PendingOp &made = pending.emplace_back();
  made.op.run = handler;
  made.op.source = sources.size() - 1;
  made.in = std::move(in);
  made.out = std::move(out);
  return made;
}

std::unique_ptr<Program> Decoder::decode(const Function &kernel) {
  program = std::make_unique<Program>();
  sources.push_back(nullptr);
  placeGlobals();
  Instance frame;
  frame.isKernel = true;
  for (const Argument &argument : kernel.args()) {
    bool byValue = argument.hasByValAttr();
    if (byValue && layout.getTypeAllocSize(argument.getParamByValType()) != sizeof(TensorMap))
      refuse("the only parameters passed by value that are supported are tensor maps, which have 128 bytes");
    if (byValue && !argument.hasAttribute("nvvm.grid_constant"))
      refuse("a tensor map that is no grid constant: NVPTX would copy it to local memory, where no bulk copy may read "
             "it; give the parameter the attribute \"nvvm.grid_constant\"");
    if (!byValue && program->tensorMaps)
      refuse("parameters passed by value must be the last ones");
    program->tensorMaps += byValue;
    frame.values[&argument] = newSlots(argument.getType());
    if (frame.values[&argument].size() != 1)
      refuse("a parameter must be one scalar");
    program->parameters.push_back(frame.values[&argument][0]);
  }
  emitFunction(kernel, frame);

  Handler jumps[] = {findEntry("jump", false)->handlers[0], findEntry("branch", false)->handlers[0],
                     findEntry("switch", false)->handlers[0], findEntry("return", false)->handlers[0]};
  shareRegisters(*program, pending, jumps);
  if (pending.size() >= 1 << 20)
    refuse("the kernel has more than a million operations");
  for (PendingOp &made : pending) {
    program->operands.insert(program->operands.end(), made.in.begin(), made.in.end());
    program->operands.insert(program->operands.end(), made.out.begin(), made.out.end());
  }
  const uint32_t *operand = program->operands.data();
  for (PendingOp &made : pending) {
    Op &op = program->ops.emplace_back(made.op);
    op.ins = made.in.size(), op.outs = made.out.size();
    op.in = operand, op.out = operand + op.ins;
    operand += op.ins + op.outs;
  }
  // The order of the text, not of the blocks.
  std::vector<const Instruction *> order;
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block)
        order.push_back(&instruction);
  DenseMap<const Instruction *, size_t> places;
  for (size_t i = 0; i < order.size(); ++i)
    places[order[i]] = i;
  llvm::sort(barriers, [&](const auto &a, const auto &b) { return places[a.first] < places[b.first]; });
  for (const auto &barrier : barriers)
    program->barriers.push_back(barrier.second);
  program->localBytes = alignTo(program->localBytes, 16);
  program->describe = [sources = sources](const Op &op) {
    return sources[op.source] ? textOf(*sources[op.source]) : std::string("the kernel's begin");
  };
  return std::move(program);
}

void Decoder::emitFunction(const Function &function, Instance &inner) {
  if (llvm::is_contained(callStack, &function))
    refuse("recursive calls are not supported");
  callStack.push_back(&function);
  Instance *outer = std::exchange(instance, &inner);
  std::vector<const BasicBlock *> order = orderBlocks(function);
  for (const BasicBlock *block : order)
    for (const PHINode &phi : block->phis())
      inner.values[&phi] = newSlots(phi.getType());
  for (size_t i = 0; i < order.size(); ++i)
    emitBlock(*order[i], i + 1 < order.size() ? order[i + 1] : nullptr);
  for (const Fixup &fixup : inner.fixups) {
    size_t target = fixup.target ? inner.begins[fixup.target] : pending.size();
    Op &op = pending[fixup.op].op;
    if (fixup.field)
      op.*fixup.field = target;
    else if (fixup.entry < 0)
      program->switches[op.immediate].otherwise = target;
    else
      program->switches[op.immediate].cases[fixup.entry].second = target;
  }
  instance = outer;
  callStack.pop_back();
}

void Decoder::emitBlock(const BasicBlock &block, const BasicBlock *next) {
  instance->begins[&block] = pending.size();
  for (const Instruction &instruction : block) {
    if (isa<PHINode>(instruction))
      continue;
    sources.push_back(&instruction);
    if (instruction.isTerminator())
      emitTerminator(instruction, next);
    else
      emitInstruction(instruction);
  }
}

// All phi nodes of a block take their values at once.
bool Decoder::emitCopies(const BasicBlock &from, const BasicBlock &to) {
  Slots in, out;
  for (const PHINode &phi : to.phis())
    for (auto [source, target] : llvm::zip_equal(slots(phi.getIncomingValueForBlock(&from)), slots(&phi)))
      if (source != target)
        in.push_back(source), out.push_back(target);
  if (in.empty())
    return false;
  emit(in.size() == 1 ? "copy.one" : "copy", Scalar::Integer, in, out);
  return true;
}

void Decoder::emitEdge(const BasicBlock &from, const BasicBlock &to) {
  emitCopies(from, to);
  instance->fixups.push_back({pending.size(), &Op::immediate, 0, &to});
  emit("jump", Scalar::Integer, {}, {});
}

static bool needsCopies(const BasicBlock &to) {
  return !to.phis().empty();
}

void Decoder::emitSwitch(const SwitchInst &choice) {
  size_t at = pending.size();
  SwitchTable table{{}, 0};
  for (const auto &entry : choice.cases())
    table.cases.push_back({entry.getCaseValue()->getZExtValue(), 0});
  emit("switch", Scalar::Integer, slots(choice.getCondition()), {}).op.immediate = program->switches.size();
  program->switches.push_back(std::move(table));
  auto connect = [&](int entry, const BasicBlock &to) {
    if (!needsCopies(to)) {
      instance->fixups.push_back({at, nullptr, entry, &to});
      return;
    }
    SwitchTable &made = program->switches[pending[at].op.immediate];
    (entry < 0 ? made.otherwise : made.cases[entry].second) = pending.size();
    emitEdge(*choice.getParent(), to);
  };
  connect(-1, *choice.getDefaultDest());
  for (const auto &entry : choice.cases())
    connect(entry.getCaseIndex(), *entry.getCaseSuccessor());
}

void Decoder::emitTerminator(const Instruction &terminator, const BasicBlock *next) {
  const BasicBlock &block = *terminator.getParent();
  if (isa<ReturnInst>(terminator)) {
    if (instance->isKernel) {
      emit("return", Scalar::Integer, {}, {});
      return;
    }
    if (terminator.getNumOperands())
      emit("copy", Scalar::Integer, slots(terminator.getOperand(0)), instance->results);
    instance->fixups.push_back({pending.size(), &Op::immediate, 0, nullptr});
    emit("jump", Scalar::Integer, {}, {});
  } else if (isa<UnreachableInst>(terminator)) {
    emit("unreachable", Scalar::Integer, {}, {});
  } else if (auto *choice = dyn_cast<SwitchInst>(&terminator)) {
    emitSwitch(*choice);
  } else if (terminator.getOpcode() == Instruction::Br && terminator.getNumSuccessors() == 1) {
    const BasicBlock &to = *terminator.getSuccessor(0);
    if (&to == next)
      emitCopies(block, to);
    else
      emitEdge(block, to);
  } else if (terminator.getOpcode() == Instruction::Br) {
    size_t at = pending.size();
    emit("branch", Scalar::Integer, slots(terminator.getOperand(0)), {});
    for (auto [successor, field] : {std::pair(0u, &Op::immediate), std::pair(1u, &Op::second)}) {
      const BasicBlock &to = *terminator.getSuccessor(successor);
      if (needsCopies(to)) {
        pending[at].op.*field = pending.size();
        emitEdge(block, to);
      } else {
        instance->fixups.push_back({at, field, 0, &to});
      }
    }
  } else {
    refuse("this terminator is not supported");
  }
}
