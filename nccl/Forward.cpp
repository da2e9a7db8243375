// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL's other functions, for programs that open the drop-in in place of NCCL: each jumps to NCCL's own with its
// arguments as they are, whatever they are. The address is found at the first call.
#include "nccl/Libraries.h"
#include "nccl/Log.h"

#ifndef __x86_64__
#error "the jumps below are for x86-64"
#endif

namespace heddle::dropin {
namespace {

enum Index : int {
#define HEDDLE_NCCL_INDEX(name) name##Index,
  HEDDLE_NCCL_FORWARDED(HEDDLE_NCCL_INDEX)
#undef HEDDLE_NCCL_INDEX
      forwardedCount
};

const char *const names[] = {
#define HEDDLE_NCCL_NAME(name) #name,
    HEDDLE_NCCL_FORWARDED(HEDDLE_NCCL_NAME)
#undef HEDDLE_NCCL_NAME
};

Result notThere() {
  return result::invalidUsage;
}

} // namespace
} // namespace heddle::dropin

extern "C" {

__attribute__((visibility("hidden"), used)) void *heddleForwarded[heddle::dropin::forwardedCount];

__attribute__((visibility("hidden"), used)) void *heddleFindForwarded(int index) {
  using namespace heddle::dropin;
  void *found = findNccl(names[index]);
  if (!found) {
    say("this NCCL has no %s", names[index]);
    found = reinterpret_cast<void *>(&notThere);
  }
  return heddleForwarded[index] = found;
}
}

// The registers of arguments are kept over the search. %r11 is free between functions.
__asm__(R"(
  .pushsection .text
  .type heddleFirstForward, @function
heddleFirstForward:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  movl %r11d, %edi
  call heddleFindForwarded
  movq %rax, %r11
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmpq *%r11
  .size heddleFirstForward, . - heddleFirstForward
  .popsection
)");

#define HEDDLE_NCCL_JUMP(name)                                                                                         \
  extern "C" __attribute__((naked, visibility("default"))) void name() {                                               \
    __asm__("movq heddleForwarded+%c0(%%rip), %%r11\n"                                                                 \
            "testq %%r11, %%r11\n"                                                                                     \
            "je 1f\n"                                                                                                  \
            "jmpq *%%r11\n"                                                                                            \
            "1: movl %1, %%r11d\n"                                                                                     \
            "jmp heddleFirstForward\n" ::"i"(8 * heddle::dropin::name##Index),                                         \
            "i"(heddle::dropin::name##Index));                                                                         \
  }
HEDDLE_NCCL_FORWARDED(HEDDLE_NCCL_JUMP)
