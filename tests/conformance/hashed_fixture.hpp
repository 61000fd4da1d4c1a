// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of hashed containers: containers that one rank makes and all use, and
// calls on maps with strings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

class HashedTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
    }

    void TearDown() override {
        sync_ranks();
        EXPECT_EQ(acp_heap_check(rank_), 0) << acp_error_message();
        RankedTest::TearDown();
    }

    // A container that rank 0 makes and all ranks use; rank 0 destroys it when all are done.
    template <typename Handle, typename Make, typename Destroy, typename Use>
    void with_shared(const Make& make, const Destroy& destroy, const Use& use) {
        Handle handle{};
        if (rank_ == 0) {
            handle = make();
            ASSERT_NE(handle.ga, ACP_GA_NULL) << acp_error_message();
        }
        handle.ga = exchange(handle.ga)[0];
        handle.id = exchange(handle.id)[0];
        handle.num_ranks = exchange(handle.num_ranks)[0];
        handle.num_slots = exchange(handle.num_slots)[0];
        use(handle);
        sync_ranks();
        if (rank_ == 0) {
            EXPECT_EQ(destroy(handle), 0) << acp_error_message();
        }
        sync_ranks();
    }

    template <typename Use>
    void with_map(int slots, const Use& use) {
        with_shared<acp_map_t>([&] { return acp_create_map(0, nullptr, slots, procs_ - 1); },
                               acp_destroy_map, use);
    }

    // Calls use(map) with a map whose entries all lie on one rank.
    template <typename Use>
    void with_map_of_rank(int rank, const Use& use) {
        with_shared<acp_map_t>([&] { return acp_create_map(1, &rank, 2, rank); }, acp_destroy_map,
                               use);
    }

    // The bytes of an element on any rank.
    static std::string bytes_of(const acp_element_t& element) {
        std::string bytes(element.size, '\0');
        if (element.size != 0) {
            expect_done(acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL));
        }
        return bytes;
    }

    static int insert(acp_map_t map, const std::string& key, const std::string& value) {
        return acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size());
    }

    static int assign(acp_map_t map, const std::string& key, const std::string& value) {
        return acp_insert_or_assign_map(map, key.data(), key.size(), value.data(), value.size());
    }

    static std::optional<std::string> value_of(acp_map_t map, const std::string& key) {
        std::string value(64, '\0');
        for (;;) {
            std::size_t bytes = value.size();
            const int found = acp_retrieve_map(map, key.data(), key.size(), value.data(), &bytes);
            EXPECT_NE(found, -1) << acp_error_message();
            if (found != 1) return std::nullopt;
            const bool is_whole = bytes <= value.size();
            value.resize(bytes);
            if (is_whole) return value;
        }
    }

    static int remove(acp_map_t map, const std::string& key) {
        return acp_remove_map(map, key.data(), key.size());
    }

    static std::map<std::string, std::string> content_of(acp_map_t map) {
        std::map<std::string, std::string> content;
        for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            const acp_pair_t entry = acp_dereference_map_it(it);
            EXPECT_TRUE(content.emplace(bytes_of(entry.first), bytes_of(entry.second)).second)
                << "a walk visited an entry twice in a map that no rank changed";
        }
        return content;
    }

    static void expect_refused(int code, const std::vector<std::string>& parts) {
        expect_error(code, parts);
    }

    [[nodiscard]] std::string own_key(std::uint64_t number) const {
        return "rank " + std::to_string(rank_) + " key " + std::to_string(number);
    }
};

}  // namespace acp::test
