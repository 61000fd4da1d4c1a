// SPDX-License-Identifier: BSD-3-Clause
// Numbers the ends that a process makes with one partner: the two ends with the same number are
// partners (pairing.hpp). One object per kind of end and epoch. Any thread.
// Tests: tests/unit/message/end_numbers_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "base/status.hpp"

namespace acp::message {

class EndNumbers {
public:
    // Calls make(number) with the number of the next end of two processes. If make() returns ok,
    // the number is used up; otherwise the next call gets it again. So ends of the same two
    // processes are made one after another, each in two round trips if the partner is on another
    // node; ends of other pairs are made concurrently. Errors: those of `make`; memory, also if
    // make() throws std::bad_alloc.
    template <typename Make>
    base::Status make_next(std::uint32_t sender, std::uint32_t receiver, const Make& make) {
        try {
            Next& next = next_of(sender, receiver);
            const std::scoped_lock lock(next.mutex);
            base::Status status = make(next.number);
            if (status.is_ok()) ++next.number;
            return status;
        } catch (const std::bad_alloc&) {
            return base::Status::bare(base::Code::memory);
        }
    }

private:
    struct Next {
        std::mutex mutex;
        std::uint64_t number = 0;
    };

    Next& next_of(std::uint32_t sender, std::uint32_t receiver) {
        const std::scoped_lock lock(mutex_);
        return next_[{sender, receiver}];
    }

    std::mutex mutex_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Next> next_;  // entries are never removed
};

}  // namespace acp::message
