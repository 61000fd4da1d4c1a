// SPDX-License-Identifier: BSD-3-Clause
// main() and fixture of tests that all ranks run in lockstep.
#include "support/ranked.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>

#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr unsigned watchdog_seconds = 90;
constexpr int fatal_exit_code = 3;

// Prints failures with the rank they happened on; ends the process at a fatal one, because the
// other ranks would wait for it for ever.
class FailureListener final : public ::testing::EmptyTestEventListener {
public:
    explicit FailureListener(bool is_printer) : is_printer_(is_printer) {}

    void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (!result.failed()) {
            return;
        }
        if (is_printer_) {
            std::fprintf(stderr, "%s:%d: rank %d: %s\n",
                         result.file_name() == nullptr ? "?" : result.file_name(),
                         result.line_number(), acp_rank(), result.message());
        }
        if (result.fatally_failed()) {
            std::fflush(nullptr);
            _exit(fatal_exit_code);
        }
    }

private:
    bool is_printer_;
};

}  // namespace

int run_ranked_tests(int argc, char** argv) {
    arm_watchdog(watchdog_seconds, "acp_init");
    ::testing::InitGoogleTest(&argc, argv);
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "acp_init: %s\n", acp_error_message());
        return 2;
    }
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    const bool is_first = acp_rank() == 0;
    if (!is_first) {
        delete listeners.Release(listeners.default_result_printer());
    }
    listeners.Append(std::make_unique<FailureListener>(!is_first).release());
    const int result = RUN_ALL_TESTS();
    arm_watchdog(watchdog_seconds, "acp_finalize");
    if (acp_initialized() == 1 && acp_finalize() != 0) {
        std::fprintf(stderr, "acp_finalize: %s\n", acp_error_message());
        return 2;
    }
    arm_watchdog(0, "");
    return result;
}

void sync_ranks() {
    if (acp_sync() != 0) {
        std::fprintf(stderr, "rank %d: acp_sync: %s\n", acp_rank(), acp_error_message());
        std::fflush(nullptr);
        _exit(fatal_exit_code);
    }
}

std::size_t starter_room() {
    return acp_starter_size() - 16 * static_cast<std::size_t>(acp_procs());
}

std::vector<std::uint64_t> exchange(std::uint64_t mine) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    const std::size_t own_slot = acp_starter_size() - 8;
    const std::size_t answers = acp_starter_size() - 16 * procs;
    const acp_ga_t starter = acp_query_starter_ga(acp_rank());
    auto* base = static_cast<std::byte*>(acp_query_address(starter));
    __builtin_memcpy(base + own_slot, &mine, 8);
    sync_ranks();
    for (std::size_t rank = 0; rank < procs; ++rank) {
        const acp_ga_t theirs = acp_query_starter_ga(static_cast<int>(rank)) + own_slot;
        acp_copy(starter + answers + 8 * rank, theirs, 8, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
    std::vector<std::uint64_t> all(procs);
    __builtin_memcpy(all.data(), base + answers, 8 * procs);
    sync_ranks();
    return all;
}

void expect_done(acp_handle_t handle) {
    const int code = acp_wait(handle, -1);
    EXPECT_EQ(code, ACP_OK) << acp_strerror(code) << ": " << acp_error_message();
}

void expect_error(int code, const std::vector<std::string>& parts) {
    const std::string message = acp_error_message();
    EXPECT_EQ(acp_errno(), code) << message;
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const std::string by = " by rank " + std::to_string(acp_rank()) + " on " + host;
    EXPECT_NE(message.find(by), std::string::npos) << by << " is not in: " << message;
    for (const std::string& part : parts) {
        EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
    }
}

std::string hexadecimal(acp_ga_t address) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIx64, address);
    return text;
}

std::string hexadecimal_at(const void* address) {
    return hexadecimal(reinterpret_cast<std::uintptr_t>(address));
}

void expect_failure(acp_handle_t handle, int code, const std::vector<std::string>& parts) {
    EXPECT_NE(handle, ACP_HANDLE_NULL) << "a command that cannot run gives a failed handle";
    const int seen = acp_wait(handle, -1);
    EXPECT_EQ(seen, code) << "seen: " << acp_strerror(seen) << ", message: " << acp_error_message();
    EXPECT_EQ(acp_errno(), code);
    const std::string message = acp_error_message();
    EXPECT_FALSE(message.empty());
    for (const std::string& part : parts) {
        EXPECT_NE(message.find(part), std::string::npos)
            << "the message does not name " << part << ": " << message;
    }
}

void RankedTest::allow_seconds(unsigned seconds) {
    arm_watchdog(seconds, ::testing::UnitTest::GetInstance()->current_test_info()->name());
}

void RankedTest::SetUp() {
    allow_seconds(watchdog_seconds);
    sync_ranks();
}

void RankedTest::TearDown() {
    if (acp_initialized() == 1) {
        sync_ranks();
    }
}

}  // namespace acp::test
