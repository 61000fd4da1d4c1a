// SPDX-License-Identifier: BSD-3-Clause
// What a router is made of, private to its .cpp files, which are split by event: submit (commands begin), command
// (commands end, refusals), execute (work at the source's node), invoke (operations), send (flows, turns, room), place (pieces arrive),
// receive (frames are told apart), fail (nodes and processes are lost), watch (what is overdue).
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "router/meeting.hpp"
#include "router/records.hpp"
#include "router/router.hpp"

namespace acp::router {

inline constexpr std::uint32_t pieces_per_turn_max = 64;       // to one node
inline constexpr std::uint32_t retries_per_turn_max = 64;      // of one process's waiting work
inline constexpr std::uint64_t run_bytes_max = 256ULL * 1024;  // of a local copy in one go
inline constexpr std::uint64_t staging_bytes_max = 8960;       // of a piece that placement reads
inline constexpr std::uint64_t lasting_bytes_min = 512;        // of a piece left where it is
inline constexpr std::uint64_t kept_overhead_bytes =
    128;                                      // what keeping a piece costs beside its bytes
inline constexpr Time scan_ns = 500'000'000;  // ORD-31: overdue after one to two of these
inline constexpr Time retry_ns_min = 10'000;  // placement had no room
inline constexpr Time retry_ns_max = 1'000'000;
inline constexpr Time resend_ns_min = 200'000;       // another node had no room
inline constexpr std::uint32_t resends_min = 4096;   // ranges kept to be sent again
inline constexpr std::uint32_t resend_levels = 9;    // each waits twice as long: up to 51 ms
inline constexpr std::uint32_t runs_open_max = 64;   // a power of two
inline constexpr std::uint32_t quiet_scans_max = 4;  // then the initiator is asked

using Commands = std::span<const memory::NumberedCommand>;

// A command to be begun at the node of its source: the part of it that starts at its addresses.
struct Task {
    memory::Command command;
    std::uint64_t total = 0;  // of the whole copy
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    Share share = Share::own;
};

// Bytes of memory of this node on their way to another.
struct Piece {
    GlobalAddress source = 0;
    GlobalAddress target = 0;
    std::uint64_t total = 0;  // of the whole copy
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    std::uint32_t bytes = 0;
};

enum class Sent : std::uint8_t { sent, failed, no_room, not_now };
enum class Step : std::uint8_t { done, again, parked, blocked };

// A numbered operation to be run on the node of a process.
struct Call {
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    std::uint32_t operation = 0;
    std::uint32_t process = 0;
};

// How a command failed.
struct Failure {
    base::Code code = base::Code::peer;
    End end = End::none;
    std::uint32_t process = 0;
};

struct Router::State final : Meeting::Layout {
    State(const RouterSettings& given,
          const memory::GaLayout& ga_layout,
          const Map& job_map,
          Placement& node_placement,
          Completions& job_completions);
    ~State() override;
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    [[nodiscard]] std::uint32_t first(NodeId node) const noexcept override {
        return map.first_process(node);
    }

    // Where things are.
    [[nodiscard]] bool is_mine(std::uint64_t process) const noexcept {
        return process - first_process < locals.size();
    }

    [[nodiscard]] LocalProcess& local(std::uint64_t process) noexcept {
        return locals[static_cast<std::size_t>(process - first_process)];
    }

    [[nodiscard]] std::uint64_t where(GlobalAddress address) const noexcept {
        return process_of(layout, address);
    }

    // A process that fits into Failure::process, whatever an address says.
    [[nodiscard]] std::uint32_t named(std::uint64_t process) const noexcept {
        return process < settings.procs ? static_cast<std::uint32_t>(process) : 0;
    }

    [[nodiscard]] Peer& peer(NodeId node);
    [[nodiscard]] Peer& peer_of(std::uint32_t process);

    // submit.cpp: commands begin.
    bool submit(const Request& request);
    [[nodiscard]] std::size_t submit_all(std::uint32_t initiator, Commands run);
    [[nodiscard]] std::size_t begin_short_puts(std::uint32_t initiator, Commands run);
    [[nodiscard]] std::size_t fill_datagram(Peer& to, std::uint32_t initiator, Commands run);
    void fill_in(Outstanding& record,
                 std::uint32_t initiator,
                 const memory::NumberedCommand& one) const noexcept;
    bool invoke(const Call& call, Bytes bytes);
    void enter(std::uint32_t index);
    [[nodiscard]] bool begin_outstanding(std::uint32_t index);
    [[nodiscard]] bool begin_own_invoke(const Outstanding& record);
    [[nodiscard]] bool is_lost(const Outstanding& command, Failure& failure);
    [[nodiscard]] bool fits(const Outstanding& call);
    [[nodiscard]] static Task task_of(const Outstanding& record,
                                      std::uint64_t offset,
                                      std::uint64_t bytes) noexcept;
    [[nodiscard]] bool request(Peer& to,
                               const Outstanding& record,
                               std::uint64_t offset,
                               std::uint64_t bytes);
    [[nodiscard]] bool write_request(Peer& to,
                                     const Outstanding& record,
                                     std::uint64_t offset,
                                     std::uint64_t bytes);

    // command.cpp: commands end.
    [[nodiscard]] std::uint64_t target_process(const Outstanding& command) const noexcept {
        return command.operation == invoke_operation ? command.target : where(command.target);
    }

    [[nodiscard]] std::uint64_t source_process(const Outstanding& command) const noexcept {
        return command.operation == invoke_operation ? command.target : where(command.source);
    }

    void forget(std::uint32_t index);
    void complete(std::uint32_t index, const Failure& failure);
    void complete_invoke(std::uint32_t index, base::Code code, Bytes result);
    void finish(std::uint32_t initiator, std::uint64_t token);
    void fail(std::uint32_t initiator, std::uint64_t token, const Failure& failure);
    [[nodiscard]] Fault on_end(const Peer& from, const ShortFrame& frame);
    [[nodiscard]] std::uint32_t involved(const Peer& from,
                                         std::uint32_t initiator,
                                         std::uint64_t token);
    [[nodiscard]] Fault on_long(const Peer& from, const LongFrame& frame);
    [[nodiscard]] Fault on_value(const Peer& from, std::uint32_t index, std::uint64_t value);
    [[nodiscard]] Fault on_refused(const Peer& from, const RefusedFrame& frame);
    [[nodiscard]] Fault on_result(const Peer& from, const ResultFrame& frame, Bytes result);
    void send_again(std::uint32_t index, std::uint64_t offset, std::uint64_t bytes);
    void resend_due();
    [[nodiscard]] bool resend(const Resend& again);
    [[nodiscard]] bool resend_value(const Outstanding& record, std::uint64_t value);
    [[nodiscard]] Resend* later(std::uint32_t index);

    // execute.cpp: work at the node of the source.
    [[nodiscard]] bool begin(const Task& task);
    [[nodiscard]] bool begin_pieces(const Task& task, Peer& to);
    [[nodiscard]] bool begin_run(const Task& task);
    [[nodiscard]] std::uint32_t take_operation(Share share, Work work);
    [[nodiscard]] std::uint32_t take_task(const Task& task, Work work, NodeId node);
    void release(std::uint32_t index);
    void go_on(std::uint32_t index, Step step);
    [[nodiscard]] std::byte* staging_room(std::uint32_t buffer) const noexcept;

    [[nodiscard]] static Ticket ticket_of(std::uint32_t index,
                                          const Operation& operation) noexcept {
        return (std::uint64_t{operation.generation} << 32) | (index + 1);
    }

    [[nodiscard]] Sent send_piece(Peer& to, const Piece& piece);
    [[nodiscard]] Step step(std::uint32_t index, Peer& to);
    [[nodiscard]] Step step_request(Operation& operation, Peer& to);
    [[nodiscard]] Step step_pieces(std::uint32_t index, Peer& to);
    [[nodiscard]] Step stage(std::uint32_t index, std::uint32_t bytes);
    [[nodiscard]] Step step_staged(Operation& operation, Peer& to);
    [[nodiscard]] Step step_value(Operation& operation, Peer& to);
    [[nodiscard]] Step step_run(std::uint32_t index);
    [[nodiscard]] Step step_invoke(std::uint32_t index, Peer& to);
    [[nodiscard]] Step step_local_invoke(std::uint32_t index);
    [[nodiscard]] Sent run_invoke(const Operation& operation, Bytes arguments, Peer& to);
    [[nodiscard]] Step after_run(std::uint32_t index, base::Code code, std::uint64_t old);
    [[nodiscard]] Step after_atomic(std::uint32_t index, std::uint64_t old);
    void refuse_command(Peer& to, const Task& task);
    [[nodiscard]] Fault on_command(Peer& from, const CommandFrame& frame);
    [[nodiscard]] Fault on_invoke(Peer& from, const InvokeFrame& frame, Bytes bytes);
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

    // send.cpp: what goes to other nodes, in turns.
    void enqueue(std::uint32_t index, bool is_first = false);
    void park(std::uint32_t index, std::uint64_t process);
    void wake(Peer& to);
    void abandon(std::uint32_t index);
    void post(Peer& to, const Note& note);
    [[nodiscard]] bool write_note(Peer& to, const Note& note);
    [[nodiscard]] std::byte* reserve(Peer& to, std::uint64_t bytes) noexcept;
    void note_no_memory(Peer& to) noexcept;
    [[nodiscard]] std::span<std::byte> reserve_rest(Peer& to, std::uint64_t bytes_min) noexcept;
    void commit(Peer& to, std::uint64_t bytes);
    [[nodiscard]] std::uint32_t piece_bytes(Peer& to) const;
    void pump(Peer& to);
    void pump_all();
    void retry_waiting();
    void retry(LocalProcess& process);
    [[nodiscard]] bool place_again(std::uint32_t index);
    void flush_runs();
    void flush_run(Run& run);
    void note_meeting();
    void advance_meeting();
    bool turn();
    [[nodiscard]] Time deadline() const noexcept;

    // place.cpp: pieces that come.
    [[nodiscard]] Fault on_put(Peer& from, const PutFrame& frame, Bytes bytes);
    [[nodiscard]] Fault on_puts(Peer& from, const PutsFrame& frame, Bytes puts);
    [[nodiscard]] Fault arrive(const Peer& from, const PutFrame& frame, bool& is_full);
    [[nodiscard]] Fault check_get(const PutFrame& frame, bool& is_late);
    void place_value(const Outstanding& command, std::uint64_t value);
    void keep(const PutFrame& frame, Bytes bytes, NodeId from);
    void refuse_piece(const PutFrame& frame);
    void return_value(const PutFrame& frame, Bytes bytes);
    void place(const PutFrame& frame, Bytes bytes, NodeId from);
    void use_spare(const PutFrame& frame, NodeId from);
    void settle_piece(const Operation& piece, base::Code code);
    void settle(const PutFrame& frame, base::Code code);
    void drop_partial(std::uint32_t index);

    // receive.cpp
    void on_frames(NodeId node, Bytes frames);
    [[nodiscard]] Fault on_frame(Peer& from, Bytes& frames);
    [[nodiscard]] Fault on_other_frame(Peer& from, FrameType type, Bytes& frames);
    [[nodiscard]] Fault on_short(Peer& from, const ShortFrame& frame);
    [[nodiscard]] Fault on_meet(const Peer& from, const MeetFrame& frame, Bytes values);

    // fail.cpp
    void sever_later(NodeId node);
    void sever_now();
    void on_severed(NodeId node, bool is_news);
    void end_commands_of_node(const Peer& gone);
    void end_work_of_node(Peer& gone);
    void end_partials_of_node(const Peer& gone);
    [[nodiscard]] bool is_dead(std::uint64_t process) const noexcept;
    [[nodiscard]] bool is_gone(std::uint32_t process);
    void on_death(std::uint32_t process, std::uint32_t wait_status, bool is_local);
    void end_commands_of_process(std::uint32_t process);
    void end_work_of_process(std::uint32_t process);
    void pass_on(const Note& news);

    // watch.cpp
    void scan();
    void offer_room_again();
    void want_watched(NodeId node);
    void ask_to_watch(const Outstanding& record);
    void watch_for_another(Peer& asking, NodeId node);
    void scan_partials();

    void arm() noexcept {
        if (scan_at == datagram::never) scan_at = now + scan_ns;
    }

    [[nodiscard]] bool is_idle() const noexcept;

    RouterSettings settings;
    const memory::GaLayout& layout;
    const Map& map;
    Placement& placement;
    Completions& completions;
    datagram::Endpoint* endpoint = nullptr;
    JobShape shape;
    std::uint32_t first_process;
    std::vector<LocalProcess> locals;
    Counters counters;
    Time now = 0;
    std::uint64_t moves = 0;  // things done, so that a turn can tell whether it did any

    Pool<Outstanding> commands;
    Index<Outstanding> book;
    Pool<Arguments> own_arguments;
    Pool<Arguments> foreign_arguments;
    Pool<Resend> resends;
    std::array<Queue, resend_levels> resend_queues;

    std::array<std::uint32_t, share_count> shares_max;
    Pool<Operation> operations;
    std::array<std::uint32_t, share_count> shares{};  // operations in use
    Pool<Flow> flows;
    Index<Flow> flow_index;
    Pool<Note> notes;
    std::unique_ptr<std::byte[]> staging;  // not touched before a piece needs it
    std::vector<std::uint32_t> staging_free;
    std::array<Run, runs_open_max> runs{};
    std::uint32_t runs_open = 0;

    Pool<Partial> partials;
    Index<Partial> partial_index;
    std::uint32_t spare = no_index;  // the operation whose ticket the next piece is placed under
    std::vector<std::uint32_t> waiting_processes;  // local, with work placement had no room for
    std::vector<std::uint32_t>
        retried_processes;  // those being asked again; both have room for all
    Time retry_at = datagram::never;
    Time retry_wait = retry_ns_min;

    std::vector<Peer*> peer_at;  // by node; nullptr: never met
    std::vector<Peer> peers;     // room for all, so that they stay where they are
    Peer* last_peer = nullptr;
    Peer* ready_head = nullptr;
    Peer* ready_tail = nullptr;

    std::vector<std::uint32_t> dead;  // processes, sorted; room for all
    std::vector<NodeId> to_sever;     // each once; room for all
    bool is_any_lost = false;         // a node or a process

    Meeting meeting;
    bool is_meeting_lost = false;   // a node is gone: none can end
    bool is_meeting_ready = false;  // something may be sent or said
    std::uint32_t meeting_scans = 0;
    std::uint32_t scan_number = 1;
    Time scan_at = datagram::never;
    std::vector<NodeId> watched;  // room for all
};

}  // namespace acp::router
