// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The records by which XLA calls a foreign function (XLA FFI, version 0.1 to 0.3), as its documentation lays them out:
// so that libheddle can be called from JAX without a compiler on the user's machine. Only what XlaCall.cpp reads is
// here. Every record of XLA begins with its size; a newer XLA appends fields.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heddle::xla {

struct Extension {
  size_t sizeBytes;
  int32_t type; ///< 1: XLA asks for Metadata
  Extension *next;
};

struct Version {
  size_t sizeBytes;
  Extension *extensions;
  int32_t major, minor;
};

struct Metadata {
  size_t sizeBytes;
  Version version;
  uint32_t traits; ///< bit 0: launches are the same each time, and may be captured
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

struct ErrorRequest {
  size_t sizeBytes;
  Extension *extensions;
  const char *message;
  int32_t code;
};

struct StreamRequest {
  size_t sizeBytes;
  Extension *extensions;
  void *context;
  void *stream; ///< result
};

struct OrdinalRequest {
  size_t sizeBytes;
  Extension *extensions;
  void *context;
  int32_t ordinal; ///< result
};

/// What XLA offers to those that it calls. Functions that this file does not use are plain pointers.
struct Functions {
  size_t sizeBytes;
  Extension *extensions;
  Version version;
  const void *internal;
  void *(*createError)(ErrorRequest *);
  void *getMessage;
  void (*destroyError)(void *);
  void *registerHandler;
  void *(*getStream)(StreamRequest *);
  void *others[12]; ///< types, state, memory, threads, futures, run
  void *(*getOrdinal)(OrdinalRequest *);
};

struct Buffer {
  size_t sizeBytes;
  Extension *extensions;
  int32_t type;
  void *data;
  int64_t rank;
  int64_t *extents;
};

struct Buffers {
  size_t sizeBytes;
  Extension *extensions;
  int64_t size;
  int32_t *types;
  Buffer **buffers;
};

struct Text {
  const char *data;
  size_t size;
};

struct Attributes {
  size_t sizeBytes;
  Extension *extensions;
  int64_t size;
  int32_t *types; ///< 1: Elements
  Text **names;
  void **values;
};

/// An attribute that is an array.
struct Elements {
  int32_t type; ///< unsigned8 or signed64
  size_t size;
  void *data;
};

constexpr int32_t elementsAttribute = 1, unsigned8 = 6, signed64 = 5;

struct Frame {
  size_t sizeBytes;
  Extension *extensions;
  const Functions *functions;
  void *context;
  int32_t stage; ///< 0: instantiate, 1: prepare, 2: initialize, 3: execute
  Buffers operands, results;
  Attributes attributes;
};

} // namespace heddle::xla
