// SPDX-License-Identifier: BSD-3-Clause
// A request mostly lies in its connection by the time that is accepted.
#include "file_requests.hpp"

#include <array>
#include <utility>

#include "os/local_socket.hpp"

namespace acp::agent {

namespace {

// The limit of open connections whose request has not arrived. A rank sends its request at once, so
// at the limit the oldest connection is the most useless one, and is closed.
constexpr std::size_t connections_max = 64;

constexpr std::uint64_t token_any = 0;

}  // namespace

base::Result<std::unique_ptr<FileRequests>> FileRequests::open(std::vector<int> files) {
    auto poll = os::PollSet::create();
    if (!poll.is_ok()) return std::move(poll).failure();
    std::unique_ptr<FileRequests> made(new FileRequests(std::move(files), std::move(poll).value()));
    auto listening = os::listen_locally(made->socket_.name);
    if (!listening.is_ok()) return std::move(listening).failure();
    made->listening_ = std::move(listening).value();
    if (auto status = made->poll_.add(made->listening_.get(), token_any); !status.is_ok()) {
        return status;
    }
    return made;
}

void FileRequests::on_readable() {
    // the events are not read: each accept and each read shows whether its socket is ready
    std::array<os::PollEvent, 1> events;
    if (poll_.wait(events, 0) == 0) return;
    take_connections();
    std::erase_if(connections_, [this](const os::FileDescriptor& connection) {
        return job::answer_request(connection.get(), socket_,
                                   files_);  // closed: the set forgets it
    });
}

void FileRequests::take_connections() {
    for (std::size_t taken = 0; taken < connections_max; ++taken) {
        os::FileDescriptor connection = os::accept_locally(listening_.get());
        if (!connection.is_open()) return;
        if (!poll_.try_add(connection.get(), token_any)) continue;
        if (connections_.size() == connections_max) connections_.pop_front();
        connections_.push_back(std::move(connection));
    }
}

}  // namespace acp::agent
