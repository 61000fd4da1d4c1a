// SPDX-License-Identifier: BSD-3-Clause
// Delegated system calls of which one side is killed or stopped before each of its accesses to the
// ring: the executor makes each call at most once and with whole arguments, and the device process
// gets one answer.
#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "call/system_call_pack.hpp"
#include "call/system_call_work.hpp"
#include "support/scoped_watchdog.hpp"
#include "support/struck_child.hpp"

namespace acp::call {
namespace {

using test::SteppedAtomic;
using test::StruckChild;

// Memory of the test program, all of which can be accessed.
struct OwnMemory {
    std::uint64_t copy_in(void* to, std::uint64_t from, std::uint64_t bytes) {
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return bytes;
    }

    std::uint64_t copy_out(std::uint64_t to, const void* from, std::uint64_t bytes) {
        std::memcpy(reinterpret_cast<void*>(to), from, bytes);
        return bytes;
    }

    std::uint64_t writable(std::uint64_t, std::uint64_t bytes) { return bytes; }
};

// Shared by the test and its children.
struct Shared {
    RingHead<SteppedAtomic> head;
    std::array<CallSlot<SteppedAtomic>, 1> slots;
    alignas(64) std::array<std::byte, system_call_staging_bytes + system_call_wall_bytes> staging;
};

constexpr std::string_view text = "eight by";

class SystemCallKill : public ::testing::TestWithParam<int> {
protected:
    // A device process and an executor that share a pipe.
    struct Scene {
        Scene() {
            void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            EXPECT_NE(memory, MAP_FAILED);
            shared = new (memory) Shared;
            view = {&shared->head, shared->slots.data(), 1};
            EXPECT_EQ(pipe2(pipe.data(), O_NONBLOCK), 0);
        }

        Scene(const Scene&) = delete;
        Scene& operator=(const Scene&) = delete;

        ~Scene() {
            munmap(shared, sizeof(Shared));
            close(pipe[0]);
            close(pipe[1]);
        }

        void post(RingClient<SteppedAtomic>& client) const {
            OwnMemory memory;
            SystemCallPack<OwnMemory> pack(
                std::span(shared->staging).first(system_call_staging_bytes), memory);
            const auto address = reinterpret_cast<std::uintptr_t>(text.data());
            EXPECT_EQ(pack.stage(SystemCall::write,
                                 {static_cast<std::uint64_t>(pipe[1]), address, text.size()}),
                      Delegation::carried);
            EXPECT_TRUE(client.post(request_of(pack.record())).has_value());
        }

        // Executes all calls that are there.
        void execute() const {
            RingServer<SteppedAtomic> server(view);
            (void)server.begin();
            SystemCallWork work(shared->staging.data());
            while (const auto call = server.next()) {
                EXPECT_TRUE(work.take(record_of(*call)));
                const auto& words = work.words();
                const std::int64_t result = syscall(work.number(), words[0], words[1], words[2]);
                (void)server.answer(*call, CallEnd::returned, static_cast<std::uint64_t>(result));
            }
        }

        // The bytes that the calls have written.
        [[nodiscard]] std::string written() const {
            std::array<char, 100> bytes{};
            const ssize_t count = read(pipe[0], bytes.data(), bytes.size());
            return {bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
        }

        Shared* shared = nullptr;
        RingView<SteppedAtomic> view;
        std::array<int, 2> pipe{};
    };

    test::ScopedWatchdog watchdog_{"a system call of which a side was struck"};
};

TEST_P(SystemCallKill, answers_a_call_whose_executor_was_struck_anywhere) {
    for (std::uint64_t at = 1;; ++at) {
        const Scene scene;
        RingClient<SteppedAtomic> client(scene.view);
        scene.post(client);
        StruckChild child(at, GetParam(), [&] { scene.execute(); });
        if (GetParam() == SIGKILL) {
            scene.execute();  // another executor
        } else {
            child.go_on();
        }
        const auto answer = client.take();
        ASSERT_TRUE(answer.has_value()) << child.when();
        const std::string written = scene.written();
        if (answer->outcome == CallEnd::returned) {
            EXPECT_EQ(answer->result, text.size()) << child.when();
            EXPECT_EQ(written, text) << child.when();
        } else {
            EXPECT_EQ(answer->outcome, CallEnd::ended) << child.when();
            EXPECT_TRUE(written.empty() || written == text) << child.when();
        }
        if (!child.is_hit() || HasFailure()) {
            EXPECT_GT(at, slot_words) << "nothing was struck";
            return;
        }
    }
}

TEST_P(SystemCallKill, executes_whole_calls_of_a_device_process_that_was_struck_anywhere) {
    for (std::uint64_t at = 1;; ++at) {
        const Scene scene;
        StruckChild child(at, GetParam(), [&] {
            RingClient<SteppedAtomic> client(scene.view);
            scene.post(client);
        });
        scene.execute();
        const std::string before = scene.written();
        EXPECT_TRUE(before.empty() || before == text) << child.when();
        child.go_on();
        scene.execute();
        const std::string after = scene.written();
        if (GetParam() == SIGSTOP || !child.is_hit()) {
            EXPECT_EQ(before + after, text) << child.when();
        } else {
            EXPECT_EQ(after, "") << child.when();
        }
        if (!child.is_hit() || HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Signals,
                         SystemCallKill,
                         ::testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& signal) {
                             return signal.param == SIGKILL ? "kill" : "stop";
                         });

}  // namespace
}  // namespace acp::call
