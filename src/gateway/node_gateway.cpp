// SPDX-License-Identifier: BSD-3-Clause
// The gateway in the agent. It takes commands from the rings of the node's processes, reaches
// private memory through the kernel or by asking its owners, and its thread waits as every thread
// of the node does (node::Waiter).
#include <algorithm>
#include <optional>
#include <utility>

#include "gateway/duties.hpp"
#include "gateway/gateway.hpp"
#include "gateway/perch.hpp"
#include "gateway/stats_publisher.hpp"
#include "mailbox/port.hpp"
#include "node/wait.hpp"
#include "os/clock.hpp"
#include "os/cpu_stay.hpp"
#include "os/secret_memory.hpp"
#include "remote/gateway_rings.hpp"

#include "engine/engine.hpp"

namespace acp::gateway {

namespace {

constexpr std::uint32_t commands_per_poll = 512;

class NodeGateway final : public Gateway, private router::Completions {
public:
    NodeGateway(const node::Segment& segment, const GatewaySettings& settings)
        : segment_(segment),
          first_process_(segment.shape().first_process),
          hazards_(segment, segment.gateway_slot()),
          attach_(segment,
                  segment.gateway_slot(),
                  settings.config.attach == base::AttachMode::automatic),
          rings_(segment),
          waiter_(segment),
          perch_(segment.shape().machine_procs > segment.shape().local_procs) {
        taker_ = [this](std::uint32_t slot, std::uint64_t token, const memory::Command& command) {
            const std::uint32_t initiator = first_process_ + slot;
            if (command.is_invoke()) {
                return core_->router().invoke(
                    now_,
                    {token, initiator, static_cast<std::uint32_t>(command.operand),
                     static_cast<std::uint32_t>(command.target),
                     static_cast<std::uint32_t>(command.source)},
                    rings_.arguments_of(slot, command));
            }
            return core_->router().submit(now_, {initiator, token, command});
        };
    }

    ~NodeGateway() override = default;

    base::Status open_all(const GatewaySettings& settings) {
        const local::Reach reach{is_direct(settings.config), true};
        if (auto status = space_.open(segment_, segment_.gateway_slot(), reach, nullptr);
            !status.is_ok()) {
            return status;
        }
        if (!hazards_.has_membarrier()) {
            // relaxed: the meeting of the node's processes comes after the agent has started them
            segment_.control().is_membarrier_refused.store(1, std::memory_order_relaxed);
        }
        auto port = mailbox::Port::open(segment_, segment_.gateway_slot());
        if (!port.is_ok()) return std::move(port).failure();
        port_ = std::move(port).value();
        auto core = engine::Engine::open(
            settings, {&space_, &hazards_, &attach_, port_.get(), settings.operations}, *this);
        if (!core.is_ok()) return std::move(core).failure();
        core_ = std::move(core).value();
        auto stats =
            StatsPublisher::create(settings.node, settings.nodes, first_process_,
                                   segment_.shape().local_procs, StatsPublisher::Owner::agent);
        if (!stats.is_ok()) return std::move(stats).failure();
        stats_.emplace(std::move(stats).value());
        duties_.emplace(segment_, *core_, settings.config.peer_timeout_ns,
                        [this](std::uint32_t slot) { rings_.forget(slot); });
        duties_->open(core_->event_fd());
        return {};
    }

    [[nodiscard]] std::span<const Address> addresses() const noexcept override {
        return core_->addresses();
    }

    base::Status set_peers(std::vector<std::vector<Address>> peers) override {
        return core_->set_peers(peers);
    }

    [[nodiscard]] int event_fd() const noexcept override { return core_->event_fd(); }

    bool poll(Time now) override {
        now_ = now;
        ++own_.turns;
        bool has_moved = core_->receive(now);
        has_moved = duties_->poll() || has_moved;
        if (rings_.has_commands()) {
            has_moved = rings_.take(taker_, commands_per_poll) > 0 || has_moved;
        }
        has_moved = core_->work(now) || has_moved;
        rings_.flush();
        is_dirty_ = is_dirty_ || has_moved;
        if (stats_->is_due(now, is_dirty_)) publish(now);
        return has_moved;
    }

    void sleep(std::int64_t timeout_ns) override {
        duties_->announce_sleep();
        const Time now = os::now_ns();
        Time until = is_dirty_ ? std::min(core_->deadline(), stats_->next_ns()) : core_->deadline();
        if (timeout_ns >= 0) until = std::min(until, now + static_cast<Time>(timeout_ns));
        const bool has_work = duties_->has_work() || rings_.has_commands() ||
                              core_->placement().has_work() || stats_->is_due(now, is_dirty_);
        if (!has_work && until > now) {
            ++own_.sleeps;
            perch_.note_sleep();
            core_->wait(until == datagram::never ? -1 : static_cast<std::int64_t>(until - now));
        }
        core_->drain();
        duties_->end_sleep();
    }

    void run(const std::atomic<bool>& stop) override {
        const auto ready = [this, &stop] {
            if (stop.load(std::memory_order_relaxed)) return true;
            const Time now = os::now_ns();
            keep_place(now);
            return poll(now);
        };
        const auto doze = [this, &stop](std::int64_t timeout_ns) {
            // seq_cst: the stopping thread stores `stop`, then calls wake(); a wake() before the
            // wait ends it
            if (!stop.load(std::memory_order_seq_cst)) sleep(timeout_ns);
            return os::Wake::woken;
        };
        while (!stop.load(std::memory_order_relaxed)) {
            (void)waiter_.wait(ready, doze, time_left());
        }
    }

    void leave(std::int64_t timeout_ns) override {
        core_->leave(timeout_ns);
        rings_.flush();
        duties_->close();
    }

    void wake() noexcept override { core_->wake(); }

    // The gateway reads from the segment which process died; node::mark_dead has stored it there.
    void on_local_death(std::uint32_t /*slot*/, std::uint32_t /*wait_status*/) noexcept override {
        wake();
    }

    [[nodiscard]] int stats_fd() const noexcept override { return stats_->fd(); }

    void publish_stats() noexcept override {
        stats_->ask();
        wake();
    }

    [[nodiscard]] std::string security_name() const override { return core_->security_name(); }

private:
    [[nodiscard]] static bool is_direct(const base::Config& config) noexcept {
        return config.intranode == base::IntraNode::automatic ||
               config.intranode == base::IntraNode::direct;
    }

    void keep_place(Time now) {
        const bool stays = perch_.stays(now);
        if (stays == stay_.is_on()) return;
        if (stays) {
            stay_.begin(static_cast<int>(segment_.shape().node));
        } else {
            stay_.end();
        }
    }

    // Nanoseconds until the engine's next deadline; < 0: there is none.
    [[nodiscard]] std::int64_t time_left() const noexcept {
        const Time until = core_->deadline();
        if (until == datagram::never) return node::for_ever;
        const Time now = os::now_ns();
        return until > now ? static_cast<std::int64_t>(until - now) : 0;
    }

    void publish(Time now) {
        stats_->publish(now, *core_, own_);
        is_dirty_ = false;
    }

    void on_completion(const router::CommandEnd& one) override {
        remote::Ended ended;
        ended.token = one.token;
        ended.count = one.count;
        ended.code = one.code;
        ended.blamed = one.blamed;
        ended.process = one.process;
        ended.place = one.place;
        ended.result_bytes = static_cast<std::uint32_t>(one.value);
        rings_.complete(one.initiator - first_process_, ended);
    }

    void on_result(const router::CommandEnd& one, std::span<const std::byte> result) override {
        rings_.put_result(one.initiator - first_process_, one.place, result);
    }

    void on_process_dead(std::uint32_t process, const base::ProcessEnd& end) override {
        duties_->on_process_dead(process, end);
    }

    void on_node_dead(NodeId node) override { duties_->on_node_dead(node); }

    void on_met(std::uint32_t number, std::span<const std::uint32_t> table) override {
        duties_->on_met(number, table);
    }

    const node::Segment& segment_;
    const std::uint32_t first_process_;
    local::Space space_;
    local::Hazards hazards_;
    local::Attach attach_;
    std::unique_ptr<mailbox::Port> port_;
    remote::GatewayRings rings_;
    remote::GatewayRings::Taker taker_;
    node::Waiter waiter_;
    Perch perch_;
    os::CpuStay stay_;
    std::unique_ptr<engine::Engine> core_;
    std::optional<Duties> duties_;
    std::optional<StatsPublisher> stats_;
    StatsPublisher::Own own_;
    Time now_ = 0;
    bool is_dirty_ = true;  // something moved since the stats were published
};

}  // namespace

base::Result<std::unique_ptr<Gateway>> Gateway::open(const node::Segment& segment,
                                                     GatewaySettings settings) {
    auto made = std::make_unique<NodeGateway>(segment, settings);
    auto status = made->open_all(settings);
    os::wipe(std::as_writable_bytes(std::span(settings.job_key)));
    if (!status.is_ok()) return status;
    return std::unique_ptr<Gateway>(std::move(made));
}

}  // namespace acp::gateway
