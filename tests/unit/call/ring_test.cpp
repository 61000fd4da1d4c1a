// SPDX-License-Identifier: BSD-3-Clause
// The call ring under the seeded scheduler: calls run once and in order, answers are whole, a
// cancelled call never runs, no wake is lost, and the death of a side anywhere harms no call but
// one.
#include "call/ring.hpp"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "support/interleave.hpp"

namespace acp::call {
namespace {

namespace sched = test::sched;

using View = RingView<sched::Atomic>;
using Client = RingClient<sched::Atomic>;
using Server = RingServer<sched::Atomic>;

constexpr std::uint64_t seeds = 5'000;

// One client that posts `calls` calls, and a server. The function of call k returns k * 3 + word 1.
struct Scene {
    static constexpr std::uint32_t slot_count = 2;
    static constexpr std::uint64_t calls = 5;

    RingHead<sched::Atomic> head;
    std::array<CallSlot<sched::Atomic>, slot_count> slots;
    View view{&head, slots.data(), slot_count};

    Client client{view};
    std::map<std::uint64_t, int> runs;  // how often each function began
    std::map<std::uint64_t, CallAnswer> answers;
    std::vector<std::uint64_t> order;      // functions, as they began
    std::vector<std::uint64_t> cancelled;  // cancel() has returned `cancelled`
    std::uint64_t served = 0;
    sched::Atomic<std::uint32_t> is_server_dead;
    sched::Atomic<std::uint32_t> is_client_dead;

    [[nodiscard]] static CallRequest request_of(std::uint64_t k) {
        CallRequest request;
        request.target = 1000 + k;
        request.shape = k;
        request.words = {k, 7 * k, 11 * k};
        request.word_count = 3;
        return request;
    }

    void keep_answers() {
        while (const auto answer = client.take()) answers.emplace(answer->ticket, *answer);
    }

    // Sleeps until the oldest call has an answer. false: the server is dead.
    bool await_oldest() {
        while (!client.is_answered(client.oldest())) {
            const std::uint32_t value = head.client_bell.announce();
            sched::fence();
            if (client.is_answered(client.oldest())) break;
            if (is_server_dead.load(std::memory_order_acquire) != 0) return false;
            sched::sleep_while_is(head.client_bell.word(), value);
        }
        return true;
    }

    void post_all(bool cancels) {
        for (std::uint64_t k = 0; k < calls; ++k) {
            std::optional<Posted> posted = client.post(request_of(k));
            while (!posted) {
                if (!await_oldest()) return;
                keep_answers();
                posted = client.post(request_of(k));
            }
            EXPECT_EQ(posted->ticket, k);
            if (posted->is_server_asleep) sched::wake_all(&head.server_bell.word());
            if (cancels && client.cancel(k) == Cancel::cancelled) cancelled.push_back(k);
        }
        while (client.in_flight() != 0) {
            if (!await_oldest()) return;
            keep_answers();
        }
    }

    void run(Server& server, const Server::Claimed& call) {
        bool must_wake = false;
        if (call.is_cancelled()) {
            must_wake = server.answer(call, CallEnd::returned, 0);
        } else {
            const std::uint64_t k = call.ticket();
            ++runs[k];
            order.push_back(k);
            EXPECT_EQ(call.target(), 1000 + k);
            EXPECT_EQ(call.shape(), k);
            EXPECT_EQ(call.word(0), k);
            EXPECT_EQ(call.word(2), 11 * k);
            must_wake = server.answer(call, CallEnd::returned, 3 * k + call.word(1));
        }
        ++served;
        if (must_wake) sched::wake_all(&head.client_bell.word());
    }

    void serve(std::uint64_t until = calls) {
        Server server(view);
        if (server.begin()) sched::wake_all(&head.client_bell.word());
        served = head.answered.peek();
        while (served < until) {
            std::optional<Server::Claimed> call = server.next();
            if (!call) {
                const std::uint32_t value = head.server_bell.announce();
                sched::fence();
                call = server.next();
                if (!call && is_client_dead.load(std::memory_order_acquire) != 0) return;
                if (!call) sched::sleep_while_is(head.server_bell.word(), value);
            }
            if (call) run(server, *call);
        }
    }

    // Reports a death: the flag, both bells, and a wake of all sleepers.
    void report(sched::Atomic<std::uint32_t>& death) {
        death.store(1, std::memory_order_release);
        (void)head.client_bell.ring();
        sched::wake_all(&head.client_bell.word());
        (void)head.server_bell.ring();
        sched::wake_all(&head.server_bell.word());
    }

    void expect_order() const {
        for (std::size_t i = 1; i < order.size(); ++i) EXPECT_LT(order[i - 1], order[i]);
        for (const auto& [k, count] : runs) EXPECT_EQ(count, 1) << "call " << k;
    }

    void expect_answer(std::uint64_t k) const {
        const auto found = answers.find(k);
        ASSERT_NE(found, answers.end()) << "call " << k;
        if (found->second.outcome == CallEnd::returned) {
            EXPECT_EQ(found->second.result, 10 * k);
        }
    }
};

TEST(CallRing, runs_every_call_once_in_order_and_returns_its_result) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(
            sched::run({.seed = seed}, {[&] { scene.post_all(false); }, [&] { scene.serve(); }})
                .failure,
            "");
        EXPECT_EQ(scene.answers.size(), Scene::calls);
        EXPECT_EQ(scene.order.size(), Scene::calls);
        scene.expect_order();
        for (std::uint64_t k = 0; k < Scene::calls; ++k) {
            scene.expect_answer(k);
            EXPECT_EQ(scene.answers.at(k).outcome, CallEnd::returned);
        }
    });
}

TEST(CallRing, never_runs_a_call_that_was_cancelled_and_answers_it_in_its_turn) {
    std::size_t cancelled = 0;
    std::size_t begun = 0;
    sched::for_each_seed(seeds, [&](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(
            sched::run({.seed = seed}, {[&] { scene.post_all(true); }, [&] { scene.serve(); }})
                .failure,
            "");
        EXPECT_EQ(scene.answers.size(), Scene::calls);
        scene.expect_order();
        for (const std::uint64_t k : scene.cancelled) {
            EXPECT_EQ(scene.runs.count(k), 0U) << "call " << k;
            EXPECT_EQ(scene.answers.at(k).outcome, CallEnd::cancelled);
        }
        for (std::uint64_t k = 0; k < Scene::calls; ++k) scene.expect_answer(k);
        EXPECT_EQ(scene.runs.size() + scene.cancelled.size(), Scene::calls);
        cancelled += scene.cancelled.size();
        begun += scene.runs.size();
    });
    EXPECT_GT(cancelled, 0U) << "no seed cancels a call";
    EXPECT_GT(begun, 0U) << "no seed runs a call";
}

TEST(CallRing, ends_at_most_one_call_with_a_server_that_ends_anywhere) {
    sched::for_each_death(1, 200, [](const sched::Options& options) {
        Scene scene;
        sched::Options watched = options;
        if (!options.is_victim_resumed) {
            watched.on_stall = [&] { scene.report(scene.is_server_dead); };
        }
        const sched::Outcome outcome =
            sched::run(watched, {[&] { scene.post_all(false); }, [&] { scene.serve(); }});
        EXPECT_EQ(outcome.failure, "");
        scene.expect_order();
        if (options.is_victim_resumed) return outcome.is_victim_hit;
        // Another server ends the claimed call, and runs the posted ones.
        const std::size_t run_before = scene.runs.size();
        const std::uint64_t posted = scene.client.oldest() + scene.client.in_flight();
        scene.serve(posted);
        scene.keep_answers();
        EXPECT_EQ(scene.answers.size(), posted);
        scene.expect_order();
        std::size_t ended = 0;
        for (std::uint64_t k = 0; k < posted; ++k) {
            scene.expect_answer(k);
            ended += scene.answers.at(k).outcome == CallEnd::ended ? 1U : 0U;
        }
        EXPECT_LE(ended, 1U);
        EXPECT_GE(scene.runs.size() + ended, posted) << run_before << " calls ran before";
        return outcome.is_victim_hit;
    });
}

TEST(CallRing, runs_whole_calls_only_when_the_client_ends_anywhere) {
    sched::for_each_death(0, 200, [](const sched::Options& options) {
        Scene scene;
        sched::Options watched = options;
        if (!options.is_victim_resumed) {
            watched.on_stall = [&] { scene.report(scene.is_client_dead); };
        }
        const sched::Outcome outcome =
            sched::run(watched, {[&] { scene.post_all(true); }, [&] { scene.serve(); }});
        EXPECT_EQ(outcome.failure, "");
        scene.expect_order();
        for (const std::uint64_t k : scene.cancelled) EXPECT_EQ(scene.runs.count(k), 0U);
        return outcome.is_victim_hit;
    });
}

TEST(CallRing, has_room_for_as_many_calls_as_slots_until_answers_are_taken) {
    Scene scene;
    EXPECT_TRUE(scene.client.post(Scene::request_of(0)).has_value());
    EXPECT_TRUE(scene.client.post(Scene::request_of(1)).has_value());
    EXPECT_FALSE(scene.client.post(Scene::request_of(2)).has_value());
    EXPECT_FALSE(scene.client.take().has_value());
    scene.serve(2);
    EXPECT_FALSE(scene.client.post(Scene::request_of(2)).has_value()) << "answered, but not taken";
    EXPECT_EQ(scene.client.take()->ticket, 0U);
    EXPECT_TRUE(scene.client.post(Scene::request_of(2)).has_value());
    EXPECT_EQ(scene.client.in_flight(), 2U);
    EXPECT_EQ(scene.client.oldest(), 1U);
}

TEST(CallRing, shows_what_a_call_has_come_to) {
    Scene scene;
    Server server(scene.view);
    EXPECT_FALSE(server.begin());
    EXPECT_FALSE(server.next().has_value());
    ASSERT_TRUE(scene.client.post(Scene::request_of(0)).has_value());
    EXPECT_FALSE(scene.client.has_begun(0));
    const auto call = server.next();
    ASSERT_TRUE(call.has_value());
    EXPECT_TRUE(scene.client.has_begun(0));
    EXPECT_FALSE(scene.client.is_answered(0));
    EXPECT_FALSE(server.is_asked_to_end(0));
    EXPECT_EQ(scene.client.cancel(0), Cancel::begun);
    EXPECT_TRUE(server.is_asked_to_end(0));
    EXPECT_FALSE(server.is_asked_to_end(1));
    EXPECT_FALSE(server.answer(*call, CallEnd::faulted, 11));
    EXPECT_TRUE(scene.client.is_answered(0));
    EXPECT_TRUE(scene.client.has_begun(0));
    EXPECT_EQ(scene.client.cancel(0), Cancel::over);
    const auto answer = scene.client.take();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->outcome, CallEnd::faulted);
    EXPECT_EQ(answer->result, 11U);
    EXPECT_FALSE(scene.client.take().has_value());
}

TEST(CallRing, cancels_a_call_twice_and_answers_it_as_cancelled_whatever_the_server_says) {
    Scene scene;
    ASSERT_TRUE(scene.client.post(Scene::request_of(0)).has_value());
    EXPECT_EQ(scene.client.cancel(0), Cancel::cancelled);
    EXPECT_EQ(scene.client.cancel(0), Cancel::cancelled);
    EXPECT_FALSE(scene.client.has_begun(0));
    scene.serve(1);
    EXPECT_EQ(scene.client.take()->outcome, CallEnd::cancelled);
    EXPECT_TRUE(scene.runs.empty());
}

TEST(CallRing, counts_its_servers) {
    Scene scene;
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) {
        EXPECT_FALSE(Server(scene.view).begin());
        EXPECT_EQ(scene.head.epoch.peek(), epoch);
    }
}

TEST(CallRing, tells_a_sleeping_side_once) {
    Scene scene;
    (void)scene.head.server_bell.announce();
    EXPECT_TRUE(scene.client.post(Scene::request_of(0))->is_server_asleep);
    EXPECT_FALSE(scene.client.post(Scene::request_of(1))->is_server_asleep);
    Server server(scene.view);
    EXPECT_FALSE(server.begin());
    (void)scene.head.client_bell.announce();
    EXPECT_TRUE(server.answer(*server.next(), CallEnd::returned, 0));
    EXPECT_FALSE(server.answer(*server.next(), CallEnd::returned, 0));
}

TEST(CallRing, has_slot_counts_that_are_powers_of_two_up_to_its_maximum) {
    for (const std::uint64_t good : {1U, 2U, 64U, 4096U}) EXPECT_TRUE(is_slot_count(good)) << good;
    for (const std::uint64_t bad : {0U, 3U, 65U, 4097U, 8192U})
        EXPECT_FALSE(is_slot_count(bad)) << bad;
    EXPECT_EQ(ring_bytes(64), 512U + 64 * 128);
}

}  // namespace
}  // namespace acp::call
