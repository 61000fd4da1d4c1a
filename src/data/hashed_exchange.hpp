// SPDX-License-Identifier: BSD-3-Clause
// The exchange of what two hashed containers hold: what each directory is to say is written beside what it says, and the steps of
// data/directory_exchange.hpp make it valid in both. Any thread; blocks where other nodes are asked. Errors: as data/hashed.hpp.
// Tests: tests/conformance/hashed_pair_test.cpp, hashed_view_test.cpp, tests/hashed.
#pragma once

#include "base/status.hpp"
#include "data/hashed.hpp"

namespace acp::data {

class HashedExchange {
public:
    //   hashed  outlives this
    explicit HashedExchange(Hashed& hashed) noexcept : hashed_(hashed) {}

    // Each container gets the tables of the other. Nobody else uses either meanwhile; where this process is killed, whoever uses one next
    // ends it.
    base::Status run(const ContainerName& one, const ContainerName& other);

private:
    base::Status prepare(const ContainerName& name,
                         const DirectoryHead& own,
                         const ContainerName& other_name,
                         const Directory& other);

    Hashed& hashed_;
};

}  // namespace acp::data
