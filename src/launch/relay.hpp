// SPDX-License-Identifier: BSD-3-Clause
// Carries an agent's streams over one connection: the lines of the launcher's channel, and input,
// output and errors of its ranks. Two relays face each other at the ends of a trunk, a pair of byte
// streams such as ssh provides. Each stream has a window, so that a stream without a reader stops
// alone and does not block the others. Knows no line and no meaning. Wipes what it has passed on,
// since a key may have been among it. One thread. Tests: tests/unit/launch/relay_test.cpp.
//
// Format of the trunk: frames of 8 bytes (stream, kind, 0, 0, little-endian count); a frame of kind
// `bytes` is followed by `count` bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"
#include "os/poll_set.hpp"

namespace acp::launch {

// The first line that the far relay sends; a login shell may have printed anything before it.
inline constexpr std::string_view relay_greeting = "\nacp-agent relay 1\n";

inline constexpr std::size_t relay_window_bytes = 65536;  // bytes of one stream in flight

enum class RelayStream : std::uint8_t { channel, input, output, error };

inline constexpr std::size_t relay_streams = 4;

class Relay {
public:
    // Takes the trunk's two ends; they become nonblocking. Errors: limit, system.
    static base::Result<Relay> create(os::FileDescriptor from_trunk, os::FileDescriptor to_trunk);

    // Sends what is read from this descriptor, which may be a file, to the other relay. Errors:
    // system.
    base::Status take_from(RelayStream stream, os::FileDescriptor from);

    // Writes what arrives from the other relay to this descriptor, and closes it after the end: for
    // a socket, its writing half.
    //   is_kept_open  leaves it open, as long as the relay lives
    // Errors: system.
    base::Status give_to(RelayStream stream, os::FileDescriptor to, bool is_kept_open = false);

    // Keeps the last words that are read from this descriptor, for the messages of ssh. Errors:
    // system.
    base::Status listen_to(os::FileDescriptor from);

    // Ends a poll() when this descriptor, which the caller reads, is readable. Errors: system.
    base::Status wake_for(int fd) { return poll_.add(fd, token_wake); }

    // Writes a line of this side's own to the descriptor of give_to(), as soon as the lines that
    // arrive from the other relay leave a gap: only for a stream of whole lines.
    //   line  without its newline
    void insert_line(RelayStream stream, std::string_view line);

    // Waits until some bytes can be moved, and moves them. Blocks.
    void poll(std::uint64_t timeout_ns = os::poll_forever);

    // Whether all bytes that were read have been sent, and all streams of take_from() have ended.
    [[nodiscard]] bool has_sent_all() const noexcept;

    // Whether all bytes that arrived have been written and no more will come: all streams of
    // give_to(), or the trunk, have ended.
    [[nodiscard]] bool has_given_all() const noexcept;

    // Whether the other side said that this stream has ended.
    [[nodiscard]] bool has_ended(RelayStream stream) const noexcept {
        return incoming_[static_cast<std::size_t>(stream)].has_ended;
    }

    // Whether the descriptor of take_from() has not ended.
    [[nodiscard]] bool is_taking(RelayStream stream) const noexcept {
        return outgoing_[static_cast<std::size_t>(stream)].from.is_open();
    }

    // True when the other relay is gone and all it sent was read, or when the other side is no
    // relay: no more bytes will arrive.
    [[nodiscard]] bool is_cut() const noexcept { return is_cut_; }

    // Closes the trunk: the other relay then finds itself cut off.
    void hang_up() { cut(); }

    // What was read from listen_to(), at most the last 4 KiB.
    [[nodiscard]] const std::string& words() const noexcept { return words_; }

private:
    static constexpr std::uint64_t token_wake = 35;

    enum class Kind : std::uint8_t { bytes, credit, end, refused };

    // From a descriptor to the trunk.
    struct Outgoing {
        os::FileDescriptor from;
        std::size_t credit = relay_window_bytes;
        bool is_watched = false;
        bool is_always_ready = false;  // a file, which epoll cannot watch
    };

    // From the trunk to a descriptor.
    struct Incoming {
        os::FileDescriptor to;
        std::string held;
        std::string own;  // lines that insert_line() has added and give() has not written
        bool is_at_line_start = true;
        bool is_watched = false;
        bool is_expected = false;  // give_to was called
        bool is_kept_open = false;
        bool has_ended = false;   // the other side sends no more
        bool is_refused = false;  // the reader here has closed its end
    };

    explicit Relay(os::PollSet poll) noexcept : poll_(std::move(poll)) {}

    // If false, bytes to send are dropped.
    [[nodiscard]] bool is_sending() const noexcept { return to_trunk_.is_open(); }

    void take(std::size_t stream);
    void give(std::size_t stream);
    static bool give_own(Incoming& incoming);
    void hear();
    void read_trunk();
    void write_trunk();
    bool obey_frames();
    bool obey(std::size_t stream, Kind kind, std::string_view bytes, std::uint32_t count);
    void send(std::size_t stream, Kind kind, std::uint32_t count, std::string_view bytes = {});
    void end_taking(std::size_t stream);
    void stop_sending();
    void cut();
    void watch();
    void watch_trunk();

    os::PollSet poll_;
    os::FileDescriptor from_trunk_;
    os::FileDescriptor to_trunk_;
    os::FileDescriptor side_;
    std::array<Outgoing, relay_streams> outgoing_;
    std::array<Incoming, relay_streams> incoming_;
    std::string received_;  // bytes of frames that are not complete yet
    std::string to_send_;
    std::string words_;
    bool is_trunk_watched_ = false;  // the poll set watches the trunk until it can be written
    bool is_cut_ = false;
};

}  // namespace acp::launch
