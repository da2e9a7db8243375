// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of kernels in and packages out: which kind of file it is, by name or content, and how it is compiled.
#include "api/Heddle.h"
#include "binary/AmdAbi.h"
#include "binary/AmdCodeObject.h"
#include "binary/AmdPackage.h"
#include "chips/Chip.h"
#include "support/File.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

// Read once and kept: the first who asks learns what the text is, the next takes it.
const std::string &standardInput() {
  static const std::string whole = [] {
    std::string text;
    char block[65536];
    while (size_t count = std::fread(block, 1, sizeof block, stdin))
      text.append(block, count);
    if (std::ferror(stdin))
      throw environmentError(std::string("cannot read standard input: ") + std::strerror(errno));
    return text;
  }();
  return whole;
}

std::string readSource(const std::string &path) {
  return path == "-" ? standardInput() : readFile(path);
}

bool isPackage(const std::string &path, const std::string &bytes) {
  return path.ends_with(".hpkg") || bytes.starts_with("HEDDLEPK");
}

bool isTextName(const std::string &path) {
  return path.ends_with(".ttir") || path.ends_with(".ttgir") || path.ends_with(".mlir");
}

/// MLIR's parser would only say that there is no kernel, or name a byte. MLIR's bytecode may have any bytes.
void checkIsText(const std::string &path, const std::string &bytes) {
  std::string reason;
  size_t zero = bytes.find('\0');
  if (bytes.find_first_not_of(" \t\r\n") == std::string::npos)
    reason = "it is empty";
  else if (zero != std::string::npos && !bytes.starts_with("ML\xefR"))
    reason = fmt::format("its byte {} is zero", zero);
  if (!reason.empty())
    throw inputError(
        fmt::format("{} is neither a kernel's text, nor a package, nor an ELF object: {}", sourceName(path), reason),
        {"a kernel's text is MLIR (.ttir, .ttgir), a package is what `heddle compile` writes"});
}

} // namespace

std::string version() {
  return HEDDLE_VERSION;
}

KernelFile readAnyKernelFile(const std::string &path) {
  std::string bytes = readSource(path);
  bool package = isPackage(path, bytes), elf = !package && isElf(bytes);
  if (!package && !elf)
    checkIsText(path, bytes);
  return {std::move(bytes), package, elf};
}

KernelFile readKernelFile(const std::string &path) {
  KernelFile file = readAnyKernelFile(path);
  if (file.isElf)
    throw inputError(
        fmt::format("{} is an ELF file, neither a kernel's text nor a package", sourceName(path)),
        {"a code object for AMD GPUs runs with `heddle simulate`, or with `--block N` on a device `sim:CHIP`"});
  return file;
}

std::string readKernelText(const std::string &path) {
  KernelFile file = readKernelFile(path);
  if (file.isPackage)
    throw inputError(sourceName(path) + " is a kernel package, which is compiled already", {"give the kernel's text"});
  return file.bytes;
}

std::string targetOfText(const std::string &text, const std::string &otherwise) {
  if (text.find("ttg.target = \"cuda:90\"") != std::string::npos)
    return "sm_90";
  for (std::string before : {"ttg.target = \"hip:", "simt.target = \""}) // as Triton and this compiler print it
    if (size_t start = text.find(before); start != std::string::npos)
      for (const Chip *chip : allChips())
        if (text.compare(start + before.size(), chip->name.size() + 1, std::string(chip->name) + '"') == 0)
          return chip->name;
  return otherwise;
}

std::string sourceName(const std::string &path) {
  return path == "-" ? "<stdin>" : path;
}

CompileResult compileFile(const std::string &path, const CompileOptions &options) {
  return compile(readKernelText(path), sourceName(path), options);
}

Package loadCodeObject(const std::string &path, const std::string &kernel, int64_t threads) {
  KernelFile file = readAnyKernelFile(path);
  if (file.isPackage)
    throw inputError(fmt::format("{} is a package, and `--block {}` is for code objects", sourceName(path), threads),
                     {"a package says its own block: leave `--block` out"});
  if (isTextName(path))
    throw inputError(
        fmt::format("{} is a kernel's text, and `--block {}` is for code objects", sourceName(path), threads),
        {"`--warps N` says how many warps a text is compiled for: leave `--block` out"});
  return packageOfCodeObject(file.bytes, sourceName(path), kernel, threads);
}

CodeObjectFile readCodeObject(const std::string &path, const CompileOptions &options) {
  std::string bytes = readSource(path), name = sourceName(path);
  if (isElf(bytes))
    return {std::move(bytes), "", 0, 0};
  Package package;
  if (isPackage(path, bytes)) {
    package = Package::parse(bytes, name);
    if (package.binaryKind != amdBinaryKind)
      throw inputError(fmt::format("{} is a package for {}, and its code is no AMD code object", name, package.target),
                       {fmt::format("compile the kernel with {}", listSimulated("--target ", " or "))});
  } else {
    CompileOptions chosen = options;
    if (options.target == CompileOptions().target)
      chosen.target = targetOfText(bytes, options.target);
    bool compiles = lookupChip(chosen.target).simulated != InstructionSet::None;
    if (!compiles && !isTextName(path))
      return {std::move(bytes), "", 0, 0}; // who reads it says what it is not
    if (!compiles && options.target != CompileOptions().target)
      throw inputError(fmt::format("`--target {}`: only {} are simulated", options.target, listSimulated("", " and ")),
                       {fmt::format("give {}", listSimulated("--target ", " or "))});
    if (!compiles)
      throw inputError(fmt::format("{} is no code object and no package, and there is no chip to compile it for", name),
                       {fmt::format("{} compiles a kernel's text first", listSimulated("--target ", " or "))});
    package = compile(bytes, name, chosen).package;
  }
  CodeObjectFile file = {std::exchange(package.binary, ""), package.entry, package.threads, package.sharedBytes};
  file.package = std::make_shared<const Package>(std::move(package));
  return file;
}

Package loadOrCompile(const std::string &path, const CompileOptions &options, const std::string &compileOption) {
  KernelFile file = readKernelFile(path);
  std::string name = sourceName(path);
  if (!file.isPackage)
    return compile(file.bytes, name, options).package;
  Package package = Package::parse(file.bytes, name);
  if (options.checkAccesses && !package.checked)
    throw inputError(name + " was compiled without `--check`",
                     {"compile it with `heddle compile --check`, or run the kernel's text"});
  if (!compileOption.empty())
    throw inputError(
        fmt::format("{} is compiled already: `{}` cannot change it", name, compileOption),
        {fmt::format("compile the kernel's text with `heddle compile {}`, or run the text", compileOption)});
  return package;
}

} // namespace heddle
