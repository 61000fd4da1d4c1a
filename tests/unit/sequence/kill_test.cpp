// SPDX-License-Identifier: BSD-3-Clause
// A process that is killed or stopped before any access to a sequence's words: others go on with the same sequence, and after the
// recovery every byte is right, what was done is there, what was not is not, and no block is lost.
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "sequence_memory.hpp"
#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"
#include "support/stepped_atomic.hpp"

namespace acp::sequence {
namespace {

using test::SteppedAtomic;

constexpr std::uint32_t victim = 0;
constexpr std::uint32_t survivor = 1;
constexpr std::uint32_t helper = 2;

// Before which accesses the victim is struck: each, or an odd number apart.
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

// Pushes, pops, goes around the end, grows, inserts, erases. Each text is another one, so that a step done twice is seen.
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
    steps.push_back(pop(ContentEnd::back, 1000));
    steps.push_back(pop(ContentEnd::back, 1));
    steps.push_back(push(ContentEnd::front, "last words"));
    return steps;
}

struct Scene {
    Scene() {
        in = own.sequence.make(SequenceKind::deque, 0, 16);
        own.sequence.keep();
    }

    void act() {
        Stepped user(shared, participants.data(), victim);
        for (const Step& step : steps_of_victim()) {
            step.perform(user, in);
            done->fetch_add(1);
        }
    }

    void make_another() {
        Stepped user(shared, participants.data(), victim);
        const BlockNumber another = user.sequence.make(SequenceKind::vector, 10, 20);
        made->store(another);
        user.sequence.keep();
    }

    // Finishes what a dead user did, in the heap and in the sequences.
    void recover(Stepped& by, std::uint32_t dead, bool must_end = true) {
        by.others.set_dead(victim);
        if (dead == helper) by.others.set_dead(helper);
        const auto is_dead = [](std::uint32_t number) { return number != survivor; };
        const SequenceUsers<SteppedAtomic> all{participants.data(), participants_max};
        const auto is_stored = [&](heap::Offset block) {
            return all[dead].has_made(table::number_of(block));
        };
        if (!shared.heap.recover(by.blocks.cache(), {dead, 1}, is_dead, is_stored) ||
            (!by.sequence.recover(dead) && must_end)) {
            _exit(4);
        }
    }

    // The state after the steps that were done, or after the next one too.
    void expect_steps_done(const std::string& when) {
        const std::vector<Step> steps = steps_of_victim();
        std::string model;
        for (std::uint64_t i = 0; i < done->load(); ++i) steps[i].apply(model);
        std::string next = model;
        if (done->load() < steps.size()) steps[done->load()].apply(next);
        const std::string found = own.read(in);
        EXPECT_TRUE(found == model || found == next)
            << when << ", after " << done->load() << " steps: " << found;
    }

    void expect_nothing_lost(const std::string& when) {
        EXPECT_TRUE(own.sequence.destroy(in, SequenceKind::deque)) << when;
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    SharedHeap shared;
    SharedPages participants{SequenceUsers<SteppedAtomic>::bytes(participants_max)};
    SharedPages progress{2 * sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* done =
        reinterpret_cast<std::atomic<std::uint64_t>*>(progress.data());
    std::atomic<std::uint64_t>* made = done + 1;
    Stepped own{shared, participants.data(), survivor};
    BlockNumber in = 0;
};

// Runs `what` in a child that gets the signal before its access number `at`. False: it ended before.
template <typename What>
bool child_hit(std::uint64_t at, int signal, pid_t& child, const What& what) {
    child = fork();
    if (child == 0) {
        test::signal_at_step = signal;
        test::steps_left = at;
        what();
        _exit(testing::Test::HasFailure() ? 3 : 0);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (!WIFEXITED(status)) return true;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "access " << at;
    return false;
}

// Every kind of operation, on what the victim left. Returns what must be there.
std::string live_on(Scene& scene, const std::string& when) {
    std::string model = scene.own.read(scene.in);
    const auto expect = [&](const char* what) {
        const std::string found = scene.own.read(scene.in);
        EXPECT_EQ(found, model) << when << ", " << what;
        model = found;
    };
    EXPECT_EQ(scene.own.push(scene.in, ContentEnd::back, "survivor"), SequenceEffect::done);
    // Until the survivor has changed something, what the victim did last may yet be decided.
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
        for (std::uint64_t at = 1; !testing::Test::HasFailure(); ++at) {
            Scene scene;
            pid_t child = 0;
            const bool is_hit = child_hit(at, SIGKILL, child, [&] { scene.act(); });
            const std::string when = "killed before access " + std::to_string(at);
            scene.expect_steps_done(when);
            std::string expected = scene.own.read(scene.in);
            if (is_survivor_busy) {
                scene.own.others.set_dead(victim);
                expected = live_on(scene, when);
            }
            scene.recover(scene.own, victim);
            EXPECT_EQ(scene.own.read(scene.in), expected) << when << ", recovered";
            if (!is_survivor_busy) expected = live_on(scene, when);
            EXPECT_EQ(scene.own.read(scene.in), expected) << when;
            scene.expect_nothing_lost(when);
            if (!is_hit) break;
        }
    }
}

TEST(Kill, before_any_access_of_a_recovery_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries");
    for (std::uint64_t first = 1; !testing::Test::HasFailure(); first += stride) {
        bool is_first_hit = false;
        for (std::uint64_t at = 1; !testing::Test::HasFailure(); ++at) {
            Scene scene;
            pid_t child = 0;
            is_first_hit = child_hit(first, SIGKILL, child, [&] { scene.act(); });
            const bool is_hit = child_hit(at, SIGKILL, child, [&] {
                Stepped by(scene.shared, scene.participants.data(), helper);
                scene.recover(by, victim);
            });
            const std::string when = "killed before access " + std::to_string(first) +
                                     ", its recovery before " + std::to_string(at);
            scene.recover(scene.own, helper, false);
            scene.recover(scene.own, victim);
            scene.recover(scene.own, helper);
            scene.expect_steps_done(when);
            (void)live_on(scene, when);
            scene.expect_nothing_lost(when);
            if (!is_hit) break;
        }
        if (!is_first_hit) return;
    }
}

// The victim is stopped, the helper takes over and is killed in that; the survivor goes on, then the victim.
TEST(Kill, before_any_access_of_a_takeover_from_a_stopped_one_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of takeovers");
    for (std::uint64_t first = 1; !testing::Test::HasFailure(); first += stride) {
        bool is_first_hit = false;
        for (std::uint64_t at = 1; !testing::Test::HasFailure(); ++at) {
            Scene scene;
            pid_t stopped = 0;
            is_first_hit = child_hit(first, SIGSTOP, stopped, [&] { scene.act(); });
            pid_t child = 0;
            const bool is_hit = child_hit(at, SIGKILL, child, [&] {
                Stepped by(scene.shared, scene.participants.data(), helper);
                (void)by.push(scene.in, ContentEnd::back, "helper");
            });
            const std::string when = "stopped before access " + std::to_string(first) +
                                     ", its takeover killed before " + std::to_string(at);
            scene.own.others.set_dead(helper);
            const std::string expected = live_on(scene, when);
            if (is_first_hit) {
                kill(stopped, first % 2 == 0 ? SIGCONT : SIGKILL);
                int status = 0;
                waitpid(stopped, &status, 0);
                EXPECT_TRUE(first % 2 != 0 || status == 0) << when;
            }
            scene.recover(scene.own, helper, false);
            scene.recover(scene.own, victim);
            scene.recover(scene.own, helper);
            if (is_first_hit && first % 2 != 0) {
                EXPECT_EQ(scene.own.read(scene.in), expected) << when;
            }
            (void)live_on(scene, when);
            scene.expect_nothing_lost(when);
            if (!is_hit) break;
        }
        if (!is_first_hit) return;
    }
}

TEST(Kill, a_user_stopped_before_any_access_keeps_nobody_waiting_and_finds_its_way) {
    const test::ScopedWatchdog watchdog("stops before every access");
    for (std::uint64_t at = 1; !testing::Test::HasFailure(); ++at) {
        Scene scene;
        pid_t child = 0;
        const bool is_hit = child_hit(at, SIGSTOP, child, [&] { scene.act(); });
        const std::string when = "stopped before access " + std::to_string(at);
        (void)live_on(scene, when);
        const std::uint64_t done_before = scene.done->load();
        std::string expected = scene.own.read(scene.in);
        if (is_hit) {
            kill(child, SIGCONT);
            int status = 0;
            waitpid(child, &status, 0);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << when;
            EXPECT_EQ(scene.done->load(), steps_of_victim().size()) << when;
            // The step in which it was stopped was done once: before the survivor's or after.
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
        scene.recover(scene.own, victim);
        scene.expect_nothing_lost(when);
        if (!is_hit) return;
    }
}

TEST(Kill, who_is_killed_while_it_makes_a_sequence_leaves_none_that_nobody_knows) {
    const test::ScopedWatchdog watchdog("kills of makers");
    for (std::uint64_t at = 1; !testing::Test::HasFailure(); ++at) {
        bool is_hit = false;
        for (std::uint64_t step = 1; !testing::Test::HasFailure(); ++step) {
            Scene scene;
            pid_t child = 0;
            is_hit = child_hit(at, SIGKILL, child, [&] { scene.make_another(); });
            const bool is_second_hit = child_hit(step, SIGKILL, child, [&] {
                Stepped by(scene.shared, scene.participants.data(), helper);
                scene.recover(by, victim);
            });
            scene.recover(scene.own, helper, false);
            scene.recover(scene.own, victim);
            scene.recover(scene.own, helper);
            if (!is_hit) {
                EXPECT_EQ(scene.own.read(scene.made->load()), std::string(10, '\0'));
                EXPECT_TRUE(scene.own.sequence.destroy(scene.made->load(), SequenceKind::vector));
            }
            scene.expect_nothing_lost("killed before access " + std::to_string(at) +
                                      ", its recovery before " + std::to_string(step));
            if (!is_second_hit) break;
        }
        if (!is_hit) return;
    }
}

}  // namespace
}  // namespace acp::sequence
