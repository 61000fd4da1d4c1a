// SPDX-License-Identifier: BSD-3-Clause
// The operations that requests have asked the gateway to run in later rounds
// (local::OperationContext::run_later()): each at most once for a process. A gateway runs one a
// round, between two receives, so no request waits for more than one of them. Knows no operation.
// One thread: the gateway's.
// Tests: tests/unit/engine/later_operations_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acp::engine {

struct LaterOperation {
    std::uint32_t number = 0;
    std::uint32_t process = 0;

    [[nodiscard]] bool operator==(const LaterOperation&) const = default;
};

class LaterOperations {
public:
    // The operations that fit for each process of the node. One that finds no room is dropped: the
    // next request to that process asks for it again.
    static constexpr std::size_t each_process_most = 2;

    explicit LaterOperations(std::uint32_t local_procs) {
        waiting_.reserve(each_process_most * local_procs);
    }

    // Appends an operation that does not wait yet.
    void add(LaterOperation one) noexcept {
        if (waiting_.size() == waiting_.capacity()) return;
        if (std::find(waiting_.begin(), waiting_.end(), one) == waiting_.end())
            waiting_.push_back(one);
    }

    [[nodiscard]] bool is_empty() const noexcept { return waiting_.empty(); }

    // Takes the operation that has waited longest. Not of an empty list.
    LaterOperation take() noexcept {
        const LaterOperation one = waiting_.front();
        waiting_.erase(waiting_.begin());
        return one;
    }

    // Drops all: the gateway leaves the job.
    void clear() noexcept { waiting_.clear(); }

private:
    std::vector<LaterOperation> waiting_;
};

}  // namespace acp::engine
