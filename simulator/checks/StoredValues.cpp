// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ring of words with the values of stores, oldest out first.
#include "simulator/checks/StoredValues.h"
#include <bit>
#include <cstring>

namespace heddle::simulator {

static constexpr size_t headerWords(size_t bytes) {
  return (bytes + 3) / 4;
}

void StoredValues::clear() {
  chunks.clear();
  places.clear();
}

size_t StoredValues::wordsOf(const Header &header) {
  size_t lanes = size_t(std::popcount(header.lanes));
  return headerWords(sizeof(Header)) + lanes * (header.words + (header.isRow ? 0 : 2));
}

void StoredValues::forgetOldest() {
  const Chunk &oldest = chunks.front();
  for (size_t word = 0; word < oldest.size();) {
    Header header;
    std::memcpy(&header, &oldest[word], sizeof header);
    places.erase(header.key);
    word += wordsOf(header);
  }
  chunks.pop_front();
  ++firstChunk;
}

void StoredValues::add(const Key &key, const MemoryRequest &request) {
  Header header{.key = key, .bytes = request.bytes, .words = request.words, .lanes = request.lanes};
  header.first = request.lanes ? request.address[std::countr_zero(request.lanes)] : 0;
  if (request.isScalar()) { // its words are one lane's
    header.lanes = 1;
    header.first = request.address[0];
    header.bytes = 4u * request.words;
  }
  header.isRow = request.isScalar() || request.isRow;
  size_t words = wordsOf(header);
  if (chunks.empty() || chunks.back().size() + words > chunkWords) {
    if (chunks.size() * chunkWords * 4 >= mostBytes)
      forgetOldest();
    chunks.emplace_back().reserve(chunkWords);
  }
  Chunk &chunk = chunks.back();
  places[key] = {firstChunk + chunks.size() - 1, chunk.size()};
  chunk.resize(chunk.size() + words);
  uint32_t *out = &chunk[chunk.size() - words];
  std::memcpy(out, &header, sizeof header);
  out += headerWords(sizeof header);
  if (request.isScalar()) {
    std::memcpy(out, request.scalarData, 4 * header.words);
    return;
  }
  for (uint64_t rest = header.isRow ? 0 : header.lanes; rest; rest &= rest - 1, out += 2)
    std::memcpy(out, &request.address[std::countr_zero(rest)], 8);
  for (uint64_t rest = header.lanes; rest; rest &= rest - 1)
    for (unsigned word = 0; word < header.words; ++word)
      *out++ = request.data[word][std::countr_zero(rest)];
}

std::optional<uint8_t> StoredValues::byteAt(const Key &key, unsigned lane, uint64_t address) const {
  auto found = places.find(key);
  if (found == places.end())
    return std::nullopt;
  const uint32_t *words = &chunks[found->second.chunk - firstChunk][found->second.word];
  Header header;
  std::memcpy(&header, words, sizeof header);
  words += headerWords(sizeof header);
  if (!(header.lanes >> lane & 1))
    return std::nullopt;
  unsigned index = unsigned(std::popcount(header.lanes & ((uint64_t(1) << lane) - 1)));
  uint64_t first = header.first + index * header.bytes;
  if (!header.isRow) {
    std::memcpy(&first, words + 2 * index, 8);
    words += 2 * std::popcount(header.lanes);
  }
  uint64_t offset = address - first;
  if (offset >= header.bytes)
    return std::nullopt;
  return uint8_t(words[index * header.words + offset / 4] >> 8 * (offset % 4));
}

} // namespace heddle::simulator
