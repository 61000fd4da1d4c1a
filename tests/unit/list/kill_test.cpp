// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access to the words of lists: other users make
// progress at once, at the same elements too; after recovery the lists have all completed
// operations, with or without the last one, and no block leaks.
#include <algorithm>
#include <array>
#include <csignal>

#include "list_memory.hpp"
#include "support/kill_scene.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::list {
namespace {

using test::SteppedAtomic;
using test::StruckChild;
using test::victim;
using Stepped = User<SteppedAtomic>;
using Texts = std::vector<std::string>;
using Model = std::array<Texts, 2>;

enum class Kind : std::uint8_t {
    push_back,
    push_front,
    insert,
    // At a position that is no element.
    insert_nowhere,
    pop_front,
    pop_back,
    take,
    move
};

struct Step {
    Kind kind;
    // One of two; move: the target list.
    std::uint32_t list;
    // Number of the element to insert before, or to take.
    std::uint32_t at = 0;
    // The inserted text; '@': its bytes lie in a block of their own.
    std::string text = {};
    // Move: the source list.
    std::uint32_t from = 0;
    // Move: number of the element in the source list.
    std::uint32_t what = 0;
};

// Every operation, at the ends and in the middle; some empty a list, some are refused.
std::vector<Step> steps_of_victim() {
    return {{Kind::push_back, 0, 0, "one"},
            {Kind::push_back, 0, 0, "@two"},
            {Kind::push_front, 0, 0, "zero"},
            {Kind::insert_nowhere, 0, 1, "nowhere"},
            {Kind::insert_nowhere, 0, 1, "@nowhere"},
            {Kind::insert, 0, 2, "between"},
            {Kind::move, 1, 0, "", 0, 1},
            {Kind::push_back, 1, 0, "@other"},
            {Kind::move, 0, 3, "", 1, 0},
            {Kind::move, 0, 0, "", 0, 2},
            {Kind::move, 0, 1, "", 0, 2},
            {Kind::move, 0, 4, "", 0, 0},
            {Kind::take, 0, 1},
            {Kind::pop_front, 1},
            {Kind::pop_front, 1},
            {Kind::pop_back, 0},
            {Kind::insert, 1, 0, "@last"},
            {Kind::move, 0, 0, "", 1, 0},
            {Kind::pop_front, 0},
            {Kind::pop_back, 0}};
}

void apply(Model& model, const Step& step) {
    Texts& texts = model[step.list];
    const auto at = texts.begin() + step.at;
    switch (step.kind) {
        case Kind::push_back:
            texts.push_back(step.text);
            return;
        case Kind::push_front:
            texts.insert(texts.begin(), step.text);
            return;
        case Kind::insert:
            texts.insert(at, step.text);
            return;
        case Kind::insert_nowhere:
            return;
        case Kind::pop_front:
            if (!texts.empty()) texts.erase(texts.begin());
            return;
        case Kind::pop_back:
            if (!texts.empty()) texts.pop_back();
            return;
        case Kind::take:
            texts.erase(at);
            return;
        case Kind::move:
            break;
    }
    Texts& from = model[step.from];
    const std::string moved = from[step.what];
    const bool is_same = step.list == step.from;
    from.erase(from.begin() + step.what);
    const std::uint32_t shift = is_same && step.at > step.what ? 1 : 0;
    texts.insert(texts.begin() + (step.at - shift), moved);
}

Position position(const Stepped& user, BlockNumber list, std::uint32_t number) {
    Position at = user.first(list);
    for (std::uint32_t i = 0; i < number; ++i) (void)user.lists.next(list, at, at);
    return at;
}

struct Scene : test::KillScene<Scene, SharedHeap> {
    explicit Scene(std::uint32_t batch_of_all)
        : KillScene(ListParticipants<SteppedAtomic>::bytes(participants_max)), batch(batch_of_all) {
        for (BlockNumber& list : lists) list = own.make();
    }

    [[nodiscard]] Stepped user(std::uint32_t number) const {
        return {shared, participants.data(), number, batch};
    }

    void perform(Stepped& user, const Step& step) const {
        const BlockNumber list = lists[step.list];
        Position moved;
        switch (step.kind) {
            case Kind::push_back:
                (void)user.push_back(list, step.text);
                return;
            case Kind::push_front:
                (void)user.push_front(list, step.text);
                return;
            case Kind::insert:
                (void)user.insert(list, position(user, list, step.at), step.text, moved);
                return;
            case Kind::insert_nowhere:
                EXPECT_EQ(
                    user.insert(list, {position(user, list, step.at).node, 0}, step.text, moved),
                    ListEffect::stale);
                return;
            case Kind::pop_front:
                (void)user.pop_front(list);
                return;
            case Kind::pop_back:
                (void)user.pop_back(list);
                return;
            case Kind::take:
                (void)user.take(list, position(user, list, step.at));
                return;
            case Kind::move:
                const BlockNumber from = lists[step.from];
                (void)user.lists.move(list, position(user, list, step.at), from,
                                      position(user, from, step.what), moved);
                return;
        }
    }

    void act() {
        Stepped by = user(victim);
        for (const Step& step : steps_of_victim()) {
            perform(by, step);
            done->fetch_add(1);
        }
        const BlockNumber list = by.make();
        (void)by.push_back(list, "of a list");
        by.destroy(list);
        by.lists.reclaim();
    }

    [[nodiscard]] bool is_shown(std::uint32_t dead, heap::Offset block) const {
        const ListParticipants<SteppedAtomic> all{participants.data(), participants_max};
        return all[dead].has_made(number_of(block)) ||
               all[dead].made_apart.load(std::memory_order_relaxed) == number_of(block);
    }

    // Recovers the victim's lists. A list that it was making or destroying may still exist.
    static bool recover_structure(Stepped& by, std::uint32_t dead) {
        return by.lists.recover(dead, is_dead);
    }

    [[nodiscard]] Model now() const {
        Model found;
        for (std::uint32_t i = 0; i < found.size(); ++i) {
            found[i] = own.texts(lists[i]);
            const Texts back = own.texts(lists[i], false);
            EXPECT_EQ(found[i], Texts(back.rbegin(), back.rend()));
            EXPECT_EQ(found[i].size(), own.lists.size(lists[i]));
        }
        return found;
    }

    void expect_steps_done(const std::string& when) const {
        const auto [model, next] = models<Model>(steps_of_victim(), apply);
        const Model found = now();
        EXPECT_TRUE(found == model || found == next)
            << when << ", after " << done->load() << " steps: " << testing::PrintToString(found)
            << " instead of " << testing::PrintToString(model) << " or "
            << testing::PrintToString(next);
    }

    void expect_nothing_lost(const std::string& when) {
        for (const BlockNumber list : lists) own.destroy(list);
        own.lists.reclaim();
        // The victim's third list, if the kill left it: any process that has its number can destroy
        // it.
        std::uint64_t blocks = 0;
        for (std::uint64_t offset = 0; offset < shared.heap.limit_bytes();
             offset += heap::granule_bytes) {
            const BlockNumber list = number_of(offset);
            if (shared.heap.usable_bytes(offset) == 0 || !own.lists.is_list(list)) continue;
            EXPECT_EQ(done->load(), steps_of_victim().size()) << when;
            own.destroy(list);
            ++blocks;
        }
        EXPECT_LE(blocks, 1U) << when;
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    std::uint32_t batch;
    Stepped own = user(test::survivor);
    std::array<BlockNumber, 2> lists{};
};

// Makes all of the victim's operations, at both ends and next to each element. The survivor's texts
// begin with '+'.
void live_on(Scene& scene, const std::string& when) {
    const std::uint64_t before = scene.own.lists.size(scene.lists[0]);
    for (const BlockNumber list : scene.lists) {
        EXPECT_EQ(scene.own.push_front(list, "+first"), ListEffect::done);
        EXPECT_EQ(scene.own.push_back(list, "+last"), ListEffect::done);
    }
    for (const BlockNumber list : scene.lists) {
        EXPECT_EQ(scene.own.pop_front(list), "+first") << when;
        EXPECT_EQ(scene.own.pop_back(list), "+last") << when;
        for (Position at = scene.own.first(list); at.node != list;) {
            Position made;
            EXPECT_EQ(scene.own.insert(list, at, "+between", made), ListEffect::done) << when;
            const Position element = at;
            ASSERT_EQ(scene.own.lists.next(list, at, at), ListEffect::done) << when;
            ASSERT_EQ(scene.own.lists.move(list, made, list, element, made), ListEffect::done);
        }
    }
    Texts found = scene.own.texts(scene.lists[0]);
    std::erase(found, "+between");
    EXPECT_LE(found.size(), before + 1) << when;
    for (const BlockNumber list : scene.lists) {
        for (Position at = scene.own.first(list); at.node != list;) {
            const Position element = at;
            ASSERT_EQ(scene.own.lists.next(list, at, at), ListEffect::done) << when;
            if (scene.own.text_at(list, element) == "+between") {
                EXPECT_EQ(scene.own.take(list, element), "+between") << when;
            }
        }
    }
}

class Kill : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Kill, before_any_access_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills before every access");
    for (const bool is_survivor_busy : {false, true}) {
        const auto check = [&](Scene& scene, const StruckChild& child) {
            if (is_survivor_busy) live_on(scene, child.when());
            scene.recover_victim();
            scene.expect_steps_done(child.when());
            scene.expect_nothing_lost(child.when());
        };
        test::strike_everywhere<Scene>({SIGKILL}, check, GetParam());
    }
}

TEST_P(Kill, before_any_access_of_a_recovery_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries");
    const auto check = [](Scene& scene, const std::string& when) {
        scene.expect_steps_done(when);
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<Scene>({SIGKILL, 30, 41}, {SIGKILL}, check, GetParam());
}

TEST_P(Kill, a_user_stopped_before_any_access_delays_no_other) {
    const test::ScopedWatchdog watchdog("stops before every access");
    const auto check = [](Scene& scene, StruckChild& child) {
        const std::string when = child.when();
        live_on(scene, when);
        // The survivor helps the victim's operation to its end, and reuses nodes whose numbers the
        // victim has read.
        for (std::uint32_t i = 0; i < 40; ++i) (void)scene.own.push_back(scene.lists[i % 2], "+");
        for (std::uint32_t i = 0; i < 40; ++i)
            EXPECT_EQ(scene.own.pop_back(scene.lists[i % 2]), "+") << when;
        scene.own.lists.reclaim();
        child.go_on();
        scene.expect_steps_done(when);
        scene.recover_victim();
        scene.expect_nothing_lost(when);
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check, GetParam());
}

// Other users help a stopped user's operation to its end and take every element out; the nodes that
// it may still change stay allocated.
TEST_P(Kill, what_a_stopped_user_would_change_is_not_freed) {
    const test::ScopedWatchdog watchdog("stops and memory that is named");
    std::uint32_t looked_at = 0;
    const auto check = [&](Scene& scene, const StruckChild& child) {
        const ListParticipants<SteppedAtomic> all{scene.participants.data(), participants_max};
        const auto& shown = all[victim];
        const auto relaxed = std::memory_order_relaxed;
        const BlockNumber list = shown.lists[0].load(relaxed);
        std::vector<BlockNumber> named;
        if (child.is_hit() && list != 0 && scene.own.lists.is_list(list)) {
            const auto& head = *reinterpret_cast<const ListHead<SteppedAtomic>*>(
                scene.shared.blocks.data() + offset_of(list));
            if (head.turn.load(relaxed) == turn::of(victim, shown.number.load(relaxed))) {
                for (std::uint64_t i = 0; i < shown.change_count.load(relaxed); ++i)
                    named.push_back(place::block_in(shown.changes[i].place.load(relaxed)));
            }
        }
        for (const BlockNumber each : scene.lists) {
            while (!scene.own.pop_front(each).empty()) {
            }
        }
        scene.own.lists.reclaim();
        for (const BlockNumber block : named) {
            EXPECT_NE(scene.shared.heap.usable_bytes(offset_of(block)), 0U) << child.when();
            ++looked_at;
        }
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check, GetParam());
    EXPECT_GT(looked_at, 100U);
}

INSTANTIATE_TEST_SUITE_P(batch, Kill, testing::Values(1, 16));

}  // namespace
}  // namespace acp::list
