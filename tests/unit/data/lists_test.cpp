// SPDX-License-Identifier: BSD-3-Clause
// Lists of the ranks of one node: against a plain list with elements on every heap; what a full
// heap, a destroyed list, an element that is gone and a wrong address lead to, and that nothing has
// changed then; several ranks that insert and take at once.
#include "data/lists.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "data/ask.hpp"

#include "support/random.hpp"
#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::data {
namespace {

using base::Code;

class ListsTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 3;

    ListsTest() {
        for (std::uint32_t rank = 0; rank < procs; ++rank)
            lists_.push_back(std::make_unique<Lists>(*ranks_[rank].gma, *ranks_[rank].allocator));
    }

    [[nodiscard]] Lists& lists(std::uint32_t rank) { return *lists_[rank]; }

    GlobalAddress make(std::uint32_t process) {
        auto made = lists(0).make(process);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.is_ok() ? made.value() : 0;
    }

    ListPlace push_back(std::uint32_t rank,
                        GlobalAddress list,
                        const std::string& text,
                        std::uint32_t process) {
        auto made = lists(rank).insert(Lists::end_of(list), {text.data(), text.size(), process});
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.is_ok() ? made.value() : ListPlace{};
    }

    // The elements of a list as another rank reads them, in the order of a walk.
    std::vector<std::string> content(std::uint32_t rank, GlobalAddress list, bool is_backward) {
        std::vector<std::string> all;
        for (ListPlace at = Lists::end_of(list);;) {
            auto next = lists(rank).neighbour(at, is_backward);
            EXPECT_TRUE(next.is_ok()) << next.failure().message();
            if (!next.is_ok() || next.value().is_end()) return all;
            at = next.value();
            std::string text(20'000, '\0');
            auto bytes = lists(rank).read(at, text.data(), text.size());
            EXPECT_TRUE(bytes.is_ok()) << bytes.failure().message();
            text.resize(bytes.is_ok() ? bytes.value() : 0);
            all.push_back(text);
        }
    }

    // Allocates all of a heap.
    std::vector<GlobalAddress> fill(std::uint32_t rank) {
        std::vector<GlobalAddress> blocks;
        for (std::uint64_t bytes = 64 * 1024; bytes >= 8; bytes /= 2) {
            for (;;) {
                auto block = ranks_[rank].allocator->allocate(rank, bytes, 8);
                if (!block.is_ok()) break;
                blocks.push_back(block.value());
            }
        }
        return blocks;
    }

    acp::test::ScopedWatchdog watchdog_{"lists of three ranks"};
    acp::test::RankNode ranks_{procs, 1 << 20};
    std::vector<std::unique_ptr<Lists>> lists_;
};

TEST_F(ListsTest, any_calls_of_any_ranks_do_what_a_plain_list_does) {
    const std::uint64_t seed = std::random_device()();
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    acp::test::Random random(seed);
    const std::vector<std::uint64_t> lengths{0, 1, 7, 8, 23, 24, 25, 64, 300, 5000};
    const auto before = ranks_.used();
    const GlobalAddress list = make(1);
    std::list<std::pair<std::string, ListPlace>> model;
    const auto any = [&] {
        auto at = model.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(random.below(model.size() + 1)));
        return at;
    };
    const auto place_of = [&](auto at) {
        return at == model.end() ? Lists::end_of(list) : at->second;
    };
    for (int step = 0; step < 3000; ++step) {
        Lists& own = lists(static_cast<std::uint32_t>(random.below(procs)));
        const std::uint64_t what = random.below(8);
        char room[6000];
        if (what <= 2 || model.size() < 3) {
            const std::string text(lengths[random.below(lengths.size())],
                                   static_cast<char>('a' + step % 26));
            const Lists::Element element{text.data(), text.size(),
                                         static_cast<std::uint32_t>(random.below(procs))};
            const auto at = what == 0 ? model.begin() : any();
            auto made =
                what == 0 ? own.push_front(list, element) : own.insert(place_of(at), element);
            ASSERT_TRUE(made.is_ok()) << made.failure().message();
            model.insert(at, {text, made.value()});
        } else if (what <= 5) {
            auto at = what == 3 ? model.begin() : what == 4 ? std::prev(model.end()) : any();
            if (at == model.end()) --at;
            const std::uint64_t room_bytes = random.below(sizeof room);
            std::fill(std::begin(room), std::end(room), '!');
            auto taken = what == 3   ? own.take_first(list, room, room_bytes)
                         : what == 4 ? own.take_last(list, room, room_bytes)
                                     : own.take(at->second, room, room_bytes);
            ASSERT_TRUE(taken.is_ok()) << taken.failure().message();
            ASSERT_TRUE(taken.value().is_there);
            ASSERT_EQ(taken.value().bytes, at->first.size());
            const std::uint64_t copied = std::min<std::uint64_t>(room_bytes, at->first.size());
            ASSERT_EQ(std::string(room, copied), at->first.substr(0, copied));
            ASSERT_EQ(room[copied], '!') << "written behind the room";
            at = model.erase(at);
            ASSERT_EQ(taken.value().next, place_of(at));
        } else if (what == 6) {
            auto from = any();
            if (from == model.end()) --from;
            const auto to = any();
            auto moved = own.move(place_of(to), from->second);
            ASSERT_TRUE(moved.is_ok()) << moved.failure().message();
            from->second = moved.value();
            if (to != from) model.splice(to, model, from);
        } else {
            auto size = own.size(list);
            ASSERT_TRUE(size.is_ok());
            ASSERT_EQ(size.value(), model.size());
        }
        if (step % 500 != 0) continue;
        std::vector<std::string> expected;
        for (const auto& [text, place] : model) expected.push_back(text);
        ASSERT_EQ(content(2, list, false), expected);
        std::reverse(expected.begin(), expected.end());
        ASSERT_EQ(content(0, list, true), expected);
    }
    ASSERT_TRUE(lists(2).destroy(list).is_ok());
    EXPECT_EQ(ranks_.used(), before) << "bytes of a destroyed list stay";
    ranks_.check_heaps();
}

TEST_F(ListsTest, an_empty_list_has_no_element_to_take) {
    const GlobalAddress list = make(0);
    char room = '!';
    EXPECT_FALSE(lists(1).take_first(list, &room, 1).value().is_there);
    EXPECT_FALSE(lists(1).take_last(list, &room, 1).value().is_there);
    EXPECT_EQ(lists(1).take(Lists::end_of(list), &room, 1).failure().code(), Code::argument);
    EXPECT_EQ(room, '!');
    EXPECT_TRUE(lists(1).neighbour(Lists::end_of(list), false).value().is_end());
    EXPECT_EQ(lists(1).clear(list, 5).value(), 0U);
    EXPECT_EQ(lists(1).size(list).value(), 0U);
    EXPECT_TRUE(lists(1).stretch(Lists::end_of(list), false, 10).value().is_at_end);
    push_back(0, list, "x", 0);
    auto taken = lists(1).take_first(list, nullptr, 0);
    ASSERT_TRUE(taken.is_ok());
    EXPECT_EQ(taken.value().bytes, 1U);
    EXPECT_TRUE(taken.value().next.is_end());
}

TEST_F(ListsTest, an_element_that_is_gone_and_a_list_that_is_gone_are_stale) {
    const GlobalAddress list = make(1);
    const ListPlace kept = push_back(0, list, "kept", 2);
    const ListPlace gone = push_back(0, list, "gone", 2);
    ASSERT_TRUE(lists(1).take(gone, nullptr, 0).is_ok());
    const std::string text = "more";
    const Lists::Element element{text.data(), text.size(), 0};
    const auto expect_stale = [&](const ListPlace& at) {
        char room[8];
        EXPECT_EQ(lists(0).take(at, room, 8).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).read(at, room, 8).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).content(at).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).neighbour(at, false).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).neighbour(at, true).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).stretch(at, false, 3).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).insert(at, element).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).move(at, kept).failure().code(), Code::stale);
        EXPECT_EQ(lists(0).move(kept, at).failure().code(), Code::stale);
    };
    const auto before = ranks_.used();
    expect_stale(gone);
    EXPECT_EQ(ranks_.used(), before) << "bytes of an element that was not inserted stay";
    EXPECT_EQ(content(2, list, false), (std::vector<std::string>{"kept"}));
    // The node is used again: an old place must not name the new element.
    for (int i = 0; i < 50; ++i) {
        const ListPlace again = push_back(0, list, "again", 2);
        EXPECT_EQ(lists(1).take(gone, nullptr, 0).failure().code(), Code::stale);
        ASSERT_TRUE(lists(1).take(again, nullptr, 0).is_ok());
    }
    ASSERT_TRUE(lists(2).destroy(list).is_ok());
    expect_stale(kept);
    EXPECT_EQ(lists(1).destroy(list).code(), Code::stale);
    EXPECT_EQ(lists(1).size(list).failure().code(), Code::stale);
    EXPECT_EQ(lists(1).clear(list, 1).failure().code(), Code::stale);
    EXPECT_EQ(lists(1).push_front(list, element).failure().code(), Code::stale);
    EXPECT_EQ(lists(1).take_first(list, nullptr, 0).failure().code(), Code::stale);
    EXPECT_EQ(lists(1).gather(list, {}).code(), Code::ok) << "there is nothing to move";
}

TEST_F(ListsTest, an_address_that_no_list_has_is_refused_and_nothing_is_written) {
    auto block = ranks_[1].allocator->allocate(1, 256, 64);
    ASSERT_TRUE(block.is_ok());
    ASSERT_TRUE(ranks_[1].allocator->clear(block.value(), 256).is_ok());
    const std::uint64_t heap_end =
        ranks_[0].allocator->start_of(1) + ranks_.segment().shape().heap_bytes;
    const std::string text = "text";
    for (const GlobalAddress address :
         {GlobalAddress{0}, GlobalAddress{1}, ~GlobalAddress{0}, GlobalAddress{1} << 63,
          block.value(), block.value() + 1, block.value() + 8, heap_end, heap_end - 8,
          ranks_[0].gma->space().starter_address(1)}) {
        const auto expect_none = [address](const base::Status& status) {
            EXPECT_TRUE(status.code() == Code::stale || status.code() == Code::address)
                << address << ": " << status.message();
            const std::string message(status.message());
            EXPECT_TRUE(message.find("list") != std::string::npos ||
                        message.find("global address") != std::string::npos)
                << message;
        };
        const Lists::Element element{text.data(), text.size(), 0};
        expect_none(lists(0).destroy(address));
        expect_none(lists(0).push_front(address, element).failure());
        expect_none(lists(0).insert(Lists::end_of(address), element).failure());
        expect_none(lists(0).take_first(address, nullptr, 0).failure());
        expect_none(lists(0).size(address).failure());
        expect_none(lists(0).clear(address, 1).failure());
        expect_none(lists(0).neighbour(Lists::end_of(address), false).failure());
    }
    char zeros[256];
    ASSERT_TRUE(get(*ranks_[0].gma, zeros, block.value(), sizeof zeros).is_ok());
    EXPECT_TRUE(std::all_of(std::begin(zeros), std::end(zeros), [](char c) { return c == 0; }));
    ranks_.check_heaps();
}

TEST_F(ListsTest, a_full_heap_refuses_elements_and_leaves_lists_as_they_were) {
    const GlobalAddress list = make(1);
    const GlobalAddress other = make(2);
    const ListPlace first = push_back(0, other, std::string(300, 'm'), 2);
    push_back(0, list, "old", 0);
    const std::vector<GlobalAddress> filling = fill(1);
    const std::string text(500, 'n');
    // The list may have room of its own for a few elements.
    std::vector<std::string> kept{"old"};
    for (const std::uint32_t process : {1U, 0U}) {
        while (kept.size() < 1000 &&
               lists(0).insert(Lists::end_of(list), {text.data(), 8, process}).is_ok())
            kept.emplace_back(8, 'n');
    }
    ASSERT_LT(kept.size(), 1000U);
    const auto before = ranks_.used();
    // Its bytes, then only its node, have no room.
    for (const std::uint32_t process : {1U, 0U, 2U}) {
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{500}}) {
            auto made = lists(0).insert(Lists::end_of(list), {text.data(), bytes, process});
            ASSERT_FALSE(made.is_ok());
            EXPECT_EQ(made.failure().code(), Code::memory) << made.failure().message();
            EXPECT_EQ(lists(2).push_front(list, {text.data(), bytes, process}).failure().code(),
                      Code::memory);
        }
    }
    EXPECT_EQ(lists(0).make(1).failure().code(), Code::memory);
    auto moved = lists(0).move(Lists::end_of(list), first);
    ASSERT_FALSE(moved.is_ok());
    EXPECT_EQ(moved.failure().code(), Code::memory) << moved.failure().message();
    EXPECT_EQ(ranks_.used(), before);
    EXPECT_EQ(content(2, list, false), kept);
    EXPECT_EQ(content(1, other, false), (std::vector<std::string>{std::string(300, 'm')}))
        << "an element that cannot be moved stays in its list";
    for (const GlobalAddress block : filling) ASSERT_TRUE(ranks_[1].allocator->free(block).is_ok());
    push_back(0, list, "new", 1);
    kept.emplace_back("new");
    EXPECT_EQ(content(2, list, false), kept);
    ranks_.check_heaps();
}

TEST_F(ListsTest, an_element_longer_than_any_heap_is_refused) {
    const GlobalAddress list = make(1);
    const std::string text(2 << 20, 'l');  // longer than a heap, and readable
    for (const std::uint32_t process : {0U, 1U}) {
        auto made = lists(2).insert(Lists::end_of(list), {text.data(), text.size(), process});
        ASSERT_FALSE(made.is_ok());
        EXPECT_EQ(made.failure().code(), Code::memory) << made.failure().message();
    }
    EXPECT_EQ(lists(0).size(list).value(), 0U);
    ranks_.check_heaps();
}

TEST_F(ListsTest, stretches_gather_and_erase_skip_what_is_gone) {
    const GlobalAddress list = make(1);
    const GlobalAddress to = make(1);
    std::vector<ListPlace> places;
    for (int i = 0; i < 10; ++i)
        places.push_back(push_back(0, list, std::string(1, static_cast<char>('0' + i)), 0));
    auto some = lists(2).stretch(Lists::end_of(list), false, 4, 1);
    ASSERT_TRUE(some.is_ok());
    ASSERT_EQ(some.value().elements.size(), 4U);
    EXPECT_FALSE(some.value().is_at_end);
    EXPECT_EQ(some.value().elements[3].at, places[3]);
    auto rest = lists(2).stretch(places[7], false, 4);
    ASSERT_TRUE(rest.is_ok());
    EXPECT_EQ(rest.value().elements.size(), 2U);
    EXPECT_TRUE(rest.value().is_at_end);
    auto back = lists(2).stretch(places[1], true, 9);
    ASSERT_TRUE(back.is_ok());
    ASSERT_EQ(back.value().elements.size(), 1U);
    EXPECT_EQ(back.value().elements[0].at, places[0]);
    ASSERT_TRUE(lists(1).take(places[4], nullptr, 0).is_ok());
    const std::vector<ListPlace> moved{places[9], places[4], places[2]};
    ASSERT_TRUE(lists(0).gather(to, moved).is_ok());
    EXPECT_EQ(content(0, to, false), (std::vector<std::string>{"9", "2"}));
    const std::vector<ListPlace> erased{places[0], places[4], places[5]};
    ASSERT_TRUE(lists(0).erase(list, erased).is_ok());
    EXPECT_EQ(content(0, list, false), (std::vector<std::string>{"1", "3", "6", "7", "8"}));
    EXPECT_EQ(lists(0).clear(list, 2).value(), 2U);
    EXPECT_EQ(content(0, list, false), (std::vector<std::string>{"6", "7", "8"}));
    EXPECT_EQ(lists(0).clear(list, 100).value(), 3U);
}

TEST_F(ListsTest, each_element_is_taken_once_and_in_the_order_of_its_sender) {
    const GlobalAddress list = make(1);
    constexpr std::uint64_t each = 2000;
    std::atomic<std::uint64_t> taken{0};
    std::vector<std::vector<std::uint64_t>> got(procs);
    acp::test::in_threads(procs, [&](std::uint32_t rank) {
        std::uint64_t sent = 0;
        while (sent < each || taken.load() < procs * each) {
            if (sent < each) {
                const std::uint64_t word = rank * each + sent++;
                auto made = lists(rank).insert(Lists::end_of(list), {&word, 8, (rank + 1) % procs});
                ASSERT_TRUE(made.is_ok()) << made.failure().message();
            }
            std::uint64_t word = 0;
            auto first = lists(rank).take_first(list, &word, 8);
            ASSERT_TRUE(first.is_ok()) << first.failure().message();
            if (!first.value().is_there) continue;
            got[rank].push_back(word);
            ++taken;
        }
    });
    std::vector<std::uint64_t> all;
    for (const auto& words : got) {
        std::map<std::uint64_t, std::uint64_t> last;  // the last element of each sender
        for (const std::uint64_t word : words) {
            const auto [at, is_first] = last.try_emplace(word / each, word);
            EXPECT_TRUE(is_first || at->second < word) << "an element overtook another one";
            at->second = word;
        }
        all.insert(all.end(), words.begin(), words.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), procs * each);
    for (std::uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
    ranks_.check_heaps();
}

}  // namespace
}  // namespace acp::data
