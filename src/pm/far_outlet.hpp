// SPDX-License-Identifier: BSD-3-Clause
// The outlet to the pool of a process of another node. In contrast to NearOutlet, the gateway of
// that node takes the lease and writes (operations/leased_put.hpp): a message is one operation, or
// several, whose additions make up the header when all have arrived. The outlet keeps records in
// flight. Records that were refused because the lease was revoked are sent again under the next
// lease, in order. Nothing here waits for the network.
//
// The header of a record that was merely late may be stored again after the record was received;
// then it stays where 0 should be. The next header there is set, not added, after all other pieces
// of its record. So no record is lost, even if the sender makes no more calls.
//
// A destination that closes its context revokes all leases. Records refused while it is closed are
// dropped.
// For the thread that uses the context. Tests: tests/conformance/pm_test.cpp.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "gma/gma.hpp"
#include "message/ring.hpp"

#include "operations/leased_put.hpp"
#include "pm/node_host.hpp"
#include "pm/pool_layout.hpp"

namespace acp::pm {

// Records that were sent and whose arrival is not certain.
class FarSending {
public:
    FarSending(NodeHost& host, std::uint32_t process) noexcept : host_(host), process_(process) {}

    FarSending(const FarSending&) = delete;
    FarSending& operator=(const FarSending&) = delete;

    ~FarSending() { settle(); }

    void begin(const operations::TakenLease& lease) noexcept;

    // Prepares a record of `bytes` bytes. Throws std::bad_alloc.
    void prepare(std::uint64_t bytes);

    // The ring's sender calls place() with the payload of the prepared record, then publish() with
    // its header.
    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) noexcept;
    void publish(std::uint64_t offset, std::uint64_t header) noexcept;
    // Issues a header again.
    void store(std::uint64_t offset, std::uint64_t header) noexcept;
    // Asks the receiver to grant its credits again; if the lease was revoked, the operation is
    // refused.
    void ask() noexcept;

    // Takes results of operations, and issues those again that failed for a temporary reason.
    void go_on() noexcept;

    [[nodiscard]] bool is_idle() const noexcept { return has_arrived() && !has_extra(); }

    // Whether all records have arrived. A repeated header may be in flight while the receiver makes
    // no calls.
    [[nodiscard]] bool has_arrived() const noexcept { return records_.empty(); }

    // False while a repeated header is in flight: it must not arrive after a later record.
    [[nodiscard]] bool has_room() const noexcept {
        return records_.size() < records_max && !has_extra();
    }

    [[nodiscard]] bool is_revoked() const noexcept { return is_revoked_; }

    // A piece of a message.
    struct FarPiece {
        gma::Handle handle = gma::handle_null;
        std::uint64_t offset = 0;  // offset in the payload
        std::uint64_t bytes = 0;
        std::uint64_t value = 0;  // the summand for the header's place
        std::uint32_t units = 0;  // lines of the ring that it accounts for
        bool is_due = true;       // must be issued, perhaps again
    };

    struct FarRecord {
        std::vector<char> payload;
        std::uint64_t payload_offset = 0;  // in the ring; so is header_offset
        std::uint64_t header_offset = 0;
        std::uint64_t header = 0;
        std::vector<FarPiece> pieces;
        // the first piece sets the header after all others have arrived
        bool is_header_set = false;
        bool is_refused = false;

        // Whether a piece has arrived, or never will.
        [[nodiscard]] bool is_done(const FarPiece& piece) const noexcept {
            return piece.handle == gma::handle_null && (!piece.is_due || is_refused);
        }
    };

    // After a revocation: appends the messages that did not arrive, oldest first. False: operations
    // are in flight.
    [[nodiscard]] bool take_refused(std::list<FarRecord>& refused) noexcept;

    [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }

    void settle() noexcept;

private:
    static constexpr std::size_t records_max = 16;

    void cut(FarRecord& record) const noexcept;
    void issue_due(FarRecord& record) noexcept;
    void spare(std::list<FarRecord>::iterator record) noexcept;
    void end_extra() noexcept;
    void issue(FarRecord& record, FarPiece& piece) noexcept;
    void take_end(FarRecord& record, FarPiece& piece) noexcept;
    [[nodiscard]] bool has_ended(FarRecord& record) noexcept;

    [[nodiscard]] bool has_extra() const noexcept { return extra_ != gma::handle_null; }

    [[nodiscard]] operations::LeasedPut put_at(std::uint64_t payload_offset,
                                               std::uint64_t header_offset) const noexcept;

    NodeHost& host_;
    std::uint32_t process_;
    operations::TakenLease lease_;
    std::uint64_t placed_at_ = 0;
    std::uint64_t line_ = 0;  // line of the next record
    std::list<FarRecord> records_;
    std::list<FarRecord> spare_;  // never empty after prepare()
    // Lines where a repeated header may have stayed.
    std::bitset<ring_shape.lines()> told_again_;
    gma::Handle extra_ = gma::handle_null;  // the operation of store() or ask() in flight
    bool is_revoked_ = false;
    bool is_cut_off_ = false;
};

// The path of the ring's sender; see ring.hpp.
class FarRingPath {
public:
    using Word = std::atomic<std::uint64_t>;

    //   cell     this outlet's credit cell, where the receiver's credits arrive
    //   staging  message_bytes_max bytes in which payloads are composed
    //   all arguments must outlive this
    FarRingPath(FarSending& sending, char* cell, char* staging) noexcept
        : sending_(&sending), cell_(cell), staging_(staging) {}

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(cell_ + (offset - credits_in_ring));
    }

    [[nodiscard]] char* room(std::uint64_t /*offset*/) const noexcept { return staging_; }

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const noexcept {
        sending_->place(offset, source, bytes);
    }

    // Ignores stores to the journal: there is none between nodes.
    void store(std::uint64_t offset, std::uint64_t value) const noexcept {
        if (offset < ring_shape.journal_offset(0)) sending_->store(offset, value);
    }

    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t header) const noexcept {
        sending_->publish(offset, header);
        return false;
    }

    [[nodiscard]] bool is_idle() const noexcept { return sending_->is_idle(); }

private:
    FarSending* sending_;
    char* cell_;
    char* staging_;
};

class FarOutlet {
public:
    //   process  the destination
    //   index    of this outlet in the context: the number of its credit cell
    //   staging  see FarRingPath; shared by all outlets of the context
    FarOutlet(NodeHost& host, std::uint32_t process, std::uint32_t index, char* staging);
    ~FarOutlet();
    FarOutlet(const FarOutlet&) = delete;
    FarOutlet& operator=(const FarOutlet&) = delete;

    // See NearOutlet. Throws std::bad_alloc; then nothing has happened.
    [[nodiscard]] char* reserve(std::uint64_t bytes);
    void commit(std::uint64_t bytes) noexcept;

    void cancel() noexcept { is_reserved_ = false; }

    // Makes progress on operations in flight.
    void go_on();

    [[nodiscard]] bool is_settled();

    // Whether all messages have left the memory of this process.
    [[nodiscard]] bool is_sent() const noexcept {
        return sending_.has_arrived() && refused_.empty();
    }

    // The destination has closed its context.
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

    [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_ || sending_.is_cut_off(); }

    void settle() noexcept;

private:
    static constexpr std::uint64_t ask_after_ns = 1'000'000;
    // Pause before the next request for a lease after one was declined: each request goes to
    // another node.
    static constexpr std::uint64_t take_again_after_ns = 100'000;

    void take_now_and_then();
    void begin_taking();
    void end_taking();
    void open();
    [[nodiscard]] bool send(const void* payload, std::uint64_t bytes, PoolRecord tag);
    [[nodiscard]] bool is_ready();
    void ask_now_and_then() noexcept;
    void see_that_it_is_met() noexcept;

    NodeHost& host_;
    std::uint32_t process_;
    std::uint32_t index_;
    char* staging_;
    FarSending sending_;
    operations::TakenLease taken_;
    gma::Handle taking_ = gma::handle_null;
    std::optional<message::RingSender<FarRingPath, PoolRingShape>> ring_;
    std::list<FarSending::FarRecord> refused_;  // to be sent again
    // when the destination had no free lease or no open pool; 0: it had
    std::uint64_t refused_at_ns_ = 0;
    // since when there is no room, or ask() was called; 0: there is room
    std::uint64_t full_since_ns_ = 0;
    bool is_reserved_ = false;   // a message is being composed, so the ring stays
    bool is_announced_ = false;  // a Hello was sent
    bool is_heard_ = false;      // the Hello has arrived; only then other records are sent
    // The Hello was received. It is repeated until then, as the receiver cannot ask an unknown
    // sender for it.
    bool is_met_ = false;
    std::uint64_t announced_at_ns_ = 0;
    bool is_closed_ = false;
    bool is_cut_off_ = false;
};

}  // namespace acp::pm
