// SPDX-License-Identifier: BSD-3-Clause
// The kernel's text files under /proc and /sys in the shapes acpinfo needs. Knows no verdicts. One
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acp::acpinfo {

// The first line of a file; nullopt when it cannot be read.
[[nodiscard]] std::optional<std::string> first_line(const std::string& path);

// The number a file begins with.
[[nodiscard]] std::optional<std::uint64_t> number_in(const std::string& path);

// The word in brackets of "always [madvise] never".
[[nodiscard]] std::optional<std::string> chosen_word(const std::string& path);

// A field of /proc/meminfo in bytes.   field  "MemTotal"
[[nodiscard]] std::optional<std::uint64_t> memory_field(const std::string& field);

// What follows "key<blanks>: " in the first such line of /proc/cpuinfo.   key  "model name"
[[nodiscard]] std::optional<std::string> processor_field(const std::string& key);

// This machine is a guest of a hypervisor.
[[nodiscard]] bool is_virtual_machine();

}  // namespace acp::acpinfo
