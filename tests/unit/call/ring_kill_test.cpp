// SPDX-License-Identifier: BSD-3-Clause
// The call ring between processes, one of which is killed or stopped before each of its accesses to
// the ring: every call that was posted gets one answer, and no function runs twice.
#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include "call/ring.hpp"
#include "support/scoped_watchdog.hpp"
#include "support/struck_child.hpp"

namespace acp::call {
namespace {

using test::SteppedAtomic;
using test::StruckChild;

constexpr std::uint32_t slot_count = 4;
constexpr std::uint64_t calls = 3;

// Shared by the test and its children.
struct Shared {
    RingHead<SteppedAtomic> head;
    std::array<CallSlot<SteppedAtomic>, slot_count> slots;
    std::array<std::atomic<std::uint32_t>, slot_count> runs;  // runs of each function
};

class CallRingKill : public ::testing::TestWithParam<int> {
protected:
    struct Scene {
        Scene() {
            void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            EXPECT_NE(memory, MAP_FAILED);
            shared = new (memory) Shared();
            view = {&shared->head, shared->slots.data(), slot_count};
        }

        Scene(const Scene&) = delete;
        Scene& operator=(const Scene&) = delete;

        ~Scene() { munmap(shared, sizeof(Shared)); }

        void post(RingClient<SteppedAtomic>& client, std::uint64_t k) const {
            CallRequest request;
            request.target = k + 100;
            request.words = {k};
            request.word_count = 1;
            EXPECT_TRUE(client.post(request).has_value());
        }

        // Runs all calls that are there.
        void serve() const {
            RingServer<SteppedAtomic> server(view);
            (void)server.begin();
            while (const auto call = server.next()) {
                if (!call->is_cancelled()) {
                    EXPECT_EQ(call->target(), call->word(0) + 100);
                    shared->runs[call->word(0)].fetch_add(1, std::memory_order_relaxed);
                }
                (void)server.answer(*call, CallEnd::returned, 5 * call->word(0));
            }
        }

        Shared* shared = nullptr;
        RingView<SteppedAtomic> view;
    };

    static void expect_each_answered_once(const Scene& scene,
                                          RingClient<SteppedAtomic>& client,
                                          std::uint64_t posted,
                                          const std::string& when) {
        std::uint64_t ended = 0;
        for (std::uint64_t k = 0; k < posted; ++k) {
            const auto answer = client.take();
            ASSERT_TRUE(answer.has_value()) << when << ", call " << k;
            const std::uint32_t runs = scene.shared->runs[k].load(std::memory_order_relaxed);
            EXPECT_LE(runs, 1U) << when << ", call " << k;
            if (answer->outcome == CallEnd::ended) {
                ++ended;
            } else {
                EXPECT_EQ(answer->outcome, CallEnd::returned) << when << ", call " << k;
                EXPECT_EQ(runs, 1U) << when << ", call " << k;
                EXPECT_EQ(answer->result, 5 * k) << when;
            }
        }
        EXPECT_FALSE(client.take().has_value());
        EXPECT_LE(ended, 1U) << when;
    }

    test::ScopedWatchdog watchdog_{"a call ring of which a process was struck"};
};

TEST_P(CallRingKill, answers_every_call_after_a_server_was_struck_anywhere) {
    for (std::uint64_t at = 1;; ++at) {
        const Scene scene;
        RingClient<SteppedAtomic> client(scene.view);
        for (std::uint64_t k = 0; k < calls; ++k) scene.post(client, k);
        StruckChild child(at, GetParam(), [&] { scene.serve(); });
        if (GetParam() == SIGKILL) {
            scene.serve();  // another server
        } else {
            child.go_on();
        }
        expect_each_answered_once(scene, client, calls, child.when());
        if (!child.is_hit() || HasFailure()) {
            EXPECT_GT(at, 3 * calls) << "nothing was struck";
            return;
        }
    }
}

TEST_P(CallRingKill, goes_on_to_post_after_a_server_was_struck_anywhere) {
    for (std::uint64_t at = 1;; ++at) {
        const Scene scene;
        RingClient<SteppedAtomic> client(scene.view);
        scene.post(client, 0);
        StruckChild child(at, GetParam(), [&] { scene.serve(); });
        scene.post(client, 1);
        if (client.is_answered(0)) {
            (void)client.take();
            for (std::uint64_t k = 2; k < slot_count; ++k) scene.post(client, k);
        }
        child.kill_stopped();
        const std::uint64_t in_flight = client.in_flight();
        scene.serve();
        for (std::uint64_t k = 0; k < in_flight; ++k)
            EXPECT_TRUE(client.take().has_value()) << child.when();
        for (const auto& runs : scene.shared->runs)
            EXPECT_LE(runs.load(std::memory_order_relaxed), 1U) << child.when();
        if (!child.is_hit() || HasFailure()) return;
    }
}

TEST_P(CallRingKill, runs_what_a_client_had_posted_when_it_was_struck_anywhere) {
    for (std::uint64_t at = 1;; ++at) {
        const Scene scene;
        StruckChild child(at, GetParam(), [&] {
            RingClient<SteppedAtomic> client(scene.view);
            for (std::uint64_t k = 0; k < calls; ++k) scene.post(client, k);
            (void)client.cancel(calls - 1);
        });
        scene.serve();
        child.go_on();
        scene.serve();
        std::uint64_t run = 0;
        for (std::uint64_t k = 0; k < calls; ++k) {
            const std::uint32_t runs = scene.shared->runs[k].load(std::memory_order_relaxed);
            EXPECT_LE(runs, 1U) << child.when();
            EXPECT_EQ(run, runs == 0 ? run : k) << "in order, " << child.when();
            run += runs;
        }
        if (GetParam() == SIGSTOP || !child.is_hit()) {
            EXPECT_GE(run, calls - 1) << child.when();
        }
        if (!child.is_hit() || HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Signals,
                         CallRingKill,
                         ::testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& signal) {
                             return signal.param == SIGKILL ? "kill" : "stop";
                         });

}  // namespace
}  // namespace acp::call
