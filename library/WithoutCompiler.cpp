// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libheddle_runtime: the functions of the C interface that need the compiler or the simulator say so.
#include "collectives/hosts/HostPlan.h"
#include "library/Compiler.h"
#include "library/Errors.h"
#include "runtime/Driver.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle;

namespace {

constexpr const char *linkLibheddle =
    "link libheddle for it: heddle::heddle of find_package, heddle of pkg-config (docs/c-api.md)";

/// `what`: `heddle_compile compiles`, say.
Error lacking(const std::string &what, const std::string &instead = "") {
  std::vector<std::string> notes = {linkLibheddle};
  if (!instead.empty())
    notes.insert(notes.begin(), instead);
  return environmentError(fmt::format("{}, and this is libheddle_runtime, which has no compiler", what), notes);
}

heddle_status fail(const char *what, const char *instead = "") {
  return guarded([&] { throw lacking(what, instead); });
}

/// Makes a bundle with the kernel of a plan.
std::string commandOf(const Plan &plan) {
  const Collective &what = plan.collective;
  int64_t parts = std::max(what.inputParts(), what.outputParts());
  std::string command = fmt::format("heddle package collectives {} --for {} --ranks {} -d {} --sizes {}",
                                    collectiveName(what.kind), plan.target, what.ranks, elementTypeName(what.type),
                                    what.partElements() * parts * elementSizeBytes(what.type));
  if (what.reduces() && what.reduction != Reduction::Sum)
    command += fmt::format(" --op {}", reductionName(what.reduction));
  if (what.root)
    command += fmt::format(" --root {}", what.root);
  if (plan.isGpu() && plan.computeUnits != plan.chip->computeUnits)
    command += fmt::format(" --compute-units {}", plan.computeUnits);
  return command;
}

struct NoKernels : KernelSource {
  Package kernelOf(const Plan &plan) const override {
    if (plan.algorithm == &foldParts)
      throw lacking(
          fmt::format("the kernel that folds {} from {} hosts is in no bundle and would have to be compiled",
                      describe(plan.collective), plan.collective.ranks),
          fmt::format(
              "make a bundle that has it, `heddle package collectives` with `--for {} --hosts {} --ranks` and the "
              "collective, type and size, and give it to heddle_communicator_add_bundle; the kernel is: {}",
              plan.target, plan.collective.ranks, kernelKey(plan)));
    throw lacking(
        fmt::format("the kernel of {} is in no bundle and would have to be compiled", describe(plan.collective)),
        fmt::format("make a bundle that has it, `{}`, and give it to heddle_communicator_add_bundle; the kernel is: {}",
                    commandOf(plan), kernelKey(plan)));
  }
};

} // namespace

std::shared_ptr<Device> heddle::openAnyDevice(const std::string &name) {
  if (driverNameOf(name) == "sim")
    throw environmentError(
        fmt::format("device `{}` is simulated, and this is libheddle_runtime, which has no simulator", name),
        {linkLibheddle});
  return openDevice(name);
}

std::shared_ptr<const KernelSource> heddle::kernelsInNoBundle() {
  return std::make_shared<NoKernels>();
}

program::RankCollective heddle::compileModule(std::string_view, const std::string &, int, const Chip &, int) {
  throw lacking("heddle_communicator_prepare_module compiles");
}

int32_t heddle_has_compiler(void) {
  return 0;
}

heddle_status heddle_compile(const char *, size_t, const char *, const char *const *, size_t, heddle_package *) {
  return fail("heddle_compile compiles", "load a package that `heddle compile -o` has written: heddle_package_load");
}

heddle_status heddle_compile_file(const char *, const char *const *, size_t, heddle_package *) {
  return fail("heddle_compile_file compiles",
              "load a package that `heddle compile -o` has written: heddle_package_load");
}

heddle_status heddle_compile_phase(const char *, size_t, const char *, const char *, const char *const *, size_t,
                                   heddle_text *) {
  return fail("heddle_compile_phase compiles");
}

heddle_status heddle_package_assembly(heddle_package, heddle_text *) {
  return fail("heddle_package_assembly disassembles", "`heddle inspect FILE --asm` does it too");
}

heddle_status heddle_report(const char *, const char *const *, size_t, heddle_progress_function, void *, int32_t *,
                            heddle_text *) {
  return fail("heddle_report does what the command does");
}
