// SPDX-License-Identifier: BSD-3-Clause
// Every call that copies bytes, between memory of every kind, at the sizes and offsets where the
// paths of the library change: which bytes it writes, and that it writes no others. Then the copies
// that it refuses, each with its code, and that these write nothing.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/places.hpp"

namespace acp::api::test {
namespace {

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

// One end of a copy, as an address and as a pointer.
struct End {
    acp_ga_t address;
    void* pointer;
};

// A call that copies. A call with a plain pointer takes one end as such, which no address is
// checked of.
struct CopyCall {
    const char* name;
    bool is_target_address;
    bool is_source_address;
    std::function<acp_handle_t(End, End, std::size_t, acp_handle_t)> issue;
};

acp_ga_t signal_word = ACP_GA_NULL;  // acp_put_signal adds to it; outside of the places

const std::vector<CopyCall>& copy_calls() {
    static const std::vector<CopyCall> calls{
        {"acp_copy", true, true,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             return acp_copy(target.address, source.address, bytes, order);
         }},
        {"acp_put", true, false,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             return acp_put(target.address, source.pointer, bytes, order);
         }},
        {"acp_put_copied", true, false,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             return acp_put_copied(target.address, source.pointer, bytes, order);
         }},
        {"acp_put_signal", true, false,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             return acp_put_signal(target.address, source.pointer, bytes, signal_word, 1, order);
         }},
        {"acp_get", false, true,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             return acp_get(target.pointer, source.address, bytes, order);
         }},
        {"acp_copy_v", true, true,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             const acp_copy_range_t range{target.address, source.address, bytes};
             return acp_copy_v(&range, 1, order);
         }},
        {"acp_copy_strided", true, true,
         [](End target, End source, std::size_t bytes, acp_handle_t order) {
             return acp_copy_strided(target.address, nullptr, source.address, nullptr, bytes,
                                     nullptr, 0, order);
         }},
    };
    return calls;
}

class Copies : public Places {
protected:
    void SetUp() override {
        Places::SetUp();
        signal_word = starter_ + 8;
        words_[1] = 0;
    }

    End end_of(std::size_t place, std::size_t at) {
        return {places_[place].address + at, places_[place].bytes + at};
    }

    // Makes a copy that must succeed, and one in the expected bytes.
    void copy(const CopyCall& call,
              std::pair<std::size_t, std::size_t> target,
              std::pair<std::size_t, std::size_t> source,
              std::size_t bytes,
              acp_handle_t order = ACP_HANDLE_NULL) {
        SCOPED_TRACE(std::string(call.name) + " of " + std::to_string(bytes) + " bytes from " +
                     places_[source.first].name + " + " + std::to_string(source.second) + " to " +
                     places_[target.first].name + " + " + std::to_string(target.second));
        const acp_handle_t handle = call.issue(end_of(target.first, target.second),
                                               end_of(source.first, source.second), bytes, order);
        ASSERT_NE(handle, ACP_HANDLE_NULL) << acp_error_message();
        ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
        std::copy_n(expected_[source.first].begin() + static_cast<std::ptrdiff_t>(source.second),
                    bytes,
                    expected_[target.first].begin() + static_cast<std::ptrdiff_t>(target.second));
        expect_bytes();
    }
};

TEST_F(Copies, write_their_bytes_and_no_others_at_every_size_and_place) {
    for (const CopyCall& call : copy_calls()) {
        for (const std::size_t bytes :
             Sizes{0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097}) {
            refill();
            for (std::size_t from = 0; from < places_.size(); ++from) {
                const std::size_t to = (from + bytes % 2 + 1) % places_.size();
                copy(call, {to, 0}, {from, place_bytes - bytes}, bytes);
                copy(call, {to, place_bytes - bytes}, {from, 1}, bytes);
                copy(call, {to, 5001}, {to, 0}, std::min<std::size_t>(bytes, 4096));
                if (HasFatalFailure()) return;
            }
        }
        copy(call, {0, 0}, {1, 0}, place_bytes);
        copy(call, {2, 0}, {0, 0}, place_bytes);
        if (HasFatalFailure()) return;
    }
}

TEST_F(Copies, onto_themselves_change_nothing) {
    for (const CopyCall& call : copy_calls()) {
        for (std::size_t place = 0; place < places_.size(); ++place) {
            for (const std::size_t bytes : Sizes{1, 8, 100, 4097})
                copy(call, {place, 3}, {place, 3}, bytes);
        }
    }
}

TEST_F(Copies, longer_than_a_call_copies_itself_are_as_right) {
    constexpr std::size_t most = 1U << 20U;
    const acp_ga_t source = acp_malloc(most, 0);
    const acp_ga_t target = acp_malloc(most + 16, 0);
    ASSERT_NE(source, ACP_GA_NULL) << acp_error_message();
    ASSERT_NE(target, ACP_GA_NULL) << acp_error_message();
    std::uint8_t* const from = bytes_of(source);
    std::uint8_t* const to = bytes_of(target);
    for (std::size_t i = 0; i < most; ++i) from[i] = static_cast<std::uint8_t>(i * 31 + i / 4096);
    for (const CopyCall& call : copy_calls()) {
        for (const std::size_t bytes :
             {std::size_t{262143}, std::size_t{262144}, std::size_t{262145}, most}) {
            SCOPED_TRACE(std::string(call.name) + ", " + std::to_string(bytes));
            std::fill_n(to, most + 16, std::uint8_t{0xEE});
            const acp_handle_t handle =
                call.issue({target + 8, to + 8}, {source, from}, bytes, ACP_HANDLE_NULL);
            ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
            ASSERT_TRUE(std::equal(from, from + bytes, to + 8));
            ASSERT_EQ(std::count(to, to + 8, std::uint8_t{0xEE}), 8);
            ASSERT_EQ(std::count(to + 8 + bytes, to + most + 16, std::uint8_t{0xEE}),
                      static_cast<std::ptrdiff_t>(most + 8 - bytes));
        }
    }
    EXPECT_EQ(acp_free(source), 0);
    EXPECT_EQ(acp_free(target), 0);
}

TEST_F(Copies, run_after_any_order_that_is_met) {
    for (const CopyCall& call : copy_calls()) {
        const acp_handle_t done = acp_copy(starter_, starter_ + 512, 8, ACP_HANDLE_NULL);
        ASSERT_EQ(acp_complete(done), 0);
        for (const acp_handle_t order :
             {ACP_HANDLE_NULL, done, ACP_HANDLE_ALL, ACP_HANDLE_CONT, done + 1'000'000,
              std::numeric_limits<acp_handle_t>::max()}) {
            copy(call, {1, 128}, {0, 64}, 9, order);
            copy(call, {2, 1}, {1, 128}, 4096, order);
        }
    }
}

// A copy that must fail: its ends, and the code. An end of a call that takes a pointer is none.
struct RefusedCopy {
    const char* what;
    acp_ga_t target;
    acp_ga_t source;
    std::uint64_t bytes;
    int code;
    bool is_by_target;  // the failing end
};

TEST_F(Copies, that_leave_their_memory_are_refused_and_write_nothing) {
    std::vector<std::uint8_t> gone(64);
    const acp_atkey_t gone_key = acp_register_memory(gone.data(), gone.size(), 0);
    const acp_ga_t stale = acp_query_ga(gone_key, gone.data());
    ASSERT_NE(stale, ACP_GA_NULL) << acp_error_message();
    ASSERT_EQ(acp_unregister_memory(gone_key), 0);
    const acp_ga_t block = places_[1].address;
    const acp_ga_t own = places_[2].address;
    const std::vector<RefusedCopy> rows{
        {"null target", ACP_GA_NULL, block, 8, ACP_ERR_ADDRESS, true},
        {"null source", block, ACP_GA_NULL, 8, ACP_ERR_ADDRESS, false},
        {"null target of nothing", ACP_GA_NULL, block, 0, ACP_ERR_ADDRESS, true},
        {"null source of nothing", block, ACP_GA_NULL, 0, ACP_ERR_ADDRESS, false},
        {"the end of starter memory", starter_end_, block, 1, ACP_ERR_ADDRESS, true},
        {"the end of starter memory, read", block, starter_end_, 1, ACP_ERR_ADDRESS, false},
        {"one byte beyond starter memory", starter_end_ - 7, block, 8, ACP_ERR_ADDRESS, true},
        {"one byte beyond it, read", block, starter_end_ - 4096, 4097, ACP_ERR_ADDRESS, false},
        {"one byte beyond registered memory", own + place_bytes - 8, block, 9, ACP_ERR_ADDRESS,
         true},
        {"one byte beyond it, read", block, own + 1, place_bytes, ACP_ERR_ADDRESS, false},
        {"the largest size", starter_, block, all, ACP_ERR_ADDRESS, true},
        {"a size that wraps around", starter_ + 8, block, all - 7, ACP_ERR_ADDRESS, true},
        {"the largest address", all, block, 1, ACP_ERR_ADDRESS, true},
        {"the smallest address", block, 1, 1, ACP_ERR_ADDRESS, false},
        {"ended registration", stale, block, 8, ACP_ERR_STALE, true},
        {"ended registration, read", block, stale + 8, 8, ACP_ERR_STALE, false},
    };
    for (const CopyCall& call : copy_calls()) {
        for (const RefusedCopy& row : rows) {
            if (!(row.is_by_target ? call.is_target_address : call.is_source_address)) continue;
            // Memory of the caller at a pointer that would wrap around is refused by itself, see
            // below.
            const bool is_by_pointer = !call.is_target_address || !call.is_source_address;
            if (is_by_pointer && row.bytes > place_bytes) continue;
            SCOPED_TRACE(std::string(call.name) + ", " + row.what);
            const End target{row.target, places_[1].bytes};
            const End source{row.source, places_[1].bytes};
            const acp_handle_t handle = call.issue(target, source, row.bytes, ACP_HANDLE_NULL);
            ASSERT_NE(handle, ACP_HANDLE_NULL) << acp_error_message();
            const acp_handle_t after = acp_copy(starter_, block, 8, handle);
            ASSERT_EQ(acp_wait(handle, -1), row.code) << acp_error_message();
            const std::string message = acp_error_message();
            EXPECT_NE(message.find(row.is_by_target ? "target" : "source"), std::string::npos)
                << message;
            EXPECT_NE(message.find(" by rank 0 on "), std::string::npos) << message;
            ASSERT_EQ(acp_wait(after, -1), ACP_ERR_ORDER) << "a copy ordered after it";
            while (acp_wait(ACP_HANDLE_ALL, -1) != ACP_OK) {  // a list has one more failure
                ASSERT_EQ(acp_errno(), ACP_ERR_ORDER) << acp_error_message();
            }
            expect_bytes();
            ASSERT_EQ(words_[1], 0U) << "the signal of a put that failed";
            if (HasFatalFailure()) return;
        }
    }
}

TEST_F(Copies, of_a_pointer_whose_memory_would_wrap_around_are_refused) {
    for (const CopyCall& call : copy_calls()) {
        if (call.is_target_address && call.is_source_address) continue;
        for (const std::uint64_t bytes : {all, all - 7, all / 2 + 1}) {
            SCOPED_TRACE(std::string(call.name) + ", " + std::to_string(bytes));
            const acp_handle_t handle =
                call.issue(end_of(1, 0), end_of(1, 0), bytes, ACP_HANDLE_NULL);
            const int code = acp_wait(handle, -1);
            EXPECT_TRUE(code == ACP_ERR_ARGUMENT || code == ACP_ERR_ADDRESS) << acp_error_message();
            EXPECT_TRUE(std::string(acp_error_message()).starts_with(call.name))
                << acp_error_message();
            expect_bytes();
        }
    }
}

TEST_F(Copies, of_no_bytes_take_null_as_pointer_and_others_do_not) {
    const acp_ga_t block = places_[1].address;
    for (const CopyCall& call : copy_calls()) {
        if (call.is_target_address && call.is_source_address) continue;
        const End here = end_of(1, 0);
        const End none{ACP_GA_NULL, nullptr};
        const auto issue = [&](std::size_t bytes) {
            return call.is_target_address ? call.issue(here, none, bytes, ACP_HANDLE_NULL)
                                          : call.issue(none, here, bytes, ACP_HANDLE_NULL);
        };
        SCOPED_TRACE(call.name);
        EXPECT_EQ(acp_wait(issue(0), -1), ACP_OK) << acp_error_message();
        const acp_handle_t refused = issue(1);
        EXPECT_EQ(acp_wait(refused, -1), ACP_ERR_ARGUMENT) << acp_error_message();
        const std::string message = acp_error_message();
        EXPECT_TRUE(message.starts_with(call.name)) << message;
        EXPECT_EQ(acp_wait(acp_copy(block, block, 8, refused), -1), ACP_ERR_ORDER);
        expect_bytes();
    }
}

struct SignalRow {
    std::uint64_t before;
    std::uint64_t value;
    std::size_t bytes;
};

TEST_F(Copies, a_put_with_a_signal_adds_once_and_modulo_2_to_the_64th) {
    for (const SignalRow& row :
         std::vector<SignalRow>{{0, 1, 8},
                                {5, 0, 8},
                                {all, 1, 1},
                                {all, all, 4097},
                                {1, all, 0},
                                {std::uint64_t{1} << 63, std::uint64_t{1} << 63, 64}}) {
        refill();
        words_[1] = row.before;
        const acp_handle_t handle = acp_put_signal(places_[0].address, places_[1].bytes, row.bytes,
                                                   signal_word, row.value, ACP_HANDLE_NULL);
        ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
        EXPECT_EQ(words_[1], row.before + row.value);
        std::copy_n(expected_[1].begin(), row.bytes, expected_[0].begin());
        expect_bytes();
    }
}

TEST_F(Copies, a_signal_that_cannot_be_added_to_fails_the_put) {
    struct Row {
        acp_ga_t signal;
        int code;
    };

    for (const Row& row : std::vector<Row>{{ACP_GA_NULL, ACP_ERR_ADDRESS},
                                           {signal_word + 4, ACP_ERR_ALIGNMENT},
                                           {signal_word + 1, ACP_ERR_ALIGNMENT},
                                           {starter_end_, ACP_ERR_ADDRESS},
                                           {all, ACP_ERR_ADDRESS}}) {
        SCOPED_TRACE(std::to_string(row.signal));
        const acp_handle_t handle =
            acp_put_signal(places_[1].address, places_[0].bytes, 8, row.signal, 1, ACP_HANDLE_NULL);
        ASSERT_NE(handle, ACP_HANDLE_NULL) << acp_error_message();
        EXPECT_EQ(acp_wait(handle, -1), row.code) << acp_error_message();
        EXPECT_TRUE(std::string(acp_error_message()).starts_with("acp_put_signal by rank 0 on "))
            << acp_error_message();
        EXPECT_EQ(acp_wait(handle, -1), ACP_OK) << "one failure stands for put and addition";
        EXPECT_EQ(words_[1], 0U);
    }
}

TEST_F(Copies, the_source_of_a_copied_put_may_change_at_once) {
    for (const std::size_t bytes : Sizes{1, 8, 9, 255, 256, 257, 4095, 4096, 4097, 16384}) {
        refill();
        std::vector<std::uint8_t> source(bytes, 0x5A);
        const acp_handle_t handle =
            acp_put_copied(places_[2].address, source.data(), bytes, ACP_HANDLE_NULL);
        std::fill(source.begin(), source.end(), std::uint8_t{0xA5});
        ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
        std::fill_n(expected_[2].begin(), bytes, std::uint8_t{0x5A});
        expect_bytes();
    }
}

TEST_F(Copies, a_wait_for_sources_reports_no_failure_of_a_command) {
    const acp_handle_t good = acp_put(places_[0].address, places_[1].bytes, 8, ACP_HANDLE_NULL);
    const acp_handle_t failed = acp_put(starter_end_, places_[1].bytes, 8, ACP_HANDLE_NULL);
    acp_clear_errno();
    for (const acp_handle_t handle :
         {ACP_HANDLE_NULL, good, failed, ACP_HANDLE_ALL, ACP_HANDLE_CONT, failed + 1'000'000}) {
        EXPECT_EQ(acp_wait_source(handle), 0) << handle;
        EXPECT_EQ(acp_errno(), ACP_OK) << acp_error_message();
    }
    EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS) << "acp_wait still reports it";
}

TEST_F(Copies, the_path_between_two_addresses_of_a_rank_is_direct) {
    const std::string direct = "direct";
    for (const Place& target : places_) {
        for (const Place& source : places_) {
            EXPECT_EQ(acp_path(target.address, source.address).name, direct);
            EXPECT_EQ(acp_path(target.address, source.address).owner_must_help, 0);
        }
        EXPECT_EQ(acp_path(target.address, ACP_GA_NULL).name, direct) << "acp_put";
        EXPECT_EQ(acp_path(ACP_GA_NULL, target.address).name, direct) << "acp_get";
    }
    for (const acp_ga_t none : {starter_end_, all, acp_ga_t{1}}) {
        EXPECT_EQ(acp_path(none, starter_).name, std::string("none")) << none;
        EXPECT_EQ(acp_path(starter_, none).name, std::string("none")) << none;
        EXPECT_EQ(acp_path(starter_, none).owner_must_help, 0) << "the call has not failed";
    }
}

}  // namespace
}  // namespace acp::api::test
