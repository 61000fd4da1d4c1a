// SPDX-License-Identifier: BSD-3-Clause
// What a forwarder is made of, for its .cpp files only: commands of this process from submit() to their end
// (Pending), copies this process runs for itself or others (Job), and per process of the node what is queued
// for it (Peer). Split by event: forwarder_start.cpp (own commands), forwarder_serve.cpp (mail),
// forwarder_send.cpp (what waits for room or takes many pieces), forwarder_gateway.cpp (what the node's gateway asks for),
// forwarder_end.cpp (ends and deaths).
// The driver only, as local/forwarder.hpp says.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "local/forwarder.hpp"
#include "node/control.hpp"

namespace acp::local {

// A queue that keeps its memory: first in, first out.
template <typename T>
class Fifo {
public:
    [[nodiscard]] bool is_empty() const noexcept { return first_ == items_.size(); }

    [[nodiscard]] T& front() noexcept { return items_[first_]; }

    void push(const T& item) {
        if (first_ > 0 && items_.size() == items_.capacity()) {
            items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
        items_.push_back(item);
    }

    void pop() noexcept {
        if (++first_ == items_.size()) clear();
    }

    void clear() noexcept {
        items_.clear();
        first_ = 0;
    }

    // What is queued, oldest first.
    [[nodiscard]] std::span<T> items() noexcept { return std::span(items_).subspan(first_); }

private:
    std::vector<T> items_;
    std::size_t first_ = 0;
};

struct Forwarder::State {
    static constexpr std::uint32_t nobody = ~0U;

    // How far a command of this process is.
    enum class Stage : std::uint8_t {
        none,     // the entry is free
        queued,   // not routed, or waits until its receiver has fewer of our commands
        running,  // somebody runs it
        storing   // an atomic is done; its old value is under way to the target
    };

    struct Pending {
        std::uint64_t user_token = 0;
        memory::Command command;
        std::uint32_t generation = 1;  // upper half of the token on the wire
        Stage stage = Stage::none;
        std::uint32_t receiver = nobody;   // whose in_flight counts it
        std::uint32_t queued_at = nobody;  // in whose queue it waited
        std::uint32_t executor = nobody;   // the processes that must live until it ends
        std::uint32_t placer = nobody;
        bool is_value_wanted = false;  // an atomic's old value goes into its end
        char* into = nullptr;          // where a get without a target address puts its bytes
    };

    // A copy run here in pieces.
    struct Job {
        std::uint64_t token = 0;
        GlobalAddress target = 0;  // 0: the origin has none, and takes the bytes by the token
        GlobalAddress source = 0;
        std::uint64_t bytes = 0;
        std::uint64_t done = 0;
        std::uint32_t origin = 0;
    };

    // A message without payload, or with an atomic's old value, that found no room.
    struct Waiting {
        MessageHead head;
        std::array<char, 8> payload{};
    };

    struct Peer {
        std::uint32_t in_flight = 0;  // own commands it was sent and that have not ended
        bool is_dead = false;
        bool is_listed = false;      // in busy_
        Fifo<std::uint32_t> queued;  // own commands that wait for in_flight to shrink
        Fifo<Waiting> outbox;  // <= commands_in_flight_max per process of the node, and as many own
        Fifo<Job> jobs;        // copies whose target is there (here: moved), likewise
    };

    // What to blame when an access is refused.
    enum class Blame : std::uint8_t { nothing, target, source };

    // How the access of a command to its memory came out.
    struct Verdict {
        base::Code code = base::Code::ok;
        Blame blame = Blame::nothing;
        std::uint64_t operand =
            0;  // an atomic's old value; the dead process's slot with Code::peer
    };

    // Names the addresses of an access in the driver's hazard line while it lives.
    class Naming {
    public:
        Naming(State& state, GlobalAddress target, GlobalAddress source);

        ~Naming() { memory::leave(line_); }

        Naming(const Naming&) = delete;
        Naming& operator=(const Naming&) = delete;

    private:
        memory::HazardLine& line_;
    };

    State(Space& its_space, Hazards& its_hazards, Port& its_port, std::uint32_t its_epoch);

    // --- forwarder.cpp
    std::uint32_t add_pending(std::uint64_t user_token, const memory::Command& command);
    void enqueue(std::uint32_t index);

    // --- forwarder_gateway.cpp
    bool try_send(std::uint64_t user_token,
                  const memory::Command& command,
                  std::span<const char> bytes,
                  char* into);
    void serve_fetch(const MessageHead& head);
    void take_fetched(const MessageHead& head, std::span<const char> payload);

    // --- forwarder_start.cpp
    std::uint32_t start_ready();
    void start(std::uint32_t index);
    void advance(std::uint32_t receiver);
    void start_copy(std::uint32_t index, const Place& target, const Place& source);
    void start_atomic(std::uint32_t index, const Place& target, const Place& source);
    bool enlist(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer);
    void store_old_value(std::uint32_t index, std::uint64_t old);
    [[nodiscard]] MessageHead head_of(std::uint32_t index) const;

    // --- forwarder_serve.cpp
    void on_message(const MessageHead& head, std::span<const char> payload);
    void serve(const MessageHead& head);
    void serve_copy(const MessageHead& head, const Place& target, const Place& source);
    void place_data(const MessageHead& head, std::span<const char> payload);
    Verdict run_atomic(const memory::Command& command,
                       const Place& word,
                       std::uint32_t origin) const;

    // --- forwarder_send.cpp
    void post(std::uint32_t receiver, const MessageHead& head, std::span<const char> payload);
    void add_job(std::uint32_t receiver, const Job& job);
    bool send_only_piece(std::uint32_t receiver, const Job& job, const Place& source);
    std::uint32_t flush();
    std::uint32_t flush_to(std::uint32_t receiver);
    enum class Step { advanced, finished, blocked };
    Step step(std::uint32_t receiver, Job& job);
    void move_here(const memory::Command& command,
                   const Place& target,
                   const Place& source,
                   std::uint32_t origin);
    [[nodiscard]] bool has_work() const noexcept;

    // --- forwarder_end.cpp
    void report(std::uint32_t origin, std::uint64_t token, const Verdict& verdict);
    void on_end(std::uint64_t token, const Verdict& verdict);
    void finish(std::uint32_t index, base::Code code, std::string message, std::uint64_t value = 0);
    [[nodiscard]] std::string explain(const Pending& pending, const Verdict& verdict) const;
    void on_death(std::uint32_t dead_slot);

    // --- small helpers
    [[nodiscard]] bool reaches(std::uint32_t slot, const Place& place) const noexcept {
        return place.slot == slot || (place.is_shared && space.reach().is_shared_direct);
    }

    Verdict find(GlobalAddress target,
                 GlobalAddress source,
                 std::uint64_t bytes,
                 Place& to,
                 Place& from) const {
        if (const base::Code code = space.find(target, bytes, to); code != base::Code::ok) {
            return {code, Blame::target, 0};
        }
        return {space.find(source, bytes, from), Blame::source, 0};
    }

    [[nodiscard]] std::uint64_t token_of(std::uint32_t index) const {
        return std::uint64_t{pendings[index].generation} << 32 | index;
    }

    memory::HazardLine& line() {
        if (!lease) lease.emplace(hazards);
        return lease->line();
    }

    [[nodiscard]] bool is_live(std::uint64_t token) const {
        const auto index = static_cast<std::uint32_t>(token);
        return index < pendings.size() && token_of(index) == token &&
               pendings[index].stage != Stage::none;
    }

    // A counter of this process's slot: the driver is its only writer.
    static void add(node::SharedU64& counter, std::uint64_t amount) noexcept {
        // relaxed, both: for reports only
        counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    void list(std::uint32_t slot) {
        if (!peers[slot].is_listed) {
            peers[slot].is_listed = true;
            busy.push_back(slot);
        }
    }

    Space& space;
    Hazards& hazards;
    Port& port;
    node::Slot& counters;
    const std::uint32_t epoch;
    const std::uint32_t own_slot;
    const std::uint32_t datagram_bytes;
    Port::Handler handler;
    Observer observer;
    std::optional<Hazards::Lease> lease;  // of the thread that takes this turn
    std::vector<Pending> pendings;
    std::vector<std::uint32_t> free_pendings;
    Fifo<std::uint32_t> ready;        // to be started in the next turn
    std::vector<Peer> peers;          // by slot
    std::vector<std::uint32_t> busy;  // peers with something in outbox or jobs
    std::vector<Ended> ended;
    std::uint64_t outstanding = 0;
};

}  // namespace acp::local
