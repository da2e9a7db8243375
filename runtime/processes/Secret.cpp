// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the secret from its file or variable, and refuses files that others can read.
#include "runtime/processes/Secret.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Knobs.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

std::string readSecret() {
  constexpr size_t least = 16, most = 4096;
  std::string secret = sharedSecret(), origin = "HEDDLE_SECRET";
  if (std::string path = sharedSecretFile(); !path.empty()) {
    origin = fmt::format("the file `{}` of HEDDLE_SECRET_FILE", path);
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0)
      throw environmentError(fmt::format("{}: {}", origin, std::strerror(errno)));
    if (facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0)
      throw environmentError(fmt::format("{} has mode {:04o} and owner {}: others may know the secret", origin,
                                         unsigned(facts.st_mode) & 07777, facts.st_uid),
                             {fmt::format("it must have mode 0600 and owner {}", ::geteuid())});
    secret = readFile(path);
  }
  secret.erase(secret.find_last_not_of(" \t\r\n") + 1);
  bool isGiven = !secret.empty() || origin != "HEDDLE_SECRET"; // an empty file is a fault
  if (isGiven && (secret.size() < least || secret.size() > most))
    throw inputError(fmt::format("the secret in {} has {} bytes, it has {} to {}", origin, secret.size(), least, most),
                     {"`head -c 32 /dev/urandom | base64` makes one"});
  return secret;
}

std::string randomBytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t done = 0; done < count;) {
    ssize_t more = ::getrandom(bytes.data() + done, count - done, 0);
    if (more < 0 && errno != EINTR)
      throw environmentError(fmt::format("no random bytes: {}", std::strerror(errno)));
    done += more > 0 ? size_t(more) : 0;
  }
  return bytes;
}

std::string hexText(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

} // namespace heddle
