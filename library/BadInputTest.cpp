// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a caller can do wrong: every handle of every function, missing places, structures, options; and random calls.
#include "library/LibraryTestSupport.h"
#include <functional>
#include <random>

using namespace heddle;

namespace {

using BadInputTest = WithVectorAdd;

/// One handle parameter of a function: everything else that it is given is right.
struct HandleParameter {
  const char *function, *parameter, *kind;
  std::function<heddle_status(void *)> call;
};

template <typename Type>
Type as(void *handle) {
  return static_cast<Type>(handle);
}

TEST_F(BadInputTest, HandlesThatAreNone) {
  heddle_text text = nullptr;
  heddle_buffer buffer = nullptr;
  heddle_stream newStream = nullptr;
  heddle_event newEvent = nullptr;
  heddle_kernel newKernel = nullptr;
  heddle_graph newGraph = nullptr;
  heddle_communicator newCommunicator = nullptr;
  heddle_collective newCollective = nullptr;
  heddle_window newWindow = nullptr;
  heddle_collective_request request = {sizeof request, "f32", nullptr, 4,       HEDDLE_ALL_REDUCE,
                                       HEDDLE_SUM,     0,     0,       nullptr, nullptr};
  heddle_collective_plan plan = {sizeof plan, nullptr, 0, 0, 0};
  auto noGather = [](const void *, void *, size_t, double, void *) -> int32_t { return 1; };
  int32_t yes = 0;
  heddle_argument argument = {.struct_size = sizeof argument};
  const char *data = nullptr;
  size_t size = 0;
  uint64_t address = 0;
  double milliseconds = 0;
  Handle<heddle_buffer> right;
  ASSERT_OK(heddle_buffer_create(device, 64, nullptr, &right.value));
  Handle<heddle_event> event;
  ASSERT_OK(heddle_event_create(device, &event.value));
  float value = 0;

  const std::vector<HandleParameter> parameters = {
      {"text_get", "text", "a text", [&](void *h) { return heddle_text_get(as<heddle_text>(h), &data, &size); }},
      {"package_save", "package", "a package",
       [&](void *h) { return heddle_package_save(as<heddle_package>(h), "x"); }},
      {"package_bytes", "package", "a package",
       [&](void *h) { return heddle_package_bytes(as<heddle_package>(h), &text); }},
      {"package_describe", "package", "a package",
       [&](void *h) { return heddle_package_describe(as<heddle_package>(h), &text); }},
      {"package_assembly", "package", "a package",
       [&](void *h) { return heddle_package_assembly(as<heddle_package>(h), &text); }},
      {"package_warnings", "package", "a package",
       [&](void *h) { return heddle_package_warnings(as<heddle_package>(h), &text); }},
      {"package_argument_count", "package", "a package",
       [&](void *h) { return heddle_package_argument_count(as<heddle_package>(h), &size); }},
      {"package_argument", "package", "a package",
       [&](void *h) { return heddle_package_argument(as<heddle_package>(h), 0, &argument); }},
      {"device_describe", "device", "a device",
       [&](void *h) { return heddle_device_describe(as<heddle_device>(h), &text); }},
      {"buffer_create", "device", "a device",
       [&](void *h) { return heddle_buffer_create(as<heddle_device>(h), 64, "b", &buffer); }},
      {"buffer_adopt", "device", "a device",
       [&](void *h) { return heddle_buffer_adopt(as<heddle_device>(h), 4096, 64, "b", &buffer); }},
      {"buffer_get", "buffer", "a buffer",
       [&](void *h) { return heddle_buffer_get(as<heddle_buffer>(h), &address, &address); }},
      {"stream_create", "device", "a device",
       [&](void *h) { return heddle_stream_create(as<heddle_device>(h), &newStream); }},
      {"stream_adopt", "device", "a device",
       [&](void *h) { return heddle_stream_adopt(as<heddle_device>(h), nullptr, &newStream); }},
      {"stream_is_capturing", "stream", "a stream",
       [&](void *h) { return heddle_stream_is_capturing(as<heddle_stream>(h), &yes); }},
      {"communicator_create", "device", "a device",
       [&](void *h) {
         return heddle_communicator_create(as<heddle_device>(h), 0, 1, noGather, nullptr, nullptr, &newCommunicator);
       }},
      {"communicator_connect", "device", "a device",
       [&](void *h) {
         return heddle_communicator_connect(as<heddle_device>(h), "env", 0, 1, nullptr, nullptr, &newCommunicator);
       }},
      {"communicator_describe", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_describe(as<heddle_communicator>(h), &text); }},
      {"communicator_plan", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_plan(as<heddle_communicator>(h), &request, &plan); }},
      {"communicator_prepare", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_prepare(as<heddle_communicator>(h), &request, &newCollective); }},
      {"communicator_follow", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_follow(as<heddle_communicator>(h), stream); }},
      {"communicator_mark", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_mark(as<heddle_communicator>(h), stream); }},
      {"communicator_synchronize", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_synchronize(as<heddle_communicator>(h)); }},
      {"communicator_check", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_check(as<heddle_communicator>(h)); }},
      {"communicator_check_group", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_check_group(as<heddle_communicator>(h)); }},
      {"communicator_abort", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_abort(as<heddle_communicator>(h), nullptr); }},
      {"communicator_leave", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_leave(as<heddle_communicator>(h)); }},
      {"communicator_prepare_module", "communicator", "a communicator",
       [&](void *h) {
         return heddle_communicator_prepare_module(as<heddle_communicator>(h), "", 0, "m", 0, &newCollective);
       }},
      {"communicator_allocate", "communicator", "a communicator",
       [&](void *h) { return heddle_communicator_allocate(as<heddle_communicator>(h), 64, "b", &buffer); }},
      {"window_register", "communicator", "a communicator",
       [&](void *h) { return heddle_window_register(as<heddle_communicator>(h), 4096, 64, "b", &newWindow); }},
      {"window_deregister", "window", "a window",
       [&](void *h) { return heddle_window_deregister(as<heddle_window>(h)); }},
      {"collective_describe", "collective", "a collective",
       [&](void *h) { return heddle_collective_describe(as<heddle_collective>(h), &text); }},
      {"collective_launch_arrays", "collective", "a collective",
       [&](void *h) { return heddle_collective_launch_arrays(as<heddle_collective>(h), nullptr, nullptr, 0); }},
      {"collective_launch", "collective", "a collective",
       [&](void *h) { return heddle_collective_launch(as<heddle_collective>(h), nullptr, 64, 64); }},
      {"stream_synchronize", "stream", "a stream",
       [&](void *h) { return heddle_stream_synchronize(as<heddle_stream>(h)); }},
      {"copy_to_device", "stream", "a stream",
       [&](void *h) { return heddle_copy_to_device(as<heddle_stream>(h), right, 0, &value, 4); }},
      {"copy_to_device", "to", "a buffer",
       [&](void *h) { return heddle_copy_to_device(stream, as<heddle_buffer>(h), 0, &value, 4); }},
      {"copy_to_host", "stream", "a stream",
       [&](void *h) { return heddle_copy_to_host(as<heddle_stream>(h), &value, right, 0, 4); }},
      {"copy_to_host", "from", "a buffer",
       [&](void *h) { return heddle_copy_to_host(stream, &value, as<heddle_buffer>(h), 0, 4); }},
      {"copy", "stream", "a stream", [&](void *h) { return heddle_copy(as<heddle_stream>(h), right, 0, right, 8, 4); }},
      {"copy", "to", "a buffer", [&](void *h) { return heddle_copy(stream, as<heddle_buffer>(h), 0, right, 0, 4); }},
      {"copy", "from", "a buffer", [&](void *h) { return heddle_copy(stream, right, 0, as<heddle_buffer>(h), 0, 4); }},
      {"fill", "stream", "a stream", [&](void *h) { return heddle_fill(as<heddle_stream>(h), right, 0, 4, 0); }},
      {"fill", "buffer", "a buffer", [&](void *h) { return heddle_fill(stream, as<heddle_buffer>(h), 0, 4, 0); }},
      {"event_create", "device", "a device",
       [&](void *h) { return heddle_event_create(as<heddle_device>(h), &newEvent); }},
      {"event_record", "event", "an event", [&](void *h) { return heddle_event_record(as<heddle_event>(h), stream); }},
      {"event_record", "stream", "a stream", [&](void *h) { return heddle_event_record(event, as<heddle_stream>(h)); }},
      {"stream_wait", "stream", "a stream", [&](void *h) { return heddle_stream_wait(as<heddle_stream>(h), event); }},
      {"stream_wait", "event", "an event", [&](void *h) { return heddle_stream_wait(stream, as<heddle_event>(h)); }},
      {"event_synchronize", "event", "an event",
       [&](void *h) { return heddle_event_synchronize(as<heddle_event>(h)); }},
      {"event_elapsed", "start", "an event",
       [&](void *h) { return heddle_event_elapsed(as<heddle_event>(h), event, &milliseconds); }},
      {"event_elapsed", "end", "an event",
       [&](void *h) { return heddle_event_elapsed(event, as<heddle_event>(h), &milliseconds); }},
      {"kernel_load", "device", "a device",
       [&](void *h) { return heddle_kernel_load(as<heddle_device>(h), package, &newKernel); }},
      {"kernel_load", "package", "a package",
       [&](void *h) { return heddle_kernel_load(device, as<heddle_package>(h), &newKernel); }},
      {"launch", "stream", "a stream",
       [&](void *h) { return heddle_launch(as<heddle_stream>(h), kernel, &options, addresses.data(), 4); }},
      {"launch", "kernel", "a kernel",
       [&](void *h) { return heddle_launch(stream, as<heddle_kernel>(h), &options, addresses.data(), 4); }},
      {"launch", "values[1]", "a buffer",
       [&](void *h) {
         std::vector<heddle_value> values = addresses;
         values[1] = bufferValue(as<heddle_buffer>(h));
         return heddle_launch(stream, kernel, &options, values.data(), 4);
       }},
      {"capture_begin", "stream", "a stream", [&](void *h) { return heddle_capture_begin(as<heddle_stream>(h)); }},
      {"capture_end", "stream", "a stream",
       [&](void *h) { return heddle_capture_end(as<heddle_stream>(h), &newGraph); }},
      {"graph_launch", "stream", "a stream",
       [&](void *h) { return heddle_graph_launch(as<heddle_stream>(h), as<heddle_graph>(nullptr)); }},
      {"graph_launch", "graph", "a graph", [&](void *h) { return heddle_graph_launch(stream, as<heddle_graph>(h)); }},
  };
  heddle_device released = nullptr;
  ASSERT_OK(heddle_device_open("host:2", &released));
  ASSERT_OK(heddle_release(released));
  int onTheStack = 0;
  for (const HandleParameter &each : parameters) {
    std::string wanted = std::string(each.kind) + " is wanted", named = "`" + std::string(each.parameter) + "`";
    bool wantsDevice = std::string(each.kind) == "a device";
    struct {
      const void *handle;
      const char *words;
    } bad[] = {
        {nullptr, " is null, and "},
        {released, "the device 0x"},
        {wantsDevice ? static_cast<void *>(stream.value) : device.value, wantsDevice ? " is a stream" : " is a device"},
        {&onTheStack, " is no handle"},
        {reinterpret_cast<void *>(7), "0x7 is no handle"}};
    for (const auto &[handle, words] : bad) {
      EXPECT_EQ(each.call(const_cast<void *>(handle)), HEDDLE_INPUT) << each.function;
      std::string message = heddle_error_text();
      EXPECT_CONTAINS(message, named);
      EXPECT_CONTAINS(message, words);
      EXPECT_CONTAINS(message, wanted);
    }
  }
  EXPECT_EQ(heddle_release(released), HEDDLE_INPUT);
  EXPECT_CONTAINS(std::string(heddle_error_text()), "was released");
  EXPECT_EQ(heddle_release(&onTheStack), HEDDLE_INPUT);
  EXPECT_EQ(heddle_release(nullptr), HEDDLE_OK);
}

TEST_F(BadInputTest, PlacesThatAreMissing) {
  struct {
    const char *parameter;
    heddle_status status;
    std::string text;
  } calls[] = {
#define NULL_PLACE(name, ...) {name, heddle_##__VA_ARGS__, heddle_error_text()}
      NULL_PLACE("text", compile(nullptr, 4, "x", nullptr, 0, &package.value)),
      NULL_PLACE("package", compile("module {}", 9, "x", nullptr, 0, nullptr)),
      NULL_PLACE("path", compile_file(nullptr, nullptr, 0, &package.value)),
      NULL_PLACE("phase", compile_phase("module {}", 9, "x", nullptr, nullptr, 0, nullptr)),
      NULL_PLACE("path", package_load(nullptr, &package.value)),
      NULL_PLACE("bytes", package_parse(nullptr, 3, &package.value)),
      NULL_PLACE("path", package_save(package, nullptr)),
      NULL_PLACE("bytes", package_bytes(package, nullptr)),
      NULL_PLACE("json", package_describe(package, nullptr)),
      NULL_PLACE("argument", package_argument(package, 0, nullptr)),
      NULL_PLACE("name", device_open(nullptr, &device.value)),
      NULL_PLACE("device", device_open("host", nullptr)),
      NULL_PLACE("buffer", buffer_create(device, 4, nullptr, nullptr)),
      NULL_PLACE("stream", stream_create(device, nullptr)),
      NULL_PLACE("kernel", kernel_load(device, package, nullptr)),
      NULL_PLACE("values", launch(stream, kernel, &options, nullptr, 4)),
      NULL_PLACE("options", compile("module {}", 9, "x", nullptr, 2, &package.value)),
      NULL_PLACE("value", make_values(nullptr, nullptr)),
      NULL_PLACE("bytes", make_values("f32[4]", nullptr)),
      NULL_PLACE("verb", report(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr)),
      NULL_PLACE("exit_code", report("doctor", nullptr, 0, nullptr, nullptr, nullptr, nullptr)),
#undef NULL_PLACE
  };
  for (const auto &call : calls) {
    EXPECT_EQ(call.status, HEDDLE_INPUT) << call.parameter;
    EXPECT_CONTAINS(call.text, std::string("`") + call.parameter + "` is null");
  }
  EXPECT_EQ(heddle_error_note(1000), nullptr);
}

std::string launchError(heddle_stream stream, heddle_kernel kernel, const heddle_launch_options &options,
                        const std::vector<heddle_value> &values) {
  EXPECT_EQ(heddle_launch(stream, kernel, &options, values.data(), values.size()), HEDDLE_INPUT);
  return heddle_error_text();
}

TEST_F(BadInputTest, LaunchesThatDoNotFit) {
  auto with = [&](auto change) {
    heddle_launch_options changed = options;
    std::vector<heddle_value> values = addresses;
    change(changed, values);
    return launchError(stream, kernel, changed, values);
  };
  EXPECT_CONTAINS(with([](auto &o, auto &) { o.struct_size = 8; }),
                  "`options->struct_size` is 8, and the structure has at least 48");
  EXPECT_CONTAINS(with([](auto &o, auto &) { o.grid[0] = -1; }), "grid -1 x 1 x 1");
  EXPECT_CONTAINS(with([](auto &o, auto &) { o.grid[0] = 0; }), "grid 0 x 1 x 1");
  EXPECT_CONTAINS(with([](auto &o, auto &) { o.timeout_seconds = -3; }), "a time limit of -3 s");
  EXPECT_CONTAINS(with([](auto &o, auto &) { o.reserved = 9; }), "`options->reserved` is 9, and must be 0");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v.pop_back(); }), "takes 4 arguments and got 3: missing `n`");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v.push_back(v[3]); }), "takes 4 arguments and got 5");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v[3].kind = 17; }), "`values[3].kind` is 17, and must be");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v[3].reserved = 1; }), "`values[3].reserved` is 1");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v[0].kind = HEDDLE_SCALAR; }),
                  "argument `x` is a pointer to f32, and a scalar was given");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v[3].bits = uint64_t(1) << 40; }),
                  "bits 0x10000000000 are wider than i32");
  EXPECT_CONTAINS(with([](auto &, auto &v) { v[0].bits += 4; }), "is not a multiple of 16 bytes");
  struct {
    heddle_launch_options known;
    uint64_t later;
  } newer = {options, 1};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(heddle_launch(stream, kernel, &newer.known, addresses.data(), 4), HEDDLE_INPUT);
  EXPECT_CONTAINS(std::string(heddle_error_text()),
                  "sets fields beyond the 48 bytes that interface version " + std::to_string(HEDDLE_INTERFACE_VERSION));
  newer.later = 0;
  EXPECT_EQ(heddle_launch(stream, kernel, &newer.known, addresses.data(), 4), HEDDLE_OK);
  EXPECT_EQ(heddle_stream_synchronize(stream), HEDDLE_OK);
}

std::string compileError(std::vector<const char *> options) {
  heddle_package none = nullptr;
  const char *text = "module {}";
  EXPECT_EQ(heddle_compile(text, std::strlen(text), "k.ttir", options.data(), options.size(), &none), HEDDLE_INPUT);
  EXPECT_EQ(none, nullptr);
  std::string message = heddle_error_text();
  for (size_t i = 0; i < heddle_error_note_count(); ++i)
    message += std::string("; ") + heddle_error_note(i);
  return message;
}

TEST_F(BadInputTest, TextsOptionsAndWords) {
  EXPECT_CONTAINS(compileError({"wraps=4"}), "unknown option `wraps`; the closest is `warps`; the options are ");
  EXPECT_CONTAINS(compileError({"warps"}), "the option `warps` is not `key=value`");
  EXPECT_CONTAINS(compileError({"warps=many"}), "the option `warps=many`: not an integer from 1 to 32");
  EXPECT_CONTAINS(compileError({"check=perhaps"}), "is neither `true` nor `false`");
  EXPECT_CONTAINS(compileError({"warp-pipeline=perhaps"}),
                  "the option `warp-pipeline=perhaps` is neither `true` nor `false` nor `always`");
  EXPECT_CONTAINS(compileError({"warp-pipeline=always"}), "k.ttir");
  EXPECT_CONTAINS(compileError({"target=gfx9"}), "gfx9");
  EXPECT_CONTAINS(compileError({"target=gfx942", "cpu=znver4"}), "`cpu=znver4` is for the target host");
  EXPECT_CONTAINS(compileError({nullptr}), "`options[0]` is null");
  EXPECT_CONTAINS(compileError({}), "k.ttir");
  heddle_package none = nullptr;
  EXPECT_EQ(heddle_package_parse("nonsense", 8, &none), HEDDLE_INPUT);
  EXPECT_EQ(heddle_package_load("does-not-exist.hpkg", &none), HEDDLE_ENVIRONMENT);
  heddle_argument argument = {.struct_size = 4};
  EXPECT_EQ(heddle_package_argument(package, 0, &argument), HEDDLE_INPUT);
  argument.struct_size = sizeof argument;
  EXPECT_EQ(heddle_package_argument(package, 4, &argument), HEDDLE_INPUT);
  EXPECT_CONTAINS(std::string(heddle_error_text()), "`index` is 4, and kernel `vector_add` has 4 arguments");
  heddle_device device = nullptr;
  EXPECT_EQ(heddle_device_open("hots", &device), HEDDLE_INPUT);
  heddle_text json = nullptr;
  int32_t code = 0;
  auto reportError = [&](const char *verb, std::vector<const char *> words) {
    EXPECT_EQ(heddle_report(verb, words.data(), words.size(), nullptr, nullptr, &code, &json), HEDDLE_INPUT);
    return std::string(heddle_error_text());
  };
  EXPECT_CONTAINS(reportError("chekc", {}), "unknown verb `chekc`");
  EXPECT_CONTAINS(reportError("check", {"-"}), "`-` is for the command only");
  EXPECT_CONTAINS(reportError("check", {"--schedulse", "3"}), "unknown option `--schedulse`");
  EXPECT_CONTAINS(reportError("simulate", {}), "no code object");
  EXPECT_CONTAINS(reportError("inspect", {"-h1"}), "`inspect` with these words gives text");
  EXPECT_CONTAINS(reportError("check", {"--help=1"}), "`check` with these words gives text");
}

TEST_F(BadInputTest, CopiesOutsideOfTheirBuffers) {
  Handle<heddle_buffer> buffer;
  ASSERT_OK(heddle_buffer_create(device, 64, "small", &buffer.value));
  std::vector<char> bytesOfHost(128);
  EXPECT_EQ(heddle_copy_to_device(stream, buffer, 60, bytesOfHost.data(), 8), HEDDLE_INPUT);
  EXPECT_CONTAINS(std::string(heddle_error_text()), "`to`: 8 bytes from byte 60 on do not fit the buffer of 64 bytes");
  EXPECT_EQ(heddle_copy_to_host(stream, bytesOfHost.data(), buffer, 65, 0), HEDDLE_INPUT);
  EXPECT_EQ(heddle_copy_to_host(stream, nullptr, buffer, 0, 4), HEDDLE_INPUT);
  EXPECT_EQ(heddle_fill(stream, buffer, UINT64_MAX, 2, 0), HEDDLE_INPUT);
  EXPECT_EQ(heddle_copy(stream, buffer, 0, buffer, 0, 65), HEDDLE_INPUT);
  EXPECT_EQ(heddle_buffer_create(device, uint64_t(1) << 60, "large", &buffer.value), HEDDLE_ENVIRONMENT);
  EXPECT_EQ(heddle_buffer_adopt(device, 0, 4, nullptr, &buffer.value), HEDDLE_INPUT);
  EXPECT_EQ(heddle_buffer_adopt(device, UINT64_MAX - 1, 4, nullptr, &buffer.value), HEDDLE_INPUT);
}

/// Calls in any order on any handles.
class RandomCallsTest : public WithVectorAdd {
protected:
  void SetUp() override {
    WithVectorAdd::SetUp();
    handles = {nullptr, device.value, stream.value, package.value, kernel.value, reinterpret_cast<void *>(33)};
  }

  size_t below(size_t limit) { return size_t(random() % limit); }
  void *any() { return own.empty() || below(3) == 0 ? handles[below(handles.size())] : own[below(own.size())]; }

  /// Arguments of a launch: what would run reads and writes only what is there.
  std::vector<heddle_value> launchValues(void *handle) {
    std::vector<heddle_value> values = addresses;
    values[below(4)] = {int32_t(below(4)), 0, reinterpret_cast<uint64_t>(handle)};
    values.resize(below(3) ? 4 : below(5));
    if (values.size() != 4)
      return values;
    for (size_t at = 0; at < 3; ++at)
      if (values[at].kind == HEDDLE_ADDRESS || (values[at].kind == HEDDLE_SCALAR && values[at].bits))
        values[at] = addresses[at];
    values[3] = {HEDDLE_SCALAR, 0, 0}; // n = 0: nothing is read or written
    return values;
  }

  heddle_status call(void *&made) {
    void *one = any(), *two = any();
    uint64_t address = 0, size = 0;
    size_t number = 0, offset = below(80);
    const char *data = nullptr;
    heddle_argument argument = {.struct_size = sizeof argument};
    std::vector<heddle_value> values = launchValues(two);
    heddle_launch_options few = {sizeof few, {1, 1, 1}, 0, 0, 0};
    switch (below(18)) {
    case 0:
      return heddle_buffer_create(as<heddle_device>(one), offset, "b", reinterpret_cast<heddle_buffer *>(&made));
    case 1:
      return heddle_event_create(as<heddle_device>(one), reinterpret_cast<heddle_event *>(&made));
    case 2:
      return heddle_package_bytes(as<heddle_package>(one), reinterpret_cast<heddle_text *>(&made));
    case 3:
      return heddle_text_get(as<heddle_text>(one), &data, &number);
    case 4:
      return heddle_copy_to_device(as<heddle_stream>(one), as<heddle_buffer>(two), offset, memory.data(), below(80));
    case 5:
      return heddle_copy_to_host(as<heddle_stream>(one), memory.data(), as<heddle_buffer>(two), offset, below(80));
    case 6:
      return heddle_copy(as<heddle_stream>(one), as<heddle_buffer>(two), offset, as<heddle_buffer>(any()), 0,
                         below(80));
    case 7:
      return heddle_fill(as<heddle_stream>(one), as<heddle_buffer>(two), offset, below(80), 1);
    case 8:
      return heddle_event_record(as<heddle_event>(one), as<heddle_stream>(two));
    case 9:
      return heddle_stream_wait(as<heddle_stream>(one), as<heddle_event>(two));
    case 10:
      return heddle_stream_synchronize(as<heddle_stream>(one));
    case 11:
      return heddle_launch(as<heddle_stream>(one), as<heddle_kernel>(two), &few, values.data(), values.size());
    case 12:
      return heddle_package_argument(as<heddle_package>(one), below(6), &argument);
    case 13:
      return heddle_buffer_get(as<heddle_buffer>(one), &address, &size);
    case 14:
      return heddle_kernel_load(as<heddle_device>(one), as<heddle_package>(two),
                                reinterpret_cast<heddle_kernel *>(&made));
    case 15:
      return heddle_device_describe(as<heddle_device>(one), reinterpret_cast<heddle_text *>(&made));
    case 16:
      return heddle_graph_launch(as<heddle_stream>(one), as<heddle_graph>(two));
    default: { // what is released may be used again by later calls
      if (own.empty())
        return HEDDLE_OK;
      heddle_status status = heddle_release(own[below(own.size())]);
      if (own.size() > 40)
        own.erase(own.begin() + long(below(own.size())));
      return status;
    }
    }
  }

  std::mt19937 random{1};
  std::vector<void *> handles, own; ///< of the fixture, and those that calls have made
  std::vector<char> memory = std::vector<char>(256);
};

/// Each gives a status, and none crashes.
TEST_F(RandomCallsTest, EachGivesAStatus) {
  std::vector<int> statuses(71);
  for (int i = 0; i < 20000; ++i) {
    void *made = nullptr;
    heddle_status status = call(made);
    if (made)
      own.push_back(made);
    ASSERT_TRUE(status == HEDDLE_OK || status == HEDDLE_INPUT || status == HEDDLE_ENVIRONMENT)
        << status << ": " << heddle_error_text();
    ++statuses[size_t(status)];
  }
  for (void *each : own)
    (void)heddle_release(each);
  ASSERT_OK(heddle_stream_synchronize(stream));
  EXPECT_GT(statuses[HEDDLE_OK], 500);
  EXPECT_GT(statuses[HEDDLE_INPUT], 500);
}

} // namespace
