// SPDX-License-Identifier: BSD-3-Clause
// Memory of every kind that a command can name in a job of one rank: the last bytes of starter
// memory, a block of the heap, and registered memory. A test fills the places, makes a call, and
// compares every byte with what it expects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {

struct Place {
    const char* name;
    acp_ga_t address;
    std::uint8_t* bytes;
    bool
        has_end;  // its segment ends with its last byte: a block lies within the segment of its heap
};

class Places : public OneRankJob {
protected:
    static constexpr std::size_t place_bytes = 16384;

    void SetUp() override {
        OneRankJob::SetUp();
        const acp_ga_t last = starter_end_ - place_bytes;
        block_ = acp_malloc(place_bytes, 0);
        ASSERT_NE(block_, ACP_GA_NULL) << acp_error_message();
        own_.resize(place_bytes);
        key_ = acp_register_memory(own_.data(), place_bytes, 0);
        ASSERT_NE(key_, ACP_ATKEY_NULL) << acp_error_message();
        places_ = {
            {"starter memory", last, bytes_of(last), true},
            {"a block", block_, bytes_of(block_), false},
            {"registered memory", acp_query_ga(key_, own_.data()), own_.data(), true},
        };
        refill();
    }

    void TearDown() override {
        EXPECT_EQ(acp_complete(ACP_HANDLE_ALL), 0) << acp_error_message();
        EXPECT_EQ(acp_unregister_memory(key_), 0) << acp_error_message();
        EXPECT_EQ(acp_free(block_), 0) << acp_error_message();
    }

    static std::uint8_t* bytes_of(acp_ga_t address) {
        return static_cast<std::uint8_t*>(acp_query_address(address));
    }

    // Gives each byte of each place a value that its neighbours and the other places do not have
    // there.
    void refill() {
        expected_.clear();
        for (std::size_t i = 0; i < places_.size(); ++i) {
            std::vector<std::uint8_t>& copy = expected_.emplace_back(place_bytes);
            for (std::size_t at = 0; at < place_bytes; ++at)
                copy[at] = places_[i].bytes[at] =
                    static_cast<std::uint8_t>(at * 7 + at / 256 * 3 + i * 85 + 1);
        }
    }

    // Every byte of every place is as expected_ says.
    void expect_bytes() {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            for (std::size_t at = 0; at < place_bytes; ++at)
                ASSERT_EQ(places_[i].bytes[at], expected_[i][at])
                    << "byte " << at << " of " << places_[i].name;
        }
    }

    acp_ga_t block_ = ACP_GA_NULL;
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    std::vector<std::uint8_t> own_;
    std::vector<Place> places_;
    std::vector<std::vector<std::uint8_t>> expected_;
};

}  // namespace acp::api::test
