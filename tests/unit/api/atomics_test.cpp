// SPDX-License-Identifier: BSD-3-Clause
// The atomics of every operation and width, in the form with a handle and in the fetching form: the
// new word, the old value, and the words beside them, at the operands where a sign or a carry
// matters. Then the addresses at which an atomic must be refused, and the last ones at which it
// must not.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <acp.h>

#include "unit/api/places.hpp"

namespace acp::api::test {
namespace {

// A call, whose words, operands and results are numbers of 64 bits here.
struct AtomicCall {
    const char* name;  // the name of the form with a handle
    std::size_t width;
    std::function<acp_handle_t(acp_ga_t target,
                               acp_ga_t source,
                               std::uint64_t operand,
                               std::uint64_t expected,
                               acp_handle_t order)>
        issue;
    std::function<std::uint64_t(acp_ga_t source, std::uint64_t operand, std::uint64_t expected)>
        fetch;
    std::function<std::uint64_t(std::uint64_t word, std::uint64_t operand, std::uint64_t expected)>
        next;
};

template <typename Word>
std::uint64_t widened(Word word) {
    return static_cast<std::make_unsigned_t<Word>>(word);
}

template <typename Word>
AtomicCall one_operand(const char* name,
                       acp_handle_t (*issue)(acp_ga_t, acp_ga_t, Word, acp_handle_t),
                       Word (*fetch)(acp_ga_t, Word),
                       Word (*next)(Word, Word)) {
    return {name, sizeof(Word),
            [issue](acp_ga_t target, acp_ga_t source, std::uint64_t operand, std::uint64_t,
                    acp_handle_t order) {
                return issue(target, source, static_cast<Word>(operand), order);
            },
            [fetch](acp_ga_t source, std::uint64_t operand, std::uint64_t) {
                return widened(fetch(source, static_cast<Word>(operand)));
            },
            [next](std::uint64_t word, std::uint64_t operand, std::uint64_t) {
                return widened(next(static_cast<Word>(word), static_cast<Word>(operand)));
            }};
}

template <typename Word>
AtomicCall compare_swap(const char* name,
                        acp_handle_t (*issue)(acp_ga_t, acp_ga_t, Word, Word, acp_handle_t),
                        Word (*fetch)(acp_ga_t, Word, Word)) {
    return {
        name, sizeof(Word),
        [issue](acp_ga_t target, acp_ga_t source, std::uint64_t operand, std::uint64_t expected,
                acp_handle_t order) {
            return issue(target, source, static_cast<Word>(expected), static_cast<Word>(operand),
                         order);
        },
        [fetch](acp_ga_t source, std::uint64_t operand, std::uint64_t expected) {
            return widened(fetch(source, static_cast<Word>(expected), static_cast<Word>(operand)));
        },
        [](std::uint64_t word, std::uint64_t operand, std::uint64_t expected) {
            return widened(static_cast<Word>(word) == static_cast<Word>(expected)
                               ? static_cast<Word>(operand)
                               : static_cast<Word>(word));
        }};
}

using U4 = std::uint32_t;
using U8 = std::uint64_t;
using S4 = std::int32_t;
using S8 = std::int64_t;

const std::vector<AtomicCall>& atomic_calls() {
    static const std::vector<AtomicCall> calls{
        compare_swap<U4>("acp_cas4", acp_cas4, acp_fetch_cas4),
        compare_swap<U8>("acp_cas8", acp_cas8, acp_fetch_cas8),
        one_operand<U4>("acp_swap4", acp_swap4, acp_fetch_swap4, [](U4, U4 b) { return b; }),
        one_operand<U8>("acp_swap8", acp_swap8, acp_fetch_swap8, [](U8, U8 b) { return b; }),
        one_operand<U4>("acp_add4", acp_add4, acp_fetch_add4, [](U4 a, U4 b) { return a + b; }),
        one_operand<U8>("acp_add8", acp_add8, acp_fetch_add8, [](U8 a, U8 b) { return a + b; }),
        one_operand<U4>("acp_xor4", acp_xor4, acp_fetch_xor4, [](U4 a, U4 b) { return a ^ b; }),
        one_operand<U8>("acp_xor8", acp_xor8, acp_fetch_xor8, [](U8 a, U8 b) { return a ^ b; }),
        one_operand<U4>("acp_or4", acp_or4, acp_fetch_or4, [](U4 a, U4 b) { return a | b; }),
        one_operand<U8>("acp_or8", acp_or8, acp_fetch_or8, [](U8 a, U8 b) { return a | b; }),
        one_operand<U4>("acp_and4", acp_and4, acp_fetch_and4, [](U4 a, U4 b) { return a & b; }),
        one_operand<U8>("acp_and8", acp_and8, acp_fetch_and8, [](U8 a, U8 b) { return a & b; }),
        one_operand<S4>("acp_min4", acp_min4, acp_fetch_min4,
                        [](S4 a, S4 b) { return a < b ? a : b; }),
        one_operand<S8>("acp_min8", acp_min8, acp_fetch_min8,
                        [](S8 a, S8 b) { return a < b ? a : b; }),
        one_operand<S4>("acp_max4", acp_max4, acp_fetch_max4,
                        [](S4 a, S4 b) { return a > b ? a : b; }),
        one_operand<S8>("acp_max8", acp_max8, acp_fetch_max8,
                        [](S8 a, S8 b) { return a > b ? a : b; }),
    };
    return calls;
}

// Numbers at which signs and carries of 32 and of 64 bits change.
constexpr U8 edges[] = {0,
                        1,
                        2,
                        0x55,
                        0x7FFFFFFF,
                        0x80000000,
                        0xFFFFFFFE,
                        0xFFFFFFFF,
                        0x100000000,
                        0x7FFFFFFFFFFFFFFF,
                        0x8000000000000000,
                        0xFFFFFFFFFFFFFFFF};

class Atomics : public Places {
protected:
    // A word of a place as a number.
    std::uint64_t word_at(std::size_t place, std::size_t at, std::size_t width) {
        std::uint64_t word = 0;
        std::memcpy(&word, places_[place].bytes + at, width);
        return word;
    }

    // Stores a word in a place and in its expected bytes, or in these alone.
    void store(std::size_t place, std::size_t at, std::uint64_t word, std::size_t width) {
        std::memcpy(places_[place].bytes + at, &word, width);
        expect(place, at, word, width);
    }

    void expect(std::size_t place, std::size_t at, std::uint64_t word, std::size_t width) {
        std::memcpy(expected_[place].data() + at, &word, width);
    }

    static std::uint64_t cut(std::uint64_t number, std::size_t width) {
        return width == sizeof(U4) ? static_cast<U4>(number) : number;
    }
};

TEST_F(Atomics, change_the_word_and_return_the_old_value_for_every_pair_of_edges) {
    std::size_t turn = 0;
    for (const AtomicCall& call : atomic_calls()) {
        for (const U8 word : edges) {
            for (const U8 operand : edges) {
                // Compare-and-swap finds what it expects in every other pair.
                const U8 expected = ++turn % 2 == 0 ? word : operand;
                const U8 old = cut(word, call.width);
                const U8 next = call.next(old, operand, expected);
                SCOPED_TRACE(std::string(call.name) + " of " + std::to_string(word) + " and " +
                             std::to_string(operand));
                std::memcpy(places_[0].bytes + 4096, &old, call.width);
                const acp_ga_t source = places_[0].address + 4096;
                const acp_ga_t target = places_[1].address + 64;
                ASSERT_EQ(
                    acp_wait(call.issue(target, source, operand, expected, ACP_HANDLE_NULL), -1),
                    ACP_OK)
                    << acp_error_message();
                ASSERT_EQ(word_at(0, 4096, call.width), next);
                ASSERT_EQ(word_at(1, 64, call.width), old);
                std::memcpy(places_[0].bytes + 4096, &old, call.width);
                ASSERT_EQ(call.fetch(source, operand, expected), old);
                ASSERT_EQ(word_at(0, 4096, call.width), next);
            }
        }
    }
}

TEST_F(Atomics, write_no_byte_beside_word_and_target_wherever_these_lie) {
    const U8 old = 0x8765432112345678;
    const U8 operand = 0x00FF00FF0F0F0F0F;
    for (const AtomicCall& call : atomic_calls()) {
        const std::size_t last = place_bytes - call.width;
        for (std::size_t from = 0; from < places_.size(); ++from) {
            for (std::size_t to = 0; to < places_.size(); ++to) {
                SCOPED_TRACE(std::string(call.name) + " of " + places_[from].name + " to " +
                             places_[to].name);
                refill();
                for (const std::size_t at : {std::size_t{0}, last, std::size_t{call.width * 3}}) {
                    const std::size_t target_at =
                        last - call.width - at / 2 / call.width * call.width;
                    store(from, at, old, call.width);
                    const acp_handle_t handle =
                        call.issue(places_[to].address + target_at, places_[from].address + at,
                                   operand, old, ACP_HANDLE_ALL);
                    ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
                    expect(from, at, call.next(old, operand, old), call.width);
                    expect(to, target_at, old, call.width);
                    expect_bytes();
                    if (HasFatalFailure()) return;
                }
            }
            refill();
            store(from, 8, old, call.width);
            ASSERT_EQ(acp_wait(call.issue(ACP_GA_NULL, places_[from].address + 8, operand, old,
                                          ACP_HANDLE_NULL),
                               -1),
                      ACP_OK)
                << "without a target: " << acp_error_message();
            expect(from, 8, call.next(old, operand, old), call.width);
            expect_bytes();
        }
    }
}

struct RefusedAtomic {
    const char* what;
    acp_ga_t target;
    acp_ga_t source;
    int code;
};

TEST_F(Atomics, at_addresses_where_they_cannot_run_change_nothing) {
    std::vector<U8> gone(8);
    const acp_atkey_t gone_key = acp_register_memory(gone.data(), 64, 0);
    const acp_ga_t stale = acp_query_ga(gone_key, gone.data());
    ASSERT_EQ(acp_unregister_memory(gone_key), 0);
    const acp_ga_t block = places_[1].address;
    const acp_ga_t own_end = places_[2].address + place_bytes;
    for (const AtomicCall& call : atomic_calls()) {
        std::vector<RefusedAtomic> rows{
            {"no word", block, ACP_GA_NULL, ACP_ERR_ADDRESS},
            {"no word and no target", ACP_GA_NULL, ACP_GA_NULL, ACP_ERR_ADDRESS},
            {"a word at the end of starter memory", block, starter_end_, ACP_ERR_ADDRESS},
            {"a word at the end of registered memory", block, own_end, ACP_ERR_ADDRESS},
            {"a target at the end of starter memory", starter_end_, block, ACP_ERR_ADDRESS},
            {"a target at the end of registered memory", own_end, block, ACP_ERR_ADDRESS},
            {"a word at the largest aligned address", block, ~acp_ga_t{7}, ACP_ERR_ADDRESS},
            {"a word that is gone", block, stale, ACP_ERR_STALE},
            {"a target that is gone", stale, block, ACP_ERR_STALE},
        };
        for (std::size_t at = 1; at < call.width; ++at) {
            rows.push_back({"a misaligned word", starter_ + 64, block + at, ACP_ERR_ALIGNMENT});
            rows.push_back({"a misaligned target", block + at, starter_ + 64, ACP_ERR_ALIGNMENT});
            rows.push_back(
                {"a misaligned word without a target", ACP_GA_NULL, block + at, ACP_ERR_ALIGNMENT});
        }
        for (const RefusedAtomic& row : rows) {
            SCOPED_TRACE(std::string(call.name) + ", " + row.what);
            const acp_handle_t handle =
                call.issue(row.target, row.source, ~U8{0}, 0, ACP_HANDLE_NULL);
            ASSERT_NE(handle, ACP_HANDLE_NULL) << acp_error_message();
            const acp_handle_t after = call.issue(block, starter_ + 64, ~U8{0}, 0, handle);
            ASSERT_EQ(acp_wait(handle, -1), row.code) << acp_error_message();
            ASSERT_TRUE(std::string(acp_error_message())
                            .starts_with(std::string(call.name) + " by rank 0 on "))
                << acp_error_message();
            ASSERT_EQ(acp_wait(after, -1), ACP_ERR_ORDER) << "an atomic ordered after it";
            ASSERT_EQ(words_[8], 8 * 0x0101010101010101U);
            expect_bytes();
            if (HasFatalFailure()) return;
        }
    }
}

TEST_F(Atomics, are_aligned_as_the_pointer_of_the_memorys_owner_is) {
    // The registration begins at an odd pointer, so its even addresses are misaligned.
    const acp_atkey_t key = acp_register_memory(own_.data() + 1, 64, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    const acp_ga_t first = acp_query_ga(key, own_.data() + 1);
    for (const AtomicCall& call : atomic_calls()) {
        for (std::size_t at = 0; at < 16; ++at) {
            const bool is_aligned = (at + 1) % call.width == 0;
            EXPECT_EQ(acp_wait(call.issue(ACP_GA_NULL, first + at, 0, 0, ACP_HANDLE_NULL), -1),
                      is_aligned ? ACP_OK : ACP_ERR_ALIGNMENT)
                << call.name << " at " << at;
            acp_clear_errno();
            (void)call.fetch(first + at, 0, 0);
            EXPECT_EQ(acp_errno(), is_aligned ? ACP_OK : ACP_ERR_ALIGNMENT)
                << call.name << " fetches at " << at;
        }
    }
    EXPECT_EQ(acp_unregister_memory(key), 0);
}

TEST_F(Atomics, run_in_the_order_that_their_handles_say) {
    const acp_ga_t word = places_[1].address;
    const acp_ga_t olds = places_[0].address;
    store(1, 0, 1, 8);
    acp_handle_t last = ACP_HANDLE_NULL;
    for (std::size_t i = 0; i < 8; ++i) {
        last = acp_add8(olds + 16 * i, word, i, last);                       // + i
        last = acp_swap8(olds + 16 * i + 8, word, 10 * i, ACP_HANDLE_CONT);  // = 10 i
    }
    ASSERT_EQ(acp_wait(last, -1), ACP_OK) << acp_error_message();
    for (std::size_t i = 0; i < 8; ++i) {
        const U8 before = i == 0 ? 1 : 10 * (i - 1);
        EXPECT_EQ(word_at(0, 16 * i, 8), before) << i;
        EXPECT_EQ(word_at(0, 16 * i + 8, 8), before + i) << i;
    }
    EXPECT_EQ(word_at(1, 0, 8), 70U);
}

TEST_F(Atomics, of_threads_and_of_the_processor_lose_no_change_of_a_word) {
    constexpr U8 turns = 5000;
    constexpr U8 threads = 4;
    const acp_ga_t word = places_[2].address;
    store(2, 0, 0, 8);
    auto* const here = reinterpret_cast<U8*>(places_[2].bytes);
    const auto add = [&](U8 thread) {
        for (U8 i = 0; i < turns; ++i) {
            if (thread == 0) {
                std::atomic_ref<U8>(*here).fetch_add(1);
            } else if (thread == 1) {
                (void)acp_fetch_add8(word, 1);
            } else if (thread == 2) {
                ASSERT_EQ(acp_complete(acp_add8(ACP_GA_NULL, word, 1, ACP_HANDLE_NULL)), 0);
            } else {
                for (U8 old = 0, seen = 1; seen != old;) {
                    old = std::atomic_ref<U8>(*here).load();
                    seen = acp_fetch_cas8(word, old, old + 1);
                }
            }
        }
    };
    std::vector<std::thread> running;
    for (U8 thread = 0; thread < threads; ++thread) running.emplace_back(add, thread);
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(*here, threads * turns);
}

}  // namespace
}  // namespace acp::api::test
