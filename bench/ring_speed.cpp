// SPDX-License-Identifier: BSD-3-Clause
// How long a message takes through a ring of src/message, half a round trip, and how many of 8
// bytes pass one way in a second, beside what lies beneath: a ping-pong of two bare copies through
// shared memory, and a burst through bare lines with a flag each. Two processes, each on a core of
// its own, both polling in the same empty loop; batches of ring and bare copies alternate, so that
// a noisy machine disturbs both alike.
//   ring_speed [bytes of the ring's records, default 16384]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "message/mapped_path.hpp"
#include "message/ring.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"

namespace {

using namespace acp;
using Path = message::MappedPath<>;

constexpr int rounds = 120;
constexpr std::uint64_t burst_messages = 100'000;
constexpr std::uint64_t bare_lines = 256;
constexpr std::uint64_t bytes_most = 4096;

struct alignas(64) Line {
    std::atomic<std::uint64_t> flag;
    char payload[56];
};

struct alignas(64) BareSlot {
    std::atomic<std::uint64_t> flag;
    char payload[bytes_most];
};

// In memory that both processes have mapped; [0] is written by the parent, [1] by the child.
struct Board {
    std::array<Line, 2> arrived;
    std::array<Line, 2> line;
    std::array<BareSlot, 2> slot;
    std::array<Line, bare_lines> burst;
    Line burst_credit;
    alignas(64) std::array<Path::PeerBell, 2> bells;
};

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "ring_speed: %s\n", what);
    std::exit(1);
}

// Where a way of sending keeps its place: a process sends on one and receives on another.
struct BareCopy {
    BareSlot& out;
    BareSlot& in;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;

    void send(const char* source, std::uint64_t bytes) {
        std::memcpy(out.payload, source, bytes);
        out.flag.store(++sent, std::memory_order_release);  // partner: receive()
    }

    void receive(char* target, std::uint64_t bytes) {
        ++received;
        while (in.flag.load(std::memory_order_acquire) != received) {  // partner: send()
        }
        std::memcpy(target, in.payload, bytes);
    }
};

struct RingCopy {
    message::RingSender<Path> out;
    message::RingReceiver<Path> in;

    void send(const char* source, std::uint64_t bytes) {
        while (out.send(source, bytes) == message::SendAttempt::full) {
        }
    }

    void receive(char* target, std::uint64_t /*bytes*/) {
        message::ReceivedRecord found;
        do found = in.receive();
        while (found.data == nullptr);
        std::memcpy(target, found.data, found.bytes);
        (void)in.release();
    }
};

class Bench {
public:
    Bench(char* memory, message::RingShape shape, bool is_parent)
        : board_(*reinterpret_cast<Board*>(memory)),
          me_(is_parent ? 0 : 1),
          bare_{board_.slot[me_], board_.slot[1 - me_]},
          ring_{{path(memory, shape, me_), shape, message::RingKey(1)},
                {path(memory, shape, 1 - me_), shape, message::RingKey(1)}} {
        (void)os::pin_to_cpu(is_parent ? 0 : 1);
        (void)ring_.in.open(message::RingKey(1));
    }

    void run() {
        constexpr std::array<std::uint64_t, 4> sizes{8, 64, 1024, 4096};
        std::array<std::vector<double>, sizes.size()> ratios;
        std::array<std::vector<double>, sizes.size()> bare_ns;
        std::array<std::vector<double>, sizes.size()> ring_ns;
        std::vector<double> line_ns;
        for (int round = 0; round < rounds; ++round) {
            line_ns.push_back(line());
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const int count = sizes[i] <= 64 ? 2'000 : 600;
                const double bare = ping_pong(bare_, sizes[i], count);
                const double ring = ping_pong(ring_, sizes[i], count);
                bare_ns[i].push_back(bare);
                ring_ns[i].push_back(ring);
                ratios[i].push_back(ring / bare);
            }
        }
        std::vector<double> bare_rates;
        std::vector<double> ring_rates;
        for (int round = 0; round < rounds / 2; ++round) {
            bare_rates.push_back(bare_burst());
            ring_rates.push_back(ring_burst());
        }
        if (me_ != 0) return;
        std::printf("a cache line to the other core: %s ns\n", quartiles(line_ns).c_str());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            std::printf("%5llu B: ring %s ns, two bare copies %s ns, ratio %s\n",
                        static_cast<unsigned long long>(sizes[i]), quartiles(ring_ns[i]).c_str(),
                        quartiles(bare_ns[i]).c_str(), quartiles(ratios[i], 2).c_str());
        }
        std::printf("burst of 8 B: ring %s, bare lines %s million messages a second\n",
                    quartiles(ring_rates).c_str(), quartiles(bare_rates).c_str());
    }

private:
    // The ring that process `sender` sends on. As its sender it looks for the other one's bell, as
    // its receiver likewise.
    [[nodiscard]] Path path(char* memory, message::RingShape shape, std::size_t sender) const {
        const std::uint64_t ring_bytes = (shape.bytes() + 4095) / 4096 * 4096;
        return {memory + (sizeof(Board) + 4095) / 4096 * 4096 + sender * ring_bytes,
                board_.bells[1 - me_], Path::Fence::by_sleeper};
    }

    void synchronize() {
        ++meetings_;
        board_.arrived[me_].flag.store(meetings_, std::memory_order_release);
        while (board_.arrived[1 - me_].flag.load(std::memory_order_acquire) < meetings_) {
        }
    }

    // Half a round trip in ns, as this process sees it.
    template <typename Way>
    double ping_pong(Way& way, std::uint64_t bytes, int count) {
        synchronize();
        const std::uint64_t start = os::ticks();
        for (int i = 0; i < count; ++i) {
            if (me_ == 0) {
                std::memcpy(own_.data(), &i, sizeof i);  // what is sent is fresh in the cache
                way.send(own_.data(), bytes);
                way.receive(other_.data(), bytes);
            } else {
                way.receive(other_.data(), bytes);
                way.send(other_.data(), bytes);
            }
        }
        return static_cast<double>(os::ticks() - start) / os::ticks_per_ns() / count / 2;
    }

    double line() {
        constexpr int count = 500;
        synchronize();
        const std::uint64_t start = os::ticks();
        for (int i = 0; i < count; ++i) {
            ++line_value_;
            auto& out = board_.line[me_].flag;
            auto& in = board_.line[1 - me_].flag;
            if (me_ == 0) out.store(line_value_, std::memory_order_release);
            while (in.load(std::memory_order_acquire) != line_value_) {
            }
            if (me_ != 0) out.store(line_value_, std::memory_order_release);
        }
        return static_cast<double>(os::ticks() - start) / os::ticks_per_ns() / count / 2;
    }

    // Million messages of 8 bytes in a second from the parent to the child.
    double ring_burst() {
        synchronize();
        const std::uint64_t start = os::ticks();
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < burst_messages; ++i) {
            if (me_ == 0) {
                ring_.send(reinterpret_cast<const char*>(&i), sizeof i);
            } else {
                std::uint64_t value = 0;
                ring_.receive(reinterpret_cast<char*>(&value), sizeof value);
                sum += value;
            }
        }
        return end_burst(start, sum);
    }

    double bare_burst() {
        synchronize();
        const std::uint64_t start = os::ticks();
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < burst_messages; ++i) {
            const std::uint64_t number = ++burst_number_;
            Line& line = board_.burst[number % bare_lines];
            if (me_ == 0) {
                while (number - burst_credit_ > bare_lines)
                    burst_credit_ = board_.burst_credit.flag.load(std::memory_order_acquire);
                std::memcpy(line.payload, &i, sizeof i);
                line.flag.store(number, std::memory_order_release);
            } else {
                std::uint64_t value = 0;
                while (line.flag.load(std::memory_order_acquire) != number) {
                }
                std::memcpy(&value, line.payload, sizeof value);
                line.flag.store(0, std::memory_order_relaxed);  // as the ring does, see there
                sum += value;
                if (number % (bare_lines / 4) == 0)
                    board_.burst_credit.flag.store(number, std::memory_order_release);
            }
        }
        return end_burst(start, sum);
    }

    double end_burst(std::uint64_t start, std::uint64_t sum) {
        if (me_ == 1 && sum != burst_messages * (burst_messages - 1) / 2)
            fail("a message is wrong");
        synchronize();
        return static_cast<double>(burst_messages) * 1e3 /
               (static_cast<double>(os::ticks() - start) / os::ticks_per_ns());
    }

    // "median (lower .. upper quartile)"
    static std::string quartiles(std::vector<double> sample, int digits = 1) {
        std::sort(sample.begin(), sample.end());
        std::array<char, 64> text{};
        (void)std::snprintf(text.data(), text.size(), "%.*f (%.*f .. %.*f)", digits,
                            sample[sample.size() / 2], digits, sample[sample.size() / 4], digits,
                            sample[sample.size() * 3 / 4]);
        return text.data();
    }

    Board& board_;
    std::size_t me_;
    BareCopy bare_;
    RingCopy ring_;
    std::uint64_t meetings_ = 0;
    std::uint64_t line_value_ = 0;
    std::uint64_t burst_number_ = 0;
    std::uint64_t burst_credit_ = 0;
    alignas(64) std::array<char, bytes_most> own_{};
    alignas(64) std::array<char, bytes_most> other_{};
};

}  // namespace

int main(int count, char** arguments) {
    const message::RingShape shape(count > 1 ? std::strtoull(arguments[1], nullptr, 0) : 16384);
    if (shape.payload_bytes_max() < bytes_most) fail("the ring is too small for 4 KiB");
    const std::uint64_t bytes = sizeof(Board) + 2 * shape.bytes() + 3 * std::uint64_t{4096};
    auto file = os::create_memory_file("ring_speed", bytes);
    if (!file.is_ok()) fail("no memory file");
    auto mapping = os::Mapping::map_shared(file.value().get(), bytes);
    if (!mapping.is_ok()) fail("the memory file cannot be mapped");
    (void)os::ticks_per_ns();
    const pid_t child = fork();
    Bench(mapping.value().data(), shape, child != 0).run();
    if (child != 0) waitpid(child, nullptr, 0);
    return 0;
}
