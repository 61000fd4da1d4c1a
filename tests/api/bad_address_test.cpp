// SPDX-License-Identifier: BSD-3-Clause
// Bad global addresses in copies and atomics: each gives a failed handle with the documented code
// and a message that names the address, and no memory is accessed.
#include <climits>
#include <cstdint>

#include "api/canary.hpp"

#include "support/mode.hpp"
#include "support/random.hpp"

namespace acp::test {

const std::vector<NamedAtomic>& named_atomics() {
    static const std::vector<NamedAtomic> all = {
        {"acp_cas4", 4, [](auto t, auto s, auto o) { return acp_cas4(t, s, 1, 2, o); }},
        {"acp_cas8", 8, [](auto t, auto s, auto o) { return acp_cas8(t, s, 1, 2, o); }},
        {"acp_swap4", 4, [](auto t, auto s, auto o) { return acp_swap4(t, s, 1, o); }},
        {"acp_swap8", 8, [](auto t, auto s, auto o) { return acp_swap8(t, s, 1, o); }},
        {"acp_add4", 4, [](auto t, auto s, auto o) { return acp_add4(t, s, 1, o); }},
        {"acp_add8", 8, [](auto t, auto s, auto o) { return acp_add8(t, s, 1, o); }},
        {"acp_xor4", 4, [](auto t, auto s, auto o) { return acp_xor4(t, s, 1, o); }},
        {"acp_xor8", 8, [](auto t, auto s, auto o) { return acp_xor8(t, s, 1, o); }},
        {"acp_or4", 4, [](auto t, auto s, auto o) { return acp_or4(t, s, 1, o); }},
        {"acp_or8", 8, [](auto t, auto s, auto o) { return acp_or8(t, s, 1, o); }},
        {"acp_and4", 4, [](auto t, auto s, auto o) { return acp_and4(t, s, 1, o); }},
        {"acp_and8", 8, [](auto t, auto s, auto o) { return acp_and8(t, s, 1, o); }},
        {"acp_min4", 4, [](auto t, auto s, auto o) { return acp_min4(t, s, 1, o); }},
        {"acp_min8", 8, [](auto t, auto s, auto o) { return acp_min8(t, s, 1, o); }},
        {"acp_max4", 4, [](auto t, auto s, auto o) { return acp_max4(t, s, 1, o); }},
        {"acp_max8", 8, [](auto t, auto s, auto o) { return acp_max8(t, s, 1, o); }},
    };
    return all;
}

namespace {

class BadAddressTest : public RankedTest {
protected:
    // Tries the address as target and as source of a copy and of every atomic.
    void expect_refused(acp_ga_t bad, int code, const Canary& canary) const {
        SCOPED_TRACE("address " + hexadecimal(bad));
        const std::vector<std::string> parts =
            bad == ACP_GA_NULL ? std::vector<std::string>() : std::vector{hexadecimal(bad)};
        const acp_ga_t good = canary.starter.at(rank_);
        expect_failure(acp_copy(bad, good, 8, ACP_HANDLE_NULL), code, parts);
        expect_failure(acp_copy(good, bad, 8, ACP_HANDLE_NULL), code, parts);
        for (const NamedAtomic& atomic : named_atomics()) {
            SCOPED_TRACE(atomic.name);
            // For an atomic's target it means that the old value is not stored.
            if (bad != ACP_GA_NULL) {
                expect_failure(atomic.issue(bad, good, ACP_HANDLE_NULL), code, parts);
            }
            expect_failure(atomic.issue(good, bad, ACP_HANDLE_NULL), code, parts);
            expect_failure(atomic.issue(ACP_GA_NULL, bad, ACP_HANDLE_NULL), code, parts);
        }
        EXPECT_EQ(acp_fetch_add8(bad, 1), 0U);
        EXPECT_EQ(acp_errno(), code);
        const std::string call = "acp_fetch_add8 by rank " + std::to_string(rank_) + " on ";
        EXPECT_EQ(std::string(acp_error_message()).rfind(call, 0), 0U) << acp_error_message();
        EXPECT_EQ(std::string(acp_error_message()).find("acp_add8"), std::string::npos);
        for (const std::string& part : parts) {
            EXPECT_NE(std::string(acp_error_message()).find(part), std::string::npos)
                << acp_error_message();
        }
        EXPECT_EQ(acp_fetch_cas4(bad, 1, 2), 0U);
        EXPECT_EQ(acp_errno(), code);
    }
};

TEST_F(BadAddressTest, null_is_refused_and_touches_nothing) {
    const Canary canary;
    expect_refused(ACP_GA_NULL, ACP_ERR_ADDRESS, canary);
    canary.expect_untouched();
}

TEST_F(BadAddressTest, wild_ones_are_refused_and_touch_nothing) {
    const Canary canary;
    const acp_ga_t starter = acp_query_starter_ga(rank_);
    for (const acp_ga_t wild :
         {~acp_ga_t{7}, acp_ga_t{8}, acp_ga_t{0xdead'beef'dead'be00}, starter + (acp_ga_t{1} << 33),
          starter - 8, starter ^ (acp_ga_t{1} << 63)}) {
        const int code = acp_wait(acp_copy(wild, starter, 8, ACP_HANDLE_NULL), -1);
        EXPECT_TRUE(code == ACP_ERR_ADDRESS || code == ACP_ERR_STALE) << hexadecimal(wild);
        expect_refused(wild, code, canary);
    }
    const acp_handle_t never = acp_copy(starter, acp_ga_t{5}, 1, ACP_HANDLE_NULL);
    expect_failure(never, ACP_ERR_ADDRESS,
                   {"the source is 1 byte at global address 0x5: no memory is registered there"});
    canary.expect_untouched();
}

TEST_F(BadAddressTest, random_ones_are_refused_and_touch_nothing) {
    const Canary canary;
    const std::uint64_t seed = fresh_seed();
    Random random(seed);
    const acp_ga_t own = canary.starter.at(rank_);
    for (int count = 0; count < 20'000; ++count) {
        const acp_ga_t wild = random.next();
        const bool is_target = random.chance(50);
        const int code = acp_wait(
            acp_copy(is_target ? wild : own, is_target ? own : wild, 8, ACP_HANDLE_NULL), -1);
        ASSERT_TRUE(code == ACP_ERR_ADDRESS || code == ACP_ERR_STALE)
            << hexadecimal(wild) << " gave " << code << ", seed " << seed;
    }
    canary.expect_untouched();
}

TEST_F(BadAddressTest, stale_ones_are_refused_and_touch_nothing) {
    const Canary canary;
    std::vector<std::uint64_t> memory(16, 7);
    for (int round = 0; round < 5; ++round) {
        const acp_atkey_t key = acp_register_memory(memory.data(), 128, 0);
        ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
        const auto addresses = exchange(acp_query_ga(key, memory.data()));
        ASSERT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
        sync_ranks();
        const acp_ga_t theirs = addresses[static_cast<std::size_t>((rank_ + 1) % procs_)];
        const acp_ga_t mine = addresses[static_cast<std::size_t>(rank_)];
        expect_refused(mine, ACP_ERR_STALE, canary);
        expect_refused(theirs, ACP_ERR_STALE, canary);
        sync_ranks();
    }
    EXPECT_EQ(memory, std::vector<std::uint64_t>(16, 7));
    canary.expect_untouched();
}

class BadSizeTest : public RankedTest, public ::testing::WithParamInterface<Kind> {};

TEST_P(BadSizeTest, that_crosses_the_end_is_refused_and_touches_nothing) {
    if (GetParam() == Kind::registered && !mode().reaches_private_memory()) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    const Canary canary;
    const Arena small(Kind::registered, 100);
    const bool is_starter = GetParam() == Kind::starter;
    const std::size_t segment_bytes = is_starter ? acp_starter_size() : 100;
    const int other = (rank_ + 1) % procs_;
    const acp_ga_t begin = is_starter ? acp_query_starter_ga(other) : small.at(other);
    const acp_ga_t own = canary.starter.at(rank_);
    for (const std::size_t over :
         {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{4096}}) {
        for (const std::size_t offset :
             {std::size_t{0}, std::size_t{50}, segment_bytes - 1, segment_bytes}) {
            const std::size_t size = segment_bytes - offset + over;
            SCOPED_TRACE("offset " + std::to_string(offset) + ", size " + std::to_string(size));
            expect_failure(acp_copy(begin + offset, begin + offset, size, ACP_HANDLE_NULL),
                           ACP_ERR_ADDRESS, {std::to_string(size)});
        }
    }
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 63, SIZE_MAX / 2 + 1}) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{64}}) {
            expect_failure(acp_copy(begin + offset, own, size, ACP_HANDLE_NULL), ACP_ERR_ADDRESS,
                           {std::to_string(size)});
            expect_failure(acp_copy(own, begin + offset, size, ACP_HANDLE_NULL), ACP_ERR_ADDRESS,
                           {std::to_string(size)});
        }
    }
    canary.expect_untouched();
}

TEST_P(BadSizeTest, of_an_atomic_that_crosses_the_end_is_refused_and_touches_nothing) {
    if (GetParam() == Kind::registered && !mode().reaches_private_memory()) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    const Canary canary;
    const Arena small(Kind::registered, 12);  // room for one word of 8 bytes, aligned
    const int other = (rank_ + 1) % procs_;
    const acp_ga_t begin = GetParam() == Kind::starter
                               ? acp_query_starter_ga(other) + acp_starter_size() - 8
                               : small.at(other);
    for (const NamedAtomic& atomic : named_atomics()) {
        SCOPED_TRACE(atomic.name);
        const acp_ga_t last = begin + 8;
        if (atomic.width == 8) {
            expect_failure(atomic.issue(canary.starter.at(rank_), last, ACP_HANDLE_NULL),
                           ACP_ERR_ADDRESS);
            expect_failure(atomic.issue(last, canary.starter.at(rank_), ACP_HANDLE_NULL),
                           ACP_ERR_ADDRESS);
        }
    }
    canary.expect_untouched();
}

TEST_P(BadSizeTest, zero_is_legal_up_to_one_past_the_end) {
    const Canary canary;
    const Arena& arena = GetParam() == Kind::starter ? canary.starter : canary.registered;
    const int owner = mode().reaches_private_memory() ? (rank_ + 1) % procs_ : rank_;
    const std::size_t end = GetParam() == Kind::starter ? acp_starter_size() : Canary::bytes;
    for (const std::size_t offset : {std::size_t{0}, std::size_t{3}, end - 1, end}) {
        expect_done(
            acp_copy(arena.at(owner, offset), canary.starter.at(rank_), 0, ACP_HANDLE_NULL));
        expect_done(
            acp_copy(canary.starter.at(rank_), arena.at(owner, offset), 0, ACP_HANDLE_NULL));
    }
    canary.expect_untouched();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         BadSizeTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

class MisalignedTest : public RankedTest, public ::testing::WithParamInterface<Kind> {};

TEST_P(MisalignedTest, atomics_are_refused_and_touch_nothing) {
    const Canary canary;
    const Arena& arena = GetParam() == Kind::starter ? canary.starter : canary.registered;
    const acp_ga_t good = canary.starter.at(rank_);
    for (int owner = 0; owner < procs_; ++owner) {
        if (owner != rank_ && GetParam() == Kind::registered && !mode().reaches_private_memory()) {
            continue;
        }
        for (const NamedAtomic& atomic : named_atomics()) {
            for (std::size_t offset = 1; offset < atomic.width; ++offset) {
                SCOPED_TRACE(std::string(atomic.name) + " offset " + std::to_string(offset));
                const acp_ga_t bad = arena.at(owner, 512 + offset);
                const std::string who =
                    std::string(atomic.name) + " by rank " + std::to_string(rank_) + " on ";
                expect_failure(atomic.issue(good, bad, ACP_HANDLE_NULL), ACP_ERR_ALIGNMENT,
                               {who, ": the source is ", hexadecimal(bad)});
                expect_failure(atomic.issue(bad, good, ACP_HANDLE_NULL), ACP_ERR_ALIGNMENT,
                               {who, ": the target is ", hexadecimal(bad)});
            }
        }
    }
    canary.expect_untouched();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         MisalignedTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

using QueryBadTest = RankedTest;

TEST_F(QueryBadTest, ranks_outside_the_job_have_no_starter_memory) {
    for (const int wrong : {-1, procs_, procs_ + 1, INT_MAX, INT_MIN}) {
        EXPECT_EQ(acp_query_starter_ga(wrong), ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
        EXPECT_NE(std::string(acp_error_message()).find(std::to_string(wrong)), std::string::npos)
            << acp_error_message();
    }
}

TEST_F(QueryBadTest, null_and_wild_addresses_name_nothing) {
    EXPECT_EQ(acp_query_rank(ACP_GA_NULL), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_query_color(ACP_GA_NULL), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    ASSERT_EQ(acp_colors(), 1);
    const acp_ga_t of_no_generation = 5;
    const acp_ga_t of_another_colour = ~acp_ga_t{0};
    for (const acp_ga_t never : {of_no_generation, of_another_colour}) {
        EXPECT_EQ(acp_query_rank(never), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
        EXPECT_EQ(acp_query_color(never), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
        EXPECT_NE(std::string(acp_error_message()).find(hexadecimal(never)), std::string::npos)
            << acp_error_message();
    }
    EXPECT_EQ(acp_query_address(ACP_GA_NULL), nullptr);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    const acp_ga_t wild = acp_query_starter_ga(0) + (acp_ga_t{1} << 33);
    EXPECT_EQ(acp_query_address(wild), nullptr);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    EXPECT_NE(std::string(acp_error_message()).find(hexadecimal(wild)), std::string::npos)
        << acp_error_message();
    EXPECT_EQ(acp_query_address(acp_ga_t{5}), nullptr);
    EXPECT_NE(std::string(acp_error_message()).find("no memory is registered there"),
              std::string::npos)
        << acp_error_message();
    EXPECT_STREQ(acp_path(wild, acp_query_starter_ga(0)).name, "none");
}

}  // namespace
}  // namespace acp::test
