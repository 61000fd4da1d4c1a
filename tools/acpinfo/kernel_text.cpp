// SPDX-License-Identifier: BSD-3-Clause
// Picks lines, numbers and words out of kernel files.
#include "kernel_text.hpp"

#include <filesystem>
#include <string_view>

#include "os/text_file.hpp"

namespace acp::acpinfo {

std::optional<std::string> first_line(const std::string& path) {
    const auto text = os::read_text_file(path);
    if (!text) return std::nullopt;
    return text->substr(0, text->find('\n'));
}

std::optional<std::uint64_t> number_in(const std::string& path) {
    const auto text = os::read_text_file(path);
    return text ? os::leading_number(*text) : std::nullopt;
}

std::optional<std::string> chosen_word(const std::string& path) {
    const auto line = first_line(path);
    if (!line) return std::nullopt;
    const std::size_t open = line->find('[');
    const std::size_t close = line->find(']');
    if (open == std::string::npos || close == std::string::npos || close < open)
        return std::nullopt;
    return line->substr(open + 1, close - open - 1);
}

std::optional<std::uint64_t> memory_field(const std::string& field) {
    const auto text = os::read_text_file("/proc/meminfo");
    const auto kibibytes = text ? os::number_after(*text, field) : std::nullopt;
    if (!kibibytes) return std::nullopt;
    return *kibibytes * 1024;
}

std::optional<std::string> processor_field(const std::string& key) {
    const auto text = os::read_text_file("/proc/cpuinfo");
    if (!text) return std::nullopt;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::size_t colon = line.find(": ");
        if (colon == std::string_view::npos || !line.starts_with(key)) continue;
        if (line.substr(key.size(), colon - key.size()).find_first_not_of(" \t") ==
            std::string_view::npos) {
            return std::string(line.substr(colon + 2));
        }
    }
    return std::nullopt;
}

bool is_virtual_machine() {
    const auto flags = processor_field("flags");
    if (flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos) return true;
    return std::filesystem::exists("/sys/hypervisor/type") ||
           std::filesystem::exists("/proc/device-tree/hypervisor/compatible");
}

}  // namespace acp::acpinfo
