// SPDX-License-Identifier: BSD-3-Clause
// Connections between processes of one machine by a name that is in no file system (an abstract
// Unix socket), over which they send short messages with descriptors. The kernel reports the user
// of the other end. A name exists within a network namespace and as long as its listening socket.
// Every descriptor made here is close-on-exec and not one of the standard streams. Knows nothing of
// what the messages say. Any thread; one thread at a time for each connection.
// Tests: tests/unit/os/local_socket_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

inline constexpr std::size_t local_message_bytes_max = 1024;
inline constexpr std::size_t local_message_files_max = 8;

struct LocalMessage {
    std::string text;                   // empty: the other end has closed the connection
    std::vector<FileDescriptor> files;  // copies of the sender's descriptors
};

// Listens under a name; nonblocking. Errors: limit (descriptors used up), system (the name is in
// use, or a sandbox refuses it).
Result<FileDescriptor> listen_locally(std::string_view name);

// Takes a connection that waits; nonblocking, and empty when none waits or no descriptor is left
// for it.
[[nodiscard]] FileDescriptor accept_locally(int listening) noexcept;

// Connects to the process that listens under a name. This call and each of receive_locally() end
// after `patience_ns`. Errors: peer (no process listens there), limit, system.
Result<FileDescriptor> connect_locally(std::string_view name, std::uint64_t patience_ns);

// Whether the process that connected, or that listens, runs as the same user as this one. The
// kernel reports the user at the time of the connection, or when the process began to listen.
[[nodiscard]] bool is_own_user(int connection) noexcept;

// Sends one message; false when the other end does not take it.
//   text   1 .. local_message_bytes_max bytes
//   files  at most local_message_files_max open descriptors, which stay open here
bool send_locally(int connection, std::string_view text, std::span<const int> files = {}) noexcept;

// Receives one message. Blocks if the connection does.
// Errors: state (no message yet, or not in time), peer (the other end is closed), limit (no
// descriptor is left for one in the message), argument (longer than local_message_bytes_max),
// system.
Result<LocalMessage> receive_locally(int connection);

}  // namespace acp::os
