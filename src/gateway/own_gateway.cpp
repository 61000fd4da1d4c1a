// SPDX-License-Identifier: BSD-3-Clause
// Link calls onto the core, and the rounds of work that waiting threads do. Losses come from the node segment, and go there.
#include "gateway/own_gateway.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <utility>

#include "datagram/counters.hpp"
#include "gateway/node_fate.hpp"
#include "node/gateway_port.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/secret_memory.hpp"

#include "engine/engine.hpp"
#include "stats/stats_publisher.hpp"

namespace acp::gateway {

namespace {

// How often a poll that found nothing takes back what the event was signalled for.
constexpr std::uint32_t idle_polls_per_drain = 64;
constexpr std::uint32_t port_attempts = 16;
// How long a node has not come to a meeting when the agent is first asked to watch it, and then again.
constexpr Time watch_after_ns = 500'000'000;
constexpr Time watch_again_ns = 2'000'000'000;
// Ends for which there is room from the start.
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
        auto stats = stats::StatsPublisher::create(settings.node, settings.nodes, process_, 1,
                                                   stats::StatsPublisher::Owner::rank);
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

    bool invoke(std::uint64_t token, const remote::LinkInvocation& invocation) override {
        if (room_for_ends(1) == 0) return false;
        if (!core_->router().invoke(
                now_, {token, process_, invocation.operation, invocation.process, invocation.place},
                invocation.arguments)) {
            return false;
        }
        deadline_.store(0, std::memory_order_relaxed);  // it leaves with the next flush()
        if (!ended_.empty()) has_ended_.store(true, std::memory_order_release);
        return true;
    }

    void flush() override {
        now_ = os::now_ns();
        (void)core_->work(now_);
        release_met();
        publish_news();
    }

    bool poll(std::vector<remote::Ended>& ended) override {
        const Time now = now_ = os::now_ns();
        ++own_.turns;
        DueWhenThrown due_when_thrown(deadline_);
        const std::uint64_t delivered = core_->delivered();
        bool has_moved = look_for_meeting();
        has_moved = core_->receive(now) || has_moved;
        const bool has_lost = look_for_losses(now) || look_at_socket();
        // A waiting thread calls poll() again and again, and most calls find nothing. Such a call must be short, since the
        // datagram that the thread waits for comes in the middle of one.
        const bool is_due = now >= deadline_.load(std::memory_order_relaxed) || stats_->is_asked();
        if (!has_moved && !has_lost && !has_moved_ && !is_due) {
            note_idle_poll();
            return due_when_thrown.finish(false);
        }
        // Acknowledgements, either way, are nobody's progress: whoever waits looks on.
        const bool has_content =
            core_->work(now) || !ended_.empty() || core_->delivered() != delivered;
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

    // Whoever drives the gateway hears of the ends itself: nobody needs to be rung.
    void set_service_wanted(bool /*is_wanted*/) noexcept override {}

    void publish_stats() noexcept override {
        stats_->ask();
        core_->wake();
    }

    // A rank that is stopped, as by a debugger, is waited for in a meeting; the agents see to what became of its machine. Not
    // before its first contact: that takes memory, which either side may be refused for ever.
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
        Time watch_at = 0;                            // while it is on
        std::optional<node::OwnMeetings::Words> met;  // it is over, and its barrier not released
    };

    // The kernel chooses the port of the first address; on the others somebody else may have it. The settings are not
    // copied: they hold a key that the caller wipes.
    base::Status open_core(GatewaySettings& settings,
                           const placement::LocalPlacement::Parts& parts) {
        const std::vector<Address> wished = settings.bind;
        for (std::uint32_t attempt = 1;; ++attempt) {
            if (wished.size() > 1) {
                settings.bind = {wished.front()};
                auto probe =
                    transport::Transport::open({settings.bind, settings.config.socket_bytes, {}});
                if (!probe.is_ok()) return std::move(probe).failure();
                const std::uint16_t port = probe.value()->addresses().front().port;
                settings.bind = wished;
                for (Address& address : settings.bind) address.port = port;
            }
            auto core = engine::Engine::open(settings, parts, *this);
            if (core.is_ok()) {
                core_ = std::move(core).value();
                return {};
            }
            // state: the port is taken there. Whatever else fails would fail with another port too.
            const bool is_taken = core.failure().code() == base::Code::state;
            if (!is_taken || wished.size() <= 1 || attempt == port_attempts) {
                return std::move(core).failure();
            }
        }
    }

    // For how many more commands, of `wanted`, the end finds a place. Where there is no memory for more they wait for
    // others to end; there is always room for ends_min.
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

    // How many commands stand before the first that is ordered after others: these may have failed, and whoever hands it over has
    // not been told.
    [[nodiscard]] static std::size_t count_unordered(
        std::span<const memory::NumberedCommand> commands) noexcept {
        const auto first = std::find_if(commands.begin(), commands.end(),
                                        [](const auto& one) { return one.before_count != 0; });
        return static_cast<std::size_t>(first - commands.begin());
    }

    // By LinkInvocation::place.
    [[nodiscard]] std::byte* result_at(std::uint32_t place) const noexcept {
        return results_.get() + std::size_t{place} * memory::invoke_bytes_max;
    }

    void note_idle_poll() {
        if (++idle_polls_ < idle_polls_per_drain) return;
        core_->drain();
        idle_polls_ = 0;
    }

    // What the agent's gateway has learned of others. True when there was something new.
    bool look_for_losses(Time now) {
        // acquire: partner is node::note_lost_node and its like
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
            const auto end_of_one = has_one ? node::status_of_lost(segment_, first) : std::nullopt;
            // The others hear first how it ended: their agents may tell them later than this gateway does.
            if (end_of_one) core_->router().note_death(first, *end_of_one);
            if (end_of_one || node::is_node_lost(segment_, node)) core_->sever(node);
        }
        return true;
    }

    // A program that closes all descriptors closes the socket too. Nobody else is to blame then, and no time tells more.
    bool look_at_socket() {
        if (is_socket_lost_ || !core_->is_closed_by_others()) [[likely]] {
            return false;
        }
        is_socket_lost_ = true;
        // The agent tells the other nodes. seq_cst: as wake_gateway() says; partner: Duties
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

    // What threads without the driver's role look at. Commands also end in submit(), invoke() and flush(), as do those for a lost node, and
    // nothing may arrive from then on: ends that no poll() has taken yet are due at once.
    void publish_news() noexcept {
        has_ended_.store(!ended_.empty(), std::memory_order_release);
        const Time stats_due = is_dirty_ ? stats_->next_ns() : datagram::never;
        const Time due = ended_.empty() ? std::min(core_->deadline(), stats_due) : 0;
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
        if (one.value != 0) ended.result = result_at(one.place);
        if (one.code == base::Code::peer) {
            ended.loss = loss_of(*core_, core_->map().node_of(one.process));
        }
    }

    void on_result(const router::CommandEnd& one, std::span<const std::byte> result) override {
        if (!result.empty()) std::memcpy(result_at(one.place), result.data(), result.size());
    }

    // The agents' gateways know this first and better.
    void on_process_dead(std::uint32_t process, std::uint32_t wait_status) override {
        node::GatewayPort(segment_).publish_death(process, wait_status);
    }

    void on_node_dead(NodeId node) override {
        if (!is_leaving_) note_loss(node);
        if (!lost_) lost_ = node;
        if (meeting_.is_on) meeting_.owner->fail(*lost_, loss_of(*core_, *lost_));
    }

    // What only these gateways find concerns all who wait on this node: nothing comes from there any more. A node that has left in order, as
    // all do at the end of an epoch, is nobody's loss.
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

    // Releases the barrier of a meeting that is over: once this node's own part was sent, for the thread in the barrier may
    // then stop or end this process, and the others would wait for that part.
    void release_met() noexcept {
        if (meeting_.met) meeting_.owner->finish(*std::exchange(meeting_.met, std::nullopt));
    }

    // The machine of a node that does not come is watched by the agent, which is told again while the meeting lasts.
    void watch_awaited(Time now) noexcept {
        meeting_.watch_at = now + watch_again_ns;
        if (const auto node = core_->router().missing_node())
            (void)meeting_.owner->ask_to_watch(*node);
    }

    // A node may leave while nobody here meets: all have ended the epoch.
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
    Time now_ = os::now_ns();  // of the last round: precise enough for what is submitted
    std::unique_ptr<engine::Engine> core_;
    std::optional<stats::StatsPublisher> stats_;
    stats::StatsPublisher::Own own_;
    std::vector<remote::Ended> ended_;
    // Of invokes, by place; written to, and so in memory, as far as it is used. Taken at the start: a process that has no memory
    // left later can still call, and tell others so.
    std::unique_ptr<std::byte[]> results_{
        new std::byte[std::size_t{remote::invokes_max} * memory::invoke_bytes_max]};
    std::uint32_t idle_polls_ = 0;
    std::uint32_t losses_seen_ = 0;
    Meeting meeting_;
    std::optional<NodeId> lost_;  // the first of them
    bool is_socket_lost_ = false;
    bool is_leaving_ = false;
    bool is_dirty_ = true;
    bool has_moved_ = true;  // in the last poll, which may have left work for the next
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
