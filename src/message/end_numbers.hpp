// SPDX-License-Identifier: BSD-3-Clause
// Which end this is of those that a process makes with one partner: ends of the same number belong together (pairing.hpp). One for each
// kind of end and epoch. Any thread.
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
    // Calls make(number) with the number of the next end of two processes, which counts as made if the Status that comes back is ok. Else the
    // next call gets the same number. So ends of the same two processes are made one after the other, for two round trips each
    // where the partner is on another node; those of others meanwhile.
    // Errors: those of `make`; memory, also where that throws std::bad_alloc.
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
    std::map<std::pair<std::uint32_t, std::uint32_t>, Next> next_;  // none is ever removed
};

}  // namespace acp::message
