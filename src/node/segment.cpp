// SPDX-License-Identifier: BSD-3-Clause
// Computes the layout of the node segment, makes it and opens it.
#include "node/segment.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/config.hpp"
#include "node/heap_limit.hpp"
#include "node/mailbox_layout.hpp"
#include "node/node_table.hpp"
#include "os/cpu.hpp"
#include "os/event.hpp"
#include "os/leak_check.hpp"
#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/memory_file.hpp"
#include "os/process.hpp"

namespace acp::node {

namespace {

constexpr std::uint64_t page = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

// The facts on which two builds must agree to share memory. Changes that no size or offset shows,
// such as a field's meaning, are covered by the versions in front.
constexpr auto layout_facts = std::to_array<std::uint64_t>({
    segment_magic,
    segment_version,
    mailbox_layout_version,
    ring_layout_version,
    // sizes
    sizeof(ControlBlock),
    sizeof(Shape),
    sizeof(Slot),
    sizeof(Door),
    sizeof(Awaited),
    sizeof(UnreportedEntry),
    sizeof(Loss),
    sizeof(memory::TableEntry),
    sizeof(memory::HazardLine),
    memory::hazard_lines_per_slot,
    memory::granules_per_process,
    memory::color_bits,
    RingLayout::bytes,
    RingLayout::commands_at,
    RingLayout::ended_at,
    RingLayout::invokes_at,
    command_record_bytes,
    ended_record_bytes,
    ring_records,
    SegmentLayout::rings_stride,
    // where the fields lie
    offsetof(ControlBlock, shape),
    offsetof(ControlBlock, watcher_pid),
    offsetof(ControlBlock, job_epoch),
    offsetof(ControlBlock, deaths),
    offsetof(ControlBlock, first_dead_slot_plus_1),
    offsetof(ControlBlock, looked_ns),
    offsetof(ControlBlock, barrier_arrived),
    offsetof(ControlBlock, barrier_released),
    offsetof(ControlBlock, barrier_arrived_beside),
    offsetof(ControlBlock, no_yield_until_ns),
    offsetof(ControlBlock, yield_backoff_ns),
    offsetof(ControlBlock, usable_cpus),
    offsetof(ControlBlock, are_ranks_set),
    offsetof(ControlBlock, verdict),
    offsetof(ControlBlock, verdict_process),
    offsetof(ControlBlock, verdict_other),
    offsetof(ControlBlock, conclusion),
    offsetof(ControlBlock, meeting_asked),
    offsetof(ControlBlock, meeting_gathers),
    offsetof(ControlBlock, gateway_sleeps),
    offsetof(ControlBlock, gateway_event),
    offsetof(ControlBlock, watch_asked),
    offsetof(ControlBlock, is_unreachable),
    offsetof(ControlBlock, own_key),
    offsetof(ControlBlock, addresses_pooled),
    offsetof(ControlBlock, commands_rung),
    offsetof(ControlBlock, losses),
    offsetof(ControlBlock, losses_begun),
    offsetof(ControlBlock, told),
    offsetof(Slot, state),
    offsetof(Slot, pid),
    offsetof(Slot, rank),
    offsetof(Slot, wanted_rank),
    offsetof(Slot, wait_status),
    offsetof(Slot, hazard_lines_used),
    offsetof(Slot, attach_token),
    offsetof(Slot, attach_address),
    offsetof(Slot, udp_port),
    offsetof(Slot, pool_in_use),
    offsetof(Slot, state_at_death),
    offsetof(Slot, arrived_barrier),
    offsetof(Slot, own_end),
    offsetof(Slot, unmapped_rank_plus_1),
    offsetof(Slot, awaited),
    offsetof(Slot, door),
    offsetof(Slot, service_hold),
    offsetof(Slot, rung),
    offsetof(Slot, outcome),
    offsetof(CallOutcome, meeting),
    offsetof(Slot, runs_on_fiber),
    offsetof(Slot, attach_commands),
    offsetof(Slot, remote_bytes),
    offsetof(Slot, has_unreported),
    offsetof(Door, inbox),
    offsetof(Door, attendants),
    offsetof(Door, waiter_bell),
    offsetof(Door, service_bell),
    offsetof(Door, must_ring_service),
    offsetof(Awaited, what),
    offsetof(Awaited, call),
    offsetof(Awaited, text),
    offsetof(Awaited, since_ns),
    offsetof(Awaited, source),
    offsetof(Loss, why),
    offsetof(Loss, bytes),
    offsetof(Shape, procs),
    offsetof(Shape, first_process),
    offsetof(Shape, local_procs),
    offsetof(Shape, machine_procs),
    offsetof(Shape, starter_bytes),
    offsetof(Shape, heap_bytes),
    offsetof(Shape, mailbox_kind),
    offsetof(Shape, datagram_bytes),
    offsetof(Shape, job_id),
    offsetof(Shape, node),
    offsetof(Shape, nodes),
    offsetof(Shape, has_own_gateways),
    offsetof(Shape, cipher),
    offsetof(Shape, peer_timeout_ms),
    offsetof(Shape, heap_bound),
    sizeof(Claims),
    offsetof(memory::TableEntry, start),
    offsetof(memory::TableEntry, base),
    offsetof(memory::TableEntry, bytes),
    offsetof(memory::TableEntry, owner_address),
    offsetof(memory::TableEntry, kind),
    offsetof(memory::TableEntry, device),
    offsetof(memory::HazardLine, source),
    offsetof(memory::HazardLine, claims),
    offsetof(memory::HazardLine, commands),
    offsetof(memory::HazardLine, attach_choices),
});

constexpr std::uint64_t hash_start = 0xcbf29ce484222325ULL;

// FNV-1a over the facts' bytes.
constexpr std::uint64_t hash_of(std::span<const std::uint64_t> facts, std::uint64_t hash) noexcept {
    for (const std::uint64_t fact : facts) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            hash = (hash ^ ((fact >> shift) & 0xff)) * 0x100000001b3ULL;
        }
    }
    return hash;
}

base::Status check(const Shape& shape) {
    if (shape.local_procs < 1 || shape.local_procs > local_procs_max) {
        return {base::Code::argument, "a node holds 1 to " + std::to_string(local_procs_max) +
                                          " ranks, not " + std::to_string(shape.local_procs)};
    }
    if (slots_of(shape) > local_procs_max) {
        return {base::Code::argument, "a node of a job of several nodes holds 1 to " +
                                          std::to_string(local_procs_max - 1) + " ranks, not " +
                                          std::to_string(shape.local_procs)};
    }
    if (shape.nodes < 1 || shape.nodes > shape.procs || shape.node >= shape.nodes) {
        return {base::Code::argument, "node " + std::to_string(shape.node) + " of " +
                                          std::to_string(shape.nodes) + " in a job of " +
                                          std::to_string(shape.procs) + " ranks"};
    }
    if (shape.procs - shape.local_procs < shape.first_process) {
        return {base::Code::argument, "processes " + std::to_string(shape.first_process) +
                                          " and following, " + std::to_string(shape.local_procs) +
                                          " of them, are not in a job of " +
                                          std::to_string(shape.procs)};
    }
    if (shape.procs < shape.local_procs || shape.procs > (1U << memory::process_bits_max)) {
        return {base::Code::argument, "a job has 1 to " +
                                          std::to_string(1U << memory::process_bits_max) +
                                          " ranks, not " + std::to_string(shape.procs)};
    }
    const memory::GaLayout addresses(shape.procs);
    const std::uint64_t room = addresses.granule_bytes() * (memory::granules_per_process / 2);
    const std::uint64_t bound = std::min(starter_bytes_max, room);
    if (shape.starter_bytes > bound) {
        return {base::Code::argument, "starter memory of " + std::to_string(shape.starter_bytes) +
                                          " bytes per rank does not fit: a job of " +
                                          std::to_string(shape.procs) + " ranks has room for " +
                                          std::to_string(bound)};
    }
    return {};
}

void say_that_the_event_is_lost(int fd) {
    static std::atomic<bool> is_said{false};
    if (is_said.exchange(true, std::memory_order_relaxed))
        return;  // relaxed: once is enough to say it
    os::print_error(
        "acp: process %d: descriptor %d, by which it wakes the agent of its node, was "
        "closed or is another file "
        "now: its commands to other nodes may wait up to 2 s; a program that closes "
        "descriptors must leave "
        "those it did not open\n",
        os::own_pid(), fd);
}

}  // namespace

SegmentLayout SegmentLayout::of(const Shape& shape) noexcept {
    const std::uint64_t n = shape.local_procs;
    const std::uint64_t slots = slots_of(shape);
    const bool has_gateway = shape.nodes > 1;
    SegmentLayout layout;
    std::uint64_t end = sizeof(ControlBlock);
    const auto place = [&end](std::uint64_t bytes) {
        const std::uint64_t at = end;
        end = round_up(end + bytes, page);
        return at;
    };
    layout.slots = place(slots * sizeof(Slot));
    layout.ranks = place(3ULL * shape.procs * sizeof(SharedU32));
    layout.nodes = place(has_gateway ? NodeTable::bytes(shape.nodes) : 0);
    const std::uint64_t loss_words = (shape.procs + 63) / 64 + (shape.nodes + 63) / 64;
    layout.losses = place(has_gateway ? loss_words * sizeof(SharedU64) : 0);
    layout.rings = place(has_gateway ? n * rings_stride : 0);
    layout.hazards = place(hazards_shift + slots * hazards_stride);
    layout.tables = place(n * memory::granules_per_process * sizeof(memory::TableEntry));
    layout.mailbox_stride = round_up(MailboxLayout::of(shape).bytes_per_slot, page);
    layout.mailboxes = place(slots * layout.mailbox_stride);
    layout.claim_stride = round_up(shape.claims.end(), page);
    layout.claims = place(n * layout.claim_stride);
    layout.failures = place(n * sizeof(UnreportedEntry));
    layout.starter_stride = round_up(std::max<std::uint64_t>(shape.starter_bytes, 1), page);
    layout.starters = place(n * layout.starter_stride);
    layout.total = end;
    return layout;
}

Shape shape_for(const base::Config& config, std::uint32_t procs) {
    Shape shape;
    shape.procs = procs;
    shape.local_procs = procs;
    shape.machine_procs = procs;
    shape.starter_bytes = config.starter_bytes;
    const HeapSize heap = heap_size_for(config, procs, procs);
    shape.heap_bytes = heap.bytes;
    shape.heap_bound = static_cast<std::uint32_t>(heap.bound);
    shape.mailbox_kind = static_cast<std::uint32_t>(config.mailbox);
    shape.intranode = static_cast<std::uint32_t>(config.intranode);
    const bool is_udp = config.intranode == base::IntraNode::udp;
    const std::uint32_t automatic = is_udp ? udp_datagram_bytes : auto_datagram_bytes;
    shape.datagram_bytes = config.datagram_bytes != 0 ? config.datagram_bytes : automatic;
    shape.peer_timeout_ms = static_cast<std::uint32_t>(config.peer_timeout_ns / 1'000'000);
    return shape;
}

std::uint64_t layout_hash() noexcept {
    constexpr std::uint64_t hash = hash_of(layout_facts, hash_start);
    return hash_of(std::array{NodeTable::bytes(1), NodeTable::bytes(2)}, hash);
}

base::Result<Segment> Segment::create(const Shape& wanted, ClaimedRanges ranges) {
    if (auto status = check(wanted); !status.is_ok()) {
        return status;
    }
    Shape shape = wanted;
    shape.claims = Claims::of(shape, ranges);
    Segment segment;
    segment.layout_ = SegmentLayout::of(shape);
    auto file = os::create_memory_file(Segment::file_name, segment.layout_.total);
    if (!file.is_ok()) {
        return std::move(file).failure().within("making the node segment");
    }
    segment.file_ = std::move(file).value();
    segment.file_identity_ = os::identity_of_file(segment.file_.get());
    const std::uint64_t starters = shape.local_procs * segment.layout_.starter_stride;
    segment.was_left_sparse_ =
        starters > os::little_bytes && starters > os::memory_limits().available_bytes() / 4;
    if (!segment.was_left_sparse_) {
        if (auto status = os::commit(segment.file_.get(), segment.layout_.starters, starters);
            !status.is_ok()) {
            return std::move(status).within("committing the starter memories");
        }
    }
    auto mapping = os::Mapping::map_shared(segment.file_.get(), segment.layout_.total);
    if (!mapping.is_ok()) {
        return std::move(mapping).failure().within("mapping the node segment");
    }
    segment.mapping_ = std::move(mapping).value();
    segment.base_ = segment.mapping_.data();
    ControlBlock& control = segment.control();
    control.magic = segment_magic;
    control.version = segment_version;
    control.shape = shape;
    control.shape.layout_hash = layout_hash();
    segment.reserve_ranges(segment.base_);
    control.usable_cpus.store(static_cast<std::uint32_t>(os::usable_cpus()),
                              std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < shape.local_procs; ++i) {
        segment.slot(i).rank.store(shape.first_process + i, std::memory_order_relaxed);
    }
    return segment;
}

namespace {

base::Status another_build() {
    return {base::Code::mismatch,
            "this process and its launcher use different builds of ACP: use the acprun that was "
            "installed with the library the program is linked to"};
}

// Calls visit(start, bytes) for the claimed memory of each process behind the first bytes of its
// heap. Those first bytes are used first, so a leak check that reads them finds most of what
// programs keep there.
template <typename Visit>
void visit_reserved(char* claims, std::uint64_t stride, const Shape& shape, Visit visit) {
    constexpr std::uint64_t first_bytes = std::uint64_t{8} << 20;
    if (shape.heap_bytes == 0) return;
    const std::uint64_t from =
        shape.claims.offset(heap_blocks) + std::min(first_bytes, shape.heap_bytes);
    for (std::uint32_t slot = 0; slot < shape.local_procs; ++slot) {
        visit(claims + slot * stride + from, stride - from);
    }
}

}  // namespace

// A core dump would take memory for every page of the heaps, most of which were never used;
// valgrind's leak check would read them all.
void Segment::reserve_ranges(char* base) const noexcept {
    os::leave_out_of_core_dumps(base + layout_.claims, layout_.failures - layout_.claims);
    visit_reserved(base + layout_.claims, layout_.claim_stride, shape(),
                   os::leave_out_of_leak_checks);
}

base::Status Segment::close_ranges() const {
    visit_reserved(base() + layout_.claims, layout_.claim_stride, shape(), os::end_leaving_out);
    return os::close_range(base() + layout_.claims, layout_.failures - layout_.claims);
}

base::Status Segment::open_ranges() const {
    auto opened = os::open_range(base() + layout_.claims, layout_.failures - layout_.claims);
    if (opened.is_ok()) reserve_ranges(base());
    return opened;
}

base::Status Segment::check_ranges(ClaimedRanges ranges) const {
    return Claims::of(shape(), ranges) == shape().claims ? base::Status() : another_build();
}

// Maps the file, control block first: it holds the shape, which determines the file's length.
base::Status Segment::map(bool is_written) {
    file_identity_ = os::identity_of_file(file_.get());
    const auto map_part = [&](std::uint64_t bytes) {
        return is_written ? os::Mapping::map_shared(file_.get(), bytes)
                          : os::Mapping::map_shared_read_only(file_.get(), bytes);
    };
    auto head = map_part(sizeof(ControlBlock));
    if (!head.is_ok()) {
        return std::move(head).failure().within("mapping the node segment's control block");
    }
    const auto& control = *reinterpret_cast<const ControlBlock*>(head.value().data());
    if (control.magic != segment_magic || control.version != segment_version ||
        control.shape.layout_hash != layout_hash()) {
        return another_build();
    }
    layout_ = SegmentLayout::of(control.shape);
    auto mapping = map_part(layout_.total);
    if (!mapping.is_ok()) {
        return std::move(mapping).failure().within("mapping the node segment");
    }
    mapping_ = std::move(mapping).value();
    base_ = mapping_.data();
    reserve_ranges(base_);
    return {};
}

base::Result<Segment> Segment::look(os::FileDescriptor file) {
    Segment segment;
    segment.file_ = std::move(file);
    if (auto status = segment.map(false); !status.is_ok()) {
        return status;
    }
    return segment;
}

base::Result<Segment> Segment::open(os::FileDescriptor file, os::FileDescriptor gateway_event) {
    Segment segment;
    segment.file_ = std::move(file);
    if (auto status = segment.map(true); !status.is_ok()) {
        return status;
    }
    segment.gateway_event_ = std::move(gateway_event);
    segment.gateway_event_fd_ = segment.gateway_event_.get();
    if (segment.gateway_event_.is_open()) return segment;
    // acquire: partner is GatewayPort::open; relaxed would suffice, because the processes start
    // after it
    if (segment.control().gateway_event.load(std::memory_order_acquire) != 0) {
        if (auto status = segment.open_gateway_event(); !status.is_ok()) {
            return status;
        }
    }
    return segment;
}

base::Status Segment::open_gateway_event() {
    const std::uint32_t number = control().gateway_event.load(std::memory_order_acquire);
    auto event = os::adopt_event(static_cast<int>(number) - 1);
    if (!event.is_ok()) {
        return std::move(event).failure().within("taking the event that wakes the node's gateway");
    }
    gateway_event_ = std::move(event).value();
    gateway_event_fd_ = gateway_event_.get();
    return {};
}

void Segment::signal_gateway() const noexcept {
    if (gateway_event_fd_ >= 0 && !os::signal_event(gateway_event_fd_)) {
        say_that_the_event_is_lost(gateway_event_fd_);
    }
}

base::Result<os::Mapping> Segment::map_again() const {
    if (!has_file()) {
        return base::Status(base::Code::state,
                            "the descriptor of the node segment is not there any more: a program "
                            "that closes descriptors must leave those it did not open");
    }
    auto mapping = os::Mapping::map_shared(file_.get(), layout_.total);
    if (!mapping.is_ok()) {
        return std::move(mapping).failure().within("mapping the node segment again");
    }
    reserve_ranges(mapping.value().data());
    return mapping;
}

Segment Segment::share() const noexcept {
    Segment segment;
    segment.gateway_event_fd_ = gateway_event_fd_;
    segment.base_ = base_;
    segment.layout_ = layout_;
    return segment;
}

}  // namespace acp::node
