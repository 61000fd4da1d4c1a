// SPDX-License-Identifier: BSD-3-Clause
// Lines over a stream descriptor.
#include "job/line_channel.hpp"

#include <array>

#include "base/parse.hpp"
#include "os/pipe.hpp"

namespace acp::job {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view plan_word = "plan ";
constexpr std::uint64_t plan_bytes_max = 64ULL << 20U;

Status gone() {
    return Status(Code::peer, "the other end of the launcher's channel is closed");
}

}  // namespace

Status LineChannel::send_plan(std::string_view bytes) const {
    const std::string head = std::string(plan_word) + std::to_string(bytes.size()) + "\n";
    if (os::write_all(fd(), head) != 0 || os::write_all(fd(), bytes) != 0) return gone();
    return {};
}

Result<std::string> LineChannel::receive_plan() {
    std::optional<std::string> head;
    while (!(head = next_line())) {
        if (received_.size() > channel_line_bytes_max) break;
        if (auto status = receive(); !status.is_ok()) return status;
    }
    const bool is_plan = head && head->compare(0, plan_word.size(), plan_word) == 0;
    const auto bytes =
        is_plan ? base::parse_unsigned(head->substr(plan_word.size())) : std::nullopt;
    if (!bytes || *bytes > plan_bytes_max) {
        return Status(Code::argument, "what arrived first is not a launch plan");
    }
    while (received_.size() < *bytes) {
        if (auto status = receive(); !status.is_ok()) return status;
    }
    std::string plan = received_.substr(0, *bytes);
    received_.erase(0, *bytes);
    return plan;
}

void LineChannel::send(std::string_view line) const noexcept {
    // Most lines fit, and go by one write, so that none is half sent for long.
    std::array<char, 512> room{};
    if (line.size() < room.size()) {
        const std::size_t bytes = line.copy(room.data(), line.size());
        room[bytes] = '\n';
        static_cast<void>(os::write_all(fd(), {room.data(), bytes + 1}));
        return;
    }
    static_cast<void>(os::write_all(fd(), line));
    static_cast<void>(os::write_all(fd(), "\n"));
}

Status LineChannel::receive() {
    std::array<char, 4096> room{};
    const os::ReadResult result = os::read_some(fd(), room);
    if (result.outcome == os::ReadOutcome::would_block) return {};
    if (result.outcome != os::ReadOutcome::some) return gone();
    received_.append(room.data(), result.bytes);
    return {};
}

std::optional<std::string> LineChannel::next_line() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
}

std::vector<std::string_view> words_of(std::string_view line, std::size_t count) {
    std::vector<std::string_view> words;
    while (words.size() + 1 < count) {
        const std::size_t blank = line.find(' ');
        if (blank == std::string_view::npos) break;
        words.push_back(line.substr(0, blank));
        line.remove_prefix(blank + 1);
    }
    words.push_back(line);
    return words;
}

std::string rank_ranges(const std::vector<std::uint32_t>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(ranks[i]);
        if (last > i) text.append(1, '-').append(std::to_string(ranks[last]));
        i = last + 1;
    }
    return text.empty() ? "none" : text;
}

}  // namespace acp::job
