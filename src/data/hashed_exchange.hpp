// SPDX-License-Identifier: BSD-3-Clause
// Swaps the content of two hashed containers: the new body of each directory is written beside the
// present one, and the steps of data/directory_exchange.hpp make it valid in both. Any thread;
// blocks while it waits for other nodes. Errors: those of data/hashed.hpp.
// Tests: tests/conformance/hashed_pair_test.cpp, hashed_view_test.cpp, tests/hashed.
#pragma once

#include "base/status.hpp"
#include "data/hashed.hpp"

namespace acp::data {

class HashedExchange {
public:
    //   hashed  outlives this
    explicit HashedExchange(Hashed& hashed) noexcept : hashed_(hashed) {}

    // Each container gets the tables of the other. No other call uses either of them during this;
    // if this process is killed, the next user of one of them completes or undoes the swap.
    base::Status run(const ContainerName& one, const ContainerName& other);

private:
    base::Result<allocator::MadeTableList> make_list(const ContainerName& name,
                                                     const DirectoryHead& own,
                                                     std::uint32_t which,
                                                     std::uint32_t tables);
    base::Status prepare(const ContainerName& name,
                         const DirectoryHead& own,
                         const ContainerName& other_name,
                         const Directory& other);

    Hashed& hashed_;
};

}  // namespace acp::data
