// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchanges who the members are, agrees on a way to share memory, and checks it with a word of memory.
#include "runtime/ProcessGroup.h"
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"
#include "runtime/SymmetricMemory.h"
#include "runtime/processes/Frame.h"
#include "runtime/processes/Secret.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

static constexpr size_t mostNameBytes = 256;

ProcessGroup::ProcessGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device, double seconds, Check check)
    : own(std::move(device)), seconds(seconds), all(std::make_unique<Neighbours>(bootstrap, own->name(), seconds)) {
  readMembers();
  checkMembers();
  std::vector<std::string> problems;
  for (SharingKind each : commonSharing()) {
    std::string problem = check == Check::Now ? trySharing(each) : "";
    if (problem.empty()) {
      kind = each;
      return;
    }
    problems.push_back(fmt::format("{}: {}", sharingName(each), problem));
  }
  if (check == Check::Now && ranks() > 1) // one rank, as of one of several hosts, shares with no process
    throw environmentError(
        fmt::format("the {} devices have no memory that {} processes can share", own->driver().name(), ranks()),
        problems);
}

void ProcessGroup::readMembers() {
  auto texts = agree([&] {
    FieldWriter fields;
    fields.text(own->name()).text(own->chip().name).text(own->hardwareId()).number(uint64_t(own->computeUnits()));
    std::vector<SharingKind> kinds = own->sharing();
    fields.number(kinds.size());
    for (SharingKind each : kinds)
      fields.number(uint64_t(each));
    fields.text(rank() == 0 ? hexText(randomBytes(16)) : "");
    return fields.bytes;
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    FieldReader fields(texts[size_t(rank)], describe(rank));
    Member member;
    member.device = fields.text(mostNameBytes);
    member.chip = fields.text(mostNameBytes);
    member.hardware = fields.text(mostNameBytes);
    member.units = int(fields.number(1 << 20));
    for (uint64_t count = fields.number(8); count--;)
      member.sharing.push_back(SharingKind(fields.number(uint64_t(SharingKind::CudaHandle))));
    token += fields.text(mostNameBytes);
    fields.end();
    members.push_back(std::move(member));
  }
  auto byUnits = [](const Member &a, const Member &b) { return a.units < b.units; };
  fewestUnits = std::min_element(members.begin(), members.end(), byUnits)->units;
}

std::unique_ptr<ProcessGroup> ProcessGroup::part(const std::vector<int> &ranks, double partSeconds) const {
  auto mine = std::find(ranks.begin(), ranks.end(), rank());
  if (mine == ranks.end())
    throw internalError(fmt::format("rank {} is none of {}", rank(), fmt::join(ranks, ", ")));
  if (ranks.size() == 1) {
    auto alone = makeBootstrap(0, 1, [](const std::string &text, double) { return std::vector<std::string>{text}; });
    return std::make_unique<ProcessGroup>(*alone, own, partSeconds);
  }
  BootstrapOptions options;
  options.address = fmt::format("unix:@heddle-part-{}-{}", token.substr(0, 16), fmt::join(ranks, "-"));
  options.rank = int(mine - ranks.begin());
  options.size = int(ranks.size());
  options.secret = token;
  options.seconds = partSeconds;
  std::unique_ptr<Bootstrap> bootstrap = makeBootstrap(options);
  return std::make_unique<ProcessGroup>(*bootstrap, own, partSeconds);
}

/// All ranks see the same members, and so the same fault.
void ProcessGroup::checkMembers() const {
  for (int rank = 0; rank < ranks(); ++rank)
    for (int other = 0; other < rank; ++other) {
      const Member &a = members[size_t(other)], &b = members[size_t(rank)];
      if (a.chip != b.chip)
        throw inputError(
            fmt::format("{} is of chip {}, {} of chip {}", describe(other), a.chip, describe(rank), b.chip),
            {"the devices of a group are of one chip"});
      if (!a.hardware.empty() && a.hardware == b.hardware)
        throw inputError(fmt::format("{} and {} have the same GPU, {}", describe(other), describe(rank), a.hardware),
                         {"give each process a GPU of its own, by its local rank"});
    }
}

std::vector<SharingKind> ProcessGroup::commonSharing() const {
  std::vector<SharingKind> kinds = members[0].sharing;
  std::erase_if(kinds, [&](SharingKind each) {
    return std::any_of(members.begin(), members.end(), [&](const Member &member) {
      return std::find(member.sharing.begin(), member.sharing.end(), each) == member.sharing.end();
    });
  });
  return kinds;
}

std::vector<Neighbours::Message>
ProcessGroup::exchange(const std::function<std::string(std::vector<int> &files)> &work) {
  std::vector<int> files;
  FieldWriter mine;
  std::optional<Error> failure;
  try {
    std::string text = work(files);
    mine.number(0).text(text);
  } catch (const Error &error) {
    failure = error;
    files.clear();
    mine.number(uint64_t(error.kind)).text(std::string(error.what()).substr(0, Neighbours::mostBytes / 2));
  }
  auto messages = all->exchange(mine.bytes, files, seconds);
  if (failure)
    throw *failure;
  for (int rank = 0; rank < ranks(); ++rank) {
    Neighbours::Message &message = messages[size_t(rank)];
    FieldReader fields(message.bytes, describe(rank));
    uint64_t status = fields.number(uint64_t(ErrorClass::Internal));
    std::string text = fields.text(Neighbours::mostBytes);
    fields.end();
    if (status)
      throw Error(ErrorClass(status), fmt::format("{}: {}", describe(rank), text));
    message.bytes = std::move(text);
  }
  return messages;
}

std::vector<std::string> ProcessGroup::agree(const std::function<std::string()> &work) {
  std::vector<std::string> texts;
  for (Neighbours::Message &message : exchange([&](std::vector<int> &) { return work(); }))
    texts.push_back(std::move(message.bytes));
  return texts;
}

std::string ProcessGroup::trySharing(SharingKind tried) {
  constexpr uint64_t slot = 64;
  auto mark = [](int writer, int owner) { return 0x9E3779B97F4A7C15u * uint64_t(1 + writer * 64 + owner); };
  try {
    SymmetricMemory memory(*this, slot * uint64_t(ranks()), "a try of sharing", Caching::Uncached, tried);
    std::unique_ptr<Stream> stream;
    std::vector<uint64_t> words(static_cast<size_t>(ranks()));
    agree([&] {
      stream = own->createStream();
      for (int owner = 0; owner < ranks(); ++owner) {
        words[size_t(owner)] = mark(rank(), owner);
        stream->copyToDevice(memory.address(owner) + slot * uint64_t(rank()), &words[size_t(owner)], sizeof words[0]);
      }
      stream->synchronize();
      return "";
    });
    agree([&] {
      for (int owner = 0; owner < ranks(); ++owner)
        for (int writer = 0; writer < ranks(); ++writer) {
          uint64_t seen = 0;
          stream->copyToHost(&seen, memory.address(owner) + slot * uint64_t(writer), sizeof seen);
          stream->synchronize();
          if (seen != mark(writer, owner))
            throw environmentError(fmt::format("it reads {:#x} in the memory of {}, where {} has written {:#x}", seen,
                                               describe(owner), describe(writer), mark(writer, owner)));
        }
      return "";
    });
    memory.release(*this);
  } catch (const Error &error) {
    if (all->failure()) // not this way, but the group is at fault
      throw;
    return error.what();
  }
  return "";
}

} // namespace heddle
