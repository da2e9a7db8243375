// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiled part of fmt, for a program that is carried to another machine: Debian has no archive of it.
#include <fmt/format-inl.h>

#if FMT_VERSION < 100000 // what other versions lack here comes from the shared library
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
#endif
