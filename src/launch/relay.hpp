// SPDX-License-Identifier: BSD-3-Clause
// An agent's streams over one connection: the talk with the launcher, and input, output and errors of its ranks. Two
// relays face each other at the ends of a trunk, a pair of byte streams such as ssh gives. Each stream has a window:
// one that nobody reads stops, and the others go on. Knows no line and no meaning; wipes what it has passed on, for
// a key may have been among it. One thread. Tests: tests/unit/launch/relay_test.cpp.
//
// On the trunk: frames of 8 bytes (stream, kind, 0, 0, little-endian count), those of kind `bytes` followed by as many.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"
#include "os/poll_set.hpp"

namespace acp::launch {

// What the far relay says first; before it, a login shell may have said anything.
inline constexpr std::string_view relay_greeting = "\nacp-agent relay 1\n";

inline constexpr std::size_t relay_window_bytes = 65536;  // of one stream under way

enum class RelayStream : std::uint8_t { channel, input, output, error };

inline constexpr std::size_t relay_streams = 4;

class Relay {
public:
    // Takes the trunk's two ends; they become nonblocking. Errors: limit, system.
    static base::Result<Relay> create(os::FileDescriptor from_trunk, os::FileDescriptor to_trunk);

    // What is read from here goes to the other relay. It may be a file. Errors: system.
    base::Status take_from(RelayStream stream, os::FileDescriptor from);

    // What comes from the other relay goes here, and is closed after it: for a socket, its writing half.
    //   is_kept_open  leaves it open instead, as long as the relay lives
    // Errors: system.
    base::Status give_to(RelayStream stream, os::FileDescriptor to, bool is_kept_open = false);

    // Keeps the last words that come from here; for what ssh says. Errors: system.
    base::Status listen_to(os::FileDescriptor from);

    // Waits until something can be moved, and moves it. Blocks.
    void turn(std::uint64_t timeout_ns = os::poll_forever);

    // Everything taken has been sent, and all streams taken from have ended.
    [[nodiscard]] bool has_sent_all() const noexcept;

    // Everything that came has been given, and nothing more comes: all streams given to have ended, or the trunk.
    [[nodiscard]] bool has_given_all() const noexcept;

    // The other side said that nothing more comes of this stream.
    [[nodiscard]] bool has_ended(RelayStream stream) const noexcept {
        return incoming_[static_cast<std::size_t>(stream)].has_ended;
    }

    // The descriptor taken from has not ended.
    [[nodiscard]] bool is_taking(RelayStream stream) const noexcept {
        return outgoing_[static_cast<std::size_t>(stream)].from.is_open();
    }

    // The other relay is gone and all it sent was read, or it is none: nothing comes any more.
    [[nodiscard]] bool is_cut() const noexcept { return is_cut_; }

    // Lets the trunk go: the other relay finds itself cut.
    void hang_up() { cut(); }

    // What came from listen_to(), at most the last 4 KiB.
    [[nodiscard]] const std::string& words() const noexcept { return words_; }

private:
    enum class Kind : std::uint8_t { bytes, credit, end, refused };

    // From a descriptor to the trunk.
    struct Outgoing {
        os::FileDescriptor from;
        std::size_t credit = relay_window_bytes;
        bool is_watched = false;
        bool is_always_ready = false;  // a file
    };

    // From the trunk to a descriptor.
    struct Incoming {
        os::FileDescriptor to;
        std::string held;
        bool is_watched = false;
        bool is_expected = false;  // give_to was called
        bool is_kept_open = false;
        bool has_ended = false;   // the other side takes no more
        bool is_refused = false;  // nobody reads here
    };

    explicit Relay(os::PollSet poll) noexcept : poll_(std::move(poll)) {}

    // Else what is taken is dropped.
    [[nodiscard]] bool is_sending() const noexcept { return to_trunk_.is_open(); }

    void take(std::size_t stream);
    void give(std::size_t stream);
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
    std::string received_;  // of frames, not yet whole
    std::string to_send_;
    std::string words_;
    bool is_trunk_watched_ = false;  // for writing
    bool is_cut_ = false;
};

}  // namespace acp::launch
