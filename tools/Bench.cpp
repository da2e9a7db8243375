// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle bench`: the table of nccl-tests for Heddle's collectives.
#include "api/Collectives.h"
#include "api/Heddle.h"
#include "api/Module.h"
#include "tools/BenchModule.h"
#include "tools/BenchPlot.h"
#include "tools/BenchReport.h"
#include "tools/KernelLibrary.h"
#include "tools/Output.h"
#include "tools/PlanOptions.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle bench COLLECTIVE|MODULE...|kernel:NAME [options]: how fast a collective or a kernel of the library is, and
whether its result is right; what fusion saves in HLO modules

  heddle bench all-reduce -b 1K -e 64M -f 4
  heddle bench all-gather -b 1M -e 1M -d bf16 --devices 8
  heddle bench all-reduce -b 1K -e 1G -f 4 -G 20 --device cuda --peer nccl
  heddle bench all-reduce -b 4K -e 4K --algorithm two_shot_pull --csv > rows.csv
  heddle bench all-reduce -b 1K -e 1M -f 4 --processes 4
  torchrun --nproc-per-node 4 --no-python heddle bench all-reduce --bootstrap env
  mpirun -n 4 heddle bench all-reduce -b 1K -e 1M -f 4 --bootstrap mpi
  heddle bench examples/layer.hlo
  heddle bench kernel:fp8_rowwise_2d --shape M=16640,K=5120 --shape M=32768,K=7168 --device cuda -n 100

  COLLECTIVE                all-reduce, all-gather, reduce-scatter, all-to-all, permute or broadcast
  -b, --minbytes SIZE       first size; 512, 64K, 1.5M, 2G; default 32M; what a rank has in all, parts included
  -e, --maxbytes SIZE       last size; default the first
  -f, --stepfactor N        each size is N times the one before
  -i, --stepbytes SIZE      or SIZE bytes more than the one before; default 1M
  -n, --iters N             calls that are timed, back to back; default 20
  -w, --warmup_iters N      warm-up calls before them; default 1
  -G, --cudagraph N         capture the calls in a graph and replay it N times; default 0: call by call
  -c, --check N             calls with fresh inputs whose every element is compared; default 1, 0 for none
  -o, --op NAME             sum (the default), prod, min, max, and, or
  -d, --datatype NAME       f32 (the default), bf16, f16, i32, ui8, f8E4M3FN, ...; nccl's names also
  --devices N               ranks, 1 to 8; default 4
  --processes N             ranks, each a process of its own, which this one starts, 1 to 8; instead of --devices
  --bootstrap ADDRESS       this process is one of the ranks: env (started by torchrun, srun), mpi (by mpirun),
                            unix:PATH, unix:@NAME or tcp:ADDRESS:PORT with --rank R --processes N; rank 0 prints
  --registered              of processes of one host: register the buffers as windows, so that large sizes go direct, as
                            in one process; default off, as buffers of most programs are
  --hosts M                 of processes on one machine: as many groups of them play hosts, which share no memory
  --transport NAME          between hosts: loopback (unix sockets), tcp, mpi, or of GPUs nccl; default what fits
  --host-model A,B,C,D      microseconds and MB/s of a step within a host, then between hosts; default measured
  --chunks N                of an all-reduce between hosts; --algorithm: hosts_whole, hosts_shards, hosts_pieces
  --device NAME             whose devices: host (the default), cuda, hip, sim:gfx942 or sim:gfx950
  --peer nccl               time NCCL as well, in this process, on the same buffers; GPUs
  --algorithm NAME          instead of the plan's choice; `heddle inspect COLLECTIVE` shows that
  --blocks N, --warps N, --tile N, --round N   program instances on each rank, warps of each (GPUs), elements of a tile,
                            tiles of an instance in a round: instead of what the plan chooses
  --packets FORM            of plans with packets: ll (data and flags) or lamport (data alone); an error where lamport
                            cannot be
  --timeout SECONDS         how long one call may wait for other ranks; default 30
  --links                   makes one more call and prints the bytes that each device sent to each other; simulated
                            devices
  --plot FILE               also draws the rows: time and bandwidth against size for collectives, bars for modules and
                            kernels; FILE.svg is the picture alone, FILE.html a page with the numbers too
  --json, --csv             the same and the p50, min and max of single calls, for programs

  MODULE                    HLO text, as heddle run takes it: times it fused, and with its collectives and the code around
                            them in separate kernels; both results must be the same bits. Takes of the options above -n,
                            -w, -G, -c, --devices, --device, --algorithm, --matmuls and --quantise fp8 (of the fused one;
                            then results differ and are not compared), --timeout, --plot, --json, --csv

  kernel:NAME               of the library (docs/kernels.md): p50 and bandwidth beside that of a copy. Takes -n, -w, -c (1:
                            compare with the plain reference; default 0), --device, --plot, --json, --csv, and as heddle
                            run --shape, which may come several times, --arg, --elements, --permute, --strides, --tuned

Columns, sizes and factors are those of nccl-tests. Exit code 1 when an element is wrong.
)";

constexpr int maxHosts = 64;

/// One line on the terminal that is written over.
void showProgress(const std::string &text) {
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

std::vector<int64_t> sizesOf(const BenchVerbRequest &request) {
  constexpr size_t limit = 100000;
  int64_t last = request.last ? request.last : request.first;
  if (last < request.first)
    throw inputError(
        fmt::format("`--minbytes {}` is above `--maxbytes {}`", request.first, last),
        {fmt::format("both are in bytes; give `-e {}` or more, or leave it out for one size", request.first)});
  if (request.factor == 1)
    throw inputError("`--stepfactor 1`: every size would be the one before",
                     {"give 2 or more, or `--stepbytes` alone to add so many bytes"});
  if (request.factor == 0 && request.step == 0)
    throw inputError("`--stepbytes 0`: every size would be the one before", {"give 1 or more, or `--stepfactor 2`"});
  if (request.factor > 1 && request.first == 0)
    throw inputError("`--minbytes 0` times `--stepfactor` stays 0", {"begin with 1, or give `--stepbytes`"});
  std::vector<int64_t> sizes;
  for (int64_t size = request.first; size <= last && sizes.size() <= limit;) {
    sizes.push_back(size);
    int64_t next = 0;
    bool overflows = request.factor > 1 ? __builtin_mul_overflow(size, request.factor, &next)
                                        : __builtin_add_overflow(size, request.step, &next);
    if (overflows)
      break;
    size = next;
  }
  if (sizes.size() > limit)
    throw inputError(fmt::format("more than {} sizes from {} to {} bytes", limit, request.first, last),
                     {"give a larger `--stepbytes`, or `--stepfactor 2`"});
  return sizes;
}

int benchFromLibrary(BenchVerbRequest &request) {
  if (!request.collectiveOption.empty())
    throw inputError(fmt::format("`{}` is for collectives, and `{}` is a kernel of the library",
                                 request.collectiveOption, request.inputs.front()));
  if (request.inputs.size() > 1)
    throw inputError(fmt::format("`{}` and `{}`: one kernel at a time", request.inputs[0], request.inputs[1]),
                     {"`--shape` may be given several times"});
  LibraryBench bench{request.library, request.shapes, request.json, request.csv, request.plot};
  bench.request.kernel = request.inputs.front();
  bench.request.device = request.run.driver;
  bench.request.repeat = request.run.iterations;
  bench.request.warmup = request.run.warmup;
  bench.request.verify = request.checksGiven && request.run.checks > 0;
  for (const std::string &text : request.libraryArguments)
    bench.request.arguments.push_back(parseNamedValue(text, "--arg"));
  return benchLibraryVerb(bench);
}

/// For a rank that does not print.
int measureOnly(CollectiveBenchmark &benchmark, const std::vector<int64_t> &sizes) {
  bool isWrong = false;
  for (int64_t size : sizes) {
    BenchmarkRow row = benchmark.measure(size);
    isWrong |= row.outOfPlace.wrong || row.inPlace.wrong;
  }
  return isWrong ? int(ErrorClass::WrongResult) : 0;
}

/// What can be refused before processes are started.
void checkHosts(const BenchVerbRequest &request, int64_t largest) {
  const BenchmarkRequest &run = request.run;
  bool hasProcesses = request.ranks.starts() || run.processes;
  if (!request.hostsOption.empty() && !hasProcesses)
    throw inputError(fmt::format("`{}` is for ranks that are processes", request.hostsOption),
                     {"give `--processes N` too, or `--bootstrap`"});
  HostModel model = run.hostModel.empty() ? HostModel() : parseHostModel(run.hostModel);
  if (run.processes || !run.hosts.hosts)
    return;
  if (run.hosts.hosts > run.devices)
    throw inputError(fmt::format("`--hosts {}` and `--processes {}`: each host has one process at least",
                                 run.hosts.hosts, run.devices));
  if (run.hosts.transport == TransportKind::Mpi)
    throw inputError("`--transport mpi` is for processes that mpirun has started",
                     {"mpirun -n 4 heddle bench all-reduce --bootstrap mpi --hosts 2"});
  std::vector<std::string> hosts;
  for (int rank = 0; rank < run.devices; ++rank)
    hosts.push_back(std::to_string(rank * run.hosts.hosts / run.devices));
  if (run.hosts.hosts > 1)
    makeHostPlan(hostCollectiveOfSize(run.kind, run.type, run.reduction, run.devices, largest), layOutHosts(hosts, 0),
                 model, {run.plan.algorithm, run.hostChunks});
}

int benchVerb(BenchVerbRequest &request) {
  if (request.inputs.empty())
    throw inputError("no collective: `heddle bench` wants one, as in `heddle bench all-reduce`",
                     {"`heddle bench --help` shows the options"});
  if (request.json && request.csv)
    throw inputError("`--json` and `--csv` exclude each other", {"run `heddle bench` for each"});
  if (request.run.links && request.csv)
    throw inputError("`--links` and `--csv` exclude each other", {"`--json` has both the times and the links"});
  checkPlotFile(request.plot);
  if (!request.quantise.empty() && !isModuleFile(request.inputs.front()))
    throw inputError(fmt::format("`--quantise` is for HLO modules, and `{}` is none", request.inputs.front()));
  if (request.matmuls != "auto" && !isModuleFile(request.inputs.front()))
    throw inputError(fmt::format("`--matmuls` is for HLO modules, and `{}` is none", request.inputs.front()));
  if (isLibraryKernel(request.inputs.front()))
    return benchFromLibrary(request);
  if (isModuleFile(request.inputs.front())) {
    if (!request.collectiveOption.empty())
      throw inputError(fmt::format("`{}` is for collectives, and {} is a module", request.collectiveOption,
                                   sourceName(request.inputs.front())));
    return benchModules(request);
  }
  if (request.inputs.size() > 1)
    throw inputError(fmt::format("`{}` and `{}`: one collective at a time", request.inputs[0], request.inputs[1]),
                     {"several inputs have to be modules"});
  request.collective = request.inputs.front();
  BenchmarkRequest &run = request.run;
  run.processes = request.ranks.bootstrapOptions();
  bool hasProcesses = request.ranks.starts() || run.processes;
  if (hasProcesses && request.devicesGiven)
    throw inputError(fmt::format("`--devices {}` and `--{}`: each process has one device", run.devices,
                                 run.processes ? "bootstrap" : "processes"),
                     {"leave `--devices` out"});
  if (request.ranks.processes)
    run.devices = request.ranks.processes;
  run.kind = parseCollective(request.collective);
  run.type = parseDatatype(request.datatype);
  run.reduction = parseReductionOf(run.kind, request.reduction);
  std::vector<int64_t> sizes = sizesOf(request);
  bool shows = isatty(STDERR_FILENO) && !hasProcesses;
  if (shows)
    run.progress = showProgress;
  // What can be refused is refused before anything is printed.
  if (run.registered && !hasProcesses)
    throw inputError("`--registered` is for ranks that are processes: in one process all operands are reached anyway",
                     {"give `--processes N` or `--bootstrap`, or leave it out"});
  if (run.registered && run.hosts.hosts > 1)
    throw inputError(fmt::format("`--registered` and `--hosts {}`: windows are of ranks of one host", run.hosts.hosts),
                     {"run `heddle bench` with one of them"});
  checkHosts(request, sizes.back());
  Collective largest = collectiveOfSize(run.kind, run.type, run.reduction, run.devices, sizes.back());
  if (!run.processes && run.hosts.hosts <= 1)
    planFor(largest, run.driver, run.plan);
  if (request.ranks.starts())
    return runRanks(request.ranks.processes);
  CollectiveBenchmark benchmark(run);
  if (benchmark.rank() != 0)
    return measureOnly(benchmark, sizes);
  BenchReport report(
      request, {benchmark.deviceNames(), benchmark.deviceDescription(), benchmark.peerDescription(), benchmark.hosts()},
      sizes);
  for (int64_t size : sizes) {
    BenchmarkRow row;
    try {
      row = benchmark.measure(size);
    } catch (...) {
      if (shows)
        showProgress("");
      throw;
    }
    if (shows)
      showProgress("");
    report.add(row);
  }
  return report.finish();
}

} // namespace

void addBench(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<BenchVerbRequest>();
  CLI::App *verb = program.add_subcommand("bench");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("collective", request->inputs);
  auto addSize = [&](const char *flags, const char *name, int64_t BenchVerbRequest::*member) {
    verb->add_option_function<std::string>(
        flags, [request, name, member](const std::string &text) { (*request).*member = parseByteSize(name, text); });
  };
  auto addInteger = [&](const char *flags, const char *name, int *value, int least, int most = INT_MAX) {
    verb->add_option_function<std::string>(flags, [request, name, value, least, most](const std::string &text) {
      *value = parseIntegerOption(name, text, least, most);
    });
  };
  addSize("-b,--minbytes", "--minbytes", &BenchVerbRequest::first);
  addSize("-e,--maxbytes", "--maxbytes", &BenchVerbRequest::last);
  addSize("-i,--stepbytes", "--stepbytes", &BenchVerbRequest::step);
  addInteger("-f,--stepfactor", "--stepfactor", &request->factor, 1, 1 << 20);
  addInteger("-n,--iters", "--iters", &request->run.iterations, 1, 100000);
  addInteger("-w,--warmup_iters", "--warmup_iters", &request->run.warmup, 0, 100000);
  addInteger("-c,--check", "--check", &request->run.checks, 0, 1000);
  addInteger("--devices", "--devices", &request->run.devices, 1, 8);
  addInteger("-G,--cudagraph", "--cudagraph", &request->run.graphReplays, 0, 100000);
  addRankOptions(*verb, request->ranks);
  verb->add_flag("--registered", request->run.registered);
  addInteger("--hosts", "--hosts", &request->run.hosts.hosts, 1, maxHosts);
  verb->add_option_function<std::string>(
      "--transport", [request](const std::string &text) { request->run.hosts.transport = parseTransport(text); });
  verb->add_option("--host-model", request->run.hostModel);
  verb->add_option_function<std::string>("--chunks", [request](const std::string &text) {
    request->run.hostChunks = parseIntegerOption("--chunks", text, 1, int(HostPlan::mostChunks));
  });
  addPlanOptions(*verb, request->run.plan);
  verb->add_option("-o,--op", request->reduction);
  verb->add_option("-d,--datatype", request->datatype);
  verb->add_option("--device", request->run.driver);
  verb->add_option("--peer", request->run.peer);
  verb->add_option_function<std::string>("--timeout", [request](const std::string &text) {
    request->run.timeoutSeconds = parseTimeoutOption("--timeout", text);
  });
  verb->add_flag("--links", request->run.links);
  verb->add_option("--plot", request->plot);
  verb->add_option("--matmuls", request->matmuls);
  verb->add_option("--quantise", request->quantise);
  verb->add_flag("--json", request->json);
  verb->add_flag("--csv", request->csv);
  verb->add_option("--arg", request->libraryArguments)->allow_extra_args(false);
  addLibraryOptions(*verb, request->library, request->shapes);
  verb->callback([request, verb, &action] {
    for (const char *name :
         {"--minbytes",  "--maxbytes", "--stepbytes", "--stepfactor", "--op",         "--datatype", "--peer",
          "--blocks",    "--warps",    "--tile",      "--round",      "--packets",    "--links",    "--processes",
          "--bootstrap", "--rank",     "--hosts",     "--transport",  "--host-model", "--chunks",   "--registered"})
      if (verb->get_option(name)->count() && request->collectiveOption.empty())
        request->collectiveOption = name;
    for (const char *name : {"--hosts", "--transport", "--host-model", "--chunks"})
      if (verb->get_option(name)->count() && request->hostsOption.empty())
        request->hostsOption = name;
    request->checksGiven = verb->get_option("--check")->count() > 0;
    request->devicesGiven = verb->get_option("--devices")->count() > 0;
    action = [request] { return benchVerb(*request); };
  });
}

} // namespace heddle
