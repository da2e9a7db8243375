// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A queue by time, from which entries go as soon as a barrier has ordered them.
#include "simulator/checks/LdsLandings.h"
#include <algorithm>
#include <cstring>

namespace heddle::simulator {

void LdsLandings::add(uint32_t stream, uint32_t time, const MemoryRequest &request) {
  if (landings.size() == most) {
    spare.push_back(std::move(landings.front()));
    landings.erase(landings.begin());
  }
  if (spare.empty())
    spare.push_back(std::make_unique<LdsLanding>());
  LdsLanding &landing = *landings.emplace_back(std::move(spare.back()));
  spare.pop_back();
  landing.stream = stream;
  landing.time = time;
  landing.ldsBase = request.ldsBase;
  landing.stride = request.ldsStride;
  std::memcpy(landing.data.data(), request.data, request.words * sizeof request.data[0]);
}

const LdsLanding *LdsLandings::find(uint32_t stream, uint32_t time) const {
  auto found = std::find_if(landings.rbegin(), landings.rend(),
                            [&](const auto &landing) { return landing->stream == stream && landing->time == time; });
  return found == landings.rend() ? nullptr : found->get();
}

void LdsLandings::forgetUpTo(uint32_t time) {
  for (auto &landing : landings)
    if (landing->time <= time)
      spare.push_back(std::move(landing));
  std::erase(landings, nullptr);
}

} // namespace heddle::simulator
