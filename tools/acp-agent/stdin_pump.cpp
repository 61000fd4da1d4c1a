// SPDX-License-Identifier: BSD-3-Clause
// Reads from the terminal and writes to a pipe.
#include "stdin_pump.hpp"

#include <array>

#include "os/pipe.hpp"
#include "os/standard_streams.hpp"

namespace acp::agent {

namespace {

constexpr std::size_t typed_bytes_max = 4096;
// The interval at which the pump, in the background, polls whether it is in the foreground: the
// kernel sends a process that was never stopped no signal when it gets there.
constexpr std::uint64_t background_look_ns = 1'000'000'000;

}  // namespace

base::Status StdinPump::start(os::PollSet& poll,
                              os::FileDescriptor target,
                              std::uint64_t read_token,
                              std::uint64_t write_token) {
    poll_ = &poll;
    target_ = std::move(target);
    read_token_ = read_token;
    write_token_ = write_token;
    if (auto status = os::set_nonblocking(target_.get()); !status.is_ok()) return status;
    return poll_->add(os::standard_input, read_token_);
}

void StdinPump::on_readable(std::uint64_t now_ns) {
    if (!os::is_in_foreground(os::standard_input)) {
        poll_->remove(os::standard_input);
        look_again_ns_ = now_ns + background_look_ns;
        return;
    }
    std::array<char, typed_bytes_max> room{};
    const os::ReadResult result = os::read_some(os::standard_input, room);
    if (result.outcome == os::ReadOutcome::would_block) return;
    if (result.outcome != os::ReadOutcome::some) {
        stop();
        return;
    }
    held_.assign(room.data(), result.bytes);
    poll_->remove(os::standard_input);
    if (!poll_->add(target_.get(), write_token_, os::PollFor::writing).is_ok()) stop();
}

void StdinPump::on_writable() {
    const std::int64_t taken = os::write_some(target_.get(), held_);
    if (taken < 0) {  // rank 0 has closed its input
        stop();
        return;
    }
    held_.erase(0, static_cast<std::size_t>(taken));
    if (!held_.empty()) return;
    poll_->remove(target_.get());
    watch_input();
}

void StdinPump::on_time() {
    look_again_ns_ = os::poll_forever;
    watch_input();
}

void StdinPump::watch_input() {
    if (!poll_->add(os::standard_input, read_token_).is_ok()) stop();
}

void StdinPump::stop() {
    poll_->remove(os::standard_input);
    poll_->remove(target_.get());
    target_.close();
    look_again_ns_ = os::poll_forever;
}

}  // namespace acp::agent
