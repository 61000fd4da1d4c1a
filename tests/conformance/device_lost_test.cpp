// SPDX-License-Identifier: BSD-3-Clause
// Devices whose engines fail in the middle of the work (ACP_DEVICES=far:32M:fail=N): every command
// on their memory ends with a code and a sentence, none hangs, and other memory is not harmed.
#include <string>
#include <vector>

#include <acp/device.h>

#include "support/heap_ranks.hpp"

namespace acp::test {
namespace {

class DeviceLostTest : public HeapRankedTest {};

TEST_F(DeviceLostTest, ends_every_command_on_its_memory_and_harms_nothing_else) {
    constexpr std::size_t bytes = 700'000;
    const int owner = (rank_ + 1) % procs_;
    const acp_ga_t block = acp_malloc_device(bytes, owner, 1);
    // Another rank may have used up the steps of this device; then it is lost already.
    if (block == ACP_GA_NULL) expect_error(ACP_ERR_SYSTEM, {"acp_malloc_device", "is lost"});
    const acp_ga_t host = acp_malloc(bytes, owner);
    const std::vector<char> written(bytes, 'w');
    std::vector<char> read(bytes);
    int failures = 0;
    for (int round = 0; round < 200 && failures == 0 && block != ACP_GA_NULL; ++round) {
        std::vector<acp_handle_t> handles;
        for (int i = 0; i < 3; ++i) {
            handles.push_back(acp_put(block, written.data(), bytes, ACP_HANDLE_NULL));
            handles.push_back(acp_get(read.data(), block, bytes, ACP_HANDLE_NULL));
            handles.push_back(acp_copy(host, block, bytes, ACP_HANDLE_NULL));
            handles.push_back(acp_add8(ACP_GA_NULL, block, 1, ACP_HANDLE_NULL));
        }
        for (const acp_handle_t handle : handles) {
            const int result = acp_wait(handle, -1);
            if (result == ACP_OK) continue;
            ++failures;
            EXPECT_EQ(result, ACP_ERR_SYSTEM) << acp_error_message();
        }
    }
    sync_ranks();
    if (block != ACP_GA_NULL) {
        EXPECT_GT(failures, 0) << "the engine has not failed";
        expect_failure(acp_get(read.data(), block, 1, ACP_HANDLE_NULL), ACP_ERR_SYSTEM);
        expect_failure(acp_put(block, written.data(), 1, ACP_HANDLE_NULL), ACP_ERR_SYSTEM);
        expect_failure(acp_add8(ACP_GA_NULL, block, 1, ACP_HANDLE_NULL), ACP_ERR_SYSTEM);
        EXPECT_EQ(acp_free_device(block), -1);
        expect_error(ACP_ERR_SYSTEM, {"acp_free_device", "is lost"});
    }
    EXPECT_EQ(acp_malloc_device(8, owner, 1), ACP_GA_NULL);
    expect_error(ACP_ERR_SYSTEM, {"acp_malloc_device", "device 1 of rank", "is lost"});
    expect_done(acp_put(host, written.data(), bytes, ACP_HANDLE_NULL));
    expect_done(acp_get(read.data(), host, bytes, ACP_HANDLE_NULL));
    EXPECT_EQ(read, written);
    EXPECT_EQ(acp_free(host), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
