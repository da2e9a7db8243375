// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle_xla_call as XLA calls it, without XLA: the records are made here, and errors are collected.
#include "library/LibraryTestSupport.h"
#include "library/XlaFrame.h"
#include <thread>

using namespace heddle;

namespace {

/// What createError was told, by the pointer that it gave.
struct ErrorOfXla {
  std::string message;
  int32_t code;
};
void *createError(xla::ErrorRequest *request) {
  return new ErrorOfXla{request->message, request->code};
}
void destroyError(void *error) {
  delete static_cast<ErrorOfXla *>(error);
}
void *refuseStream(xla::StreamRequest *request) {
  return new ErrorOfXla{"no stream", request->sizeBytes == sizeof(xla::StreamRequest) ? 9 : 0};
}

/// A call of XLA: operands, results and attributes.
class XlaCall {
public:
  XlaCall() {
    functions.sizeBytes = sizeof functions;
    functions.version = {sizeof(xla::Version), nullptr, 0, 3};
    functions.createError = createError;
    functions.destroyError = destroyError;
    functions.getStream = refuseStream;
  }

  void operand(std::vector<float> &data) { add(operands, data); }
  void result(std::vector<float> &data) { add(results, data); }
  void attribute(const std::string &name, int32_t type, void *data, size_t size) {
    elements.push_back(std::make_unique<xla::Elements>(xla::Elements{type, size, data}));
    names.push_back(std::make_unique<std::string>(name));
    texts.push_back(std::make_unique<xla::Text>(xla::Text{names.back()->data(), name.size()}));
  }
  void attribute(const std::string &name, std::vector<int64_t> values) {
    integers.push_back(std::make_unique<std::vector<int64_t>>(std::move(values)));
    attribute(name, xla::signed64, integers.back()->data(), integers.back()->size());
  }

  /// The message of the error, with its code; empty for none.
  std::string run(xla::Extension *extension = nullptr) {
    std::vector<xla::Text *> textPointers;
    std::vector<void *> values;
    std::vector<int32_t> kinds(elements.size(), xla::elementsAttribute);
    for (size_t i = 0; i < elements.size(); ++i) {
      textPointers.push_back(texts[i].get());
      values.push_back(elements[i].get());
    }
    std::vector<xla::Buffer *> in, out;
    xla::Frame frame = {};
    frame.sizeBytes = sizeof frame;
    frame.extensions = extension;
    frame.functions = &functions;
    frame.stage = 3;
    frame.operands = buffersOf(operands, in);
    frame.results = buffersOf(results, out);
    frame.attributes = {sizeof(xla::Attributes), nullptr,      int64_t(elements.size()), kinds.data(),
                        textPointers.data(),     values.data()};
    std::unique_ptr<ErrorOfXla> error(static_cast<ErrorOfXla *>(heddle_xla_call(&frame)));
    return error ? std::to_string(error->code) + " " + error->message : "";
  }

  xla::Functions functions = {};

private:
  using BufferList = std::vector<std::unique_ptr<xla::Buffer>>;
  static void add(BufferList &list, std::vector<float> &data) {
    list.push_back(
        std::make_unique<xla::Buffer>(xla::Buffer{sizeof(xla::Buffer), nullptr, 11, data.data(), 1, nullptr}));
  }
  static xla::Buffers buffersOf(const BufferList &list, std::vector<xla::Buffer *> &pointers) {
    for (const auto &each : list)
      pointers.push_back(each.get());
    return {sizeof(xla::Buffers), nullptr, int64_t(pointers.size()), nullptr, pointers.data()};
  }

  BufferList operands, results;
  std::vector<std::unique_ptr<xla::Elements>> elements;
  std::vector<std::unique_ptr<std::string>> names;
  std::vector<std::unique_ptr<xla::Text>> texts;
  std::vector<std::unique_ptr<std::vector<int64_t>>> integers;
};

constexpr int32_t count = 4000;

std::string packageBytes(const std::string &target = "host") {
  Handle<heddle_package> package = compileVectorAdd({"target=" + target});
  Handle<heddle_text> bytes;
  EXPECT_EQ(heddle_package_bytes(package, &bytes.value), HEDDLE_OK);
  return textOf(bytes);
}

/// A call of vector_add; each part may be replaced by a wrong one.
struct VectorAdd {
  std::vector<float> x = std::vector<float>(count, 1), y = std::vector<float>(count, 2),
                     out = std::vector<float>(count);
  std::string package = packageBytes();
  std::vector<int64_t> place = {0, 0}, grid = {4, 1, 1}, arguments = {0, 0, 0, 1, 1, 0, 2, count};

  std::string run() {
    XlaCall call;
    call.operand(x);
    call.operand(y);
    call.result(out);
    call.attribute("arguments", arguments);
    call.attribute("grid", grid);
    call.attribute("package", xla::unsigned8, package.data(), package.size());
    call.attribute("place", place);
    return call.run();
  }
};

TEST(XlaCall, LaunchesOnTheHost) {
  VectorAdd add;
  for (int i = 0; i < 2; ++i) {
    add.out.assign(count, 0);
    EXPECT_EQ(add.run(), "");
    EXPECT_EQ(add.out, std::vector<float>(count, 3));
  }
}

TEST(XlaCall, LaunchesFromSeveralThreads) {
  std::string package = packageBytes();
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < errors.size(); ++i)
    threads.emplace_back([&, i] {
      VectorAdd add;
      add.package = package;
      errors[i] = add.run() + (add.out == std::vector<float>(count, 3) ? "" : "wrong");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST(XlaCall, TellsItsVersion) {
  for (auto [offered, answered] : {std::pair(1, 1), std::pair(3, 3), std::pair(7, 3)}) {
    XlaCall call;
    call.functions.version.minor = offered;
    xla::Metadata metadata = {};
    xla::MetadataExtension extension = {{sizeof extension, 1, nullptr}, &metadata};
    EXPECT_EQ(call.run(&extension.base), "");
    EXPECT_EQ(metadata.version.major, 0);
    EXPECT_EQ(metadata.version.minor, answered);
    EXPECT_EQ(metadata.traits, 0u);
  }
}

TEST(XlaCall, RefusesWhatItCannotRead) {
  EXPECT_EQ(XlaCall().run(), "3 heddle: the call has no attribute `package`; make the call by heddle.jax.call");
  auto refused = [](auto change, const std::string &expected) {
    VectorAdd add;
    change(add);
    EXPECT_CONTAINS(add.run(), expected);
  };
  refused([](VectorAdd &add) { add.grid = {4, 1}; }, "the attributes `place` and `grid` have 2 and 2 elements");
  refused([](VectorAdd &add) { add.grid = {-4, 1, 1}; }, "3 heddle: ");
  refused([](VectorAdd &add) { add.place = {3, 0}; }, "the attribute `place` is 3, and places are 0 to 2");
  refused([](VectorAdd &add) { add.arguments[1] = 2; }, "an argument is operand 2, and the call has 2");
  refused([](VectorAdd &add) { add.arguments[4] = 9; }, "has the kind 9 at 4, and kinds are 0 to 3");
  refused([](VectorAdd &add) { add.arguments.resize(6); }, "3 heddle: ");
  refused([](VectorAdd &add) { add.package.resize(100); }, "3 heddle: ");
  refused([](VectorAdd &add) { add.package = packageBytes("gfx942"); }, "gfx942");
  refused([](VectorAdd &add) { add.arguments[6] = 0; }, "3 heddle: ");
}

TEST(XlaCall, WantsAttributesOfItsTypes) {
  XlaCall call;
  call.attribute("package", {1, 2, 3});
  EXPECT_EQ(call.run(),
            "3 heddle: the attribute `package` is not an array of unsigned bytes; make the call by heddle.jax.call");
}

} // namespace
