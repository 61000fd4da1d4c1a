// SPDX-License-Identifier: BSD-3-Clause
// Calls of each kind of container on a container of each other kind: the message says which kind
// lies at the address.
#include <functional>
#include <string>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

struct Kind {
    std::string name;
    std::function<acp_ga_t(int owner)> make;
    std::function<int(acp_ga_t)> destroy;
    // Returns whether the call has succeeded.
    std::function<bool(acp_ga_t)> change;
};

template <typename Handle>
Handle hashed_at(acp_ga_t ga) {
    Handle handle{};
    handle.ga = ga;
    return handle;
}

std::vector<Kind> kinds() {
    return {
        {"vector", [](int owner) { return acp_create_vector(0, owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_vector({ga}); },
         [](acp_ga_t ga) { return acp_push_back_vector({ga}, "x", 1) == 0; }},
        {"deque", [](int owner) { return acp_create_deque(0, owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_deque({ga}); },
         [](acp_ga_t ga) { return acp_push_front_deque({ga}, "x", 1) == 0; }},
        {"list", [](int owner) { return acp_create_list(owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_list({ga}); },
         [](acp_ga_t ga) {
             return acp_push_back_list({ga}, "x", 1, acp_query_rank(ga)) == 0 &&
                    acp_begin_list({ga}).elem != ACP_GA_NULL;
         }},
        {"map", [](int owner) { return acp_create_map(1, &owner, 1, owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_map(hashed_at<acp_map_t>(ga)); },
         [](acp_ga_t ga) {
             return acp_insert_if_absent_map(hashed_at<acp_map_t>(ga), "k", 1, "v", 1) == 1;
         }},
        {"multimap", [](int owner) { return acp_create_multimap(1, &owner, 1, owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_multimap(hashed_at<acp_multimap_t>(ga)); },
         [](acp_ga_t ga) {
             return acp_insert_multimap(hashed_at<acp_multimap_t>(ga), "k", 1, "v", 1).elem !=
                    ACP_GA_NULL;
         }},
        {"set", [](int owner) { return acp_create_set(1, &owner, 1, owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_set(hashed_at<acp_set_t>(ga)); },
         [](acp_ga_t ga) {
             return acp_insert_if_absent_set(hashed_at<acp_set_t>(ga), "k", 1) == 1;
         }},
        {"multiset", [](int owner) { return acp_create_multiset(1, &owner, 1, owner).ga; },
         [](acp_ga_t ga) { return acp_destroy_multiset(hashed_at<acp_multiset_t>(ga)); },
         [](acp_ga_t ga) {
             return acp_insert_multiset(hashed_at<acp_multiset_t>(ga), "k", 1).elem != ACP_GA_NULL;
         }},
    };
}

class KindAtTest : public HashedTest {};

// The wrong call comes before the first use of the container, and after it.
TEST_F(KindAtTest, a_call_on_a_container_of_another_kind_names_that_kind) {
    for (int owner = 0; owner < procs_; ++owner) {
        for (const Kind& there : kinds()) {
            const acp_ga_t ga = there.make(owner);
            ASSERT_NE(ga, ACP_GA_NULL) << acp_error_message();
            for (const bool is_used : {false, true}) {
                if (is_used) {
                    EXPECT_TRUE(there.change(ga)) << there.name << ": " << acp_error_message();
                }
                for (const Kind& other : kinds()) {
                    if (other.name == there.name) continue;
                    const std::string told =
                        " is a " + there.name + "; this call takes a " + other.name;
                    EXPECT_FALSE(other.change(ga));
                    expect_refused(ACP_ERR_ARGUMENT, {told});
                    EXPECT_EQ(other.destroy(ga), -1);
                    expect_refused(ACP_ERR_ARGUMENT, {told});
                }
            }
            EXPECT_EQ(there.destroy(ga), 0) << acp_error_message();
        }
    }
}

// A handle with an identity is one that a call returned for a container that was there.
TEST_F(KindAtTest, a_handle_of_a_destroyed_map_is_stale_where_another_kind_lies_now) {
    for (int owner = 0; owner < procs_; ++owner) {
        for (const Kind& there : kinds()) {
            const acp_ga_t ga = there.make(owner);
            ASSERT_NE(ga, ACP_GA_NULL) << acp_error_message();
            for (const bool is_used : {false, true}) {
                if (is_used) {
                    EXPECT_TRUE(there.change(ga)) << there.name << ": " << acp_error_message();
                }
                auto map = hashed_at<acp_map_t>(ga);
                map.id = 1;
                EXPECT_EQ(acp_insert_if_absent_map(map, "k", 1, "v", 1), -1);
                const std::string an = there.name == "map" ? "another " : "a ";
                expect_refused(ACP_ERR_STALE,
                               {"was destroyed; " + an + there.name + " is there now"});
                EXPECT_EQ(acp_destroy_map(map), -1);
                expect_refused(ACP_ERR_STALE, {"was destroyed; "});
            }
            EXPECT_EQ(there.destroy(ga), 0) << acp_error_message();
        }
    }
}

TEST_F(KindAtTest, a_handle_with_the_identity_of_a_set_names_the_set) {
    const acp_set_t set = acp_create_set(1, &rank_, 1, rank_);
    ASSERT_NE(set.ga, ACP_GA_NULL) << acp_error_message();
    auto map = hashed_at<acp_map_t>(set.ga);
    map.id = set.id;
    EXPECT_EQ(acp_destroy_map(map), -1);
    expect_refused(ACP_ERR_ARGUMENT, {" is a set; this call takes a map"});
    EXPECT_EQ(acp_destroy_set(set), 0) << acp_error_message();
}

TEST_F(KindAtTest, an_element_is_not_moved_to_what_is_no_list) {
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_vector_t vector = acp_create_vector(0, owner);
        const acp_list_t list = acp_create_list(owner);
        ASSERT_EQ(acp_push_back_list(list, "x", 1, owner), 0) << acp_error_message();
        const acp_list_t wrong{vector.ga};
        EXPECT_EQ(acp_splice_list(acp_list_it_t{wrong, wrong.ga, 0}, acp_begin_list(list)), -1);
        expect_refused(ACP_ERR_ARGUMENT, {" is a vector; this call takes a list"});
        EXPECT_EQ(acp_size_list(list), 1U);
        EXPECT_EQ(acp_destroy_list(list), 0);
        EXPECT_EQ(acp_destroy_vector(vector), 0);
    }
}

}  // namespace
}  // namespace acp::test
