// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks names up, and words the errors for those that are missing, repeated, unknown or of the wrong type.
#include "api/Binding.h"
#include "api/Values.h"
#include "support/Npy.h"
#include "support/Suggest.h"
#include <fmt/ranges.h>

namespace heddle {

// ---- Names ----

void checkRepeated(const std::vector<NamedValue> &values, const char *what) {
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (values[i].name == values[j].name)
        throw ArgumentError(fmt::format("{} `{}` is given twice: `{}` and `{}`", what, values[i].name, values[j].value,
                                        values[i].value));
}

ArgumentError notAnOwnName(const std::string &buffer, const std::string &argument, const std::string &kernel) {
  return ArgumentError(fmt::format("buffer `{}`: `{}` is an argument of kernel `{}`, and a buffer beside the arguments "
                                   "needs a name of its own",
                                   buffer, argument, kernel));
}

static std::vector<std::string> withClosest(const char *what, const std::string &name,
                                            const std::vector<std::string> &known, std::vector<std::string> notes) {
  if (std::string close = closestName(name, known); !close.empty())
    notes.insert(notes.begin(), fmt::format("the closest {} is `{}`", what, close));
  return notes;
}

ArgumentError noArgument(const std::string &kernel, const std::string &name, const std::vector<std::string> &known,
                         std::vector<std::string> notes) {
  return ArgumentError(fmt::format("kernel `{}` has no argument `{}`", kernel, name),
                       withClosest("argument", name, known, std::move(notes)));
}

ArgumentError missingArguments(const std::string &kernel, const std::vector<std::string> &names,
                               std::vector<std::string> notes) {
  bool isOne = names.size() == 1;
  return ArgumentError(fmt::format("{} `{}` of kernel `{}` {} missing", isOne ? "argument" : "arguments",
                                   fmt::join(names, "`, `"), kernel, isOne ? "is" : "are"),
                       std::move(notes));
}

ArgumentError noBuffer(const std::string &name, const std::vector<std::string> &known, const std::string &reason) {
  std::vector<std::string> notes =
      withClosest("buffer", name, known,
                  {known.empty() ? "there is no buffer" : fmt::format("the buffers are {}", fmt::join(known, ", "))});
  if (!reason.empty())
    notes.insert(notes.begin(), reason);
  return ArgumentError(fmt::format("there is no buffer `{}`", name), notes);
}

// ---- Buffers ----

bool sameStorage(ElementType given, ElementType wanted) {
  return given == wanted || (!isFloat(given) && !isFloat(wanted) && given != ElementType::I1 &&
                             wanted != ElementType::I1 && elementSizeBytes(given) == elementSizeBytes(wanted));
}

static bool sameStorage(const std::string &dtype, ElementType wanted) {
  if (dtype == numpyDtype(wanted))
    return true;
  for (ElementType type : allElementTypes())
    if (!isFloat(type) && dtype == numpyDtype(type) && sameStorage(type, wanted))
      return true;
  return wanted == ElementType::I1 && (dtype == "|u1" || dtype == "|i1");
}

BoundBuffer makeBuffer(const std::string &name, const BufferSpec &spec, std::optional<ElementType> wanted) {
  BoundBuffer made;
  Array &array = made.array;
  array.name = name;
  if (spec.kind == BufferSpec::Kind::File) {
    NpyArray file = readNpy(spec.path);
    array.type = wanted && sameStorage(file.dtype, *wanted) ? *wanted : typeOfDtype(file.dtype, spec.path);
    array.dtype = file.dtype;
    array.shape = std::move(file.shape);
    array.bytes = std::move(file.bytes);
    made.sizeBytes = array.bytes.size();
    return made;
  }
  array.type = spec.type;
  array.dtype = numpyDtype(spec.type);
  array.shape = spec.shape;
  made.pointers = spec.names;
  made.sizeBytes = uint64_t(spec.sizeBytes());
  if (spec.kind == BufferSpec::Kind::Random)
    array.bytes = materialize(spec);
  return made;
}

static void checkElements(const PackageArgument &argument, const BufferSpec &spec, ElementType given,
                          const std::string &dtype) {
  std::optional<ElementType> wanted = findElementType(argument.type); // none where the pointee is itself a pointer
  if (!wanted) {
    if (elementSizeBytes(given) == 8 && !isFloat(given))
      return;
    throw ArgumentError(
        fmt::format("argument `{}` points to {} elements, which are addresses, but `{}` has {} elements", argument.name,
                    argument.type, spec.text, elementTypeName(given)),
        {"a table of addresses is `ptrs:A,B`, where A and B are buffers"});
  }
  if (sameStorage(given, *wanted))
    return;
  if (spec.kind != BufferSpec::Kind::File)
    throw ArgumentError(fmt::format("argument `{}` points to {} elements, but `{}` has {} elements", argument.name,
                                    argument.type, spec.text, elementTypeName(given)));
  throw ArgumentError(fmt::format("argument `{}` points to {} elements (dtype `{}`), but {} has dtype `{}`",
                                  argument.name, argument.type, numpyDtype(*wanted), spec.path, dtype));
}

BoundBuffer bindBuffer(const PackageArgument &argument, const BufferSpec &spec) {
  bool isFile = spec.kind == BufferSpec::Kind::File;
  if (!isFile) // before there are bytes
    checkElements(argument, spec, spec.type, "");
  BoundBuffer made = makeBuffer(argument.name, spec, findElementType(argument.type));
  if (isFile)
    checkElements(argument, spec, made.array.type, made.array.dtype);
  return made;
}

} // namespace heddle
