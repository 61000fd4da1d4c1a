// SPDX-License-Identifier: BSD-3-Clause
// Requests to the kernel's routing socket: a message of attributes, some of them nested, answered
// by an errno. A NetlinkSocket stays with the network namespace in which it was opened, even if its
// thread changes to another one. Knows no request. Only for the files of os; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

// One request as bytes.
class NetlinkRequest {
public:
    //   head  the fixed structure of this kind of request, such as ifinfomsg
    template <typename Head>
    NetlinkRequest(std::uint16_t type, std::uint16_t flags, const Head& head)
        : NetlinkRequest(type, flags, std::as_bytes(std::span(&head, 1))) {}

    void add(std::uint16_t attribute, std::span<const std::byte> value);

    template <typename Value>
    void add_value(std::uint16_t attribute, const Value& value) {
        add(attribute, std::as_bytes(std::span(&value, 1)));
    }

    // Adds a text with its terminating zero.
    void add_text(std::uint16_t attribute, std::string_view text);

    // Attributes added until close() lie inside this one. Returns the argument for close().
    std::size_t open(std::uint16_t attribute);
    void close(std::size_t opened);

    // Adds a fixed structure to the attribute that was opened last.
    void append(std::span<const std::byte> bytes);

    // The whole message, with its length filled in.
    std::span<const std::byte> finish();

private:
    NetlinkRequest(std::uint16_t type, std::uint16_t flags, std::span<const std::byte> head);
    std::vector<std::byte> bytes_;
};

class NetlinkSocket {
public:
    // Errors: system, limit (descriptors used up).
    static base::Result<NetlinkSocket> open();

    // Sends a request and waits for its answer: 0 or an errno.
    int ask(NetlinkRequest& request) noexcept;

private:
    explicit NetlinkSocket(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

    FileDescriptor socket_;
};

}  // namespace acp::os
