// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Litmus tests as LLVM compiles them: each of up to four roles is played by one lane. LitmusTest.cpp says who plays
// which, where x and y lie, and which outcomes are allowed. out[2 * role], out[2 * role + 1] are what a role has read.
typedef unsigned int u32;
typedef __global volatile atomic_uint *place;

#define RLX memory_order_relaxed
#define ACQ memory_order_acquire
#define REL memory_order_release
#define SC memory_order_seq_cst
#define GROUP_SCOPE memory_scope_work_group
#define DEVICE_SCOPE memory_scope_device
#define ALL_SCOPE memory_scope_all_svm_devices

// `by` without COLD: 0 roles are waves of a workgroup, 1 workgroups `first` + role * `step`, 2 devices, of which this one has `self`.
#define COLD 16 // no plain loads beforehand, which are in no order with the stores
static int role_of(int by, int self, int first, int step) {
  if (__builtin_amdgcn_workitem_id_x() % 64)
    return -1;
  int wave = __builtin_amdgcn_workitem_id_x() / 64, group = __builtin_amdgcn_workgroup_id_x();
  by &= ~COLD;
  if (by == 0)
    return wave;
  if (by == 2)
    return wave == 0 && group == 0 ? self : -1;
  return wave == 0 && group >= first && (group - first) % step == 0 ? (group - first) / step : -1;
}

// Keeps both lines where plain loads find them.
static void warm(__global u32 *x, __global u32 *y) {
  u32 a, b;
  __asm__ volatile("global_load_dword %0, %2, off\n\tglobal_load_dword %1, %3, off\n\ts_waitcnt vmcnt(0)"
                   : "=&v"(a), "=&v"(b)
                   : "v"(x), "v"(y));
}

#define KERNEL(name, body)                                                                                             \
  __kernel void name(__global u32 *x, __global u32 *y, __global u32 *out, int by, int self, int first, int step) {     \
    int role = role_of(by, self, first, step);                                                                         \
    if (role < 0)                                                                                                      \
      return;                                                                                                          \
    if (!(by & COLD))                                                                                                  \
      warm(x, y);                                                                                                      \
    body                                                                                                               \
  }
#define LOAD(p, order, scope) __opencl_atomic_load((place)(p), order, scope)
#define STORE(p, value, order, scope) __opencl_atomic_store((place)(p), value, order, scope)

// W x; W y || R y; R x
#define MESSAGE(name, write, read, other, scope)                                                                       \
  KERNEL(message_##name, {                                                                                             \
    if (role == 0) {                                                                                                   \
      STORE(x, 1, other, scope);                                                                                       \
      STORE(y, 1, write, scope);                                                                                       \
    } else if (role == 1) {                                                                                            \
      out[2] = LOAD(y, read, scope);                                                                                   \
      out[3] = LOAD(x, other, scope);                                                                                  \
    }                                                                                                                  \
  })
// The same with plain data: it is read only when the message has come.
#define PLAIN(name, write, read, scope)                                                                                \
  KERNEL(plain_##name, {                                                                                               \
    if (role == 0) {                                                                                                   \
      *x = 1;                                                                                                          \
      STORE(y, 1, write, scope);                                                                                       \
    } else if (role == 1) {                                                                                            \
      u32 seen = LOAD(y, read, scope);                                                                                 \
      out[2] = seen;                                                                                                   \
      if (seen)                                                                                                        \
        out[3] = *x;                                                                                                   \
    }                                                                                                                  \
  })
// W x; R y || W y; R x
#define STORES(name, write, read, scope)                                                                               \
  KERNEL(stores_##name, {                                                                                              \
    if (role == 0) {                                                                                                   \
      STORE(x, 1, write, scope);                                                                                       \
      out[0] = LOAD(y, read, scope);                                                                                   \
    } else if (role == 1) {                                                                                            \
      STORE(y, 1, write, scope);                                                                                       \
      out[2] = LOAD(x, read, scope);                                                                                   \
    }                                                                                                                  \
  })
// R x; W y || R y; W x
#define LOADS(name, write, read, scope)                                                                                \
  KERNEL(loads_##name, {                                                                                               \
    if (role == 0) {                                                                                                   \
      u32 seen = LOAD(x, read, scope);                                                                                 \
      STORE(y, 1, write, scope);                                                                                       \
      out[0] = seen;                                                                                                   \
    } else if (role == 1) {                                                                                            \
      u32 seen = LOAD(y, read, scope);                                                                                 \
      STORE(x, 1, write, scope);                                                                                       \
      out[2] = seen;                                                                                                   \
    }                                                                                                                  \
  })
// W x || W y || R x; R y || R y; R x
#define READERS(name, write, read, scope)                                                                              \
  KERNEL(readers_##name, {                                                                                             \
    if (role == 0)                                                                                                     \
      STORE(x, 1, write, scope);                                                                                       \
    else if (role == 1)                                                                                                \
      STORE(y, 1, write, scope);                                                                                       \
    else if (role == 2) {                                                                                              \
      out[4] = LOAD(x, read, scope);                                                                                   \
      out[5] = LOAD(y, read, scope);                                                                                   \
    } else if (role == 3) {                                                                                            \
      out[6] = LOAD(y, read, scope);                                                                                   \
      out[7] = LOAD(x, read, scope);                                                                                   \
    }                                                                                                                  \
  })
// W x 1; W x 2 || R x; R x; R x, one location: never back.
#define COHERENCE(name, scope)                                                                                         \
  KERNEL(coherence_##name, {                                                                                           \
    if (role == 0) {                                                                                                   \
      STORE(x, 1, RLX, scope);                                                                                         \
      STORE(x, 2, RLX, scope);                                                                                         \
      out[0] = LOAD(x, RLX, scope);                                                                                    \
    } else if (role == 1) {                                                                                            \
      out[2] = LOAD(x, RLX, scope);                                                                                    \
      out[3] = LOAD(x, RLX, scope);                                                                                    \
    }                                                                                                                  \
  })
// Every role adds: no addition is lost.
#define COUNT(name, scope)                                                                                             \
  KERNEL(count_##name, {                                                                                               \
    for (int i = 0; i < 4; ++i)                                                                                        \
      __opencl_atomic_fetch_add((place)x, 1, RLX, scope);                                                              \
  })

#define ALL(suffix, scope)                                                                                             \
  MESSAGE(relaxed_##suffix, RLX, RLX, RLX, scope)                                                                      \
  MESSAGE(acqrel_##suffix, REL, ACQ, RLX, scope)                                                                       \
  MESSAGE(seqcst_##suffix, SC, SC, SC, scope)                                                                          \
  PLAIN(relaxed_##suffix, RLX, RLX, scope)                                                                             \
  PLAIN(acqrel_##suffix, REL, ACQ, scope)                                                                              \
  STORES(relaxed_##suffix, RLX, RLX, scope)                                                                            \
  STORES(acqrel_##suffix, REL, ACQ, scope)                                                                             \
  STORES(seqcst_##suffix, SC, SC, scope)                                                                               \
  LOADS(relaxed_##suffix, RLX, RLX, scope)                                                                             \
  LOADS(acqrel_##suffix, REL, ACQ, scope)                                                                              \
  LOADS(seqcst_##suffix, SC, SC, scope)                                                                                \
  READERS(relaxed_##suffix, RLX, RLX, scope)                                                                           \
  READERS(acqrel_##suffix, REL, ACQ, scope)                                                                            \
  READERS(seqcst_##suffix, SC, SC, scope)                                                                              \
  COHERENCE(relaxed_##suffix, scope)                                                                                   \
  COUNT(relaxed_##suffix, scope)

ALL(group, GROUP_SCOPE)
ALL(device, DEVICE_SCOPE)
ALL(all, ALL_SCOPE)

// Fault F1 of LLVM 22: another wave's data are written back, and the flag does not wait for it.
__kernel void publish_for_another(__global u32 *x, __global u32 *y, __global u32 *out, int by, int self, int first,
                                  int step, int waits) {
  int wave = __builtin_amdgcn_workitem_id_x() / 64, group = __builtin_amdgcn_workgroup_id_x();
  if (group == 0) {
    if (wave == 1)
      x[__builtin_amdgcn_workitem_id_x() % 64] = 1;
    __asm__ volatile("s_waitcnt vmcnt(0)\n\ts_barrier" ::: "memory");
    if (__builtin_amdgcn_workitem_id_x() == 0) {
      __asm__ volatile("buffer_wbl2 sc0 sc1" ::: "memory");
      if (waits)
        __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory");
      __asm__ volatile("global_store_dword %0, %1, off sc0 sc1" ::"v"(y), "v"(1) : "memory");
    }
  } else if (__builtin_amdgcn_workitem_id_x() == 0) {
    if (!(by & COLD))
      warm(x, y);
    u32 seen = LOAD(y, ACQ, ALL_SCOPE);
    out[2] = seen;
    if (seen)
      out[3] = *x;
  }
}
