/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The C interface to Heddle: compile kernels, run them on devices, check AMD code. docs/c-api.md explains it with an
 * example.
 *
 * - Status: every function but those that only read returns a heddle_status. After another one than HEDDLE_OK,
 *   heddle_error_text and heddle_error_note say what is wrong, on the same thread, until a call of that thread fails
 *   again. No exception leaves the library. Results are written only with HEDDLE_OK.
 * - Handles: packages, devices, streams and the like are handles. heddle_release gives one back; an object that is
 *   still in use lives on until it is not. A handle is no address of memory: null, a released handle and one of another
 *   kind are HEDDLE_INPUT; only heddle_release takes null.
 * - Strings: names, paths and texts are UTF-8 and end with a zero byte; where there is a size beside them they need
 *   none. The library copies what it keeps.
 * - Options: `const char *const *options` is `count` strings `key=value`; null for none. An unknown key is
 *   HEDDLE_INPUT.
 * - Growth: HEDDLE_INTERFACE_VERSION counts additions; nothing is taken away, and no value changes what it says.
 *   Structures with a `struct_size`, which the caller sets to `sizeof`, grow at the end, and 0 is the default of a new
 *   field; heddle_value does not grow.
 * - Threads: every function may be called from several threads at once. Two threads that use one stream put their work
 *   into it in some order. A process that was forked after the first launch on the host has no threads for kernels;
 *   what needs them is HEDDLE_ENVIRONMENT there.
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_INTERFACE_VERSION 5

/* ---- Versions and errors ---- */

/* Of the library; a program needs at least the one of the header that it was compiled with. */
HEDDLE_API uint32_t heddle_interface_version(void);
/* `0.1.0`. */
HEDDLE_API const char *heddle_version(void);
/* 1: libheddle; 0: libheddle_runtime, where the functions that compile, disassemble or report, and simulated devices,
 * are HEDDLE_ENVIRONMENT. Since version 3. */
HEDDLE_API int32_t heddle_has_compiler(void);

typedef int32_t heddle_status;
enum {
  HEDDLE_OK = 0,
  HEDDLE_WRONG_RESULT = 1, /* a result that is wrong: findings of the simulator, its stray accesses, no end */
  HEDDLE_INPUT = 2,        /* what the caller gave, and what its kernel reports: assertions, accesses, crashes */
  HEDDLE_ENVIRONMENT = 3,  /* the machine: files, memory, devices, drivers */
  HEDDLE_INTERNAL = 70     /* a fault of Heddle */
};

/* What went wrong in the last call of this thread that failed: one line, or for a kernel's text `file:line:column:
 * ...`. Empty when none has. Valid until a call of this thread fails again. */
HEDDLE_API const char *heddle_error_text(void);
/* Notes that go with it, one sentence each: the next step, or where the other value comes from. */
HEDDLE_API size_t heddle_error_note_count(void);
/* Null for an index of heddle_error_note_count or above. */
HEDDLE_API const char *heddle_error_note(size_t index);

/* ---- Handles ---- */

typedef struct heddle_package_handle *heddle_package; /* a compiled kernel for one target */
typedef struct heddle_device_handle *heddle_device;
typedef struct heddle_kernel_handle *heddle_kernel; /* a package that is loaded on a device */
typedef struct heddle_buffer_handle *heddle_buffer; /* memory of a device */
typedef struct heddle_stream_handle *heddle_stream; /* an ordered queue of work for a device */
typedef struct heddle_event_handle *heddle_event;
typedef struct heddle_graph_handle *heddle_graph;               /* work of a stream that was captured */
typedef struct heddle_text_handle *heddle_text;                 /* text or bytes that a function returned */
typedef struct heddle_communicator_handle *heddle_communicator; /* a rank of a group of processes */
typedef struct heddle_collective_handle *heddle_collective;     /* a collective that a communicator has prepared */
typedef struct heddle_window_handle *heddle_window;             /* memory of all ranks that each of them reaches */
typedef struct heddle_bundle_handle *heddle_bundle;             /* kernels that `heddle package` has compiled */
typedef struct heddle_call_handle *heddle_call; /* a kernel of the library that is loaded, for arrays of one shape */

/* Gives back a handle of any kind; null is HEDDLE_OK. Of a stream it waits for the work; the others do not wait, and
 * the memory of a buffer stays until work that was put into streams before has run. A communicator leaves its group
 * when its last collective is released too: that ends waits that are outstanding, and graphs with its collectives must
 * be gone. */
HEDDLE_API heddle_status heddle_release(const void *handle);

/* The bytes of a text, valid until it is released. A zero byte, which `size` does not count, follows them. */
HEDDLE_API heddle_status heddle_text_get(heddle_text text, const char **data, size_t *size);

/* ---- Compile ---- */

/* Compiles Triton IR text, or TTGIR, as `heddle compile` does. `name` is the text's name in messages; null: `<text>`.
 * Options: target (host, sm_90, gfx942, gfx950; unless given that which TTGIR names, else host), cpu, kernel, warps,
 * stages, optimization (0 to 3), and true or false for check, exact-math, warp-groups, warp-pipeline (or `always`);
 * they are those of `heddle compile --help`. Several threads may compile at once. Blocks for milliseconds to seconds.
 */
HEDDLE_API heddle_status heddle_compile(const char *text, size_t size, const char *name, const char *const *options,
                                        size_t count, heddle_package *package);
/* The text in a file. */
HEDDLE_API heddle_status heddle_compile_file(const char *path, const char *const *options, size_t count,
                                             heddle_package *package);
/* What one phase of the compilation leaves, as `heddle compile --to PHASE` prints it. */
HEDDLE_API heddle_status heddle_compile_phase(const char *text, size_t size, const char *name, const char *phase,
                                              const char *const *options, size_t count, heddle_text *left);

/* A package from a file, or from the bytes of one. */
HEDDLE_API heddle_status heddle_package_load(const char *path, heddle_package *package);
HEDDLE_API heddle_status heddle_package_parse(const void *bytes, size_t size, heddle_package *package);
/* To a file, which appears whole or not at all; or as bytes: equal packages give equal bytes. */
HEDDLE_API heddle_status heddle_package_save(heddle_package package, const char *path);
HEDDLE_API heddle_status heddle_package_bytes(heddle_package package, heddle_text *bytes);
/* JSON: kernel, target, arguments and so on (docs/package.md). */
HEDDLE_API heddle_status heddle_package_describe(heddle_package package, heddle_text *json);
/* The instructions of the kernel. */
HEDDLE_API heddle_status heddle_package_assembly(heddle_package package, heddle_text *assembly);
/* JSON: an array of the compiler's warnings; empty for a package that was loaded. */
HEDDLE_API heddle_status heddle_package_warnings(heddle_package package, heddle_text *json);

typedef struct {
  size_t struct_size;
  const char *name;     /* valid as long as the package */
  const char *type;     /* of the scalar, or of what the pointer points to: `f32`, `bf16`, `i64`, `f8E4M3FN` */
  int64_t divisibility; /* the address in bytes, or the integer, must be a multiple of it; at least 1 */
  int32_t pointer;      /* 1: an address; 0: a scalar */
  int32_t reserved;
} heddle_argument;

HEDDLE_API heddle_status heddle_package_argument_count(heddle_package package, size_t *count);
/* Arguments are counted from 0, in the kernel's order. Set `argument->struct_size` before the call. */
HEDDLE_API heddle_status heddle_package_argument(heddle_package package, size_t index, heddle_argument *argument);

/* ---- Devices, buffers, streams ---- */

/* `host`, `host:1`, `sim:gfx942`, `sim:gfx950:3`, `cuda:0`, `hip:0`. Two handles of one name are of the same device. */
HEDDLE_API heddle_status heddle_device_open(const char *name, heddle_device *device);
/* JSON: name, description, driver, target, ordinal, memoryBytes, freeBytes, computeUnits. */
HEDDLE_API heddle_status heddle_device_describe(heddle_device device, heddle_text *json);

/* Memory of the device with undefined contents, at an address that is a multiple of 64, on a GPU of 256. `name` is for
 * messages, and may be null. */
HEDDLE_API heddle_status heddle_buffer_create(heddle_device device, uint64_t size_bytes, const char *name,
                                              heddle_buffer *buffer);
/* Memory that is another owner's, who keeps it until work that uses the buffer has run: an address of this process for
 * the host, a device address for a GPU. Copies, bounds checks and messages know it then. Simulated devices have no such
 * memory: HEDDLE_INPUT. */
HEDDLE_API heddle_status heddle_buffer_adopt(heddle_device device, uint64_t address, uint64_t size_bytes,
                                             const char *name, heddle_buffer *buffer);
HEDDLE_API heddle_status heddle_buffer_get(heddle_buffer buffer, uint64_t *address, uint64_t *size_bytes);

HEDDLE_API heddle_status heddle_stream_create(heddle_device device, heddle_stream *stream);
/* A stream over a cudaStream_t or hipStream_t that is another owner's; null is the default stream of CUDA or HIP. Work
 * that is put into either comes in one order. Releasing it leaves theirs alone. HEDDLE_INPUT on other devices. */
HEDDLE_API heddle_status heddle_stream_adopt(heddle_device device, void *handle, heddle_stream *stream);
/* Blocks until all work of the stream has run. Returns its first error since the last call; the stream then works
 * again. */
HEDDLE_API heddle_status heddle_stream_synchronize(heddle_stream stream);

/* These put work into the stream and return at once. Offsets and sizes are in bytes, and a range must lie inside its
 * buffer. Host memory must stay valid until the work has run. */
HEDDLE_API heddle_status heddle_copy_to_device(heddle_stream stream, heddle_buffer to, uint64_t to_offset,
                                               const void *from, uint64_t size_bytes);
HEDDLE_API heddle_status heddle_copy_to_host(heddle_stream stream, void *to, heddle_buffer from, uint64_t from_offset,
                                             uint64_t size_bytes);
HEDDLE_API heddle_status heddle_copy(heddle_stream stream, heddle_buffer to, uint64_t to_offset, heddle_buffer from,
                                     uint64_t from_offset, uint64_t size_bytes);
HEDDLE_API heddle_status heddle_fill(heddle_stream stream, heddle_buffer buffer, uint64_t offset, uint64_t size_bytes,
                                     uint8_t value);

HEDDLE_API heddle_status heddle_event_create(heddle_device device, heddle_event *event);
/* Puts the event into the stream; it is reached when the work before it has run. */
HEDDLE_API heddle_status heddle_event_record(heddle_event event, heddle_stream stream);
/* Lets the work that follows in the stream wait for the latest record of the event. */
HEDDLE_API heddle_status heddle_stream_wait(heddle_stream stream, heddle_event event);
/* Blocks until the latest record of the event is reached. */
HEDDLE_API heddle_status heddle_event_synchronize(heddle_event event);
/* Milliseconds from one event to another, which are both reached. */
HEDDLE_API heddle_status heddle_event_elapsed(heddle_event start, heddle_event end, double *milliseconds);

/* ---- Launch ---- */

/* HEDDLE_INPUT for a package of another target than the device's. On a GPU it may wait for running kernels. */
HEDDLE_API heddle_status heddle_kernel_load(heddle_device device, heddle_package package, heddle_kernel *kernel);

enum {
  HEDDLE_SCALAR = 0,  /* `bits`: the value, zero-extended from its type's size */
  HEDDLE_ADDRESS = 1, /* `bits`: an address of the device */
  HEDDLE_BUFFER = 2   /* `bits`: a heddle_buffer, of which the kernel gets the address */
};

typedef struct {
  int32_t kind;
  int32_t reserved; /* 0 */
  uint64_t bits;
} heddle_value;

typedef struct {
  size_t struct_size;
  int64_t grid[3];        /* program instances along x, y and z; y and z of 0 are 1, and so is {0, 0, 0} */
  double timeout_seconds; /* 0: HEDDLE_LAUNCH_TIMEOUT (docs/runtime.md); kernels of a GPU cannot be stopped */
  int32_t cooperative;    /* 1: all instances are resident at once, and may wait for each other */
  int32_t reserved;       /* 0 */
} heddle_launch_options;

/* Puts a launch into the stream and returns at once. `values` are the kernel's arguments in its order. What can be
 * checked at once is HEDDLE_INPUT here: their number, kind, width and divisibility, and the grid; what the running
 * kernel reports is an error of heddle_stream_synchronize. Null `options` are one instance. */
HEDDLE_API heddle_status heddle_launch(heddle_stream stream, heddle_kernel kernel, const heddle_launch_options *options,
                                       const heddle_value *values, size_t count);

/* From begin to end, on one thread, the stream's work is recorded in a graph instead of run. Buffers and host memory
 * must stay valid until the graph's last launch has run. */
HEDDLE_API heddle_status heddle_capture_begin(heddle_stream stream);
HEDDLE_API heddle_status heddle_capture_end(heddle_stream stream, heddle_graph *graph);
HEDDLE_API heddle_status heddle_graph_launch(heddle_stream stream, heddle_graph graph);

/* `function` gets each line that tt.print writes, in place of standard error, from one thread at a time; null: standard
 * error again. It must not wait for a stream. One function for the process. */
typedef void (*heddle_print_function)(const char *line, void *user);
HEDDLE_API heddle_status heddle_set_print(heddle_print_function function, void *user);

/* ---- Bundles ---- */
/* Kernels of the library (docs/kernels.md) and of collectives, which `heddle package` has compiled for chips and shapes
 * into one file (docs/package.md), so that a program needs no compiler. Since version 3. */

/* A bundle from a file, or from the bytes of one. */
HEDDLE_API heddle_status heddle_bundle_load(const char *path, heddle_bundle *bundle);
HEDDLE_API heddle_status heddle_bundle_parse(const void *bytes, size_t size, heddle_bundle *bundle);
/* JSON: producer, packages, calls, collectives (docs/package.md). */
HEDDLE_API heddle_status heddle_bundle_describe(heddle_bundle bundle, heddle_text *json);

/* Loads the one call of a kernel for the device's target that has all of the `choices`: strings `key=value` with
 * extents (`M=16640`), types of inputs (`x=bf16`), options and tile parameters, as heddle_bundle_describe has them.
 * HEDDLE_INPUT, with what the bundle has, when none or several fit. Allocates the memory of intermediate arrays. On a
 * GPU it may wait for running kernels. */
HEDDLE_API heddle_status heddle_call_load(heddle_device device, heddle_bundle bundle, const char *kernel,
                                          const char *const *choices, size_t count, heddle_call *call);
/* JSON: kernel, target, choices, arrays (name, type, shape, strides, bytes, result): those that a launch takes, the
 * inputs and then the results. */
HEDDLE_API heddle_status heddle_call_describe(heddle_call call, heddle_text *json);
/* Puts the call's launches into the stream and returns at once. `addresses` are those of all arrays, on the device.
 * Launches of one call share memory: they are put into one stream, or ordered by events. */
HEDDLE_API heddle_status heddle_call_launch(heddle_stream stream, heddle_call call, const uint64_t *addresses,
                                            size_t count);

/* ---- Collectives ---- */
/* The ranks are processes with a device each: 1 to 8 of one host, or of up to 8 hosts with up to 8 each
 * (docs/processes.md). Between hosts there are all-reduce, all-gather, reduce-scatter and all-to-all, on streams that
 * are not being captured; windows and modules are HEDDLE_INPUT there. Functions that are collective are called by every
 * rank, in one order; when one rank fails in them, every rank gets the error. */

/* Gathers `size_bytes` bytes from each rank into `all`, by rank; other than 0: it could not. Waits `seconds` at most.
 * It is called in heddle_communicator_create only, on the calling thread. */
typedef int32_t (*heddle_all_gather_function)(const void *mine, void *all, size_t size_bytes, double seconds,
                                              void *user);

typedef struct {
  size_t struct_size;
  double deadline_seconds; /* how long the waits of one launch may last together; 0: 30 */
  double setup_seconds;    /* how long making the communicator may wait for other ranks; 0: 30 */
  double prepare_seconds;  /* how long preparing may wait for other ranks; 0: as setup_seconds */
  int32_t
      reserved_units; /* GPUs: compute units left to other kernels that wait for ranks, as NCCL's; the same on all */
  int32_t reserved;   /* 0 */
  /* Since version 5. Of ranks on several hosts, all but host_address the same on all ranks. Before, such ranks were
   * refused. */
  const char
      *transport; /* between hosts: `loopback`, `tcp`, `mpi`, `nccl`; null or `automatic`: as docs/processes.md says */
  const char *host_address; /* of TCP: the number of an interface of this host; null: HEDDLE_HOST_ADDRESS, or as the
                             * bootstrap says */
  const char *host_model;   /* `20,2000,50,1000`: microseconds and MB/s of a step within a host, then between hosts, by
                             * which plans are chosen; null: measured now */
  int32_t hosts;          /* above 0: ranks of one machine play so many hosts, which share no memory; 0: the hosts that
                           * there are */
  int32_t reserved_hosts; /* 0 */
} heddle_communicator_options;

/* Collective. A rank of a group of `size` processes that find each other by `all_gather`: MPI's, a key-value store's.
 * Null `options` are the defaults. */
HEDDLE_API heddle_status heddle_communicator_create(heddle_device device, int32_t rank, int32_t size,
                                                    heddle_all_gather_function all_gather, void *user,
                                                    const heddle_communicator_options *options,
                                                    heddle_communicator *communicator);
/* Collective. The same over an address: `env` (as the launcher says: torchrun, Slurm), `unix:PATH`, `unix:@NAME`,
 * `tcp:ADDRESS:PORT`, `mpi` (the ranks of MPI_COMM_WORLD). `rank` -1 and `size` 0 are what the launcher says. `secret`,
 * which may be null, is what all ranks know; null: HEDDLE_SECRET_FILE or HEDDLE_SECRET. */
HEDDLE_API heddle_status heddle_communicator_connect(heddle_device device, const char *address, int32_t rank,
                                                     int32_t size, const char *secret,
                                                     const heddle_communicator_options *options,
                                                     heddle_communicator *communicator);
/* Collectives that are prepared from now on take their kernels from the bundle where it has them: the same on every
 * rank. libheddle compiles the others; of libheddle_runtime they are HEDDLE_ENVIRONMENT. Of several bundles the first
 * one that has a kernel counts. Not collective. Since version 3. */
HEDDLE_API heddle_status heddle_communicator_add_bundle(heddle_communicator communicator, heddle_bundle bundle);
/* JSON: rank, size, device, target, computeUnits, sharing, members (rank, device, process). Of several hosts, since
 * version 5, also hosts, ranksPerHost (0: they differ), transport, hostModel. */
HEDDLE_API heddle_status heddle_communicator_describe(heddle_communicator communicator, heddle_text *json);

/* Memory of the communicator's device that can be registered as a window; `name`, for messages, may be null. Not
 * collective. Since version 4. */
HEDDLE_API heddle_status heddle_communicator_allocate(heddle_communicator communicator, uint64_t size_bytes,
                                                      const char *name, heddle_buffer *buffer);
/* Collective. Registers `size_bytes` at `address` of every rank, which all others map: memory that
 * heddle_communicator_allocate gave, or on a GPU any that its driver can export, at any offset. Large collectives whose
 * operands are in windows access them where they lie (docs/processes.md). Sizes that differ, and memory that one rank
 * cannot share, are HEDDLE_INPUT on all. The memory stays allocated as long as the window is registered. `name` may be
 * null. Since version 4. */
HEDDLE_API heddle_status heddle_window_register(heddle_communicator communicator, uint64_t address, uint64_t size_bytes,
                                                const char *name, heddle_window *window);
/* Collective. Waits for the communicator's work; when it returns, the memory may be freed. Collectives in
 * the window are HEDDLE_INPUT from then on. Releasing the handle does not do this: the window lasts as long as the
 * communicator then. Since version 4. */
HEDDLE_API heddle_status heddle_window_deregister(heddle_window window);

enum {                        /* kinds of collectives, of ranks r with inputs x_r; [p] is part p of `count` elements */
       HEDDLE_ALL_REDUCE = 0, /* out_r = reduction of all x */
       HEDDLE_ALL_GATHER = 1, /* out_r[s] = x_s */
       HEDDLE_REDUCE_SCATTER = 2, /* out_r = reduction of all x[r] */
       HEDDLE_ALL_TO_ALL = 3,     /* out_r[s] = x_s[r] */
       HEDDLE_BROADCAST = 4       /* out_r = x_root */
};
enum { HEDDLE_SUM = 0, HEDDLE_PRODUCT = 1, HEDDLE_MINIMUM = 2, HEDDLE_MAXIMUM = 3, HEDDLE_AND = 4, HEDDLE_OR = 5 };

typedef struct {
  size_t struct_size;
  const char *type;      /* of the elements: `f32`, `bf16`, `i64` */
  const char *algorithm; /* null: the plan chooses (docs/collectives.md) */
  int64_t count;         /* elements of a part */
  int32_t kind;
  int32_t reduction; /* of all-reduce and reduce-scatter, else 0 */
  int32_t root;      /* of a broadcast, else 0 */
  int32_t captured;  /* 1: for streams that are being captured, with memory of its own; 0: for all others */
  /* Since version 4. The windows in which input and output of every launch are, at any offset, which may be one; both
   * null: they are anywhere. The same on all ranks. A launch with operands outside is HEDDLE_INPUT and ends the group.
   */
  heddle_window input_window;
  heddle_window output_window;
} heddle_collective_request;

typedef struct {
  size_t struct_size;
  const char *algorithm; /* `one_shot_packets`; valid for the life of the library */
  int64_t memory_bytes;  /* of this rank that preparing takes, unless a collective before shares it */
  int32_t blocks;        /* program instances on each rank, between hosts of the largest kernel; 0: no kernel runs */
  int32_t packets;       /* 0: none; 1: `ll`; 2: `lamport` */
} heddle_collective_plan;

/* What preparing the collective would choose: equal on all ranks, as it depends on the request and the group only. Not
 * collective; allocates and compiles nothing. Set `plan->struct_size` before the call. */
HEDDLE_API heddle_status heddle_communicator_plan(heddle_communicator communicator,
                                                  const heddle_collective_request *request,
                                                  heddle_collective_plan *plan);
/* Collective, but for what was prepared before: compiles and allocates, which takes milliseconds to seconds. A request
 * that differs from another rank's is HEDDLE_INPUT on all. */
HEDDLE_API heddle_status heddle_communicator_prepare(heddle_communicator communicator,
                                                     const heddle_collective_request *request,
                                                     heddle_collective *collective);
/* Puts the collective into the stream, or into the communicator's own when that is null, and returns at once. Every
 * rank launches the same collectives in one order, which they keep also on different streams. The addresses are of the
 * device, of this process alone, and need the alignment of their elements only; input and output may be the same
 * memory, for all-gather and reduce-scatter with the smaller one as the rank's own part of the larger. Of a broadcast
 * the input of ranks other than the root may be 0. HEDDLE_INPUT where another rank has launched something else there,
 * HEDDLE_ENVIRONMENT when the group has failed, with the rank that did. */
HEDDLE_API heddle_status heddle_collective_launch(heddle_collective collective, heddle_stream stream, uint64_t input,
                                                  uint64_t output);

/* Collective. A collective with code fused into its kernel, such as an all-reduce with residual and RMS norm: HLO text
 * (docs/modules.md) whose only launch is one collective over all ranks. `name` is the text's name in messages.
 * `captured` as in heddle_collective_request. HEDDLE_INPUT for a module that takes several launches. Each call compiles
 * and allocates again. */
HEDDLE_API heddle_status heddle_communicator_prepare_module(heddle_communicator communicator, const char *text,
                                                            size_t size, const char *name, int32_t captured,
                                                            heddle_collective *collective);
/* JSON: name, algorithm, blocks, arrays (name, type, bytes, result, alignment): those that a launch takes. */
HEDDLE_API heddle_status heddle_collective_describe(heddle_collective collective, heddle_text *json);
/* As heddle_collective_launch: `addresses` are those of all arrays, the module's parameters and then its results. Of a
 * module they have the alignment that heddle_collective_describe says. */
HEDDLE_API heddle_status heddle_collective_launch_arrays(heddle_collective collective, heddle_stream stream,
                                                         const uint64_t *addresses, size_t count);

/* Work of other libraries takes part in the order of the launches: `follow` before it is put into the stream, which
 * then waits for the latest launch, and `mark` after it, for which later launches then wait. Without effect on streams
 * that are being captured. */
HEDDLE_API heddle_status heddle_communicator_follow(heddle_communicator communicator, heddle_stream stream);
HEDDLE_API heddle_status heddle_communicator_mark(heddle_communicator communicator, heddle_stream stream);

/* Waits for the work that was launched. An error names the collective and the ranks that it waited for; the group has
 * failed for good then: release it, and make a new one. */
HEDDLE_API heddle_status heddle_communicator_synchronize(heddle_communicator communicator);
/* The same for what has failed so far, without waiting. A process that is gone or has left is an error only when this
 * rank waits for it; that another rank has ended the group for a reason of its own is one always. */
HEDDLE_API heddle_status heddle_communicator_check(heddle_communicator communicator);
/* What has ended the group, as a process that is gone or has left, though no call of this rank may have failed. Asks no
 * device. */
HEDDLE_API heddle_status heddle_communicator_check_group(heddle_communicator communicator);
/* Ends all waits of all ranks, which get `reason`. The group has failed for good. */
HEDDLE_API heddle_status heddle_communicator_abort(heddle_communicator communicator, const char *reason);
/* This rank launches no more, as at the end of its process: ranks that wait for it get an error that says so, others
 * nothing. Waits for this rank's own work, at most two seconds: if it is not done then, the group is aborted. */
HEDDLE_API heddle_status heddle_communicator_leave(heddle_communicator communicator);

/* Whether the stream is being captured, by Heddle or by its owner: 1 or 0. */
HEDDLE_API heddle_status heddle_stream_is_capturing(heddle_stream stream, int32_t *capturing);

/* A handler of XLA's foreign function interface, versions 0.1 to 0.3, for its stage `execute`: it launches the kernel
 * whose package is in the attributes of the call, on the host, where it waits, or in XLA's stream of a GPU.
 * `call_frame` is an XLA_FFI_CallFrame; the result is null or an XLA_FFI_Error. docs/jax.md has the attributes;
 * heddle.jax.call writes them. Since version 2. */
HEDDLE_API void *heddle_xla_call(void *call_frame);

/* ---- Values, reports ---- */

/* The bytes of a buffer value as `heddle run --arg` takes it: `f32[64,128]` (zeros), `rand:bf16[64]:7`, `@file.npy`. */
HEDDLE_API heddle_status heddle_make_values(const char *value, heddle_text *bytes);

/* Called now and then while a report is made, on any thread, one call at a time; a result other than 0 ends the work
 * early, as a time limit does. `all` may grow. */
typedef int32_t (*heddle_progress_function)(size_t done, size_t all, void *user);

/* Does what a verb of the command does, and gives the JSON that `heddle VERB ... --json` prints. Verbs: check,
 * simulate, mutate, inspect, run, compile, package, bench, tune, doctor. `words` are the command's words after the
 * verb, without `--json`: options and files, as `heddle VERB --help` lists them; `-` (standard input) and `--step` are
 * refused. `exit_code` is the command's: 1 for findings, a result that differs, or a kernel that failed; the JSON then
 * says which. `progress`, which may be null, is called by check, mutate and tune. Blocks until the work is done, which
 * for these may be minutes. */
HEDDLE_API heddle_status heddle_report(const char *verb, const char *const *words, size_t count,
                                       heddle_progress_function progress, void *user, int32_t *exit_code,
                                       heddle_text *json);

#ifdef __cplusplus
}
#endif

#endif
