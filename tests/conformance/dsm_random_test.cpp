// SPDX-License-Identifier: BSD-3-Clause
// Random programs without data races on shared pages of several nodes (support/race_free_program.hpp):
// two threads of each rank access bytes by plain pointers, and now and then by copies from and to
// their own memory or that of another rank. Each read sees the bytes of the model; so does the whole
// window at the end. TEST_SEEDS sets how many programs run; TEST_SEED alone repeats one.
#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "support/race_free_program.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint32_t threads = 2;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

class DsmRandomTest : public RankedTest {
protected:
    void run_program(std::uint64_t seed) {
        Random random(seed + 7);
        shape_ = {random.between(1, 40), random.between(2, 8),
                  static_cast<std::uint32_t>(procs_) * threads};
        const RaceFreeProgram program(seed, shape_);
        window_ = static_cast<std::byte*>(acp_alloc_dsm(shape_.pages * page));
        ASSERT_NE(window_, nullptr) << acp_error_message();
        std::barrier meeting(threads);
        const auto run = [&](std::uint32_t thread) {
            const std::uint32_t actor = static_cast<std::uint32_t>(rank_) * threads + thread;
            Random choice(seed * shape_.actors + actor);
            for (std::uint64_t epoch = 0; epoch < shape_.epochs; ++epoch) {
                for (const Access& access : program.of(epoch, actor)) {
                    perform(access, actor, choice);
                    if (HasFailure()) break;
                }
                meeting.arrive_and_wait();
                if (thread == 0) {
                    EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
                }
                meeting.arrive_and_wait();
            }
        };
        std::thread other(run, 1);
        run(0);
        other.join();
        for (std::uint64_t place = 0; place < program.last().size(); ++place)
            if (window_[place] != program.last()[place]) fail("at the end", place);
        ASSERT_EQ(acp_free_dsm(window_), 0) << acp_error_message();
    }

private:
    void perform(const Access& access, std::uint32_t actor, Random& random) const {
        std::byte* const byte = window_ + access.place;
        const bool is_copied = random.chance(5);
        // A byte of this rank, or of the next one, that this actor alone uses.
        const int owner = random.chance(50) ? rank_ : (rank_ + 1) % procs_;
        const acp_ga_t scratch = acp_query_starter_ga(owner) + actor;
        std::byte value = access.value;
        if (access.is_write && is_copied) {
            const acp_handle_t put = acp_put(scratch, &value, 1, ACP_HANDLE_NULL);
            acp_complete(put);
            acp_complete(acp_get(byte, scratch, 1, ACP_HANDLE_NULL));
        } else if (access.is_write) {
            *byte = value;
        } else {
            if (is_copied) {
                acp_complete(acp_put(scratch, byte, 1, ACP_HANDLE_NULL));
                acp_complete(acp_get(&value, scratch, 1, ACP_HANDLE_NULL));
            } else {
                value = *byte;
            }
            if (value != access.value) fail("in a read", access.place);
        }
    }

    void fail(const char* where, std::uint64_t place) const {
        if (HasFailure()) return;
        ADD_FAILURE() << "wrong byte " << where << ": rank " << rank_ << ", page " << place / page
                      << ", byte " << place % page;
    }

    ProgramShape shape_;
    std::byte* window_ = nullptr;
};

TEST_F(DsmRandomTest, each_read_of_a_program_without_data_races_sees_the_bytes_of_the_model) {
    const std::uint64_t count = from_environment("TEST_SEEDS", 100);
    const std::uint64_t first = from_environment("TEST_SEED", 1);
    const std::uint64_t end = std::getenv("TEST_SEED") == nullptr ? first + count : first + 1;
    allow_seconds(static_cast<unsigned>(60 + count));
    const bool is_open = acp_init_dsm(64 * page) == 0;
    if (!is_open && acp_errno() == ACP_ERR_UNSUPPORTED) GTEST_SKIP() << acp_error_message();
    ASSERT_TRUE(is_open) << acp_error_message();
    for (std::uint64_t seed = first; seed < end; ++seed) {
        SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(run_program(seed));
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
