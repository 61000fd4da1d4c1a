// SPDX-License-Identifier: BSD-3-Clause
// Global memory access of one process: issue, order, route, run, complete. Gets every command that
// the inline path could not run. A Gma owns the parts and connects them; calls run one way:
//
//   PointerIssuer -> LocalEnds    copies from and to plain pointers: run at once, or given an address
//   Issuer -> Routes, Mover       finds both ends, runs at once what may run at once
//          -> Invokes             numbered operations: run at once, or kept until their end
//          -> Commands            the others get a number (CommandQueue: order, completion, failures)
//   Progress -> JobRunner         ready commands that this process runs (direct, attach), by Mover
//            -> MailboxCarrier    those that the owner of the memory runs, by mailbox::Forwarder
//            -> RemoteCarrier     those with an end on another node, by remote::Link
//            -> LayerCarrier      those that a layer above carries out, issued by LayerIssuer
//   Completion, ServiceThread -> Progress    threads that wait, and the one that works if none does
//
// The service thread, made when needed, finishes every command. One Gma per epoch; any thread, unless said otherwise. Tests: tests/unit/gma/gma_test.cpp, gma_remote_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/completion.hpp"
#include "gma/fetcher.hpp"
#include "gma/issuer.hpp"
#include "gma/layer_issuer.hpp"
#include "gma/pointer_issuer.hpp"
#include "gma/trace.hpp"
#include "gma/traffic.hpp"
#include "local/attach.hpp"
#include "local/hazards.hpp"
#include "local/registry.hpp"
#include "local/space.hpp"
#include "mailbox/forwarder.hpp"
#include "mailbox/port.hpp"
#include "node/member.hpp"
#include "os/event.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class Gma {
public:
    struct Surroundings {                        // parts that only some processes have
        const local::OwnRow* own_row = nullptr;  // nullptr: ranks are threads of a test
        remote::Link* link = nullptr;            // to the gateway of the node, in a job of several
        const local::OperationTable* operations = nullptr;  // equal in all processes and gateways
        mailbox::DeviceHost* devices = nullptr;             // of this process, if it has any
    };

    // Opens global memory access for a member that took its slot. A meeting of all ranks comes before the first use. All arguments must outlive this.
    // Errors: config (a forced path that cannot work here), system, memory, limit.
    static base::Result<std::unique_ptr<Gma>> open(node::Member& member,
                                                   local::Hazards& hazards,
                                                   FastPath& fast,
                                                   const base::Config& config,
                                                   const Surroundings& surroundings);
    // Nothing may be outstanding. Ends all registrations, and waits until no thread is inside their memory.
    ~Gma();
    Gma(const Gma&) = delete;
    Gma& operator=(const Gma&) = delete;

    // Whether the required paths exist, after the meeting of all ranks. Errors: unsupported, config.
    base::Status check_requirements() { return routes_.check_requirements(); }

    // Copies at once where both places are mapped here and the order is satisfied, else issues the copy: for layers above.
    [[gnu::always_inline]] Handle copy(GlobalAddress target,
                                       GlobalAddress source,
                                       std::uint64_t bytes,
                                       Handle order) {
        const Handle handle = try_copy(target, source, bytes, order);
        if (handle != handle_null) [[likely]]
            return handle;
        return issue_copy(target, source, bytes, order);
    }

    // An atomic whose old value the caller wants now: copy(), and a wait for this command if it is issued. Errors: as Fetcher::fetch.
    template <typename Word, memory::Operation operation>
    [[gnu::always_inline]] base::Result<Word> fetch(GlobalAddress word, Operands<Word> operands) {
        if (memory::HazardLine* line = inline_line(); line != nullptr) [[likely]] {
            Word old = 0;
            if (fetch_inline<plain, Word, operation>(fast_, *line, word, operands, 0, old) !=
                handle_null) [[likely]] {
                return old;
            }
        }
        auto old = fetch(
            {operation, sizeof(Word), 0, word, sizeof(Word), operands.operand, operands.expected});
        if (!old.is_ok()) return std::move(old).failure();
        return static_cast<Word>(old.value());
    }

    // Issue a command. Always return a handle; a bad command gives a failed one.
    [[gnu::always_inline]] Handle issue(const Command& command, Handle order) {
        return issuer_.issue(command, order);
    }

    [[gnu::always_inline]] Handle issue_copy(GlobalAddress target,
                                             GlobalAddress source,
                                             std::uint64_t bytes,
                                             Handle order) {
        return issuer_.issue_copy(target, source, bytes, order);
    }

    // The copies of a list, in no order among themselves: as copy() each. The handle stands for all: it is that of a copy of nothing after them.
    //   call  list or block; range(i)  copy i of `count`: target, source, size
    template <typename Range>
    Handle copy_list(memory::IssuedBy call, std::uint64_t count, const Range& range, Handle given) {
        const GlobalAddress here = space().starter_address(space().process());
        Command all{.target = here, .source = here, .expected = Command::note(call)};
        const std::optional<Handle> order = commands_.order_of_list(given);
        if (!order || count == 0) return issuer_.issue_long(all, given);
        all.operand = count;
        Handle queued = handle_null;
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto& [target, source, size] = range(i);
            if (try_copy(target, source, size, *order) != handle_null) continue;
            queued = std::max(queued, issue_copy(target, source, size, *order));
        }
        return issuer_.issue_long(all, queued);
    }

    Handle fail(base::Status failure) { return issuer_.fail(std::move(failure)); }

    // Issues a numbered operation; the result is written before the handle completes. Errors: argument (no such process; sizes do not fit), unsupported (no such operation; private memory), the operation's.
    Handle issue_invoke(const Invocation& call, Handle order) {
        return issuer_.issue_invoke(call, order);
    }

    Handle issue_followed(const Command& copy, const Invocation& call, Departure departure);
    Handle issue_followed(const PointerCopy& put, const Invocation& call, Handle order);
    void send_rest();  // after commands that were issued to leave together

    // The failure of a numbered operation that its caller ran itself.
    base::Status invoke_failure(const Invocation& call, base::Code code) const;

    // Takes the memory for issue_invoke() beforehand, so that an invoke without an order does not fail for lack of it. False: there is none.
    [[nodiscard]] bool prepare_invokes() noexcept { return issuer_.prepare_invokes(); }

    // prepare_invokes() for issue_followed(); see Issuer.
    [[nodiscard]] bool prepare_followed() noexcept { return issuer_.prepare_followed(); }

    // Issues a copy between a plain pointer, whose memory is the caller's again when the handle has ended, and an address.
    Handle issue_pointer(const PointerCopy& copy, Handle order) {
        return pointer_issuer_.issue(copy, order);
    }

    // A put, and an add behind it, under one handle.
    Handle issue_signalled(const PointerCopy& put, const Signal& signal, Handle order);

    // Whether ACP_CHECK compares the sources of puts by issue_pointer() and issue_signalled().
    [[nodiscard]] bool is_watching_sources() noexcept { return local_ends_.watch() != nullptr; }

    // Whether issue_invoke() does for these addresses what issue_signalled() does: its gateway reaches this memory of another node.
    [[nodiscard]] bool can_invoke(std::uint32_t operation,
                                  std::uint64_t argument_bytes,
                                  GlobalAddress first,
                                  GlobalAddress second) const noexcept;

    // Whether a command with this order may run at once.
    [[nodiscard]] bool is_satisfied(Handle order) { return issuer_.is_satisfied(order); }

    base::Result<std::uint64_t> fetch(const Command& command) { return fetcher_.fetch(command); }

    // Completion::wait_for_one, has_ended: layers above wait for their own commands, never for the program's.
    base::Status wait_for_one(Handle handle) { return completion_.wait_for_one(handle); }

    [[nodiscard]] bool has_ended(Handle handle, std::int64_t timeout_ns = 0) {
        return completion_.has_ended(handle, timeout_ns);
    }

    base::Status wait(Handle handle, std::int64_t timeout_ns, bool is_interruptible) {
        // acquire: the effects of its prefix are visible. An odd handle has no failure of its own.
        const std::uint64_t below = fast_.marks.complete_below.load(std::memory_order_acquire);
        if (handle % 2 != 0 && handle < below) [[likely]]
            return {};
        return completion_.wait(handle, timeout_ns, is_interruptible);
    }

    [[nodiscard]] bool has_waiters() const noexcept { return completion_.has_waiters(); }

    // Operations in flight of layers above, and their conditions; neither is a command.
    [[nodiscard]] AllUnderWay& under_way() noexcept { return completion_.under_way(); }

    node::Outcome wait_until(Condition& condition,
                             std::int64_t timeout_ns,
                             bool is_interruptible = false,
                             ShownWait* shown = nullptr) {
        return completion_.wait_until(condition, timeout_ns, is_interruptible, shown);
    }

    [[nodiscard]] node::Unreported finish_all() { return completion_.finish_all(); }

    void wait_for_sources(Handle handle) { completion_.wait_for_sources(handle); }

    void leave_for_long() noexcept { completion_.leave_for_long(); }

    void drop_failures(Handle handle) { completion_.drop_failures(handle); }

    [[nodiscard]] bool is_complete(Handle handle) { return completion_.is_complete(handle); }

    base::Result<local::Key> register_memory(void* address,
                                             std::uint64_t bytes,
                                             std::uint32_t color);

    [[nodiscard]] local::Registry& registry() noexcept { return registry_; }

    [[nodiscard]] RegistrationCache& registrations() noexcept { return local_ends_.cache(); }

    [[nodiscard]] const local::Space& space() const noexcept { return *opened_.space; }

    [[nodiscard]] local::Hazards& hazards() noexcept { return hazards_; }

    [[nodiscard]] Path path(GlobalAddress target, GlobalAddress source) {
        return routes_.path(target, source);
    }

    // The path to the private memory of another rank, independent of present registrations.
    [[nodiscard]] Path private_path(std::uint32_t slot) { return routes_.private_path(slot); }

    [[nodiscard]] Traffic traffic() const;

    // Polls once, for a thread that waits for other nodes outside of gma. true when something moved.
    bool help() { return progress_.help(); }

    [[nodiscard]] LayerIssuer& layer_commands() noexcept { return layer_issuer_; }

    [[nodiscard]] ServiceSleep& service_sleep() noexcept { return service_sleep_; }

private:
    static constexpr auto plain = memory::HazardFence::compiler;

    // The calling thread's line, if it may take the inline path: not where that needs a fence.
    [[nodiscard]] memory::HazardLine* inline_line() {
        return hazards_.has_membarrier() ? hazards_.free_line() : nullptr;
    }

    // copy(), or handle_null if it cannot be done at once.
    [[nodiscard, gnu::always_inline]] Handle try_copy(GlobalAddress target,
                                                      GlobalAddress source,
                                                      std::uint64_t bytes,
                                                      Handle order) {
        memory::HazardLine* const line = inline_line();
        if (line == nullptr) return handle_null;
        return copy_inline<plain>(fast_, *line, {target, source}, bytes, order, [line] {
            memory::leave(*line);
            return handle_null;
        });
    }

    struct Opened {  // the parts whose opening can fail
        std::unique_ptr<local::Space> space;
        std::unique_ptr<Trace> trace;  // nullptr: none is wanted
        std::unique_ptr<local::Attach> attach;
        std::unique_ptr<mailbox::Port> port;
        std::unique_ptr<mailbox::Forwarder> forwarder;
        std::optional<os::ArmedWait> wait;  // where the gateway is in this process
    };

    static base::Status open_parts(Opened& opened,
                                   node::Member& member,
                                   local::Hazards& hazards,
                                   const base::Config& config,
                                   const Surroundings& surroundings);
    Gma(node::Member& member,
        local::Hazards& hazards,
        FastPath& fast,
        const base::Config& config,
        const Surroundings& surroundings,
        Opened opened);
    base::Status begin(bool has_devices);
    void revoke();
    Issuer::Parts parts() noexcept;

    local::Hazards& hazards_;
    FastPath& fast_;
    Opened opened_;
    local::Registry registry_;
    LocalEnds local_ends_;
    Commands commands_;
    Routes routes_;
    Mover mover_;
    Invokes invokes_;
    JobRunner jobs_;
    MailboxCarrier mailbox_;
    RemoteCarrier remote_;
    LayerIssuer layer_issuer_;
    ServiceSleep service_sleep_;
    Progress progress_;
    ServiceThread service_;
    Completion completion_;
    Issuer issuer_;
    PointerIssuer pointer_issuer_;
    Fetcher fetcher_;
};

}  // namespace acp::gma
