// SPDX-License-Identifier: BSD-3-Clause
// A map whose tables are on another node, at each length of key and value at which a request
// changes its way: in the request, in a block that is staged there, or found by a walk. A refused
// step returns its code and leaves no staged block.
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/scoped_watchdog.hpp"
#include "unit/data/two_nodes.hpp"

namespace acp::data::test {
namespace {

using allocator::FindEntry;
using allocator::PutBlock;
using allocator::PutEntry;
using allocator::ReadEntry;
using base::Code;

constexpr std::uint32_t owner = 2;
using RunStep = std::function<void()>;

Bytes bytes_in(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Lengths around those that one request holds.
const std::vector<std::size_t> key_lengths = {1, 64, FindEntry::tail_max, FindEntry::tail_max + 1,
                                              5000};
const std::vector<std::size_t> value_lengths = {
    0, 1, 100, PutEntry::tail_max - 64, PutEntry::tail_max + 1, 20'000};

class FarHashedTest : public testing::Test {
protected:
    FarHashedTest() { map_ = make(ContainerKind::map); }

    ContainerName make(ContainerKind kind) {
        HashedOptions options;
        options.kind = kind;
        options.processes = {owner, owner + 1};
        options.directory_process = owner;
        auto made = here().create(options);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        EXPECT_TRUE(here().begin_use(made.value()).is_ok());
        return made.value();
    }

    [[nodiscard]] Hashed& here() { return *node_[0].hashed; }

    [[nodiscard]] std::uint64_t used() { return node_.used(owner) + node_.used(owner + 1); }

    base::Result<EntryResult> put(const std::string& key,
                                  const std::string& value,
                                  PutMode mode = PutMode::insert) {
        Put put;
        put.key = bytes_in(key);
        put.value = bytes_in(value);
        put.mode = mode;
        return here().put(map_, put, nullptr);
    }

    Effect effect_of(base::Result<EntryResult> result) {
        EXPECT_TRUE(result.is_ok()) << result.failure().message();
        return result.is_ok() ? result.value().effect : Effect::no_room;
    }

    // The value of a key as a rank finds it; "absent" if there is none.
    std::string find(std::uint32_t rank, const std::string& key, std::size_t room = 30'000) {
        std::string value(room, '.');
        auto found = node_[rank].hashed->find(map_, bytes_in(key),
                                              std::as_writable_bytes(std::span(value)), nullptr);
        EXPECT_TRUE(found.is_ok()) << found.failure().message();
        if (!found.is_ok() || found.value().effect != Effect::done) return "absent";
        value.resize(std::min<std::size_t>(room, found.value().value_bytes));
        return value;
    }

    acp::test::ScopedWatchdog watchdog_{"unit_data: a call on another node does not end"};
    TwoNodes node_;
    ContainerName map_;
};

TEST_F(FarHashedTest, each_length_of_key_and_value_is_stored_found_and_erased) {
    const std::uint64_t before = used();
    for (const std::size_t key_bytes : key_lengths) {
        for (const std::size_t value_bytes : value_lengths) {
            const std::string key(key_bytes, 'k');
            const std::string value(value_bytes, static_cast<char>('a' + value_bytes % 20));
            SCOPED_TRACE(std::to_string(key_bytes) + " and " + std::to_string(value_bytes));
            EXPECT_EQ(find(0, key), "absent");
            ASSERT_EQ(effect_of(put(key, value)), Effect::done);
            EXPECT_NE(effect_of(put(key, "other")), Effect::done);  // the key is there
            EXPECT_EQ(find(0, key), value);
            EXPECT_EQ(find(owner, key), value);
            EXPECT_EQ(find(1, key, 10), value.substr(0, 10));
            ASSERT_EQ(effect_of(here().erase(map_, bytes_in(key))), Effect::done);
            EXPECT_EQ(effect_of(here().erase(map_, bytes_in(key))), Effect::absent);
            EXPECT_EQ(find(owner, key), "absent");
        }
    }
    node_.check_heap(owner);
    EXPECT_LE(used(), before + (64 << 10));  // records that are kept to be used again
}

TEST_F(FarHashedTest, keys_that_differ_only_in_their_last_byte_are_different) {
    for (const std::size_t bytes : key_lengths) {
        std::string key(bytes, 'k');
        ASSERT_EQ(effect_of(put(key, "first")), Effect::done);
        key.back() = 'l';
        EXPECT_EQ(find(0, key), "absent");
        ASSERT_EQ(effect_of(put(key, "second")), Effect::done);
        EXPECT_EQ(find(0, key), "second");
        key.back() = 'k';
        EXPECT_EQ(find(0, key), "first");
    }
}

// The staged block is given back, if the operation has not taken it.
TEST_F(FarHashedTest, a_refused_put_of_a_long_value_leaves_no_block) {
    const std::string value(20'000, 'v');
    ASSERT_EQ(effect_of(put("warm", value)), Effect::done);
    const std::uint64_t before = used();
    for (const Code code : {Code::limit, Code::stale}) {
        node_.refuse<PutBlock>(code);
        EXPECT_EQ(put("key", value).failure().code(), code);
        EXPECT_EQ(used(), before);
    }
    node_.intercept<PutBlock>(nullptr);
    EXPECT_EQ(find(0, "key"), "absent");
    EXPECT_EQ(effect_of(put("key", value)), Effect::done);
    EXPECT_EQ(find(0, "key"), value);
}

// The operation has taken the block, and only its answer is lost: the entry keeps it.
TEST_F(FarHashedTest, a_put_whose_answer_is_lost_keeps_the_entry_whole) {
    const std::string value(20'000, 'v');
    node_.intercept<PutBlock>([](NodeAnswer& answer, const RunStep& run) {
        run();
        answer.code = Code::limit;
    });
    EXPECT_EQ(put("key", value).failure().code(), Code::limit);
    EXPECT_EQ(find(0, "key"), value);
    for (int i = 0; i < 20; ++i) (void)node_[owner].allocator->allocate(owner, 20'100, 8);
    EXPECT_EQ(find(0, "key"), value);
    node_.check_heap(owner);
}

// A value that is replaced between the find and the copy of its bytes is looked up again.
TEST_F(FarHashedTest, a_value_that_is_replaced_while_it_is_read_is_read_again) {
    const std::string old(20'000, 'o');
    const std::string replacement(20'000, 'n');
    ASSERT_EQ(effect_of(put("key", old)), Effect::done);
    std::atomic<bool> is_replaced{false};
    node_.intercept<ReadEntry>([&](NodeAnswer&, const RunStep& run) {
        if (!is_replaced.exchange(true)) {
            Put put;
            const std::string key = "key";
            put.key = bytes_in(key);
            put.value = bytes_in(replacement);
            put.mode = PutMode::assign;
            EXPECT_TRUE(node_[owner].hashed->put(map_, put, nullptr).is_ok());
        }
        run();
    });
    EXPECT_EQ(find(0, "key"), replacement);
    EXPECT_TRUE(is_replaced);
}

TEST_F(FarHashedTest, an_answer_that_is_too_short_is_a_mismatch) {
    ASSERT_EQ(effect_of(put("key", "value")), Effect::done);
    const auto cut = [](NodeAnswer& answer, const RunStep& run) {
        run();
        answer.bytes = 3;
    };
    node_.intercept<FindEntry>(cut);
    EXPECT_EQ(here().find(map_, bytes_in("key"), {}, nullptr).failure().code(), Code::mismatch);
    node_.intercept<PutEntry>(cut);
    EXPECT_EQ(put("other", "value").failure().code(), Code::mismatch);
}

TEST_F(FarHashedTest, a_destroyed_container_is_stale_for_ranks_that_have_used_it) {
    ASSERT_EQ(effect_of(put("key", "value")), Effect::done);
    EXPECT_EQ(find(1, "key"), "value");
    ASSERT_TRUE(node_[owner].hashed->destroy(map_).is_ok());
    for (const std::uint32_t rank : {0U, 1U, owner}) {
        const auto found = node_[rank].hashed->find(map_, bytes_in("key"), {}, nullptr);
        EXPECT_EQ(found.failure().code(), Code::stale) << rank;
        EXPECT_EQ(node_[rank].hashed->destroy(map_).code(), Code::stale) << rank;
    }
    const ContainerName next = make(ContainerKind::map);
    EXPECT_NE(next.id, map_.id);
}

TEST_F(FarHashedTest, limits_of_a_request_are_refused_by_name_and_change_nothing) {
    const std::string key(changed_key_bytes_max + 1, 'k');
    EXPECT_EQ(here().change(map_, bytes_in(key), {}, nullptr).failure().code(), Code::limit);
    const std::string expected(compared_value_bytes_max + 1, 'e');
    const std::string other = "key";
    Put put;
    put.key = bytes_in(other);
    put.value = bytes_in(other);
    put.mode = PutMode::replace;
    put.expected = bytes_in(expected);
    EXPECT_EQ(here().put(map_, put, nullptr).failure().code(), Code::limit);
    EXPECT_EQ(find(0, "key"), "absent");
}

TEST_F(FarHashedTest, calls_on_a_lost_node_fail_and_a_container_is_not_made_there) {
    ASSERT_EQ(effect_of(put("key", "value")), Effect::done);
    const std::uint64_t here_before = node_.used(0);
    node_.lose_node(1);
    const std::string value(20'000, 'v');
    EXPECT_EQ(here().find(map_, bytes_in("key"), {}, nullptr).failure().code(), Code::peer);
    EXPECT_EQ(put("key", "other").failure().code(), Code::peer);
    EXPECT_EQ(put("key", value).failure().code(), Code::peer);
    EXPECT_EQ(here().erase(map_, bytes_in("key")).failure().code(), Code::peer);
    EXPECT_EQ(here().destroy(map_).code(), Code::peer);
    HashedOptions options;
    options.processes = {0, owner};  // the table of rank 0 is freed again
    EXPECT_EQ(here().create(options).failure().code(), Code::peer);
    EXPECT_EQ(node_.used(0), here_before);
}

}  // namespace
}  // namespace acp::data::test
