// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// POSIX calls rather than streams, because streams lose the reason of a failure.
#include "support/File.h"
#include "support/Error.h"
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {
namespace {

/// Closes on every way out.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int number;
};

Error fileError(const char *what, const std::string &path, int reason) {
  return environmentError(fmt::format("cannot {} `{}`: {}", what, path, std::strerror(reason)));
}

/// Returns 0 or the errno of the failed write.
int writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    bytes.remove_prefix(size_t(written));
  }
  return 0;
}

std::string temporaryNameFor(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter.fetch_add(1));
}

void writeDirectly(const std::string &path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number < 0)
    throw fileError("write", path, errno);
  if (int reason = writeAll(file.number, bytes))
    throw fileError("write", path, reason);
}

} // namespace

std::string readFile(const std::string &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0)
    throw fileError("read", path, errno);
  struct stat status;
  if (::fstat(file.number, &status) != 0)
    throw fileError("read", path, errno);
  if (S_ISDIR(status.st_mode))
    throw fileError("read", path, EISDIR);
  std::string bytes;
  size_t filled = 0;
  try {
    // One byte more than the stated size lets the usual file end without growing the string.
    bytes.resize(S_ISREG(status.st_mode) ? size_t(status.st_size) + 1 : size_t(1) << 16);
    for (;;) {
      ssize_t got = ::read(file.number, bytes.data() + filled, bytes.size() - filled);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        throw fileError("read", path, errno);
      if (got == 0)
        break;
      filled += size_t(got);
      if (filled == bytes.size())
        bytes.resize(bytes.size() * 2);
    }
  } catch (const std::bad_alloc &) {
    throw fileError("read", path, ENOMEM);
  }
  bytes.resize(filled);
  return bytes;
}

void writeFileAtomically(const std::string &path, std::string_view bytes) {
  struct stat status;
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw fileError("write", path, EISDIR);
  if (exists && !S_ISREG(status.st_mode))
    return writeDirectly(path, bytes);

  std::string destination = path;
  if (exists)
    if (char *resolved = ::realpath(path.c_str(), nullptr)) {
      destination = resolved;
      ::free(resolved);
    }
  std::string temporary = temporaryNameFor(destination);
  int reason = 0;
  {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.number < 0)
      throw fileError("write", path, errno);
    if (exists)
      (void)!::fchmod(file.number, status.st_mode & 07777);
    reason = writeAll(file.number, bytes);
  }
  if (!reason && ::rename(temporary.c_str(), destination.c_str()) != 0)
    reason = errno;
  if (reason) {
    ::unlink(temporary.c_str());
    throw fileError("write", path, reason);
  }
}

void checkWritable(const std::string &path) {
  struct stat status;
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw fileError("write", path, EISDIR);
  bool directly = exists && !S_ISREG(status.st_mode);
  std::string written = path;
  if (char *resolved = ::realpath(path.c_str(), nullptr)) {
    written = resolved;
    ::free(resolved);
  }
  size_t slash = written.rfind('/');
  std::string folder = slash == std::string::npos ? "." : written.substr(0, slash + 1);
  if (directly ? ::access(path.c_str(), W_OK) != 0 : ::access(folder.c_str(), W_OK | X_OK) != 0)
    throw fileError("write", path, errno);
}

} // namespace heddle
