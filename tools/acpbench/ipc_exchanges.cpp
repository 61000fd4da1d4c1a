// SPDX-License-Identifier: BSD-3-Clause
// Beginning both ends of an exchange, and the copies between boards.
#include "ipc_exchanges.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace acp::bench {

namespace {

constexpr std::uint64_t arrived_at = offsetof(IpcBoard, arrived);
constexpr std::uint64_t sent_at = offsetof(IpcBoard, sent);

//   failed  an errno value; 0: none
void must_be_done(int failed, const char* where) {
    if (failed != 0)
        give_up("an exchange of messages failed at " + std::string(where) + ": " +
                std::strerror(failed));
}

// A folder for the names of an exchange, which leaves with it.
class ExchangeFolder {
public:
    ExchangeFolder() {
        std::error_code error;
        std::string wanted =
            (std::filesystem::temp_directory_path(error) / "acpbench-XXXXXX").string();
        if (error || mkdtemp(wanted.data()) == nullptr)
            give_up("cannot make a folder for pipes and sockets: " +
                    std::string(error ? error.message() : std::strerror(errno)));
        path_ = wanted;
    }

    ExchangeFolder(const ExchangeFolder&) = delete;
    ExchangeFolder& operator=(const ExchangeFolder&) = delete;

    ~ExchangeFolder() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Moves messages between the board of a rank and another end's, which may be in a device process.
class CopyLink {
public:
    //   device  in which the other end runs; nullptr: in another rank
    CopyLink(const IpcMemory& own, const IpcMemory& other, IpcDevice* device)
        : own_(own), other_(other), device_(device) {}

    int send(std::uint64_t round, const char* /*data*/, std::uint64_t bytes) const {
        copy_message(own_, own_.out(), other_, bytes, round);
        return 0;
    }

    // Another rank copies its messages here. Those of a device process are fetched.
    int receive(std::uint64_t round, char* /*data*/, std::uint64_t bytes) const {
        if (device_ != nullptr) return fetch(round, bytes);
        const auto& arrived = own_.board().arrived;
        // acquire: the bytes of the message; partner: copy_message()
        look_until([&] { return arrived.load(std::memory_order_acquire) == round + 1; });
        return 0;
    }

    // Copies a message to a board, and then its number.   own  of this rank: its word `sent`
    static void copy_message(const IpcMemory& own,
                             acp_ga_t message,
                             const IpcMemory& to,
                             std::uint64_t bytes,
                             std::uint64_t round) {
        own.board().sent.store(round + 1, std::memory_order_relaxed);
        const acp_handle_t order = acp_copy(to.in(), message, bytes, ACP_HANDLE_NULL);
        (void)acp_copy(to.address() + arrived_at, own.address() + sent_at, sizeof round, order);
    }

    // Waits until a device's end has sent a message. false: it has ended before.
    static bool await_sent(const IpcMemory& memory, std::uint64_t round, IpcDevice& device) {
        const auto& sent = memory.board().sent;
        // acquire: the bytes of the message; partner: the end
        const auto is_there = [&] { return sent.load(std::memory_order_acquire) == round + 1; };
        std::uint32_t looks = 0;
        look_until([&] {
            constexpr std::uint32_t looks_at_word = 1U << 16;
            return is_there() || (++looks % looks_at_word == 0 && device.has_ended());
        });
        return is_there();
    }

private:
    [[nodiscard]] int fetch(std::uint64_t round, std::uint64_t bytes) const {
        if (!await_sent(other_, round, *device_)) return EPIPE;
        acp_complete(acp_copy(own_.in(), other_.out(), bytes, ACP_HANDLE_NULL));
        return 0;
    }

    const IpcMemory& own_;
    const IpcMemory& other_;
    IpcDevice* device_;
};

template <typename Way>
class MessageLink {
public:
    //   bytes_max  the most of a message of the way
    MessageLink(Way& way, std::uint64_t bytes_max) : way_(way), bytes_max_(bytes_max) {}

    int send(std::uint64_t /*round*/, const char* data, std::uint64_t bytes) {
        for (std::uint64_t at = 0; at < bytes; at += bytes_max_)
            way_.send(data + at, std::min(bytes_max_, bytes - at));
        return 0;
    }

    int receive(std::uint64_t /*round*/, char* data, std::uint64_t bytes) {
        for (std::uint64_t at = 0; at < bytes; at += bytes_max_)
            way_.receive(data + at, std::min(bytes_max_, bytes - at));
        return 0;
    }

private:
    Way& way_;
    std::uint64_t bytes_max_;
};

}  // namespace

IpcMemory IpcMemory::of_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t line = alignof(IpcBoard);
    const std::uint64_t room = (bytes + line - 1) / line * line;
    const acp_ga_t address = acp_aligned_alloc(line, sizeof(IpcBoard) + 2 * room, acp_rank());
    must(address != ACP_GA_NULL);
    auto* const board = new (acp_query_address(address)) IpcBoard;
    board->in = sizeof(IpcBoard);
    board->out = sizeof(IpcBoard) + room;
    IpcMemory made(address);
    ipc_fill(made.buffers().in, 2 * room, 0);  // takes the memory before anything is timed
    made.reset();
    return made;
}

IpcMemory::IpcMemory(acp_ga_t address)
    : address_(address), board_(static_cast<IpcBoard*>(acp_query_address(address))) {
    must(board_ != nullptr);
}

IpcBuffers IpcMemory::buffers() const {
    auto* const start = reinterpret_cast<char*>(board_);
    return {start + board_->in, start + board_->out};
}

void IpcMemory::reset() const {
    board_->arrived.store(0, std::memory_order_relaxed);
    board_->sent.store(0, std::memory_order_relaxed);
}

IpcExchanges::IpcExchanges(Job& job, std::uint64_t bytes_max) : job_(job) {
    job.need_one_node("ipc");
    if (job.rank() < 2) own_ = IpcMemory::of_bytes(bytes_max);
    const std::vector<RankResult> all =
        job.exchange(RankResult{{own_ ? own_->address() : ACP_GA_NULL}});
    if (!own_) return;
    const int other = 1 - job.rank();
    others_.emplace(all[static_cast<std::size_t>(other)].values[0]);
    channel_.emplace(job.rank(), other);
    pm_.emplace(other);
    if (!job.conducts()) return;
    for (int i = 0; i < 2; ++i) devices_.push_back(std::make_unique<Device>(bytes_max));
}

IpcExchanges::~IpcExchanges() {
    if (!job_.conducts()) return;
    Order order;
    order.what = static_cast<std::uint32_t>(Work::part);
    job_.give(order);
    part();
    job_.join();
}

void IpcExchanges::part() {
    channel_.reset();
    pm_.reset();
}

void IpcExchanges::follow() {
    job_.follow([this](const Order& order) {
        if (job_.rank() == 1) job_.tell(RankResult{{static_cast<std::uint64_t>(serve(order))}});
    });
}

// At rank 1: runs the server of an exchange.
int IpcExchanges::serve(const Order& order) {
    Times none;
    const std::uint64_t* const its = order.arguments;
    switch (static_cast<Work>(order.what)) {
        case Work::system: {
            IpcExchange exchange;
            std::memcpy(&exchange, job_.starter(0), sizeof exchange);
            return acpbench_ipc_end(&exchange, nullptr, nullptr);
        }
        case Work::call:
            return run_call(static_cast<IpcCall>(its[0]), false, its[1], its[2], none);
        case Work::part:
            part();
            break;
        case Work::nothing:
            break;
    }
    return 0;
}

int IpcExchanges::run_call(
    IpcCall call, bool is_client, std::uint64_t bytes, std::uint64_t rounds, Times& times) {
    times.assign(is_client ? rounds : 0, 0);
    const auto run = [&](auto link) {
        return run_ipc_end(link, is_client, bytes, rounds, own_->buffers(), times.data());
    };
    switch (call) {
        case IpcCall::copy:
            return run(CopyLink(*own_, *others_, nullptr));
        case IpcCall::channel:
            return run(MessageLink(*channel_, bytes));
        case IpcCall::pm:
            return run(MessageLink(*pm_, PmWay::bytes_max));
    }
    return EINVAL;
}

IpcExchanges::Times IpcExchanges::by_system(IpcPlace place,
                                            IpcWay way,
                                            std::uint64_t bytes,
                                            std::uint64_t rounds) {
    const ExchangeFolder folder;
    IpcExchange exchange{way, 0, bytes, rounds, {}};
    if (folder.path().size() >= exchange.folder.size()) give_up("TMPDIR has too long a name");
    folder.path().copy(exchange.folder.data(), exchange.folder.size() - 1);
    const auto run = [&](bool is_client, Times& times) {
        IpcExchange own = exchange;
        own.is_client = is_client ? 1 : 0;
        times.assign(is_client ? rounds : 0, 0);
        return acpbench_ipc_end(&own, nullptr, times.data());
    };
    if (place != IpcPlace::host_host) return with_devices(place, exchange, run);
    std::memcpy(job_.starter(0), &exchange, sizeof exchange);
    return with_rank_1(Work::system, {}, [&](Times& times) { return run(true, times); });
}

IpcExchanges::Times IpcExchanges::by_copy(IpcPlace place,
                                          std::uint64_t bytes,
                                          std::uint64_t rounds) {
    if (place == IpcPlace::host_host) return by_call(IpcCall::copy, bytes, rounds);
    const IpcExchange exchange{IpcWay::board, 0, bytes, rounds, {}};
    own_->reset();
    for (const auto& device : devices_) device->memory.reset();
    return with_devices(place, exchange, [&](bool is_client, Times& times) {
        if (place == IpcPlace::device_device) return relay(bytes, rounds);
        times.assign(is_client ? rounds : 0, 0);
        CopyLink link(*own_, devices_[0]->memory, &devices_[0]->process);
        return run_ipc_end(link, is_client, bytes, rounds, own_->buffers(), times.data());
    });
}

IpcExchanges::Times IpcExchanges::by_call(IpcCall call, std::uint64_t bytes, std::uint64_t rounds) {
    own_->reset();
    others_->reset();
    return with_rank_1(Work::call, {static_cast<std::uint64_t>(call), bytes, rounds},
                       [&](Times& times) { return run_call(call, true, bytes, rounds, times); });
}

// Runs the server at rank 1 and run(times), the client, here.
template <typename Run>
IpcExchanges::Times IpcExchanges::with_rank_1(Work work,
                                              const std::array<std::uint64_t, 3>& arguments,
                                              const Run& run) {
    Order order;
    order.what = static_cast<std::uint32_t>(work);
    std::copy(arguments.begin(), arguments.end(), std::begin(order.arguments));
    job_.give(order);
    Times times;
    must_be_done(run(times), "rank 0");
    job_.join();
    must_be_done(static_cast<int>(job_.result(1).values[0]), "rank 1");
    return times;
}

// Runs one end or both in device processes, and run(is_client, times) here: the other end, or what
// moves messages between the boards of both.
template <typename Run>
IpcExchanges::Times IpcExchanges::with_devices(IpcPlace place,
                                               IpcExchange exchange,
                                               const Run& run) {
    const bool is_client_here = place == IpcPlace::host_device;
    const bool are_both_there = place == IpcPlace::device_device;
    const bool has_board = exchange.way == IpcWay::board;
    const auto begin = [&](Device& device, bool is_client) {
        exchange.is_client = is_client ? 1 : 0;
        device.process.begin(exchange, has_board ? device.memory.address() : ACP_GA_NULL);
    };
    if (are_both_there) begin(*devices_[1], false);
    begin(*devices_[0], !is_client_here);
    Times times;
    if (has_board || !are_both_there) must_be_done(run(is_client_here, times), "rank 0");
    Times of_device;
    must_be_done(devices_[0]->process.end(of_device), "the device process");
    if (!is_client_here) times = std::move(of_device);
    if (are_both_there) {
        Times none;
        must_be_done(devices_[1]->process.end(none), "the second device process");
    }
    return times;
}

// Moves messages between the boards of two device processes.
int IpcExchanges::relay(std::uint64_t bytes, std::uint64_t rounds) {
    const auto move = [&](Device& from, Device& to, std::uint64_t round) {
        if (!CopyLink::await_sent(from.memory, round, from.process)) return false;
        CopyLink::copy_message(*own_, from.memory.out(), to.memory, bytes, round);
        return true;
    };
    for (std::uint64_t i = 0; i < rounds; ++i) {
        if (!move(*devices_[0], *devices_[1], i) || !move(*devices_[1], *devices_[0], i))
            return EPIPE;
    }
    acp_complete(ACP_HANDLE_ALL);
    return 0;
}

}  // namespace acp::bench
