// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives lines over a stream descriptor.
#include "launch/line_channel.hpp"

#include <algorithm>
#include <array>

#include "base/parse.hpp"
#include "base/words.hpp"
#include "os/pipe.hpp"

#include "launch/munge.hpp"

namespace acp::launch {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view plan_word = "plan";
constexpr std::string_view key_head = "key 32\n";
constexpr std::string_view sealed_word = "sealed";
constexpr std::size_t room_bytes = 4096;  // most bytes of one read
constexpr std::uint64_t plan_bytes_max = 64ULL << 20U;

Status gone() {
    return Status(Code::peer, "the other end of the launcher's channel is closed");
}

}  // namespace

// Reserves more than one read can return, so that the key, which comes first, is never moved to
// other memory.
LineChannel::LineChannel(os::FileDescriptor stream) : stream_(std::move(stream)) {
    received_.reserve(2 * room_bytes);
}

Status LineChannel::send_key(JobKey& key) const {
    const auto* text = reinterpret_cast<const char*>(key.bytes().data());
    if (os::write_all(fd(), key_head) != 0 || os::write_all(fd(), {text, job_key_bytes}) != 0)
        return gone();
    return {};
}

Status LineChannel::send_sealed_key(JobKey& key) const {
    auto credential = seal_key(key);
    if (!credential.is_ok()) return std::move(credential).failure();
    return send_block(sealed_word, credential.value());
}

Result<JobKey> LineChannel::receive_sealed_key() {
    std::optional<std::string> head;
    while (!(head = next_line())) {
        if (received_.size() > channel_line_bytes_max) break;
        if (auto status = receive(); !status.is_ok()) return status;
    }
    const auto words = base::words_of(head ? *head : std::string_view(), 2);
    const auto size = words.size() == 2 && words[0] == sealed_word ? base::parse_unsigned(words[1])
                                                                   : std::nullopt;
    if (!size || *size > credential_bytes_max) {
        return Status(Code::argument, "what arrived first is not the key of a job");
    }
    std::optional<std::string> credential;
    while (!(credential = take_bytes(*size))) {
        if (auto status = receive(); !status.is_ok()) return status;
    }
    return open_sealed_key(*credential);
}

Result<JobKey> LineChannel::receive_key() {
    const std::size_t whole = key_head.size() + job_key_bytes;
    while (received_.size() < whole) {
        if (auto status = receive(); !status.is_ok()) return status;
        if (received_.front() == sealed_word.front()) return receive_sealed_key();
        const std::size_t seen = std::min(received_.size(), key_head.size());
        if (received_.compare(0, seen, key_head, 0, seen) != 0) {
            return Status(Code::argument, "what arrived first is not the key of a job");
        }
    }
    auto made = JobKey::create();
    if (!made.is_ok()) return std::move(made).failure();
    JobKey key = std::move(made).value();
    const auto bytes = std::as_writable_bytes(std::span(received_));
    std::copy_n(bytes.begin() + key_head.size(), job_key_bytes, key.bytes().begin());
    // The bytes after the key move to the front; both places are wiped first.
    const std::string rest = received_.substr(whole);
    os::wipe(bytes);
    received_.assign(rest);
    return key;
}

Status LineChannel::send_plan(std::string_view bytes) const {
    return send_block(plan_word, bytes);
}

Status LineChannel::send_block(std::string_view word, std::string_view bytes) const {
    const std::string head = std::string(word) + " " + std::to_string(bytes.size()) + "\n";
    if (os::write_all(fd(), head) != 0 || os::write_all(fd(), bytes) != 0) return gone();
    return {};
}

Result<std::string> LineChannel::receive_plan() {
    std::optional<std::string> head;
    while (!(head = next_line())) {
        if (received_.size() > channel_line_bytes_max) break;
        if (auto status = receive(); !status.is_ok()) return status;
    }
    const auto words = base::words_of(head ? *head : std::string_view(), 2);
    const auto bytes =
        words.size() == 2 && words[0] == plan_word ? base::parse_unsigned(words[1]) : std::nullopt;
    if (!bytes || *bytes > plan_bytes_max) {
        return Status(Code::argument, "what arrived is not a launch plan");
    }
    std::optional<std::string> plan;
    while (!(plan = take_bytes(*bytes))) {
        if (auto status = receive(); !status.is_ok()) return status;
    }
    return std::move(*plan);
}

std::optional<std::string> LineChannel::take_bytes(std::size_t count) {
    if (received_.size() < count) return std::nullopt;
    std::string bytes = received_.substr(0, count);
    received_.erase(0, count);
    return bytes;
}

void LineChannel::send(std::string_view line) const noexcept {
    // Most lines fit into the buffer and go by one write, so that no line is half sent for long.
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
    std::array<char, room_bytes> room{};
    const os::ReadResult result = os::read_some(fd(), room);
    if (result.outcome == os::ReadOutcome::would_block) return {};
    if (result.outcome != os::ReadOutcome::some) return gone();
    received_.append(room.data(), result.bytes);
    os::wipe(std::as_writable_bytes(std::span(room)).first(result.bytes));  // it may be the key
    return {};
}

std::optional<std::string> LineChannel::next_line() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
}

}  // namespace acp::launch
