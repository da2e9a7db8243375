// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Links in a private folder with LLD, and refuses code that calls what no C library has.
#include "compiler/emit/SharedObject.h"
#include "compiler/emit/Guard.h"
#include "compiler/emit/LlvmOptions.h"
#include "lld/Common/Driver.h"
#include "support/Error.h"
#include "support/File.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace heddle {
namespace {

/// A folder of our own, removed with the files `object` and `shared` in it.
class PrivateFolder {
public:
  PrivateFolder() {
    const char *configured = std::getenv("TMPDIR");
    int error = 0;
    for (const char *parent : {configured, "/dev/shm", "/tmp"}) {
      if (!parent || !*parent)
        continue;
      path = std::string(parent) + "/heddle-link-XXXXXX";
      if (mkdtemp(path.data()))
        return;
      error = errno;
    }
    throw environmentError("cannot make a temporary folder `" + path + "`: " + std::strerror(error),
                           {"set TMPDIR to a folder that can be written"});
  }
  PrivateFolder(const PrivateFolder &) = delete;
  ~PrivateFolder() {
    for (const char *name : {"/object", "/shared"})
      unlink((path + name).c_str());
    rmdir(path.c_str());
  }
  std::string path;
};

/// What a compiler may always call, and every C library has.
bool isAllowedSymbol(const std::string &name) {
  // What LLVM makes of copy loops, and what a waiting loop calls to let another thread run and to know the time.
  return name == "memcpy" || name == "memmove" || name == "memset" || name == "sched_yield" || name == "clock_gettime";
}

/// `libraries`: the code may call those functions.
void checkUndefinedSymbols(const std::string &object, bool libraries) {
  std::string names;
  for (const std::string &name : undefinedSymbols(object))
    if (!libraries || !isAllowedSymbol(name))
      names += (names.empty() ? "`" : ", `") + name + "`";
  if (!names.empty())
    throw internalError("the kernel's code calls what no library provides: " + names);
}

std::string link(const std::string &object, std::vector<const char *> arguments) {
  PrivateFolder folder;
  std::string input = folder.path + "/object", output = folder.path + "/shared";
  writeFileAtomically(input, object);
  arguments.insert(arguments.begin(), "ld.lld");
  arguments.insert(arguments.end(), {"-shared", "--threads=1", "--build-id=none", "-o", output.c_str(), input.c_str()});
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  int status = 1;
  std::string failure;
  withLld([&] {
    failure =
        runGuarded([&] { status = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}}).retCode; });
  });
  if (!failure.empty() || status != 0)
    throw internalError("LLD failed: " + (failure.empty() ? messages : failure));
  return readFile(output);
}

} // namespace

std::vector<std::string> undefinedSymbols(const std::string &object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file)
    throw internalError("the kernel's object is no ELF file: " + llvm::toString(file.takeError()));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty())
      names.push_back(name->str());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string linkSharedObject(const std::string &object) {
  checkUndefinedSymbols(object, /*libraries=*/true);
  return link(object, {"-z", "undefs", "-s"});
}

std::string linkCodeObject(const std::string &object) {
  checkUndefinedSymbols(object, /*libraries=*/false);
  return link(object, {});
}

} // namespace heddle
