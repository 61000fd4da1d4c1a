// SPDX-License-Identifier: BSD-3-Clause
// Two gateways with different ciphers: the command fails with the reason, and both gateways'
// messages name both ciphers.
#include <gtest/gtest.h>
#include <string>

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Mismatch, is_reported_with_both_ciphers_by_both_gateways) {
    JobOptions options;
    options.counts = {1, 1};
    options.is_own = true;
    options.ciphers = {crypto::CipherWish::aes_128_gcm, crypto::CipherWish::chacha20_poly1305};
    testing::internal::CaptureStderr();
    Job job(options);
    const Ended ended = job.run(0, {Operation::copy, 0, job.memory(1, false).address,
                                    job.memory(0, true).address, 8, 0, 0});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(ended.code, Code::peer);
    EXPECT_EQ(ended.loss.fate, node::NodeFate::mismatched);
    EXPECT_TRUE(has(said,
                    "acp: node 0: its gateway and that of node 1 cannot talk: here encrypt by "
                    "aes-128-gcm, keys agreed on by x25519"))
        << said;
    EXPECT_TRUE(has(said, "there encrypt by chacha20-poly1305")) << said;
    EXPECT_TRUE(has(said,
                    "acp: node 1: its gateway and that of node 0 cannot talk: here encrypt by "
                    "chacha20-poly1305"))
        << said;
    EXPECT_TRUE(has(said, "there encrypt by aes-128-gcm")) << said;
}

}  // namespace
}  // namespace acp::gateway::test
