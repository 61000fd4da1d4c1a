// SPDX-License-Identifier: BSD-3-Clause
// Maps the calls of remote::Link onto the engine, and does one round of work per poll() of a
// waiting thread. Reads losses from the node segment, and publishes there the losses that this
// gateway detects.
#include "gateway/own_gateway.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <utility>

#include "datagram/counters.hpp"
#include "gateway/node_fate.hpp"
#include "gateway/stats_publisher.hpp"
#include "node/gateway_port.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/secret_memory.hpp"

#include "engine/engine.hpp"

namespace acp::gateway {

namespace {

// Polls that find nothing after which the gateway clears the signals of its event.
constexpr std::uint32_t idle_polls_per_drain = 64;
constexpr std::uint32_t port_attempts = 16;
// A node that has not joined a meeting for watch_after_ns is watched by the agent at this gateway's
// request; the request is repeated every watch_again_ns.
constexpr Time watch_after_ns = 500'000'000;
constexpr Time watch_again_ns = 2'000'000'000;
// Completions for which there is room from the start.
constexpr std::size_t ends_min = 256;

// A poll to which memory is refused leaves work behind, which is due at once.
class DueWhenThrown {
public:
    explicit DueWhenThrown(std::atomic<Time>& deadline) noexcept : deadline_(deadline) {}

    DueWhenThrown(const DueWhenThrown&) = delete;
    DueWhenThrown& operator=(const DueWhenThrown&) = delete;

    ~DueWhenThrown() {
        if (!is_finished_) deadline_.store(0, std::memory_order_relaxed);
    }

    // The poll ends in order.   result  of the poll
    bool finish(bool result) noexcept {
        is_finished_ = true;
        return result;
    }

private:
    std::atomic<Time>& deadline_;
    bool is_finished_ = false;
};

// Arguments and result of an invoke.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): read as far as written
struct InvokeCell {
    std::array<std::byte, memory::invoke_bytes_max> arguments;
    std::array<std::byte, memory::invoke_bytes_max> result;
};

class LoneGateway final : public OwnGateway, private router::Completions {
public:
    explicit LoneGateway(const node::Segment& segment) : segment_(segment) {}

    base::Status open_all(local::Space& space, local::Hazards& hazards, GatewaySettings& settings) {
        if (segment_.shape().local_procs != 1) {
            return {base::Code::argument, "a rank runs its node's gateway only where it is alone"};
        }
        if (auto status =
                open_core(settings, {&space, &hazards, nullptr, nullptr, settings.operations});
            !status.is_ok()) {
            return status;
        }
        process_ = segment_.shape().first_process;
        ended_.reserve(ends_min);
        auto stats = StatsPublisher::create(settings.node, settings.nodes, process_, 1,
                                            StatsPublisher::Owner::rank);
        if (!stats.is_ok()) return std::move(stats).failure();
        stats_.emplace(std::move(stats).value());
        return {};
    }

    [[nodiscard]] std::span<const Address> addresses() const noexcept override {
        return core_->addresses();
    }

    base::Status set_peers(std::vector<std::vector<Address>> peers) override {
        return core_->set_peers(peers);
    }

    [[nodiscard]] int stats_fd() const noexcept override { return stats_->fd(); }

    [[nodiscard]] std::string security_name() const override { return core_->security_name(); }

    bool submit(std::uint64_t token, const memory::Command& command) override {
        const memory::NumberedCommand one{token, &command};
        return submit_all({&one, 1}) == 1;
    }

    std::size_t submit_all(std::span<const memory::NumberedCommand> commands) override {
        commands = commands.first(room_for_ends(commands.size()));
        if (!ended_.empty()) commands = commands.first(count_unordered(commands));
        const std::size_t taken = core_->router().submit_all(now_, process_, commands);
        deadline_.store(0, std::memory_order_relaxed);  // it leaves with the next flush()
        if (!ended_.empty()) has_ended_.store(true, std::memory_order_release);
        return taken;
    }

    [[nodiscard]] std::byte* arguments_at(std::uint32_t place) noexcept override {
        return cells_[place].arguments.data();
    }

    bool invoke(std::uint64_t token, const remote::LinkInvocation& invocation) override {
        if (room_for_ends(1) == 0) return false;
        // A copy that it is ordered after may have failed, and the caller has not polled that yet.
        if (!ended_.empty() && invocation.before_count != 0) return false;
        if (!core_->router().invoke(
                now_,
                {token, process_, invocation.operation, invocation.process, invocation.place,
                 invocation.before, invocation.before_count},
                {cells_[invocation.place].arguments.data(), invocation.argument_bytes})) {
            return false;
        }
        deadline_.store(0, std::memory_order_relaxed);  // it leaves with the next flush()
        if (!ended_.empty()) has_ended_.store(true, std::memory_order_release);
        return true;
    }

    void flush() override {
        now_ = os::now_ns();
        (void)core_->work(now_);
        has_unsent_ = false;
        release_met();
        publish_news();
    }

    void let_answers_wait() noexcept override { may_answers_wait_ = true; }

    bool poll(std::vector<remote::Ended>& ended) override {
        const Time now = now_ = os::now_ns();
        ++own_.turns;
        const bool may_answers_wait = std::exchange(may_answers_wait_, false);
        DueWhenThrown due_when_thrown(deadline_);
        const std::uint64_t delivered = core_->delivered();
        bool has_moved = look_for_meeting();
        has_moved = core_->receive(now) || has_moved;
        const bool has_lost = look_for_losses(now) || look_at_socket();
        // A waiting thread calls poll() again and again, and most calls find nothing. Such a call
        // must be short, since the datagram that the thread waits for comes in the middle of one.
        const bool is_due = now >= deadline_.load(std::memory_order_relaxed) || stats_->is_asked();
        if (!has_moved && !has_lost && !has_moved_ && !is_due) {
            note_idle_poll();
            return due_when_thrown.finish(false);
        }
        // A meeting needs this node's part, which is sent before the barrier is released.
        has_unsent_ = may_answers_wait && !is_due && !has_lost && !meeting_.is_on &&
                      !meeting_.met && core_->delivered() != delivered;
        // Sending or receiving acknowledgements alone is no progress of commands: poll() then
        // returns false, and the waiting thread polls again.
        const bool has_worked = has_unsent_ ? core_->prepare(now) : core_->work(now);
        const bool has_content = has_worked || !ended_.empty() || core_->delivered() != delivered;
        release_met();
        has_moved = has_moved || has_content;
        remote::move_ended(ended_, ended);
        if (has_moved) {
            idle_polls_ = 0;
        } else {
            note_idle_poll();
        }
        is_dirty_ = is_dirty_ || has_moved;
        if (stats_->is_due(now, is_dirty_)) publish(now);
        if (meeting_.is_on && now >= meeting_.watch_at) watch_awaited(now);
        publish_news();
        has_moved_ = has_moved;
        return due_when_thrown.finish(has_content);
    }

    [[nodiscard]] bool has_news() const noexcept override {
        return has_ended_.load(std::memory_order_acquire);
    }

    [[nodiscard]] remote::LinkTraits traits() const noexcept override {
        return {.is_polled_here = true,
                .is_peer_served = true,
                .look_cost = node::LookCost::dear,
                .wait_fds = core_->wait_fds()};
    }

    [[nodiscard]] std::uint64_t deadline_ns() const noexcept override {
        return deadline_.load(std::memory_order_relaxed);
    }

    // The thread that polls this gateway gets the completions itself, so there is no thread to
    // ring.
    void set_service_wanted(bool /*is_wanted*/) noexcept override {}

    void publish_stats() noexcept override {
        stats_->ask();
        core_->wake();
    }

    // While only a meeting is outstanding a silent rank is waited for, as it may be stopped by a
    // debugger; the agents watch its machine. This holds only after the first contact: a handshake
    // takes memory, which either side may be refused for ever.
    void carry_meetings(node::OwnMeetings& meetings) override {
        meeting_.owner = &meetings;
        core_->set_patience([this](NodeId node) {
            return meeting_.is_on && core_->router().outstanding() == 0 &&
                   meeting_.owner->ask_to_watch(node);
        });
    }

    void leave(std::int64_t timeout_ns) override {
        is_leaving_ = true;
        core_->leave(timeout_ns);
    }

private:
    // The meetings of the epoch, one at a time.
    struct Meeting {
        node::OwnMeetings* owner = nullptr;
        std::uint32_t begun = 0;
        bool is_on = false;
        Time watch_at = 0;  // while it is on
        // complete, but its barrier is not released yet
        std::optional<node::OwnMeetings::Words> met;
    };

    // The first address gets a free port, any one or of ACP_PORTS; on the other addresses another socket may
    // have this port, and then all addresses are tried again with another one. The settings are not
    // copied, because they hold a key that the caller wipes.
    base::Status open_core(GatewaySettings& settings, const engine::LocalPlacement::Parts& parts) {
        const std::vector<Address> wished = settings.bind;
        base::PortRange ports = settings.config.ports;
        for (std::uint32_t attempt = 1;; ++attempt) {
            if (wished.size() > 1) {
                settings.bind = {wished.front()};
                auto probe = engine::Transport::open(
                    {settings.bind, ports, settings.config.socket_bytes, {}});
                if (!probe.is_ok()) return std::move(probe).failure();
                const std::uint16_t port = probe.value()->addresses().front().port;
                if (port < ports.last) ports.first = static_cast<std::uint16_t>(port + 1);
                settings.bind = wished;
                for (Address& address : settings.bind) address.port = port;
            }
            auto core = engine::Engine::open(settings, parts, *this);
            if (core.is_ok()) {
                core_ = std::move(core).value();
                return {};
            }
            // state: the port is in use on another address. Any other error would occur with every
            // port.
            const bool is_taken = core.failure().code() == base::Code::state;
            if (!is_taken || wished.size() <= 1 || attempt == port_attempts) {
                return std::move(core).failure();
            }
        }
    }

    // How many of `wanted` more commands find a place for their completion. Where memory for more
    // is refused, the caller waits until others have completed; there is always room for ends_min.
    [[nodiscard]] std::size_t room_for_ends(std::size_t wanted) noexcept {
        const std::size_t taken = ended_.size() + core_->router().outstanding();
        if (taken + wanted > ended_.capacity()) {
            try {
                ended_.reserve(std::max(taken + wanted, 2 * ended_.capacity()));
            } catch (const std::bad_alloc&) {
                return ended_.capacity() - taken;
            }
        }
        return wanted;
    }

    // The number of commands before the first ordered one. A command that this one is ordered after
    // may have failed, and the caller has not polled that completion yet.
    [[nodiscard]] static std::size_t count_unordered(
        std::span<const memory::NumberedCommand> commands) noexcept {
        const auto first = std::find_if(commands.begin(), commands.end(),
                                        [](const auto& one) { return one.before_count != 0; });
        return static_cast<std::size_t>(first - commands.begin());
    }

    void note_idle_poll() {
        if (++idle_polls_ < idle_polls_per_drain) return;
        core_->drain();
        idle_polls_ = 0;
    }

    // Takes the losses that the agent's gateway has published in the node segment. True when there
    // was a new one.
    bool look_for_losses(Time now) {
        // acquire: partners are node::note_lost_node and note_lost_process
        const std::uint32_t losses = segment_.control().losses.load(std::memory_order_acquire);
        if (losses == losses_seen_) [[likely]] {
            return false;
        }
        losses_seen_ = losses;
        core_->receive_all(now);
        for (NodeId node = 0; node < segment_.shape().nodes; ++node) {
            if (node == segment_.shape().node) continue;
            const std::uint32_t first = core_->map().first_process(node);
            const bool has_one = core_->map().first_process(node + 1) == first + 1;
            const auto end_of_one = has_one ? node::end_of_lost(segment_, first) : std::nullopt;
            // First sends the cause of death to the other nodes, because their agents may report
            // the death later than this gateway does.
            if (end_of_one) core_->router().note_death(first, *end_of_one);
            if (end_of_one || node::is_node_lost(segment_, node)) core_->sever(node);
        }
        return true;
    }

    // A program that closes all descriptors closes the socket too. Then this process alone is to
    // blame, and waiting would not change that.
    bool look_at_socket() {
        if (is_socket_lost_ || !core_->is_closed_by_others()) [[likely]] {
            return false;
        }
        is_socket_lost_ = true;
        // The agent's gateway reports it to the other nodes. seq_cst: as wake_gateway() says;
        // partner: Duties
        segment_.control().is_unreachable.exchange(1, std::memory_order_seq_cst);
        segment_.wake_gateway();
        for (NodeId node = 0; node < segment_.shape().nodes; ++node) {
            if (node != segment_.shape().node) {
                core_->sever(node, datagram::SeverReason::own_socket);
            }
        }
        return true;
    }

    void publish(Time now) {
        stats_->publish(now, *core_, own_);
        is_dirty_ = false;
    }

    // Publishes has_ended_ and deadline_ for threads that do not have the driver's role. Commands
    // also end in submit(), invoke() and flush(), as do commands for a lost node, and perhaps no
    // datagram arrives afterwards: so completions that no poll() has taken yet are due at once.
    void publish_news() noexcept {
        has_ended_.store(!ended_.empty(), std::memory_order_release);
        const Time stats_due = is_dirty_ ? stats_->next_ns() : datagram::never;
        const Time due =
            ended_.empty() && !has_unsent_ ? std::min(core_->deadline(), stats_due) : 0;
        deadline_.store(due, std::memory_order_relaxed);
    }

    void on_completion(const router::CommandEnd& one) override {
        remote::Ended& ended = ended_.emplace_back();
        ended.token = one.token;
        ended.count = one.count;
        ended.code = one.code;
        ended.blamed = one.blamed;
        ended.process = one.process;
        ended.place = one.place;
        ended.result_bytes = static_cast<std::uint32_t>(one.value);
        if (one.value != 0) ended.result = cells_[one.place].result.data();
        if (one.code == base::Code::peer) {
            ended.loss = loss_of(*core_, core_->map().node_of(one.process));
        }
    }

    void on_result(const router::CommandEnd& one, std::span<const std::byte> result) override {
        std::ranges::copy(result, cells_[one.place].result.begin());
    }

    // The agents' gateways usually learn of a death earlier and with its cause.
    void on_process_dead(std::uint32_t process, const base::ProcessEnd& end) override {
        node::GatewayPort(segment_).publish_death(process, end);
    }

    void on_node_dead(NodeId node) override {
        if (!is_leaving_) note_loss(node);
        if (!lost_) lost_ = node;
        if (meeting_.is_on) meeting_.owner->fail(*lost_, loss_of(*core_, *lost_));
    }

    // Publishes a loss that only these gateways detected, for every thread that waits on this node:
    // nothing arrives from there after it. A node that has left in order, as all nodes do at the
    // end of an epoch, is no loss.
    void note_loss(NodeId node) const noexcept {
        const node::NodeLoss why = loss_of(*core_, node);
        if (why.fate == node::NodeFate::left) return;
        if (node::is_lost(segment_, core_->map().first_process(node))) return;
        node::GatewayPort(segment_).publish_severed(node, why);
    }

    void on_met(std::uint32_t /*number*/, std::span<const std::uint32_t> least) override {
        meeting_.is_on = false;
        auto& met = meeting_.met.emplace();
        std::copy_n(least.begin(), std::min(least.size(), met.size()), met.begin());
    }

    // Releases the barrier of a completed meeting. Only after this node's own part was sent: the
    // thread in the barrier may then stop or end this process, and the other nodes would wait for
    // that part.
    void release_met() noexcept {
        if (meeting_.met) meeting_.owner->finish(*std::exchange(meeting_.met, std::nullopt));
    }

    // Asks the agent to watch the machine of the node that is missing in the meeting; repeated
    // while the meeting lasts.
    void watch_awaited(Time now) noexcept {
        meeting_.watch_at = now + watch_again_ns;
        if (const auto node = core_->router().missing_node())
            (void)meeting_.owner->ask_to_watch(*node);
    }

    // Starts the meeting for which a thread of this process waits. A node lost earlier fails it
    // now; without a meeting such a loss is no failure, since all nodes leave when the epoch ends.
    bool look_for_meeting() {
        if (meeting_.owner == nullptr) return false;
        const auto brought = meeting_.owner->take();
        if (!brought) return false;
        meeting_.is_on = true;
        meeting_.watch_at = now_ + watch_after_ns;
        core_->router().start_min_reduction(meeting_.begun++, *brought);
        if (lost_) on_node_dead(*lost_);
        return true;
    }

    const node::Segment& segment_;
    std::uint32_t process_ = 0;
    Time now_ = os::now_ns();  // start of the last round: precise enough for submitted commands
    std::unique_ptr<engine::Engine> core_;
    std::optional<StatsPublisher> stats_;
    StatsPublisher::Own own_;
    std::vector<remote::Ended> ended_;
    // By LinkInvocation::place; pages are taken as cells are written. Allocated at the start, so
    // that a process that is refused memory later can still call, and report so to the other nodes.
    std::unique_ptr<InvokeCell[]> cells_{new InvokeCell[remote::invokes_max]};
    std::uint32_t idle_polls_ = 0;
    std::uint32_t losses_seen_ = 0;
    Meeting meeting_;
    std::optional<NodeId> lost_;  // the first lost node
    bool is_socket_lost_ = false;
    bool is_leaving_ = false;
    bool is_dirty_ = true;
    bool has_moved_ = true;  // the last poll did something, and may have left work for the next
    bool may_answers_wait_ = false;  // the next poll may leave answers unsent
    bool has_unsent_ = false;        // the last poll has left answers to the next one
    std::atomic<bool> has_ended_{false};
    std::atomic<Time> deadline_{0};
};

}  // namespace

base::Result<std::unique_ptr<OwnGateway>> OwnGateway::open(const node::Segment& segment,
                                                           local::Space& space,
                                                           local::Hazards& hazards,
                                                           GatewaySettings settings) {
    std::unique_ptr<LoneGateway> made;
    base::Status status;
    try {
        made = std::make_unique<LoneGateway>(segment);
        status = made->open_all(space, hazards, settings);
    } catch (const std::bad_alloc&) {
        status = base::Status::bare(base::Code::memory);
    }
    os::wipe(std::as_writable_bytes(std::span(settings.job_key)));
    if (!status.is_ok()) return status;
    return std::unique_ptr<OwnGateway>(std::move(made));
}

}  // namespace acp::gateway
