// SPDX-License-Identifier: BSD-3-Clause
// Reads small kernel files without stdio's buffers.
#include "os/text_file.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/format.hpp"
#include "os/file_descriptor.hpp"
#include "os/file_size_signal.hpp"
#include "os/limits.hpp"

namespace acp::os {

namespace {

constexpr std::uint64_t unlimited_bytes = UINT64_MAX;  // the limit for files of /proc and /sys

base::Status unreadable(const std::string& path, int error) {
    return {base::Code::system,
            "cannot read " + path + ": " + std::generic_category().message(error)};
}

}  // namespace

base::Result<std::string> read_whole_file(const std::string& path, std::uint64_t bytes_max) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return unreadable(path, errno);
    std::string text;
    char piece[4096];
    for (;;) {
        const ssize_t got = read(file.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unreadable(path, errno);
        if (got == 0) return text;
        text.append(piece, static_cast<std::size_t>(got));
        if (text.size() > bytes_max) {
            return base::Status(base::Code::limit,
                                path + " has more than " + base::human_size(bytes_max));
        }
    }
}

base::Status write_whole_file(const std::string& path, std::string_view text) {
    constexpr mode_t for_all_to_read = 0644;
    const FileDescriptor file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, for_all_to_read));
    const auto refused = [&] {
        const int error = errno;
        return base::Status(base::Code::system,
                            "cannot write " + path + ": " + std::generic_category().message(error) +
                                (error == EFBIG ? ", " + file_size_limit_text() : ""));
    };
    const FileSizeSignalBlock no_signal;
    if (!file.is_open()) return refused();
    while (!text.empty()) {
        const ssize_t put = write(file.get(), text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return refused();
        text.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
}

std::optional<std::string> read_text_file(const std::string& path) {
    auto text = read_whole_file(path, unlimited_bytes);
    return text.is_ok() ? std::optional(std::move(text).value()) : std::nullopt;
}

std::optional<std::uint64_t> leading_number(std::string_view text) noexcept {
    const std::size_t start = text.find_first_not_of(" \t");
    if (start == std::string_view::npos) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + start, text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) noexcept {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (line.starts_with(key)) {
            std::string_view rest = line.substr(key.size());
            if (rest.starts_with(':')) rest.remove_prefix(1);
            if (rest.starts_with(' ') || rest.starts_with('\t')) return leading_number(rest);
        }
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
    return std::nullopt;
}

}  // namespace acp::os
