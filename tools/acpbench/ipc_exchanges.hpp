// SPDX-License-Identifier: BSD-3-Clause
// The exchanges of the experiment `ipc`: between ranks 0 and 1, and between rank 0 and processes of
// its device, over what the system offers and over ACP. The client's clock times each round. An
// exchange that fails ends the bench with a sentence. Rank 0's main thread; rank 1's in follow().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ipc_device.hpp"
#include "ipc_end/ipc_loops.hpp"
#include "job.hpp"
#include "message_ways.hpp"

namespace acp::bench {

// Where the client and the server run: in ranks (host), or in device processes of rank 0.
enum class IpcPlace { host_host, host_device, device_host, device_device };

// By which call of ACP two ranks exchange messages.
enum class IpcCall : std::uint32_t { copy, channel, pm };

// The board of an end, in the heap of a rank of this node.
class IpcMemory {
public:
    // Allocates it in the own heap, until the rank leaves.   bytes  of each of its two messages
    [[nodiscard]] static IpcMemory of_bytes(std::uint64_t bytes);

    // The one at this address.
    explicit IpcMemory(acp_ga_t address);

    [[nodiscard]] acp_ga_t address() const { return address_; }

    [[nodiscard]] IpcBoard& board() const { return *board_; }

    [[nodiscard]] IpcBuffers buffers() const;

    [[nodiscard]] acp_ga_t in() const { return address_ + board_->in; }

    [[nodiscard]] acp_ga_t out() const { return address_ + board_->out; }

    // No message has been sent.
    void reset() const;

private:
    acp_ga_t address_;
    IpcBoard* board_;
};

class IpcExchanges {
public:
    using Times = std::vector<std::uint64_t>;

    // Collective of all ranks, of which there are 2 or more, on one node.
    //   bytes_max  the most of a message
    IpcExchanges(Job& job, std::uint64_t bytes_max);
    IpcExchanges(const IpcExchanges&) = delete;
    IpcExchanges& operator=(const IpcExchanges&) = delete;
    // At rank 0: rank 1 frees with it what both have made.
    ~IpcExchanges();

    // Rank 1: serves until rank 0 leaves. Others: wait for that.
    void follow();

    // Times of the rounds in ns.
    [[nodiscard]] Times by_system(IpcPlace place,
                                  IpcWay way,
                                  std::uint64_t bytes,
                                  std::uint64_t rounds);

    // By acp_copy: rank 0 copies on behalf of device processes.
    [[nodiscard]] Times by_copy(IpcPlace place, std::uint64_t bytes, std::uint64_t rounds);

    // Between ranks 0 and 1.
    [[nodiscard]] Times by_call(IpcCall call, std::uint64_t bytes, std::uint64_t rounds);

    // Memory of rank 0, and memory that it shares with its device processes.
    [[nodiscard]] const IpcMemory& own_memory() const { return *own_; }

    [[nodiscard]] const IpcMemory& device_memory() const { return devices_[0]->memory; }

private:
    struct Device {
        explicit Device(std::uint64_t bytes) : memory(IpcMemory::of_bytes(bytes)) {}

        IpcMemory memory;
        IpcDevice process;
    };

    // The work that rank 0 gives to rank 1.
    enum class Work : std::uint32_t { nothing, system, call, part };

    int serve(const Order& order);
    void part();
    int run_call(
        IpcCall call, bool is_client, std::uint64_t bytes, std::uint64_t rounds, Times& times);
    int relay(std::uint64_t bytes, std::uint64_t rounds);
    template <typename Run>
    Times with_rank_1(Work work, const std::array<std::uint64_t, 3>& arguments, const Run& run);
    template <typename Run>
    Times with_devices(IpcPlace place, IpcExchange exchange, const Run& run);

    Job& job_;
    std::optional<IpcMemory> own_;     // only at ranks 0 and 1
    std::optional<IpcMemory> others_;  // the other one's
    std::optional<ChannelWay> channel_;
    std::optional<PmWay> pm_;
    std::vector<std::unique_ptr<Device>> devices_;  // only at rank 0
};

}  // namespace acp::bench
