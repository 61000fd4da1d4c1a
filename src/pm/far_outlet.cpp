// SPDX-License-Identifier: BSD-3-Clause
// Issues records as operations, and issues refused ones again.
#include "pm/far_outlet.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "os/clock.hpp"

namespace acp::pm {

using base::Code;
using message::RingKey;

namespace {

constexpr std::uint64_t piece_bytes_max =
    operations::leased_put_bytes_max / message::line_bytes * message::line_bytes;

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written as far as read
struct PutMessage {
    operations::LeasedPut head;
    std::array<char, piece_bytes_max> bytes;
};

}  // namespace

// --- FarSending ---

void FarSending::begin(const operations::TakenLease& lease) noexcept {
    lease_ = lease;
    line_ = 0;
    told_again_.reset();
    is_revoked_ = false;
}

void FarSending::prepare(std::uint64_t bytes) {
    if (spare_.empty()) spare_.emplace_back();
    FarRecord& record = spare_.front();
    record.payload.reserve(bytes);
    record.pieces.reserve(bytes / piece_bytes_max + 1);
    record.payload.clear();
}

void FarSending::place(std::uint64_t offset, const void* source, std::uint64_t bytes) noexcept {
    const char* const first = static_cast<const char*>(source);
    spare_.front().payload.assign(first, first + bytes);
    placed_at_ = offset;
}

void FarSending::publish(std::uint64_t offset, std::uint64_t header) noexcept {
    FarRecord& record = spare_.front();
    record.payload_offset = record.payload.empty() ? offset : placed_at_;
    record.header_offset = offset;
    record.header = header;
    record.is_refused = false;
    record.is_header_set = told_again_[ring_shape.index_of(line_)];
    told_again_[ring_shape.index_of(line_)] = false;
    cut(record);
    const message::RecordHead head = RingKey::read_header(header);
    line_ += ring_shape.lines_of(line_, head.bytes, head.wraps);
    records_.splice(records_.end(), spare_, spare_.begin());
    issue_due(record);
}

void FarSending::spare(std::list<FarRecord>::iterator record) noexcept {
    spare_.splice(spare_.end(), records_, record);
}

// The values of the pieces add up to the header, and their units to the record's lines, in any
// order of arrival. A partial sum is no header: it is a small number, or differs from the header in
// its lower half only, so that the check does not fit.
void FarSending::cut(FarRecord& record) const noexcept {
    const std::uint64_t bytes = record.payload.size();
    const std::uint64_t count =
        std::max<std::uint64_t>(1, (bytes + piece_bytes_max - 1) / piece_bytes_max);
    const message::RecordHead head = RingKey::read_header(record.header);
    const std::uint64_t lines = ring_shape.lines_of(line_, head.bytes, head.wraps);
    record.pieces.assign(count, {});
    for (std::uint64_t i = 0; i < count; ++i) {
        FarPiece& piece = record.pieces[i];
        piece.offset = i * piece_bytes_max;
        piece.bytes = std::min(piece_bytes_max, bytes - piece.offset);
        piece.value = 1;
        if (i == 0) piece.value = record.header - (count - 1);
        if (record.is_header_set) piece.value = i == 0 ? record.header : 0;
        piece.units = i == 0 ? static_cast<std::uint32_t>(lines - (count - 1)) : 1;
    }
}

operations::LeasedPut FarSending::put_at(std::uint64_t payload_offset,
                                         std::uint64_t header_offset) const noexcept {
    const std::uint64_t ring = lease_.desk + ring_offset(lease_.lease);
    operations::LeasedPut put;
    put.desk = lease_.desk;
    put.line = lease_.desk + lease_offset(lease_.lease);
    put.state = lease_.state;
    put.place = place_of(process_, lease_.lease);
    put.target = ring + payload_offset;
    put.signal = ring + header_offset;
    put.lease = static_cast<std::uint8_t>(lease_.lease);
    return put;
}

void FarSending::issue(FarRecord& record, FarPiece& piece) noexcept {
    PutMessage message;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    message.head = put_at(record.payload_offset + piece.offset, record.header_offset);
    message.head.value = piece.value;
    message.head.units = piece.units;
    if (record.is_header_set && &piece == record.pieces.data())
        message.head.write = operations::LeasedWrite::set;
    if (piece.bytes != 0)
        std::memcpy(message.bytes.data(), record.payload.data() + piece.offset, piece.bytes);
    try {
        piece.handle = host_.gma().issue_invoke(
            {process_,
             operations::leased_put_number,
             std::as_bytes(std::span(&message, 1)).first(sizeof message.head + piece.bytes),
             {},
             nullptr},
            gma::handle_null);
        piece.is_due = false;
    } catch (const std::bad_alloc&) {
        piece.is_due = true;  // issued by a later call
    }
}

// If the header is set, the first piece is issued after all others have arrived.
void FarSending::issue_due(FarRecord& record) noexcept {
    record.is_refused = record.is_refused || is_cut_off_;
    if (record.is_refused) return;
    bool is_rest_done = true;
    for (auto piece = record.pieces.rbegin(); piece != record.pieces.rend(); ++piece) {
        const bool is_turn =
            is_rest_done || !record.is_header_set || piece != record.pieces.rend() - 1;
        if (piece->is_due && is_turn) issue(record, *piece);
        is_rest_done = is_rest_done && record.is_done(*piece);
    }
}

void FarSending::store(std::uint64_t offset, std::uint64_t header) noexcept {
    if (has_extra()) return;
    told_again_[offset / message::line_bytes] = true;
    operations::LeasedPut put = put_at(offset, offset);
    put.value = header;
    put.write = operations::LeasedWrite::set;
    extra_ = host_.gma().issue_invoke(
        {process_, operations::leased_put_number, std::as_bytes(std::span(&put, 1)), {}, nullptr},
        gma::handle_null);
}

void FarSending::ask() noexcept {
    if (has_extra()) return;
    operations::LeasedPut put = put_at(0, 0);
    put.target = put.signal = put.line + offsetof(sync::LeasedLine<>, asks);
    put.value = 1;
    put.write = operations::LeasedWrite::set;
    extra_ = host_.gma().issue_invoke(
        {process_, operations::leased_put_number, std::as_bytes(std::span(&put, 1)), {}, nullptr},
        gma::handle_null);
}

void FarSending::end_extra() noexcept {
    const base::Status status = host_.gma().wait_for_one(std::exchange(extra_, gma::handle_null));
    is_revoked_ = is_revoked_ || status.code() == Code::stale;
}

void FarSending::take_end(FarRecord& record, FarPiece& piece) noexcept {
    const base::Status status =
        host_.gma().wait_for_one(std::exchange(piece.handle, gma::handle_null));
    switch (status.code()) {
        case Code::ok:
            return;
        case Code::stale:
            record.is_refused = is_revoked_ = true;
            return;
        case Code::peer:
            is_cut_off_ = true;
            return;
        default:
            piece.is_due = true;
    }
}

bool FarSending::has_ended(FarRecord& record) noexcept {
    for (FarPiece& piece : record.pieces) {
        if (piece.handle != gma::handle_null && host_.gma().has_ended(piece.handle))
            take_end(record, piece);
    }
    issue_due(record);
    return std::all_of(record.pieces.begin(), record.pieces.end(),
                       [&](const FarPiece& piece) { return record.is_done(piece); });
}

void FarSending::go_on() noexcept {
    if (has_extra() && host_.gma().has_ended(extra_)) end_extra();
    for (FarRecord& record : records_) (void)has_ended(record);
    while (!records_.empty() && has_ended(records_.front()) &&
           (!records_.front().is_refused || is_cut_off_)) {
        spare(records_.begin());
    }
}

// The receiver has never seen a record whole if one of its pieces was refused. A Hello is not kept:
// each lease gets a new one.
bool FarSending::take_refused(std::list<FarRecord>& refused) noexcept {
    if (has_extra()) return false;  // its refusal must not count for the next lease
    for (FarRecord& record : records_)
        if (!has_ended(record)) return false;
    while (!records_.empty()) {
        const FarRecord& oldest = records_.front();
        const auto tag = static_cast<PoolRecord>(RingKey::read_header(oldest.header).tag);
        if (oldest.is_refused && tag == PoolRecord::message) {
            refused.splice(refused.end(), records_, records_.begin());
        } else {
            spare(records_.begin());
        }
    }
    return true;
}

void FarSending::settle() noexcept {
    for (FarRecord& record : records_) {
        for (FarPiece& piece : record.pieces) {
            if (piece.handle != gma::handle_null) take_end(record, piece);
        }
    }
    if (has_extra()) end_extra();
}

// --- FarOutlet ---

FarOutlet::FarOutlet(NodeHost& host, std::uint32_t process, std::uint32_t index, char* staging)
    : host_(host), process_(process), index_(index), staging_(staging), sending_(host, process) {}

FarOutlet::~FarOutlet() {
    settle();
}

void FarOutlet::settle() noexcept {
    sending_.settle();
    if (taking_ != gma::handle_null)
        (void)host_.gma().wait_for_one(std::exchange(taking_, gma::handle_null));
}

char* FarOutlet::reserve(std::uint64_t bytes) {
    go_on();
    if (!is_ready() || !refused_.empty() || !sending_.has_room()) return nullptr;
    sending_.prepare(bytes);
    char* const room = ring_->reserve(bytes);
    is_reserved_ = room != nullptr;
    is_reserved_ ? static_cast<void>(full_since_ns_ = 0) : ask_now_and_then();
    return room;
}

void FarOutlet::commit(std::uint64_t bytes) noexcept {
    is_reserved_ = false;
    (void)ring_->commit(bytes, static_cast<std::uint8_t>(PoolRecord::message));
}

// No credit has arrived for long: the credit words here may be overwritten, or the destination has
// closed its context.
void FarOutlet::ask_now_and_then() noexcept {
    const std::uint64_t now_ns = os::now_ns();
    if (full_since_ns_ == 0) full_since_ns_ = now_ns;
    if (now_ns - full_since_ns_ < ask_after_ns || !sending_.is_idle()) return;
    full_since_ns_ = now_ns;
    sending_.ask();
}

void FarOutlet::go_on() {
    sending_.go_on();
    if (taking_ != gma::handle_null && host_.gma().has_ended(taking_)) end_taking();
    if (ring_.has_value() && !is_reserved_ && sending_.is_revoked() &&
        sending_.take_refused(refused_)) {
        ring_.reset();
        taken_.state = 0;
    }
    if (ring_.has_value()) {
        if (is_heard_ && !is_met_) see_that_it_is_met();
        ring_->serve();
    }
    while (!refused_.empty() && sending_.has_room() && is_ready()) {
        const std::vector<char>& payload = refused_.front().payload;
        if (!send(payload.data(), payload.size(), PoolRecord::message)) return;
        refused_.pop_front();
    }
}

// Whether there is a lease, and the receiver has the Hello that names its holder.
bool FarOutlet::is_ready() {
    if (!ring_.has_value()) take_now_and_then();
    if (!ring_.has_value() || is_cut_off() || sending_.is_revoked()) return false;
    if (is_announced_) {
        is_heard_ = is_heard_ || sending_.is_idle();
        return is_heard_;
    }
    const std::uint64_t own = host_.pool_word(host_.process()).load(std::memory_order_relaxed);
    const Hello hello{host_.process(), 0, own + cell_offset(index_)};
    is_announced_ = send(&hello, sizeof hello, PoolRecord::hello);
    announced_at_ns_ = os::now_ns();
    return false;
}

// Repeats the Hello, as if the receiver had requested its header.
void FarOutlet::see_that_it_is_met() noexcept {
    is_met_ = ring_->is_released(1);
    const std::uint64_t now_ns = os::now_ns();
    if (is_met_ || now_ns - announced_at_ns_ < ask_after_ns || !sending_.is_idle()) return;
    announced_at_ns_ = now_ns;
    const RingKey key = key_of(taken_.lease, taken_.generation);
    ring_->path()
        .word(ring_shape.request_offset())
        .store(key.request(0), std::memory_order_relaxed);
}

bool FarOutlet::send(const void* payload, std::uint64_t bytes, PoolRecord tag) {
    sending_.prepare(bytes);
    return ring_->send(payload, bytes, static_cast<std::uint8_t>(tag)) !=
           message::SendAttempt::full;
}

void FarOutlet::take_now_and_then() {
    if (is_cut_off() || taking_ != gma::handle_null) return;
    if (taken_.state != 0) return open();  // open() had no memory before
    if (refused_at_ns_ != 0 && os::now_ns() - refused_at_ns_ < take_again_after_ns) return;
    begin_taking();
}

void FarOutlet::begin_taking() {
    operations::TakeLease wanted;
    wanted.desk_word = host_.pool_word_address(process_);
    wanted.lines_offset = leases_begin;
    wanted.lines = leases;
    wanted.first = host_.process() % leases;
    wanted.holder = held_by(host_.process());
    taken_ = {};
    taking_ = host_.gma().issue_invoke(
        {process_, operations::take_lease_number, std::as_bytes(std::span(&wanted, 1)),
         std::as_writable_bytes(std::span(&taken_, 1)), nullptr},
        gma::handle_null);
}

void FarOutlet::end_taking() {
    const base::Status status = host_.gma().wait_for_one(std::exchange(taking_, gma::handle_null));
    is_cut_off_ = is_cut_off_ || status.code() == Code::peer;
    if (!status.is_ok()) return;
    is_closed_ = (taken_.desk & pool_closed) != 0;
    if (is_closed_) refused_.clear();
    refused_at_ns_ = taken_.state == 0 ? os::now_ns() : 0;
    if (taken_.state != 0) open();
}

// The receiver has opened the ring, with credit for all of it.
void FarOutlet::open() {
    char* const cell = host_.pool_of(host_.process()) + cell_offset(index_);
    const RingKey key = key_of(taken_.lease, taken_.generation);
    const std::uint64_t credit = key.credit(0);
    std::memset(cell, 0, cell_bytes);
    for (const std::uint64_t which : {std::uint64_t{0}, std::uint64_t{1}}) {
        std::memcpy(cell + (ring_shape.credit_offset(which) - credits_in_ring), &credit,
                    sizeof credit);
    }
    sending_.begin(taken_);
    is_announced_ = is_heard_ = is_met_ = false;
    ring_.emplace(FarRingPath(sending_, cell, staging_), ring_shape, key);
}

bool FarOutlet::is_settled() {
    go_on();
    if (!is_sent() || taking_ != gma::handle_null) return false;
    if (!ring_.has_value() || ring_->is_released(ring_->next())) return true;
    ask_now_and_then();
    return false;
}

}  // namespace acp::pm
