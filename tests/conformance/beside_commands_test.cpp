// SPDX-License-Identifier: BSD-3-Clause
// Calls on containers while the program has a failed command outstanding: a call waits only for the
// commands that it issued, so the program's own acp_wait reports the failure.
#include <string>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class BesideCommandsTest : public RankedTest {
protected:
    // Calls use(owner) for each rank while a failed command of the program is outstanding.
    template <typename Use>
    void beside_failed_command(const Use& use) const {
        const acp_ga_t own = acp_query_starter_ga(rank_);
        for (int owner = 0; owner < procs_; ++owner) {
            const acp_handle_t failed = acp_copy(own, own + acp_starter_size(), 8, ACP_HANDLE_NULL);
            use(owner);
            EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS)
                << "no earlier call returned this failure";
        }
    }

    const std::string text_ = std::string(3'000, 't');  // more than one message to another node
    std::string room_ = std::string(3'000, '\0');
};

TEST_F(BesideCommandsTest, calls_on_vectors_wait_for_their_own_alone) {
    beside_failed_command([this](int owner) {
        const acp_vector_t vector = acp_create_vector(0, owner);
        EXPECT_EQ(acp_push_back_vector(vector, text_.data(), text_.size()), 0)
            << acp_error_message();
        EXPECT_EQ(acp_read_vector(vector, 0, room_.data(), room_.size()), 3'000);
        EXPECT_EQ(room_, text_);
        EXPECT_EQ(acp_destroy_vector(vector), 0) << acp_error_message();
    });
}

TEST_F(BesideCommandsTest, calls_on_lists_wait_for_their_own_alone) {
    beside_failed_command([this](int owner) {
        const acp_list_t list = acp_create_list(owner);
        EXPECT_EQ(acp_push_back_list(list, text_.data(), text_.size(), owner), 0)
            << acp_error_message();
        EXPECT_EQ(acp_push_back_list(list, text_.data(), 10, rank_), 0) << acp_error_message();
        EXPECT_EQ(acp_size_list(list), 2U);
        EXPECT_EQ(acp_read_list(acp_begin_list(list), room_.data(), room_.size()), 3'000);
        EXPECT_EQ(room_, text_);
        EXPECT_EQ(acp_clear_list(list), 0) << acp_error_message();
        EXPECT_EQ(acp_destroy_list(list), 0) << acp_error_message();
    });
}

TEST_F(BesideCommandsTest, calls_on_maps_wait_for_their_own_alone) {
    beside_failed_command([this](int owner) {
        const acp_map_t map = acp_create_map(1, &owner, 4, owner);
        EXPECT_EQ(acp_insert_if_absent_map(map, "key", 3, text_.data(), text_.size()), 1)
            << acp_error_message();
        std::size_t bytes = room_.size();
        EXPECT_EQ(acp_retrieve_map(map, "key", 3, room_.data(), &bytes), 1) << acp_error_message();
        EXPECT_EQ(room_, text_);
        EXPECT_EQ(acp_clear_map(map), 0) << acp_error_message();
        EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    });
}

}  // namespace
}  // namespace acp::test
