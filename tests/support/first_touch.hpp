// SPDX-License-Identifier: BSD-3-Clause
// Runs an event at the first access of this process to a page, before the access takes effect: a test
// thereby lets another rank act between two steps of a call, each of which reads a page of its own.
// The event runs inside a signal handler of the accessing thread; it may do all that this thread may
// do at that point. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <utility>

#include "os/fault_handler.hpp"
#include "os/page_rights.hpp"

namespace acp::test {

class FirstTouch {
public:
    //   place  in a page that the process may read and write
    FirstTouch(const void* place, std::function<void()> event) : event_(std::move(event)) {
        constexpr std::uintptr_t page_bytes = 4096;
        const auto address = reinterpret_cast<std::uintptr_t>(place);
        page_ = reinterpret_cast<char*>(address / page_bytes * page_bytes);
        auto range = os::FaultRange::create(page_, page_bytes, touched, this);
        EXPECT_TRUE(range.is_ok());
        range_ = std::move(range).value();
        set(os::PageRights::none);
    }

    FirstTouch(const FirstTouch&) = delete;
    FirstTouch& operator=(const FirstTouch&) = delete;

    ~FirstTouch() {
        EXPECT_TRUE(has_run_) << "the page was not accessed";
        set(os::PageRights::read_write);
    }

private:
    void set(os::PageRights rights) const {
        EXPECT_TRUE(os::set_page_rights(page_, 4096, rights).is_ok());
    }

    static bool touched(void* self, const os::MemoryFault& /*fault*/) noexcept {
        auto& trap = *static_cast<FirstTouch*>(self);
        if (std::exchange(trap.has_run_, true)) return false;
        trap.set(os::PageRights::read_write);
        trap.event_();
        return true;
    }

    std::function<void()> event_;
    char* page_ = nullptr;
    bool has_run_ = false;
    os::FaultRange range_;
};

}  // namespace acp::test
