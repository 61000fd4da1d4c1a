// SPDX-License-Identifier: BSD-3-Clause
// The fixture of tests of acp/compat_veo.h: a process, a library in it, a context and arguments. The
// program has not called acp_init. Main thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <sched.h>

#include <acp/compat_veo.h>

#include "support/scoped_watchdog.hpp"

namespace acp::test {

class CompatVeo : public ::testing::Test {
protected:
    void SetUp() override {
        process_ = veo_proc_create(0);
        ASSERT_NE(process_, nullptr) << acp_error_message();
        library_ = veo_load_library(process_, ACP_TEST_DEVICE_FUNCTIONS);
        ASSERT_NE(library_, 0U) << acp_error_message();
        context_ = veo_context_open(process_);
        ASSERT_NE(context_, nullptr) << acp_error_message();
        args_ = veo_args_alloc();
        ASSERT_NE(args_, nullptr);
    }

    void TearDown() override {
        veo_args_free(args_);
        if (process_ != nullptr) {
            EXPECT_EQ(veo_proc_destroy(process_), 0) << acp_error_message();
        }
    }

    std::uint64_t symbol(const char* name) {
        const std::uint64_t address = veo_get_sym(process_, library_, name);
        EXPECT_NE(address, 0U) << acp_error_message();
        return address;
    }

    std::uint64_t call(const char* name) { return veo_call_async(context_, symbol(name), args_); }

    int run(const char* name, std::uint64_t* result = nullptr) {
        return veo_call_wait_result(context_, call(name), result);
    }

    // A block of two words that are 0: the one that wait_for counts up, and the one it waits for.
    std::atomic<std::uint64_t>* make_words() {
        void* memory = nullptr;
        EXPECT_EQ(veo_alloc_hmem(process_, &memory, 64), 0);
        std::memset(memory, 0, 64);
        return static_cast<std::atomic<std::uint64_t>*>(memory);
    }

    // Begins a call that lasts until words[1] is not 0, and waits until it runs.
    std::uint64_t begin_endless_call(std::atomic<std::uint64_t>* words) {
        veo_args_clear(args_);
        EXPECT_EQ(veo_args_set_hmem(args_, 0, words), 0);
        EXPECT_EQ(veo_args_set_hmem(args_, 1, words + 1), 0);
        const std::uint64_t request = call("wait_for");
        while (words[0] == 0) sched_yield();
        veo_args_clear(args_);
        return request;
    }

    ScopedWatchdog watchdog_{"a program for VEO"};
    struct veo_proc_handle* process_ = nullptr;
    std::uint64_t library_ = 0;
    struct veo_thr_ctxt* context_ = nullptr;
    struct veo_args* args_ = nullptr;
};

}  // namespace acp::test
