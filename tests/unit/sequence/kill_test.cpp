// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access to a sequence's words: others make progress on
// the same sequence; after recovery every byte is right, completed calls have their effect,
// uncompleted ones have none, and no block leaks.
#include <csignal>
#include <functional>
#include <vector>

#include "sequence_memory.hpp"
#include "support/effort.hpp"
#include "support/kill_scene.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::sequence {
namespace {

using test::helper;
using test::SteppedAtomic;
using test::StruckChild;
using test::victim;

// The distance between the accesses at which the victim is struck.
constexpr std::uint64_t stride = test::effort(std::uint64_t{1}, std::uint64_t{29});

using Stepped = User<SteppedAtomic>;

struct Step {
    std::function<void(Stepped&, BlockNumber)> perform;
    std::function<void(std::string&)> apply;
};

Step push(ContentEnd end, const std::string& text) {
    return {[=](Stepped& user, BlockNumber in) { (void)user.push(in, end, text); },
            [=](std::string& model) {
                model.insert(end == ContentEnd::front ? 0 : model.size(), text);
            }};
}

Step pop(ContentEnd end, std::uint64_t bytes) {
    return {[=](Stepped& user, BlockNumber in) { (void)user.take(in, end, bytes); },
            [=](std::string& model) {
                const std::uint64_t count = std::min<std::uint64_t>(bytes, model.size());
                model.erase(end == ContentEnd::front ? 0 : model.size() - count, count);
            }};
}

Step replace(std::uint64_t at, std::uint64_t bytes, const std::string& text) {
    return {[=](Stepped& user, BlockNumber in) { (void)user.replace(in, at, bytes, text); },
            [=](std::string& model) { model.replace(at, bytes, text); }};
}

// Pushes, pops, wraps around the end, grows, inserts, erases. The texts differ, so that a step done
// twice is detected.
std::vector<Step> steps_of_victim() {
    std::vector<Step> steps;
    steps.push_back(push(ContentEnd::back, "first"));
    steps.push_back(push(ContentEnd::front, "before "));
    steps.push_back(pop(ContentEnd::back, 2));
    steps.push_back(push(ContentEnd::back, "a text that needs room"));  // grows
    steps.push_back(pop(ContentEnd::front, 6));
    steps.push_back(push(ContentEnd::back, ", and so"));
    steps.push_back(replace(3, 0, "<inserted>"));
    steps.push_back(replace(5, 4, ""));
    steps.push_back(push(ContentEnd::front, "!"));
    steps.push_back(replace(9, 1000, ""));  // the end
    steps.push_back(pop(ContentEnd::back, 1000));
    steps.push_back(pop(ContentEnd::back, 1));
    steps.push_back(push(ContentEnd::front, "last words"));
    return steps;
}

struct Scene : test::KillScene<Scene, SharedHeap> {
    Scene() : KillScene(SequenceUsers<SteppedAtomic>::bytes(participants_max)) {
        in = own.sequence.make(SequenceKind::deque, 0, 16);
        own.sequence.keep();
    }

    [[nodiscard]] Stepped user(std::uint32_t number) const {
        return {shared, participants.data(), number};
    }

    void act() {
        Stepped by = user(victim);
        for (const Step& step : steps_of_victim()) {
            step.perform(by, in);
            done->fetch_add(1);
        }
    }

    [[nodiscard]] bool is_shown(std::uint32_t dead, heap::Offset block) const {
        const SequenceUsers<SteppedAtomic> all{participants.data(), participants_max};
        return all[dead].has_made(table::number_of(block));
    }

    static bool recover_structure(Stepped& by, std::uint32_t dead) {
        by.others.set_dead(victim);
        if (dead == helper) by.others.set_dead(helper);
        return by.sequence.recover(dead);
    }

    // The state after the completed steps, or after the next one too.
    void expect_steps_done(const std::string& when) {
        const auto [model, next] = models<std::string>(
            steps_of_victim(), [](std::string& text, const Step& step) { step.apply(text); });
        const std::string found = own.read(in);
        EXPECT_TRUE(found == model || found == next)
            << when << ", after " << done->load() << " steps: " << found;
    }

    void expect_nothing_lost(const std::string& when) {
        EXPECT_TRUE(own.sequence.destroy(in, SequenceKind::deque)) << when;
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    Stepped own = user(test::survivor);
    BlockNumber in = 0;
};

// The victim also makes a sequence.
struct MakerScene : Scene {
    void act() const {
        Stepped by = user(victim);
        const BlockNumber another = by.sequence.make(SequenceKind::vector, 10, 20);
        made->store(another);
        by.sequence.keep();
    }

    SharedPages making{sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* made = reinterpret_cast<std::atomic<std::uint64_t>*>(making.data());
};

// The victim destroys the sequence.
struct DestroyScene : Scene {
    DestroyScene() { (void)own.push(in, ContentEnd::back, std::string(100, 'c')); }

    void act() const {
        Stepped by = user(victim);
        (void)by.sequence.destroy(in, SequenceKind::deque);
    }

    void expect_nothing_left(const std::string& when) {
        if (own.sequence.is_one(in, SequenceKind::deque)) {
            EXPECT_TRUE(own.sequence.destroy(in, SequenceKind::deque)) << when;
        }
        EXPECT_FALSE(own.sequence.destroy(in, SequenceKind::deque)) << when;
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }
};

// Makes every kind of operation on the victim's sequence. Returns the expected content.
std::string live_on(Scene& scene, const std::string& when) {
    std::string model = scene.own.read(scene.in);
    const auto expect = [&](const char* what) {
        const std::string found = scene.own.read(scene.in);
        EXPECT_EQ(found, model) << when << ", " << what;
        model = found;
    };
    EXPECT_EQ(scene.own.push(scene.in, ContentEnd::back, "survivor"), SequenceEffect::done);
    // Before the survivor's first change, the victim's last operation may still be undecided.
    model = scene.own.read(scene.in);
    EXPECT_EQ(model.substr(model.size() - 8), "survivor") << when;
    EXPECT_EQ(scene.own.push(scene.in, ContentEnd::front, "the "), SequenceEffect::done);
    model.insert(0, "the ");
    expect("push");
    EXPECT_EQ(scene.own.take(scene.in, ContentEnd::front, 2), "th") << when;
    model.erase(0, 2);
    expect("pop");
    EXPECT_EQ(scene.own.insert(scene.in, 1, "-in-"), SequenceEffect::done);
    model.insert(1, "-in-");
    expect("insert");
    EXPECT_EQ(scene.own.erase(scene.in, 0, 3), SequenceEffect::done);
    model.erase(0, 3);
    expect("erase");
    EXPECT_EQ(scene.own.push(scene.in, ContentEnd::back, std::string(100, 's')),
              SequenceEffect::done);
    model.append(100, 's');
    expect("growth");
    return model;
}

TEST(Kill, before_any_access_leaves_nothing_half_done_and_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills before every access");
    for (const bool is_survivor_busy : {false, true}) {
        const auto check = [&](Scene& scene, const StruckChild& child) {
            const std::string when = child.when();
            scene.expect_steps_done(when);
            std::string expected = scene.own.read(scene.in);
            if (is_survivor_busy) {
                scene.own.others.set_dead(victim);
                expected = live_on(scene, when);
            }
            scene.recover_victim();
            EXPECT_EQ(scene.own.read(scene.in), expected) << when << ", recovered";
            if (!is_survivor_busy) expected = live_on(scene, when);
            EXPECT_EQ(scene.own.read(scene.in), expected) << when;
            scene.expect_nothing_lost(when);
        };
        test::strike_everywhere<Scene>({SIGKILL}, check);
    }
}

TEST(Kill, before_any_access_of_a_recovery_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries");
    const auto check = [](Scene& scene, const std::string& when) {
        scene.expect_steps_done(when);
        (void)live_on(scene, when);
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<Scene>({SIGKILL, 1, stride}, {SIGKILL}, check);
}

// The victim is stopped, the helper takes the sequence over and is killed while it does; then the
// survivor continues, and after it the victim.
TEST(Kill, before_any_access_of_a_takeover_from_a_stopped_one_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of takeovers");
    const auto take_over = [](Scene& scene) {
        Stepped by = scene.user(helper);
        (void)by.push(scene.in, ContentEnd::back, "helper");
    };
    const auto check = [](Scene& scene, StruckChild& stopped, const StruckChild& killed) {
        const std::string when =
            stopped.when() + ", its takeover killed before " + std::to_string(killed.at());
        scene.own.others.set_dead(helper);
        const std::string expected = live_on(scene, when);
        const bool is_killed = stopped.is_hit() && stopped.at() % 2 != 0;
        if (is_killed) {
            stopped.kill_stopped();
        } else {
            stopped.go_on();
        }
        scene.recover_both();
        if (is_killed) {
            EXPECT_EQ(scene.own.read(scene.in), expected) << when;
        }
        (void)live_on(scene, when);
        scene.expect_nothing_lost(when);
    };
    test::strike_twice<Scene>({SIGSTOP, 1, stride}, {SIGKILL}, take_over, check);
}

TEST(Kill, a_user_stopped_before_any_access_delays_no_other_and_recovers) {
    const test::ScopedWatchdog watchdog("stops before every access");
    const auto check = [](Scene& scene, StruckChild& child) {
        const std::string when = child.when();
        (void)live_on(scene, when);
        const std::uint64_t done_before = scene.done->load();
        std::string expected = scene.own.read(scene.in);
        if (child.is_hit()) {
            child.go_on();
            EXPECT_EQ(scene.done->load(), steps_of_victim().size()) << when;
            // The step in which the victim was stopped has its effect once: before the survivor's
            // operations or after them.
            const std::vector<Step> steps = steps_of_victim();
            std::string other = expected;
            for (std::uint64_t i = done_before; i < steps.size(); ++i) {
                if (i > done_before) steps[i].apply(other);
                steps[i].apply(expected);
            }
            const std::string found = scene.own.read(scene.in);
            EXPECT_TRUE(found == expected || found == other)
                << when << ": " << found << "\nnot " << expected << "\nnor " << other;
        }
        scene.recover_victim();
        scene.expect_nothing_lost(when);
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check);
}

// Without room for a copy the others call again until the stopped one runs.
TEST(Kill, a_user_stopped_in_a_full_heap_makes_no_pop_fail_for_memory) {
    const test::ScopedWatchdog watchdog("stops in a full heap");
    std::uint64_t held = 0;
    const auto check = [&held](Scene& scene, StruckChild& child) {
        const std::string when = child.when();
        const auto pop_one = [&scene] {
            char byte = 0;
            Portion portion;
            return scene.own.sequence.pop(scene.in, {ContentEnd::back, &byte, 1}, portion);
        };
        scene.own.blocks.set_allocations_left(0);
        const SequenceEffect before = pop_one();
        EXPECT_TRUE(before == SequenceEffect::done || before == SequenceEffect::held) << when;
        held += before == SequenceEffect::held ? 1 : 0;
        if (child.is_hit()) {
            child.go_on();
            EXPECT_EQ(pop_one(), SequenceEffect::done) << when;
        }
        scene.own.blocks.set_allocations_left(-1);
        scene.recover_victim();
        (void)live_on(scene, when);
        scene.expect_nothing_lost(when);
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check);
    EXPECT_GT(held, 0U);
}

TEST(Kill, a_kill_during_the_making_of_a_sequence_leaks_none) {
    const test::ScopedWatchdog watchdog("kills of makers");
    const auto recover_once = [](MakerScene& scene) {
        Stepped by = scene.user(helper);
        scene.recover(by, victim);
    };
    const auto check = [](MakerScene& scene, const StruckChild& maker, const StruckChild& killed) {
        scene.recover_both();
        if (!maker.is_hit()) {
            EXPECT_EQ(scene.own.read(scene.made->load()), std::string(10, '\0'));
            EXPECT_TRUE(scene.own.sequence.destroy(scene.made->load(), SequenceKind::vector));
        }
        scene.expect_nothing_lost(maker.when() + ", its recovery before " +
                                  std::to_string(killed.at()));
    };
    test::strike_twice<MakerScene>({SIGKILL}, {SIGKILL}, recover_once, check);
}

TEST(Kill, a_kill_during_the_destruction_of_a_sequence_leaves_nothing_of_it) {
    const test::ScopedWatchdog watchdog("kills of destroyers");
    const auto recover_once = [](DestroyScene& scene) {
        Stepped by = scene.user(helper);
        scene.recover(by, victim);
    };
    const auto check = [](DestroyScene& scene, const StruckChild& destroyer,
                          const StruckChild& killed) {
        scene.recover_both();
        scene.expect_nothing_left(destroyer.when() + ", its recovery before " +
                                  std::to_string(killed.at()));
    };
    test::strike_twice<DestroyScene>({SIGKILL}, {SIGKILL}, recover_once, check);
}

TEST(Kill, a_stop_during_the_destruction_of_a_sequence_delays_no_other) {
    const test::ScopedWatchdog watchdog("stops of destroyers");
    const auto check = [](DestroyScene& scene, StruckChild& child) {
        const bool is_there = scene.own.sequence.is_one(scene.in, SequenceKind::deque);
        EXPECT_EQ(scene.own.sequence.destroy(scene.in, SequenceKind::deque), is_there)
            << child.when();
        child.go_on();
        scene.recover_victim();
        scene.expect_nothing_left(child.when());
    };
    test::strike_everywhere<DestroyScene>({SIGSTOP}, check);
}

}  // namespace
}  // namespace acp::sequence
