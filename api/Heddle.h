// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The only interface to Heddle for programs and bindings: compile, load, run, inspect, describe the machine. Every
// function throws heddle::Error (support/Error.h) whose class says who has to act.
#pragma once
#include "binary/Package.h"
#include "compiler/pipeline/Compile.h"
#include "compiler/pipeline/Inspect.h"
#include "compiler/pipeline/Phases.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

std::string version(); ///< `0.1.0`

/// The kernel text in a file, or on standard input for `-`. Throws Error{Input} for a package.
std::string readKernelText(const std::string &path);
/// The target that a text of TTGIR or of the simt level says it is for, `gfx950`; `otherwise` for other texts and for
/// targets that do not exist.
std::string targetOfText(const std::string &text, const std::string &otherwise);
/// The name that messages use for `path`: `<stdin>` for `-`.
std::string sourceName(const std::string &path);

CompileResult compileFile(const std::string &path, const CompileOptions &options);

/// The bytes of a file, or of standard input for `-`, and whether they are a package (by name or by content) or an ELF
/// file: a code object, perhaps.
struct KernelFile {
  std::string bytes;
  bool isPackage = false, isElf = false;
};
KernelFile readAnyKernelFile(const std::string &path);
/// The same; throws Error{Input} for an ELF file.
KernelFile readKernelFile(const std::string &path);

/// A package from a `.hpkg` file, or from kernel text by compiling it with `options`. For a package file
/// `options.checkAccesses` must agree with what it was compiled with: Error{Input} when it asks for more, and also when
/// `compileOption`, as `--cpu x86-64-v3`, names an option of the user's that only kernel text can obey.
Package loadOrCompile(const std::string &path, const CompileOptions &options, const std::string &compileOption = "");

/// A kernel of an AMD code object of another compiler, with `threads` work-items in a workgroup. An empty `kernel` is
/// the only one.
Package loadCodeObject(const std::string &path, const std::string &kernel, int64_t threads);

/// A code object from a file that is one, from a package, or from a kernel's text, which is compiled. Throws
/// Error{Input} where the package or `options.target` is of no chip of AMD.
struct CodeObjectFile {
  std::string bytes;
  std::string kernel;                               ///< of a package or text: its only one, else empty
  int64_t threads = 0;                              ///< of a workgroup of that kernel, else 0
  uint64_t sharedBytes = 0;                         ///< of dynamic LDS
  std::shared_ptr<const Package> package = nullptr; ///< of a package or text, without its code
};
CodeObjectFile readCodeObject(const std::string &path, const CompileOptions &options);

/// A value for an argument, or for a buffer beside the arguments.
struct NamedValue {
  std::string name;
  std::string value;
};
/// Names or values that do not fit a kernel or module: an Error{Input} to which a program may add how it takes them.
class ArgumentError : public Error {
public:
  explicit ArgumentError(const std::string &message, std::vector<std::string> notes = {})
      : Error(ErrorClass::Input, message, std::move(notes)) {}
};
/// Throws Error{Input} for a text without `=` or without a name; `option` names the flag for the message.
NamedValue parseNamedValue(const std::string &text, const std::string &option);

/// What kernels for a device are compiled for: `host`, `sm_90`. Throws as openDevice.
std::string deviceTarget(const std::string &device);
/// The device for a kernel's file where none is given: `sim:gfx950` for a package, a code object or a text for that
/// chip (targetOfText), `cuda:0` for one for NVIDIA's, else `host`. Throws Error{Input} for a file that cannot be read.
std::string defaultDevice(const std::string &path);

struct RunRequest {
  std::string device = "host";
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<NamedValue> arguments; ///< VALUE as parseBufferSpec takes it
  std::vector<NamedValue> buffers;   ///< buffers that are no arguments
  std::vector<std::string> outputs;  ///< buffers to read after the first launch
  bool cooperative = false;
  double timeoutSeconds = 0;  ///< 0: HEDDLE_LAUNCH_TIMEOUT
  int warmup = 0, repeat = 0; ///< launches after the first, on the same buffers; `repeat` of them are timed
};

/// The contents of a buffer.
struct Array {
  std::string name;
  ElementType type = ElementType::F32;
  std::string dtype; ///< of its file: that of the input file, else numpyDtype(type)
  std::vector<int64_t> shape;
  std::string bytes;
};

struct RunResult {
  std::vector<Array> outputs;       ///< in the order of RunRequest::outputs
  std::vector<double> milliseconds; ///< of each timed launch
};

/// Throws Error{Input} for a missing, extra, repeated or ill-typed argument, with the kernel's arguments in a note;
/// what the kernel itself reports (a failed assert, an access out of bounds) as the driver throws it.
RunResult runKernel(const Package &package, const RunRequest &request);

/// `x: pointer to f32, n: i32`
std::string describeArguments(const Package &package);

struct Tolerance {
  double relative, absolute;
};
/// The default tolerance of a result of `type`: both 1e-12 for f64, 1e-5 for f32, 1e-3 for f16,
/// 1e-2 for bf16, 0.1 for 8-bit formats, 0 for integers.
Tolerance defaultTolerance(ElementType type);

struct Comparison {
  int64_t elements = 0, mismatches = 0;
  std::string first, worst; ///< `[3, 5]: 1.25, expected 1.5`; empty without a mismatch
  double worstError = 0;    ///< |value - expected|
};
/// Compares with a .npy file: of the array's own storage type bit by bit decoded, or of any number type by value. An
/// element agrees when |value - expected| <= absolute + relative * |expected|, or both are NaN.
Comparison compareWithFile(const Array &array, const std::string &path, const Tolerance &tolerance);

/// What `heddle doctor` shows of the machine.
struct MachineReport {
  std::string processor;     ///< its maker's name for it
  HostProcessor target;      ///< what host code is made for
  std::string targetProblem; ///< why no host code can be made; empty when it can
  int cores = 0;
  uint64_t memoryBytes = 0;
  struct Device {
    std::string name, description; ///< `cuda:0`; product and size
    std::string target;            ///< its chip's name
    uint64_t memoryBytes = 0, freeBytes = 0;
    std::vector<bool> peers; ///< whether its kernels can use the memory of each device of its driver; host: empty
    std::vector<std::string> links; ///< by peer: `xGMI`, `PCIe, 2 hops`; empty where not known
    std::string problem;            ///< why it cannot be opened; then only the name is known
  };
  std::vector<Device> devices; ///< the first of the host's, all of the others
  struct Library {
    std::string name;        ///< `libcuda.so.1`
    std::string purpose;     ///< `NVIDIA CUDA driver`
    std::string description; ///< its version; empty when nothing was asked of it
    std::string problem;     ///< why it cannot be opened, or has no device; empty when it can
  };
  std::vector<Library> libraries;
  struct Links { ///< of a chip whose devices have links for each pair: what plans of collectives count on
    std::string chip;
    int perPair = 0;
    int64_t bytesPerSecond = 0; ///< of each, in each direction
  };
  std::vector<Links> links;
  std::vector<Knob> knobs;
  std::vector<std::string> unknownVariables; ///< that look like a knob's but are none
  std::string version, llvmVersion;
};
MachineReport examineMachine();

/// Programs that call it have devices `sim:gfx942:0`, ...: before they ask for any.
void useSimulatedDevices();

} // namespace heddle
