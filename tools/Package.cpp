// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle package`: bundles for programs that have no compiler.
#include "api/Bundles.h"
#include "api/Collectives.h"
#include "support/File.h"
#include "tools/KernelLibrary.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle package kernels|collectives|join|show [options]: many compiled kernels in one file, a bundle, which programs
without a compiler run (libheddle_runtime, docs/c-api.md)

  heddle package kernels --for sm_90,gfx942,gfx950,host --kernel fp8_rowwise_2d --shape M=16640,K=5120 -o kernels.hbundle
  heddle package kernels --for sm_90 --shape M=16640,K=5120 --shape M=128,K=5120 --tuned -o kernels.hbundle
  heddle package collectives all-reduce --for sm_90 --ranks 2,4,8 -d bf16 -b 1K -e 64M -o collectives.hbundle
  heddle package join kernels.hbundle collectives.hbundle -o all.hbundle
  heddle package show all.hbundle

  -o, --output FILE      the bundle; not for show
  --for CHIPS            what it is compiled for: host, sm_90, gfx942, gfx950; with commas
  --cpu NAME             the host's processor: native (the default), x86-64-v3, znver4, ...
  --json                 the bundle's description, to standard output

kernels: calls of the library (docs/kernels.md), each for arrays of one shape
  --kernel NAME          may come several times; default: every kernel whose extents a shape gives
  --shape M=128,K=512    may come several times: a call of each kernel that has these extents and no others
  --arg NAME=VALUE       an option or a tile parameter of every call; also an array, which gives its type
  --elements, --permute, --strides, --tuned   as heddle run

collectives: kernels of all-reduce, all-gather, reduce-scatter, all-to-all and broadcast; names with commas
  --ranks N              ranks, 1 to 8; with commas
  --hosts M              of ranks on M hosts, --ranks of all together (to 64): kernels of all plans that there are
  -d, --datatype NAME    f32 (the default), bf16, ...; with commas
  -b, -e SIZE            from 1K (the default) to 1K (the default) bytes, each size twice the one before: what a rank has,
                         parts included
  --sizes SIZE,...       these sizes instead. A kernel serves many sizes; one whose plan has another kernel than those of
                         the sizes here cannot be prepared without a compiler
  --op NAME              sum (the default), prod, min, max, and, or
  --root R               of broadcasts; default 0
  --algorithm NAME       instead of the plan's choice
  --compute-units N      GPUs: of each device; default: the chip's product
  --reserved-units N     GPUs: left to other kernels, as heddle_communicator_options has it; default 0
)";

struct PackageRequest {
  std::string what, output, targets, processor = "native";
  std::vector<std::string> files; ///< collectives, or bundles
  bool json = false;
  KernelBundleRequest kernels;
  std::vector<std::string> arguments;
  CollectiveBundleRequest collectives;
  std::string types = "f32", ranks, reduction, sizes;
  int64_t first = 1024;
  std::optional<int64_t> last;           ///< absent: `first`
  std::vector<std::string> givenOptions; ///< those of kernels or of collectives alone
};

std::vector<std::string> splitAtCommas(const std::string &option, const std::string &text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    if (parts.back().empty())
      throw inputError(fmt::format("`{} {}` has an empty name", option, text));
    start = end + 1;
  }
  return parts;
}

/// None where none are given; what makes bundles refuses that.
std::vector<std::string> targetsOf(const PackageRequest &request) {
  if (request.targets.empty())
    return {};
  std::vector<std::string> targets = splitAtCommas("--for", request.targets);
  if (request.processor != "native" && std::ranges::count(targets, "host") == 0)
    throw inputError(
        fmt::format("`--cpu {}` is for the target host, and `--for` has {}", request.processor, request.targets),
        {"leave `--cpu` out, or add host to `--for`"});
  return targets;
}

void finish(const PackageRequest &request, const Bundle &bundle) {
  bundle.save(request.output);
  if (request.json)
    return printData(bundle.describe() + "\n");
  size_t bytes = 0;
  for (const auto &package : bundle.packages)
    bytes += package->binary.size();
  say(fmt::format("{}: {} calls of kernels, {} kernels of collectives, {} packages with {} bytes of code",
                  request.output, bundle.calls.size(), bundle.collectives.size(), bundle.packages.size(), bytes));
}

int packageKernels(PackageRequest &request) {
  request.kernels.targets = targetsOf(request);
  request.kernels.call.options.processor = request.processor;
  for (const std::string &text : request.arguments)
    request.kernels.call.arguments.push_back(parseNamedValue(text, "--arg"));
  finish(request, bundleKernels(request.kernels, say));
  return 0;
}

int packageCollectives(PackageRequest &request) {
  CollectiveBundleRequest &wanted = request.collectives;
  wanted.targets = targetsOf(request);
  wanted.processor = request.processor;
  for (const std::string &names : request.files)
    for (const std::string &name : splitAtCommas("collectives", names)) {
      wanted.kinds.push_back(parseCollective(name));
      if (wanted.kinds.back() == CollectiveKind::Permute)
        throw inputError("permute is for modules alone, whose kernels are compiled when they are loaded",
                         {"leave it out"});
    }
  if (wanted.kinds.empty())
    throw inputError("no collective", {"name some, as in `heddle package collectives all-reduce,all-gather`"});
  for (const std::string &name : splitAtCommas("--datatype", request.types))
    wanted.types.push_back(parseDatatype(name));
  if (request.ranks.empty())
    throw inputError("no number of ranks", {"give `--ranks`, as in `--ranks 2,4,8`"});
  for (const std::string &number : splitAtCommas("--ranks", request.ranks))
    wanted.ranks.push_back(parseIntegerOption("--ranks", number, 1, wanted.hosts > 1 ? 64 : 8));
  auto reducing = std::ranges::find_if(wanted.kinds, reduces);
  wanted.reduction =
      parseReductionOf(reducing == wanted.kinds.end() ? wanted.kinds.front() : *reducing, request.reduction);
  int64_t last = request.last.value_or(request.first);
  if (request.first < 1 || last < request.first)
    throw inputError(fmt::format("`-b {}` and `-e {}`: sizes go from 1 or more upwards", request.first, last));
  if (wanted.root && std::ranges::count(wanted.kinds, CollectiveKind::Broadcast) == 0)
    throw inputError(fmt::format("`--root {}`: only a broadcast has a root", wanted.root), {"leave it out"});
  if (!request.sizes.empty())
    for (const std::string &size : splitAtCommas("--sizes", request.sizes))
      wanted.sizes.push_back(parseByteSize("--sizes", size));
  else
    for (int64_t size = request.first; size <= last; size *= 2)
      wanted.sizes.push_back(size);
  finish(request, bundleCollectives(wanted, say));
  return 0;
}

int joinBundles(const PackageRequest &request) {
  if (request.files.empty())
    throw inputError("no bundle to join", {"`heddle package join A.hbundle B.hbundle -o C.hbundle`"});
  Bundle all = Bundle::load(request.files.front());
  for (size_t i = 1; i < request.files.size(); ++i)
    all.join(Bundle::load(request.files[i]));
  finish(request, all);
  return 0;
}

int showBundle(const PackageRequest &request) {
  if (request.files.size() != 1)
    throw inputError(fmt::format("`heddle package show` takes one bundle, and {} were given", request.files.size()));
  Bundle bundle = Bundle::load(request.files.front());
  if (request.json) {
    printData(bundle.describe() + "\n");
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"TARGET", "WHAT", "LAUNCHES", "BYTES OF CODE"}};
  for (const BundleCall &call : bundle.calls) {
    std::string name = call.kernel;
    size_t launches = 0, bytes = 0;
    for (const auto &[choice, value] : call.choices)
      name += fmt::format(" {}={}", choice, value);
    for (const BundleStep &step : call.steps)
      if (step.fills.empty()) {
        ++launches;
        bytes += bundle.packages[step.package]->binary.size();
      }
    rows.push_back({call.target, name, std::to_string(launches), std::to_string(bytes)});
  }
  for (const BundleCollective &collective : bundle.collectives)
    rows.push_back(
        {collective.target, collective.key, "1", std::to_string(bundle.packages[collective.package]->binary.size())});
  printData(formatTable(rows));
  return 0;
}

int packageVerb(PackageRequest &request) {
  bool makesKernels = request.what == "kernels", makesCollectives = request.what == "collectives";
  if (request.what.empty())
    throw inputError("`heddle package` wants kernels, collectives, join or show",
                     {"`heddle package --help` shows examples"});
  if (!makesKernels && !makesCollectives && request.what != "join" && request.what != "show")
    throw inputError(
        fmt::format("`heddle package {}`: it makes kernels or collectives, joins or shows bundles", request.what),
        {"`heddle package --help` shows examples"});
  if (!request.givenOptions.empty())
    throw inputError(fmt::format("`{}` is not for `heddle package {}`", request.givenOptions.front(), request.what),
                     {"`heddle package --help` says what each takes"});
  if (request.what == "show")
    return showBundle(request);
  if (request.output.empty())
    throw inputError("no file for the bundle", {"give `-o FILE.hbundle`"});
  checkWritable(request.output);
  if (request.what == "join")
    return joinBundles(request);
  if (makesKernels && !request.files.empty())
    throw inputError(fmt::format("unexpected `{}`", request.files.front()),
                     {fmt::format("a kernel is named by `--kernel {}`", request.files.front())});
  return makesKernels ? packageKernels(request) : packageCollectives(request);
}

} // namespace

void addPackage(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<PackageRequest>();
  CLI::App *verb = program.add_subcommand("package");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("what", request->what);
  verb->add_option("files", request->files);
  verb->add_option("-o,--output", request->output);
  verb->add_option("--for", request->targets);
  verb->add_option("--cpu", request->processor);
  verb->add_flag("--json", request->json);
  verb->add_option("--kernel", request->kernels.kernels)->allow_extra_args(false);
  verb->add_option("--arg", request->arguments)->allow_extra_args(false);
  addLibraryOptions(*verb, request->kernels.call, request->kernels.shapes);
  verb->add_option("--ranks", request->ranks);
  verb->add_option("-d,--datatype", request->types);
  verb->add_option_function<std::string>(
      "-b,--minbytes", [request](const std::string &text) { request->first = parseByteSize("--minbytes", text); });
  verb->add_option_function<std::string>(
      "-e,--maxbytes", [request](const std::string &text) { request->last = parseByteSize("--maxbytes", text); });
  verb->add_option("--sizes", request->sizes)->excludes("--minbytes")->excludes("--maxbytes");
  verb->add_option("--op", request->reduction);
  verb->add_option("--algorithm", request->collectives.algorithm);
  auto addInteger = [&](const char *name, int *value, int most) {
    verb->add_option_function<std::string>(
        name, [name, value, most](const std::string &text) { *value = parseIntegerOption(name, text, 0, most); });
  };
  verb->add_option_function<std::string>("--hosts", [request](const std::string &text) {
    request->collectives.hosts = parseIntegerOption("--hosts", text, 1, 8);
  });
  addInteger("--root", &request->collectives.root, 7);
  addInteger("--compute-units", &request->collectives.computeUnits, 1 << 16);
  addInteger("--reserved-units", &request->collectives.reservedUnits, 1 << 16);
  verb->callback([request, verb, &action] {
    auto refuse = [&](std::initializer_list<const char *> names) {
      for (const char *name : names)
        if (verb->get_option(name)->count())
          request->givenOptions.push_back(name);
    };
    if (request->what != "kernels")
      refuse({"--kernel", "--shape", "--arg", "--permute", "--strides", "--elements", "--tuned"});
    if (request->what != "collectives")
      refuse({"--ranks", "--hosts", "--datatype", "--minbytes", "--maxbytes", "--sizes", "--op", "--algorithm",
              "--root", "--compute-units", "--reserved-units"});
    if (request->what == "join" || request->what == "show")
      refuse({"--for", "--cpu"});
    if (request->what == "show")
      refuse({"--output"});
    action = [request] { return packageVerb(*request); };
  });
}

} // namespace heddle
