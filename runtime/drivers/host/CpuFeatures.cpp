// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources of the names: LLVM's X86.td and Linux' arch/x86/include/asm/cpufeatures.h.
#include "runtime/drivers/host/CpuFeatures.h"
#include <fstream>
#include <sstream>
#include <unordered_map>

namespace heddle {
namespace {

/// LLVM's name to Linux' flag. Only features that Linux shows are here.
const std::unordered_map<std::string, std::string> &flagNames() {
  static const std::unordered_map<std::string, std::string> names = [] {
    std::unordered_map<std::string, std::string> map = {{"sse3", "pni"},
                                                        {"sse4.1", "sse4_1"},
                                                        {"sse4.2", "sse4_2"},
                                                        {"crc32", "sse4_2"},
                                                        {"lzcnt", "abm"},
                                                        {"bmi", "bmi1"},
                                                        {"pclmul", "pclmulqdq"},
                                                        {"rdrnd", "rdrand"},
                                                        {"sha", "sha_ni"},
                                                        {"sahf", "lahf_lm"},
                                                        {"prfchw", "3dnowprefetch"},
                                                        {"64bit", "lm"},
                                                        {"x87", "fpu"},
                                                        {"avxvnni", "avx_vnni"},
                                                        {"avxifma", "avx_ifma"},
                                                        {"avxneconvert", "avx_ne_convert"},
                                                        {"avxvnniint8", "avx_vnni_int8"},
                                                        {"avxvnniint16", "avx_vnni_int16"},
                                                        {"avx512vbmi2", "avx512_vbmi2"},
                                                        {"avx512vnni", "avx512_vnni"},
                                                        {"avx512bitalg", "avx512_bitalg"},
                                                        {"avx512vpopcntdq", "avx512_vpopcntdq"},
                                                        {"avx512bf16", "avx512_bf16"},
                                                        {"avx512fp16", "avx512_fp16"},
                                                        {"avx512vp2intersect", "avx512_vp2intersect"},
                                                        {"amx-tile", "amx_tile"},
                                                        {"amx-int8", "amx_int8"},
                                                        {"amx-bf16", "amx_bf16"},
                                                        {"amx-fp16", "amx_fp16"}};
    for (const char *same :
         {"mmx",        "sse",      "sse2",     "ssse3",    "avx",        "avx2",     "fma",        "f16c",
          "bmi2",       "popcnt",   "cx16",     "cx8",      "cmov",       "fxsr",     "movbe",      "aes",
          "xsave",      "xsavec",   "xsaveopt", "xsaves",   "adx",        "gfni",     "vaes",       "rdseed",
          "fsgsbase",   "rdpid",    "clwb",     "sse4a",    "clflushopt", "avx512f",  "fma4",       "xop",
          "tbm",        "clzero",   "avx512bw", "avx512cd", "avx512dq",   "avx512vl", "avx512ifma", "avx512vbmi",
          "sm4",        "sm3",      "sha512",   "wbnoinvd", "movdiri",    "cldemote", "waitpkg",    "serialize",
          "vpclmulqdq", "movdir64b"})
      map.emplace(same, same);
    return map;
  }();
  return names;
}

} // namespace

const std::set<std::string> &cpuFlags() {
  static const std::set<std::string> flags = [] {
    std::set<std::string> found;
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line))
      if (line.starts_with("flags")) {
        std::istringstream words(line.substr(line.find(':') + 1));
        for (std::string word; words >> word;)
          found.insert(word);
        break;
      }
    return found;
  }();
  return flags;
}

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing;
  if (cpuFlags().empty())
    return missing;
  for (const std::string &feature : features) {
    auto flag = flagNames().find(feature);
    if (flag != flagNames().end() && !cpuFlags().contains(flag->second))
      missing.push_back(feature);
  }
  return missing;
}

} // namespace heddle
