// SPDX-License-Identifier: BSD-3-Clause
// A ring between two processes that have mapped its memory file at different addresses, and between
// two threads: both sleep whenever they wait, without a timer, so that a lost wake hangs the test.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "os/futex.hpp"
#include "os/mapping.hpp"
#include "os/membarrier.hpp"
#include "os/memory_file.hpp"

#include "ring_memory.hpp"
#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::message {
namespace {

constexpr RingKey key{99};
constexpr RingShape shape{4096};
constexpr std::uint64_t bytes_max = shape.payload_bytes_max();
constexpr std::uint64_t records = test::effort(std::uint64_t{50'000}, std::uint64_t{5'000});

using Path = MappedPath<>;

// At the start of the memory: the bells; the ring begins at the next page.
struct Bells {
    sync::Bell<> sender;
    sync::Bell<> receiver;
};

constexpr std::uint64_t ring_at = 4096;

// The memory as one process or thread has it mapped.
struct Sight {
    explicit Sight(char* memory)
        : bells(*reinterpret_cast<Bells*>(memory)),
          fence(os::register_expedited() ? Path::Fence::by_sleeper : Path::Fence::by_each),
          ring(memory + ring_at) {}

    template <typename Look>
    void wait(sync::Bell<>& own, Look is_there) const {
        for (int i = 0; i < 50; ++i) {
            if (is_there()) return;
        }
        for (;;) {
            const std::uint32_t value = own.announce();
            if (fence == Path::Fence::by_sleeper) {
                EXPECT_TRUE(os::expedite());
            } else {
                order.fetch_add(1, std::memory_order_seq_cst);
            }
            if (is_there()) return;
            (void)os::futex_wait(own.word(), value, -1);
        }
    }

    void send_all() const {
        RingSender<Path> sender({ring, bells.receiver, fence}, shape, key);
        std::vector<char> content(bytes_max);
        for (std::uint64_t number = 0; number < records; ++number) {
            NumberedRecord record(number, bytes_max);
            record.write(content.data());
            wait(bells.sender, [&] {
                const SendAttempt outcome = sender.send(content.data(), record.bytes, record.tag);
                if (outcome == SendAttempt::sent_to_sleeper)
                    os::futex_wake(bells.receiver.word(), os::everybody);
                return outcome != SendAttempt::full;
            });
        }
    }

    void receive_all() const {
        RingReceiver<Path> receiver({ring, bells.sender, fence}, shape, key);
        const auto wake = [&](bool is_due) {
            if (is_due) os::futex_wake(bells.sender.word(), os::everybody);
        };
        wake(receiver.open(key));
        for (std::uint64_t number = 0; number < records; ++number) {
            ReceivedRecord found;
            wait(bells.receiver, [&] { return (found = receiver.receive()).data != nullptr; });
            ASSERT_EQ(NumberedRecord(number, bytes_max).check(found), "") << number;
            wake(receiver.release());
        }
    }

    Bells& bells;
    Path::Fence fence;
    char* ring;
    mutable std::atomic<std::uint32_t> order{0};
};

struct File {
    File() {
        auto made = os::create_memory_file("ring", ring_at + shape.bytes());
        EXPECT_TRUE(made.is_ok());
        file = std::move(made).value();
    }

    [[nodiscard]] os::Mapping map() const {
        auto mapped = os::Mapping::map_shared(file.get(), ring_at + shape.bytes());
        EXPECT_TRUE(mapped.is_ok());
        return std::move(mapped).value();
    }

    os::FileDescriptor file;
};

TEST(RingProcess, two_processes_with_other_addresses_pass_records_and_wake_each_other) {
    const test::ScopedWatchdog watchdog("a ring between two processes");
    const File file;
    const os::Mapping here = file.map();
    const pid_t child = fork();
    if (child == 0) {
        const os::Mapping there = file.map();
        EXPECT_NE(there.data(), here.data());
        Sight(there.data()).send_all();
        _exit(testing::Test::HasFailure() ? 3 : 0);
    }
    Sight(here.data()).receive_all();
    if (HasFailure()) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(RingProcess, two_threads_pass_records_and_wake_each_other) {
    const test::ScopedWatchdog watchdog("a ring between two threads");
    const File file;
    const os::Mapping memory = file.map();
    std::thread sender([&] { Sight(memory.data()).send_all(); });
    Sight(memory.data()).receive_all();
    sender.join();
}

}  // namespace
}  // namespace acp::message
