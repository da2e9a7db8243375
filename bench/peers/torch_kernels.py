#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NVIDIA's libraries reach through PyTorch on one GPU, for the matmuls and attention of triton_kernels.py and
user_kernels.py: cuBLAS, cuDNN's and PyTorch's own flash attention.

    python3 bench/peers/torch_kernels.py --json torch.json

Each call is captured in a CUDA graph of about --graph-ms milliseconds; a row is the median over --replays replays, per call.
"""
import argparse
import json
import statistics
import sys


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replays", type=int, default=15, help="of each graph, that are timed; default 15")
    parser.add_argument("--graph-ms", type=float, default=3.0, help="what a graph of calls takes about; default 3")
    parser.add_argument("--json", metavar="FILE", help="all rows")
    return parser.parse_args()


def milliseconds(torch, call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def microseconds_of(torch, options, call):
    """The median of a call in graphs."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        once = min(milliseconds(torch, call) for _ in range(3))
        count = max(1, min(200, round(options.graph_ms / max(once, 1e-3))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(count):
                call()
        times = [milliseconds(torch, graph.replay) for _ in range(3 + options.replays)][3:]
    return 1e3 * statistics.median(times) / count


def matmuls(torch):
    """(name, floating-point operations, call)"""
    size = 8192
    work = 2.0 * size**3
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
        yield f"cuBLAS {name} {size}", work, lambda a=a, b=b: a @ b
        yield f"cuBLAS {name} {size}, right operand transposed", work, lambda a=a, b=b: a @ b.t()
    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    yield (f"cuBLAS f8E4M3FN {size}", work, lambda: torch._scaled_mm(
        a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True))
    size = 4096
    torch.backends.cuda.matmul.allow_tf32 = True
    c, d = (torch.randn(size, size, device="cuda") for _ in range(2))
    yield f"cuBLAS tf32 {size}", 2.0 * size**3, lambda: c @ d.t()


def attentions(torch):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backends = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "PyTorch's flash": SDPBackend.FLASH_ATTENTION}
    length, heads = 8192, 16
    for depth in (128, 64):
        q, k, v = (torch.randn(1, heads, length, depth, device="cuda", dtype=torch.float16) for _ in range(3))
        for causal in (False, True):
            work = (2.0 if causal else 4.0) * heads * length * length * depth
            for name, backend in backends.items():
                def call(q=q, k=k, v=v, causal=causal, backend=backend):
                    with sdpa_kernel(backend):
                        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

                yield f"{name} attention, head {depth}{', causal' if causal else ''}", work, call


def main():
    options = parse_arguments()
    if options.replays < 1:
        print(f"error: `--replays {options.replays}`: at least 1\nnote: `--help` shows the options", file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError as error:
        print(f"error: PyTorch cannot be imported: {error}\nnote: install torch for CUDA", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("error: PyTorch finds no GPU\nnote: `nvidia-smi -L` lists GPUs", file=sys.stderr)
        return 3
    print(f"# PyTorch {torch.__version__}, {torch.cuda.get_device_name()}", flush=True)
    rows = []
    with torch.no_grad():
        for make in (matmuls, attentions):
            for name, work, call in make(torch):
                try:
                    time = microseconds_of(torch, options, call)
                except RuntimeError as error:
                    print(f"{name}: left out: {str(error).splitlines()[0]}", flush=True)
                    continue
                print(f"{name}: {time:.1f} us, {work / time * 1e-6:.0f} TFLOP/s", flush=True)
                rows.append({"name": name, "us": time, "tflops": work / time * 1e-6})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
