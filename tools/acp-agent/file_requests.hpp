// SPDX-License-Identifier: BSD-3-Clause
// Gives the files of the node to ranks that have not inherited them (job/node_files.hpp): listens
// on a local socket and answers each process that asks, without ever waiting for one. Knows nothing
// of the files. Called by the agent's main thread.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "job/node_files.hpp"
#include "os/file_descriptor.hpp"
#include "os/poll_set.hpp"

namespace acp::agent {

class FileRequests {
public:
    // Listens under a random name.   files  given to ranks, in this order; they outlive this
    // Errors: limit, system (a sandbox may refuse such sockets).
    static base::Result<std::unique_ptr<FileRequests>> open(std::vector<int> files);

    // What the ranks need in order to ask.
    [[nodiscard]] const job::NodeSocket& socket() const noexcept { return socket_; }

    // Readable when on_readable() has something to do.
    [[nodiscard]] int fd() const noexcept { return poll_.fd(); }

    // Takes connections and answers requests that have come.
    void on_readable();

private:
    FileRequests(std::vector<int> files, os::PollSet poll)
        : files_(std::move(files)), poll_(std::move(poll)) {}

    void take_connections();

    std::vector<int> files_;
    job::NodeSocket socket_ = job::NodeSocket::invent();
    os::FileDescriptor listening_;
    os::PollSet poll_;
    std::deque<os::FileDescriptor> connections_;  // on which no request has come yet, oldest first
};

}  // namespace acp::agent
