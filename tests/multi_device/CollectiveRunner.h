// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs one collective on the ranks of a communicator with inputs and outputs as bytes.
#pragma once
#include "collectives/Communicator.h"
#include "runtime/Buffer.h"
#include "runtime/Stream.h"
#include "tests/multi_device/TestDevices.h"
#include <algorithm>

namespace heddle::testing {

/// Where the arrays lie in their buffers.
struct Placement {
  int64_t inputOffset = 0, outputOffset = 0; ///< elements before the array
  /// Input and output share memory as nccl's in-place calls have it: the smaller array is the rank's own part of the
  /// larger one (all-gather and reduce-scatter, of one row), or both are the same.
  bool inPlace = false;
};

/// Device buffers with the inputs, and outputs full of 0xA5.
class CollectiveRun {
public:
  CollectiveRun(Communicator &communicator, const Plan &plan, const std::vector<std::string> &inputs,
                const Placement &placement = {})
      : communicator(communicator), operation(communicator.prepare(plan)) {
    const Collective &c = plan.collective;
    int64_t size = elementSizeBytes(c.type), bytes = c.outputElements() * size;
    for (int rank = 0; rank < communicator.ranks(); ++rank) {
      const std::string &input = inputs[size_t(rank)];
      int64_t inputAt = placement.inputOffset * size, outputAt = placement.outputOffset * size;
      if (placement.inPlace) {
        int64_t own = rank * c.partElements() * size;
        outputAt = inputAt + (c.inputParts() > c.outputParts() ? own : 0);
        inputAt += c.outputParts() > c.inputParts() ? own : 0;
      }
      add(arrays, rank, inputAt + int64_t(input.size()), placement.inPlace ? outputAt + bytes : 0);
      arrays.back().before.replace(size_t(inputAt), input.size(), input);
      if (!placement.inPlace)
        add(results, rank, outputAt + bytes, 0);
      places.push_back({arrays.back().buffer.address() + uint64_t(inputAt),
                        (placement.inPlace ? arrays : results).back().buffer.address() + uint64_t(outputAt),
                        size_t(outputAt)});
      outputs.emplace_back(size_t(bytes), '\0');
    }
    for (auto *list : {&arrays, &results})
      for (size_t rank = 0; rank < list->size(); ++rank)
        communicator.stream(int(rank)).copyToDevice((*list)[rank].buffer, (*list)[rank].before.data());
  }
  void launch(int rank) {
    size_t r = size_t(rank);
    Stream &stream = communicator.stream(rank);
    communicator.launch(operation, rank, {DeviceAddress(places[r].input), DeviceAddress(places[r].output)});
    if (!outputs[r].empty())
      stream.copyToHost(outputs[r].data(), places[r].output, outputs[r].size());
    for (auto *list : {&arrays, &results})
      if (r < list->size())
        stream.copyToHost((*list)[r].after.data(), (*list)[r].buffer);
  }
  /// All ranks, and waits.
  const std::vector<std::string> &run() {
    for (int rank = 0; rank < communicator.ranks(); ++rank)
      launch(rank);
    communicator.synchronize();
    return outputs;
  }
  /// After synchronize: what changed outside of the outputs, as text; empty when nothing did.
  std::string damage() const {
    for (const auto *list : {&arrays, &results})
      for (size_t rank = 0; rank < list->size(); ++rank) {
        const Array &array = (*list)[rank];
        bool hasOutput = list == &results || results.empty();
        size_t from = hasOutput ? places[rank].outputAt : 0, to = hasOutput ? from + outputs[rank].size() : 0;
        for (size_t i = 0; i < array.before.size(); ++i)
          if ((i < from || i >= to) && array.after[i] != array.before[i])
            return "rank " + std::to_string(rank) + ": byte " + std::to_string(i) + " of " +
                   (list == &arrays ? "the input's buffer" : "the output's buffer") + " changed";
      }
    return "";
  }
  std::vector<std::string> outputs; ///< after synchronize

private:
  struct Array {
    Buffer buffer;
    std::string before, after; ///< its contents
  };
  struct Place {
    uint64_t input, output;
    size_t outputAt; ///< bytes before the output in its buffer
  };
  void add(std::vector<Array> &list, int rank, int64_t bytes, int64_t otherBytes) {
    constexpr int64_t guardBytes = 40;
    std::string contents(size_t(std::max(bytes, otherBytes) + guardBytes), char(0xA5));
    list.push_back({communicator.device(rank)->allocate(contents.size(), "array"), contents, contents});
  }

  Communicator &communicator;
  Communicator::Operation &operation;
  std::vector<Array> arrays, results; ///< inputs (with in-place outputs); outputs
  std::vector<Place> places;
};

} // namespace heddle::testing
