// SPDX-License-Identifier: BSD-3-Clause
// The owners of source and target need not help: third-party copies and atomics complete while both
// owners sleep, are stopped, or compute. Where a path needs the owner's service thread, acp_path
// says so, and the test does not stop the owner.
#include <string>
#include <tuple>

#include "progress/owners.hpp"
#include "support/clock.hpp"
#include "support/mode.hpp"
#include "support/nodes.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t patience_ns = 30 * second_ns;

// A rank that is its own gateway must answer itself.
bool is_one_sided(Kind kind) {
    if (has_own_gateways()) return false;
    return kind == Kind::starter ? mode().is_shared_one_sided() : mode().is_private_one_sided();
}

using Case = std::tuple<Absence, Kind, Kind>;

class AbsentOwnersTest : public ProgressTest, public ::testing::WithParamInterface<Case> {
protected:
    // Copies between memories of ranks 1 and 2 and reads the result back, while both are absent.
    void copy_through(std::size_t bytes) {
        const auto [absence, target_kind, source_kind] = GetParam();
        const Arena target(target_kind, bytes, arenas_begin);
        const Arena source(source_kind, bytes, arenas_begin + bytes);
        const Arena own(Kind::starter, bytes, arenas_begin + 2 * bytes);
        fill_pattern(source.local(), bytes, rank_);
        std::ranges::fill(target.local(), std::byte{0});
        sync_ranks();
        while_owners_are(absence, [&, target_k = target_kind, source_k = source_kind] {
            const acp_path_t path = acp_path(target.at(1), source.at(2));
            EXPECT_EQ(path.owner_must_help,
                      is_one_sided(target_k) && is_one_sided(source_k) ? 0 : 1)
                << path.name;
            const acp_handle_t copied =
                acp_copy(target.at(1), source.at(2), bytes, ACP_HANDLE_NULL);
            EXPECT_EQ(acp_wait(copied, patience_ns), ACP_OK) << acp_error_message();
            const acp_handle_t fetched = acp_copy(own.at(0), target.at(1), bytes, ACP_HANDLE_NULL);
            EXPECT_EQ(acp_wait(fetched, patience_ns), ACP_OK) << acp_error_message();
            for (std::size_t offset = 0; offset < bytes; offset += 1 + bytes / 1000) {
                ASSERT_EQ(own.local()[offset], pattern(bytes, 2, offset)) << offset;
            }
        });
    }

    void SetUp() override {
        ProgressTest::SetUp();
        const auto [absence, target_kind, source_kind] = GetParam();
        const bool is_any_private =
            target_kind == Kind::registered || source_kind == Kind::registered;
        if (is_any_private && !mode().reaches_private_memory()) {
            GTEST_SKIP() << "this mode does not reach another rank's registered memory";
        }
        if (absence == Absence::stopped &&
            !(is_one_sided(target_kind) && is_one_sided(source_kind))) {
            GTEST_SKIP() << "this mode needs the help of the owner, which is stopped";
        }
    }
};

TEST_P(AbsentOwnersTest, copies_a_word_from_one_to_the_other) {
    copy_through(8);
}

TEST_P(AbsentOwnersTest, copies_pages_from_one_to_the_other) {
    copy_through(20'000);
}

TEST_P(AbsentOwnersTest, copies_a_mebibyte_from_one_to_the_other) {
    copy_through(1024 * 1024);
}

INSTANTIATE_TEST_SUITE_P(
    absences,
    AbsentOwnersTest,
    ::testing::Combine(::testing::Values(Absence::sleeping, Absence::stopped, Absence::computing),
                       ::testing::Values(Kind::starter, Kind::registered),
                       ::testing::Values(Kind::starter, Kind::registered)),
    [](const ::testing::TestParamInfo<Case>& each) {
        return std::string(name_of(std::get<0>(each.param))) + "_" +
               name_of(std::get<2>(each.param)) + "_to_" + name_of(std::get<1>(each.param));
    });

class AbsentOwnerAtomicsTest : public ProgressTest,
                               public ::testing::WithParamInterface<std::tuple<Absence, Kind>> {};

TEST_P(AbsentOwnerAtomicsTest, work_on_their_words) {
    const auto [absence, kind] = GetParam();
    if (kind == Kind::registered &&
        (absence == Absence::stopped || !mode().reaches_private_memory())) {
        GTEST_SKIP() << "atomics on registered memory need the owner's service thread";
    }
    if (absence == Absence::stopped && !is_one_sided(Kind::starter)) {
        GTEST_SKIP() << "this mode needs the help of the owner, which is stopped";
    }
    const Arena words(kind, 64, arenas_begin);
    const Arena own(Kind::starter, 64, arenas_begin + 64);
    words.word<std::uint64_t>() = 100;
    sync_ranks();
    while_owners_are(absence, [&] {
        for (std::uint64_t step = 0; step < 20; ++step) {
            const int owner = 1 + static_cast<int>(step % 2);
            const acp_handle_t handle = acp_add8(own.at(0), words.at(owner), 1, ACP_HANDLE_NULL);
            ASSERT_EQ(acp_wait(handle, patience_ns), ACP_OK) << acp_error_message();
            EXPECT_EQ(own.word<std::uint64_t>(), 100 + step / 2);
        }
    });
    EXPECT_EQ(words.word<std::uint64_t>(), rank_ == 1 || rank_ == 2 ? 110U : 100U);
}

INSTANTIATE_TEST_SUITE_P(
    absences,
    AbsentOwnerAtomicsTest,
    ::testing::Combine(::testing::Values(Absence::sleeping, Absence::stopped, Absence::computing),
                       ::testing::Values(Kind::starter, Kind::registered)),
    [](const auto& each) {
        return std::string(name_of(std::get<0>(each.param))) + "_" +
               name_of(std::get<1>(each.param));
    });

}  // namespace
}  // namespace acp::test
