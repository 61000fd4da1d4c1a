// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques of the ranks of one node: against a plain string; the first byte behind the
// content, lengths that no heap has, full heaps, destroyed sequences and addresses of others: each
// is refused by its code and changes nothing. Several ranks push and pop at once.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "data/sequence.hpp"

#include "support/random.hpp"
#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::data {
namespace {

using base::Code;
using sequence::ContentEnd;
using sequence::SequenceKind;

class SequencesTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 3;

    SequencesTest() {
        for (std::uint32_t rank = 0; rank < procs; ++rank)
            sequences_.push_back(
                std::make_unique<Sequences>(*ranks_[rank].gma, *ranks_[rank].allocator));
    }

    [[nodiscard]] Sequences& of(std::uint32_t rank) { return *sequences_[rank]; }

    SequenceName make(SequenceKind kind, std::uint32_t process, std::uint64_t bytes = 0) {
        auto made = of(0).make(process, kind, bytes, 0);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return {made.is_ok() ? made.value() : 0, kind};
    }

    std::string content(std::uint32_t rank, const SequenceName& name) {
        std::string text(1 << 20, '\0');
        auto found = of(rank).read(name, 0, text.data(), text.size());
        EXPECT_TRUE(found.is_ok()) << found.failure().message();
        if (!found.is_ok()) return {};
        EXPECT_EQ(found.value().bytes, found.value().there);
        text.resize(found.value().bytes);
        return text;
    }

    std::uint64_t push(std::uint32_t rank,
                       const SequenceName& name,
                       const std::string& text,
                       ContentEnd end = ContentEnd::back) {
        auto pushed = of(rank).push(name, end, text.data(), text.size());
        EXPECT_TRUE(pushed.is_ok()) << pushed.failure().message();
        return pushed.is_ok() ? pushed.value() : ~std::uint64_t{0};
    }

    acp::test::ScopedWatchdog watchdog_{"sequences of three ranks"};
    acp::test::RankNode ranks_{procs, 1 << 20};
    std::vector<std::unique_ptr<Sequences>> sequences_;
};

TEST_F(SequencesTest, any_calls_of_any_ranks_do_what_a_plain_string_does) {
    const std::uint64_t seed = std::random_device()();
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    acp::test::Random random(seed);
    const auto before = ranks_.used();
    for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
        const SequenceName name = make(kind, 1, 5);
        std::string model(5, '\0');
        for (int step = 0; step < 3000; ++step) {
            Sequences& own = of(static_cast<std::uint32_t>(random.below(procs)));
            const ContentEnd end = kind == SequenceKind::deque && random.chance(50)
                                       ? ContentEnd::front
                                       : ContentEnd::back;
            std::string text(random.below(random.chance(10) ? 3000 : 40),
                             static_cast<char>('a' + step % 26));
            const std::uint64_t what = random.below(6);
            if (what <= 1 && model.size() < 100'000) {
                auto pushed = own.push(name, end, text.data(), text.size());
                ASSERT_TRUE(pushed.is_ok()) << pushed.failure().message();
                ASSERT_EQ(pushed.value(), end == ContentEnd::front ? 0 : model.size());
                model.insert(end == ContentEnd::front ? 0 : model.size(), text);
            } else if (what == 2) {
                const std::uint64_t count = std::min(text.size(), model.size());
                const std::uint64_t at = end == ContentEnd::front ? 0 : model.size() - count;
                std::string target(text.size() + 1, '!');
                const bool is_dropped = random.chance(30);
                auto popped = own.pop(name, end, is_dropped ? nullptr : target.data(), text.size());
                ASSERT_TRUE(popped.is_ok()) << popped.failure().message();
                ASSERT_EQ(popped.value(), count);
                if (!is_dropped) {
                    ASSERT_EQ(target.substr(0, count), model.substr(at, count));
                    ASSERT_EQ(target.substr(count), std::string(text.size() + 1 - count, '!'));
                }
                model.erase(at, count);
            } else if (what == 3) {
                const std::uint64_t index = random.below(model.size() + 3);
                std::string target(text.size() + 1, '!');
                auto found = own.read(name, index, target.data(), text.size());
                ASSERT_TRUE(found.is_ok()) << found.failure().message();
                const std::string expected =
                    index < model.size() ? model.substr(index, text.size()) : "";
                ASSERT_EQ(found.value().there, model.size());
                ASSERT_EQ(found.value().bytes, expected.size());
                ASSERT_EQ(target.substr(0, expected.size()), expected);
                ASSERT_EQ(target[text.size()], '!') << "written behind the room";
            } else if (what == 4) {
                sequence::Splice splice;
                splice.at = random.below(model.size() + 1);
                splice.removed = random.below(60);
                splice.source = text.data();
                splice.added = text.size();
                splice.must_fit = random.chance(50);
                const std::uint64_t removed = std::min(splice.removed, model.size() - splice.at);
                auto changed = own.splice(name, splice);
                if (splice.must_fit && removed != splice.removed) {
                    ASSERT_FALSE(changed.is_ok());
                    ASSERT_EQ(changed.failure().code(), Code::argument);
                    continue;
                }
                ASSERT_TRUE(changed.is_ok()) << changed.failure().message();
                ASSERT_EQ(changed.value(), model.size()) << "the earlier length";
                model.replace(splice.at, removed, text);
            } else {
                ASSERT_EQ(of(2).tell(name, 0, 0).value().bytes, model.size());
            }
            if (step % 300 == 0) {
                ASSERT_EQ(content(0, name), model);
            }
        }
        ASSERT_EQ(content(0, name), model);
        ASSERT_TRUE(of(2).destroy(name).is_ok());
    }
    EXPECT_EQ(ranks_.used(), before) << "bytes of a destroyed sequence stay";
    ranks_.check_heaps();
}

TEST_F(SequencesTest, reads_and_pops_end_at_the_content) {
    for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
        const SequenceName name = make(kind, 1);
        char target[8] = "!!!!!!!";
        for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
            auto found = of(0).read(name, index, target, 4);
            ASSERT_TRUE(found.is_ok());
            EXPECT_EQ(found.value().bytes, 0U);
            EXPECT_EQ(found.value().there, 0U);
        }
        EXPECT_EQ(of(0).pop(name, ContentEnd::back, target, 4).value(), 0U);
        EXPECT_EQ(push(2, name, "abcdef"), 0U);
        EXPECT_EQ(of(0).read(name, 5, target, 4).value().bytes, 1U);
        EXPECT_EQ(target[0], 'f');
        EXPECT_EQ(target[1], '!');
        EXPECT_EQ(of(0).read(name, 6, target, 4).value().bytes, 0U);
        for (const std::uint64_t index : {~std::uint64_t{0}, ~std::uint64_t{0} - 3})
            EXPECT_EQ(of(0).read(name, index, target, 8).value().bytes, 0U)
                << "index + bytes wraps";
        EXPECT_EQ(of(0).tell(name, 2, ~std::uint64_t{0}).value().bytes, 6U);
        EXPECT_EQ(push(0, name, ""), 6U);
        EXPECT_EQ(of(1).pop(name, ContentEnd::back, nullptr, ~std::uint64_t{0}).value(), 6U);
        EXPECT_EQ(content(0, name), "");
    }
}

TEST_F(SequencesTest, a_splice_outside_of_the_content_is_refused_where_it_must_fit) {
    const SequenceName name = make(SequenceKind::vector, 1);
    push(0, name, "abcdef");
    const auto splice = [&](std::uint64_t at, std::uint64_t removed, bool must_fit) {
        sequence::Splice wanted;
        wanted.at = at;
        wanted.removed = removed;
        wanted.source = "XY";
        wanted.added = 2;
        wanted.must_fit = must_fit;
        return of(2).splice(name, wanted);
    };
    for (const auto& [at, removed] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{7, 0},
                                                              {6, 1},
                                                              {0, 7},
                                                              {~std::uint64_t{0}, 0},
                                                              {~std::uint64_t{0}, 2},
                                                              {2, ~std::uint64_t{0}},
                                                              {2, ~std::uint64_t{0} - 1}}) {
        auto refused = splice(at, removed, true);
        ASSERT_FALSE(refused.is_ok()) << at << ", " << removed;
        EXPECT_EQ(refused.failure().code(), Code::argument);
        EXPECT_EQ(content(0, name), "abcdef");
    }
    EXPECT_EQ(splice(6, 0, true).value(), 6U);
    EXPECT_EQ(content(0, name), "abcdefXY");
    EXPECT_EQ(splice(~std::uint64_t{0}, ~std::uint64_t{0}, false).value(), 8U);
    EXPECT_EQ(content(0, name), "abcdefXYXY");
    EXPECT_EQ(splice(0, ~std::uint64_t{0}, false).value(), 10U);
    EXPECT_EQ(content(0, name), "XY");
}

TEST_F(SequencesTest, lengths_that_no_heap_has_are_refused_and_change_nothing) {
    const auto before = ranks_.used();
    for (const std::uint64_t bytes : {std::uint64_t{2} << 20, std::uint64_t{1} << 40,
                                      std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
            EXPECT_EQ(of(0).make(1, kind, bytes, 0).failure().code(), Code::memory) << bytes;
            EXPECT_EQ(of(0).make(1, kind, 0, bytes).failure().code(), Code::memory) << bytes;
        }
    }
    EXPECT_EQ(ranks_.used(), before);
    const SequenceName name = make(SequenceKind::deque, 1);
    push(0, name, "abc");
    const auto with_it = ranks_.used();
    for (const std::uint64_t bytes :
         {std::uint64_t{2} << 20, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        sequence::Splice splice;
        splice.capacity_least = bytes;
        auto refused = of(2).splice(name, splice);
        ASSERT_FALSE(refused.is_ok()) << bytes;
        EXPECT_EQ(refused.failure().code(), Code::memory) << refused.failure().message();
    }
    const std::string text(2 << 20, 't');  // longer than a heap, and readable
    for (const ContentEnd end : {ContentEnd::back, ContentEnd::front})
        EXPECT_EQ(of(0).push(name, end, text.data(), text.size()).failure().code(), Code::memory);
    EXPECT_EQ(content(1, name), "abc");
    EXPECT_EQ(ranks_.used(), with_it);
    ranks_.check_heaps();
}

TEST_F(SequencesTest, a_full_heap_refuses_growth_and_still_gives_bytes_back) {
    for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
        const SequenceName name = make(kind, 1);
        std::string expected;
        const std::string piece(1000, 'p');
        for (;;) {
            auto pushed = of(2).push(name, ContentEnd::back, piece.data(), piece.size());
            if (!pushed.is_ok()) {
                EXPECT_EQ(pushed.failure().code(), Code::memory) << pushed.failure().message();
                break;
            }
            expected += piece;
        }
        ASSERT_GT(expected.size(), 100'000U);
        EXPECT_EQ(content(0, name), expected) << "a refused push changed the content";
        // The heap is full for single bytes too.
        char byte = 'q';
        while (of(0).push(name, ContentEnd::back, &byte, 1).is_ok()) expected += byte;
        EXPECT_EQ(content(1, name), expected);
        std::string target(expected.size(), '\0');
        auto popped = of(0).pop(name, ContentEnd::back, target.data(), target.size());
        ASSERT_TRUE(popped.is_ok()) << popped.failure().message();
        EXPECT_EQ(target, expected);
        push(1, name, "again");
        EXPECT_EQ(content(0, name), "again");
        ASSERT_TRUE(of(0).destroy(name).is_ok());
    }
    ranks_.check_heaps();
}

TEST_F(SequencesTest, a_sequence_that_is_gone_or_of_another_kind_is_refused) {
    const SequenceName vector = make(SequenceKind::vector, 1);
    const SequenceName deque = make(SequenceKind::deque, 1);
    push(0, vector, "vector");
    push(0, deque, "deque");
    auto block = ranks_[1].allocator->allocate(1, 64, 64);
    ASSERT_TRUE(block.is_ok());
    ASSERT_TRUE(ranks_[1].allocator->clear(block.value(), 64).is_ok());
    const SequenceName gone = make(SequenceKind::vector, 2);
    ASSERT_TRUE(of(1).destroy(gone).is_ok());
    const auto expect_refused = [&](const SequenceName& name, Code code, const std::string& words) {
        char target[4] = "!!!";
        const auto expect_it = [&](const base::Status& status) {
            EXPECT_EQ(status.code(), code) << name.address << ": " << status.message();
            EXPECT_NE(std::string(status.message()).find(words), std::string::npos)
                << status.message();
        };
        expect_it(of(0).push(name, ContentEnd::back, "x", 1).failure());
        expect_it(of(0).pop(name, ContentEnd::back, target, 3).failure());
        expect_it(of(0).pop(name, ContentEnd::back, nullptr, 3).failure());
        expect_it(of(0).read(name, 0, target, 3).failure());
        expect_it(of(0).splice(name, {}).failure());
        expect_it(of(0).tell(name, 0, 0).failure());
        expect_it(of(0).destroy(name));
        EXPECT_STREQ(target, "!!!");
    };
    expect_refused({vector.address, SequenceKind::deque}, Code::argument, "is a vector");
    expect_refused({deque.address, SequenceKind::vector}, Code::argument, "is a deque");
    expect_refused(gone, Code::stale, "no vector");
    expect_refused({block.value(), SequenceKind::deque}, Code::stale, "no deque");
    expect_refused({vector.address + 8, SequenceKind::vector}, Code::stale, "no vector");
    expect_refused({vector.address + 1, SequenceKind::vector}, Code::stale, "no vector");
    expect_refused({ranks_[0].gma->space().starter_address(1), SequenceKind::vector}, Code::address,
                   "no heap is there");
    for (const GlobalAddress none : {GlobalAddress{0}, ~GlobalAddress{0}})
        expect_refused({none, SequenceKind::vector}, Code::address, "address");
    EXPECT_EQ(content(2, vector), "vector");
    EXPECT_EQ(content(2, deque), "deque");
    ranks_.check_heaps();
}

TEST_F(SequencesTest, ranks_that_push_and_pop_at_once_get_each_record_once) {
    const SequenceName name = make(SequenceKind::deque, 1);
    constexpr std::uint64_t each = 1500;
    std::atomic<std::uint64_t> taken{0};
    std::vector<std::vector<std::uint64_t>> got(procs);
    acp::test::in_threads(procs, [&](std::uint32_t rank) {
        for (std::uint64_t sent = 0; sent < each || taken.load() < procs * each;) {
            if (sent < each) {
                const std::uint64_t word = rank * each + sent++;
                auto pushed = of(rank).push(name, ContentEnd::back,
                                            reinterpret_cast<const char*>(&word), sizeof word);
                ASSERT_TRUE(pushed.is_ok()) << pushed.failure().message();
                ASSERT_EQ(pushed.value() % sizeof word, 0U) << "a record is torn";
            }
            std::uint64_t word = 0;
            auto popped =
                of(rank).pop(name, ContentEnd::front, reinterpret_cast<char*>(&word), sizeof word);
            ASSERT_TRUE(popped.is_ok()) << popped.failure().message();
            if (popped.value() == 0) continue;
            ASSERT_EQ(popped.value(), sizeof word);
            got[rank].push_back(word);
            ++taken;
        }
    });
    std::vector<std::uint64_t> all;
    for (const auto& words : got) all.insert(all.end(), words.begin(), words.end());
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), procs * each);
    for (std::uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
    ranks_.check_heaps();
}

}  // namespace
}  // namespace acp::data
