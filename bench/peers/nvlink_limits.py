#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What loads and stores between the GPUs of a host can carry: the ceiling for every collective without multicast.

Plain CUDA C kernels, compiled by NVRTC, in which each GPU reads from or writes into the memory of others with 16 bytes a thread,
or by bulk copies.
All GPUs run at once, but for the pattern `pair`. Printed is the data that each GPU moves across its links in one direction, the
best of several launch sizes. Before that, how long an exchange of 16 KB takes between two GPUs by packets of 4 bytes of data
and 4 of a flag, by one block and by several: what one multiprocessor sends. Needs PyTorch (for memory and NVRTC) and GPUs that
reach each other's memory.

  python3 bench/peers/nvlink_limits.py --devices 4 --megabytes 256
"""
import argparse
import ctypes
import glob
import os

SOURCE = r"""
struct Memory { uint4 *in[8], *out[8]; };
__device__ uint4 add(uint4 a, uint4 b) { return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
#define EACH(i, n) for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)

// The own slice of every rank's input is summed; `pushes`: into the outputs of all.
template <int ranks, bool pushes> __device__ void fold(Memory m, int me, size_t slice) {
  EACH(i, slice) {
    size_t at = me * slice + i;
    uint4 parts[ranks], sum = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < ranks; ++k) parts[k] = m.in[(me + k) % ranks][at];
#pragma unroll
    for (int k = 0; k < ranks; ++k) sum = add(sum, parts[k]);
    if (!pushes) m.out[me][at] = sum;
    else
#pragma unroll
      for (int k = 0; k < ranks; ++k) m.out[(me + k) % ranks][at] = sum;
  }
}
extern "C" __global__ void read_all(Memory m, int me, size_t slice) { fold<RANKS, false>(m, me, slice); }
extern "C" __global__ void read_and_write_all(Memory m, int me, size_t slice) { fold<RANKS, true>(m, me, slice); }
extern "C" __global__ void write_all(Memory m, int me, size_t slice) {
  EACH(i, slice) {
    uint4 own = m.in[me][me * slice + i];
#pragma unroll
    for (int k = 0; k < RANKS; ++k) m.out[(me + k) % RANKS][me * slice + i] = own;
  }
}
// The same to the others by the engine for bulk copies, from shared memory, 16 bytes a thread at a time.
extern "C" __global__ void bulk_write_all(Memory m, int me, size_t slice) {
  __shared__ alignas(128) uint4 stage[4][512];
  int turn = 0;
  for (size_t i = size_t(blockIdx.x) * blockDim.x; i < slice; i += size_t(gridDim.x) * blockDim.x, turn = (turn + 1) & 3) {
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
    __syncthreads();
    stage[turn][threadIdx.x] = m.in[me][me * slice + i + threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x) continue;
#pragma unroll
    for (int k = 1; k < RANKS; ++k)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(m.out[(me + k) % RANKS] + me * slice + i),
                   "r"(unsigned(__cvta_generic_to_shared(stage[turn]))), "r"(unsigned(blockDim.x * 16)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
extern "C" __global__ void write_next(Memory m, int me, size_t slice) { EACH(i, slice) m.out[(me + 1) % RANKS][i] = m.in[me][i]; }
extern "C" __global__ void read_next(Memory m, int me, size_t slice) { EACH(i, slice) m.out[me][i] = m.in[(me + 1) % RANKS][i]; }

// TURNS exchanges between two GPUs: each thread sends `packets` packets to the other, and waits for as many.
template <int packets> __device__ void exchange(Memory m, int me, size_t first) {
  unsigned sum = 0;
  size_t all = size_t(gridDim.x) * blockDim.x * packets, at = size_t(blockIdx.x) * blockDim.x * packets + threadIdx.x;
  if ((me ^ 1) >= RANKS) return;
  unsigned long long *to = (unsigned long long *)m.out[me ^ 1], *here = (unsigned long long *)m.out[me];
  for (int turn = 0; turn < TURNS; ++turn) {
    size_t parity = turn & 1 ? all : 0;
    unsigned long long flag = (first + turn) << 32, seen[packets];
#pragma unroll
    for (int i = 0; i < packets; ++i)
      asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(to + parity + at + i * blockDim.x), "l"(flag | i) : "memory");
    bool all_came = false;
    for (int tries = 0; tries < (1 << 20) && !all_came; ++tries) {
#pragma unroll
      for (int i = 0; i < packets; ++i)
        asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(seen[i]) : "l"(here + parity + at + i * blockDim.x) : "memory");
      all_came = true;
#pragma unroll
      for (int i = 0; i < packets; ++i) all_came &= seen[i] >> 32 == flag >> 32;
    }
    if (!all_came) __trap();
#pragma unroll
    for (int i = 0; i < packets; ++i) sum += unsigned(seen[i]); // of packets that nothing reads ptxas would load half, one by one
    __syncthreads();
  }
  m.in[me][threadIdx.x].x = sum;
}
extern "C" __global__ void exchange2(Memory m, int me, size_t first) { exchange<2>(m, me, first); }
extern "C" __global__ void exchange8(Memory m, int me, size_t first) { exchange<8>(m, me, first); }
extern "C" __global__ void pair_write(Memory m, int me, size_t slice) { if (me == 0) EACH(i, slice) m.out[1][i] = m.in[0][i]; }
"""

TURNS = 2000
EXCHANGES = [("exchange8", 1, 512), ("exchange2", 4, 512), ("exchange2", 16, 128)]  # of 4096 packets: kernel, blocks, threads
LAUNCHES = [(64, 256), (64, 512), (128, 256), (128, 512), (264, 512)]  # blocks, threads


class Memory(ctypes.Structure):
    _fields_ = [("inputs", ctypes.c_uint64 * 8), ("outputs", ctypes.c_uint64 * 8)]


def check(result, what):
    if result:
        raise SystemExit(f"nvlink_limits: {what} failed with {result}")


def compile_kernels(torch, ranks):
    folder = os.path.dirname(torch.__file__)
    found = [name for pattern in (f"{folder}/../nvidia/**/libnvrtc.so*", f"{folder}/lib/libnvrtc*.so*")
             for name in glob.glob(pattern, recursive=True) if "builtins" not in name and "alt" not in name]
    if not found:
        raise SystemExit(f"nvlink_limits: no libnvrtc beside PyTorch in {folder}")
    nvrtc, program, size = ctypes.CDLL(found[0]), ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"limits.cu", 0, None, None), "nvrtcCreateProgram")
    options = (ctypes.c_char_p * 3)(b"--gpu-architecture=sm_90", f"-DRANKS={ranks}".encode(), f"-DTURNS={TURNS}".encode())
    status = nvrtc.nvrtcCompileProgram(program, 3, options)
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
    image = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, image), "nvrtcGetCUBIN")
    return image


class Machine:
    def __init__(self, torch, ranks, size):
        self.torch, self.ranks, self.size = torch, ranks, size
        self.driver = ctypes.CDLL("libcuda.so.1")
        image = compile_kernels(torch, ranks)
        self.contexts, self.modules, self.buffers, self.memory = [], [], [], Memory()
        for rank in range(ranks):
            pair = [torch.zeros(size, dtype=torch.uint8, device=rank) for _ in range(2)]
            self.buffers.append(pair)
            self.memory.inputs[rank], self.memory.outputs[rank] = (buffer.data_ptr() for buffer in pair)
            torch.cuda.set_device(rank)
            context, module = ctypes.c_void_p(), ctypes.c_void_p()
            check(self.driver.cuCtxGetCurrent(ctypes.byref(context)), "cuCtxGetCurrent")
            check(self.driver.cuModuleLoadData(ctypes.byref(module), image), "cuModuleLoadData")
            self.contexts.append(context)
            self.modules.append(module)
        for rank in range(ranks):
            torch.cuda.set_device(rank)
            for peer in range(ranks):
                enabled_before = 704
                if peer != rank:
                    status = self.driver.cuCtxEnablePeerAccess(self.contexts[peer], 0)
                    check(0 if status == enabled_before else status, f"peer access of cuda:{rank} to cuda:{peer}")
        self.streams = [torch.cuda.Stream(rank) for rank in range(ranks)]

    def launch(self, name, blocks, threads, count):
        for rank in range(self.ranks):
            self.torch.cuda.set_device(rank)
            function = ctypes.c_void_p()
            check(self.driver.cuModuleGetFunction(ctypes.byref(function), self.modules[rank], name.encode()), name)
            values = [self.memory, ctypes.c_int(rank), ctypes.c_size_t(count)]
            arguments = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values])
            check(self.driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0,
                                             ctypes.c_void_p(self.streams[rank].cuda_stream), arguments, None), name)

    def timed(self, launches):
        """Seconds from the first to the last launch, of the slowest GPU."""
        def record():
            events = []
            for rank in range(self.ranks):
                self.torch.cuda.set_device(rank)
                events.append(self.torch.cuda.Event(enable_timing=True))
                events[-1].record(self.streams[rank])
            return events

        first = record()
        launches()
        last = record()
        for rank in range(self.ranks):
            self.torch.cuda.synchronize(rank)
        return max(a.elapsed_time(b) for a, b in zip(first, last)) / 1e3

    def seconds(self, name, blocks, threads, count, launches=6):
        self.launch(name, blocks, threads, count)
        return self.timed(lambda: [self.launch(name, blocks, threads, count) for _ in range(launches)]) / launches

    def exchange_seconds(self, name, blocks, threads, first):
        times = [self.timed(lambda: self.launch(name, blocks, threads, first + run * TURNS)) for run in range(5)]
        return min(times) / TURNS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--megabytes", type=int, default=256, help="of each buffer")
    options = parser.parse_args()
    if not 2 <= options.devices <= 8:
        parser.error(f"--devices {options.devices}: it is 2 to 8")
    import torch
    if torch.cuda.device_count() < options.devices:
        raise SystemExit(f"nvlink_limits: {options.devices} devices wanted, {torch.cuda.device_count()} found")
    ranks, size = options.devices, options.megabytes << 20
    machine = Machine(torch, ranks, size)
    others = (ranks - 1) / ranks
    patterns = [("read_all", "reads a slice of all others, sums", others, size // 16 // ranks),
                ("write_all", "writes a slice to all others", others, size // 16 // ranks),
                ("bulk_write_all", "the same by bulk copies", others, size // 16 // ranks // 512 * 512),  # whole blocks
                ("read_and_write_all", "both: an all-reduce in two steps", 2 * others, size // 16 // ranks),
                ("read_next", "reads from the next GPU only", 1, size // 16),
                ("write_next", "writes to the next GPU only", 1, size // 16),
                ("pair_write", "GPU 0 alone writes to GPU 1", 1, size // 16)]
    for number, (name, blocks, threads) in enumerate(EXCHANGES):
        time = machine.exchange_seconds(name, blocks, threads, 1 + 10 * TURNS * number)
        print(f"16 KB exchanged between two GPUs by packets, {blocks} blocks of {threads}: {time * 1e6:.2f} us", flush=True)
    print(f"{torch.cuda.get_device_name(0)}, {ranks} GPUs, {options.megabytes} MiB a buffer; GB/s in each direction")
    for name, sentence, share, count in patterns:
        best, blocks, threads = max((size * share / machine.seconds(name, b, t, count) / 1e9, b, t) for b, t in LAUNCHES)
        print(f"{name:20s} {sentence:36s} {best:6.1f}  ({blocks} blocks of {threads})", flush=True)


if __name__ == "__main__":
    main()
