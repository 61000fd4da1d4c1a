// SPDX-License-Identifier: BSD-3-Clause
// The way to the pool of a process of another node. As NearOutlet, but the gateway of that node takes the lease and writes
// (operations/leased_put.hpp): a message is one operation, or several, whose additions make the header when all have come. What is under way is
// kept here; what was refused since the lease was taken back is sent again under the next one, in order. Nothing here waits for the network.
//
// The header of a record that was merely late may be told again when the record has been received, and then lies where there should be 0. The
// next header there is stored over it, after all other pieces of its record: so nothing is lost, also when the sender makes no call any more.
//
// A destination that closes its context takes all leases back: what is refused as long as it is closed is dropped.
//
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

// What has been sent and has not arrived for certain.
class FarSending {
public:
    FarSending(NodeHost& host, std::uint32_t process) noexcept : host_(host), process_(process) {}

    FarSending(const FarSending&) = delete;
    FarSending& operator=(const FarSending&) = delete;

    ~FarSending() { settle(); }

    void begin(const operations::TakenLease& lease) noexcept;

    // Makes room for the next record. Throws std::bad_alloc.
    void prepare(std::uint64_t bytes);

    // Of a ring's sender: bytes for the payload of the prepared record, and then its header.
    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) noexcept;
    void publish(std::uint64_t offset, std::uint64_t header) noexcept;
    // A header once more.
    void store(std::uint64_t offset, std::uint64_t header) noexcept;
    // Asks the receiver to tell its credits again; or finds that the lease was taken back.
    void ask() noexcept;

    // Takes ends of operations, and issues those again that came at a bad moment.
    void go_on() noexcept;

    [[nodiscard]] bool is_idle() const noexcept { return has_arrived() && !has_extra(); }

    // Of each record all was done. What is told again may be under way, as long as the receiver does not receive.
    [[nodiscard]] bool has_arrived() const noexcept { return records_.empty(); }

    // A header that is told again must not come after a record that follows.
    [[nodiscard]] bool has_room() const noexcept {
        return records_.size() < records_max && !has_extra();
    }

    [[nodiscard]] bool is_revoked() const noexcept { return is_revoked_; }

    // Of a message, cut into pieces.
    struct FarPiece {
        gma::Handle handle = gma::handle_null;
        std::uint64_t offset = 0;  // in the payload
        std::uint64_t bytes = 0;
        std::uint64_t value = 0;  // to be added to the header's place
        std::uint32_t units = 0;
        bool is_due = true;  // to be issued
    };

    struct FarRecord {
        std::vector<char> payload;
        std::uint64_t payload_offset = 0;  // in the ring, as the next
        std::uint64_t header_offset = 0;
        std::uint64_t header = 0;
        std::vector<FarPiece> pieces;
        bool is_header_set = false;  // not added to: by the first piece, when all others have come
        bool is_refused = false;

        // Whether a piece has arrived, or never will.
        [[nodiscard]] bool is_done(const FarPiece& piece) const noexcept {
            return piece.handle == gma::handle_null && (!piece.is_due || is_refused);
        }
    };

    // Of a lease that was taken back: appends the messages that did not arrive, oldest first. false: operations are under way.
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
    std::uint64_t line_ = 0;  // of the next record, to know how many lines it takes
    std::list<FarRecord> records_;
    std::list<FarRecord> spare_;  // one at least, when a record is prepared
    std::bitset<ring_shape.lines()>
        told_again_;  // lines where a header that was told again may have stayed
    gma::Handle extra_ = gma::handle_null;  // of store() and ask()
    bool is_revoked_ = false;
    bool is_cut_off_ = false;
};

// The path of the ring's sender. See ring.hpp.
class FarRingPath {
public:
    using Word = std::atomic<std::uint64_t>;

    //   cell     the own one, where the receiver's credits come
    //   staging  where payloads are composed, message_bytes_max long
    //   all outlive this
    FarRingPath(FarSending& sending, char* cell, char* staging) noexcept
        : sending_(&sending), cell_(cell), staging_(staging) {}

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(cell_ + (offset - credits_in_ring));
    }

    [[nodiscard]] char* room(std::uint64_t /*offset*/) const noexcept { return staging_; }

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const noexcept {
        sending_->place(offset, source, bytes);
    }

    // There is no journal between nodes.
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
    //   index    of this outlet among those of the context: the number of its credit cell
    //   staging  as of FarRingPath, shared by all outlets of the context
    FarOutlet(NodeHost& host, std::uint32_t process, std::uint32_t index, char* staging);
    ~FarOutlet();
    FarOutlet(const FarOutlet&) = delete;
    FarOutlet& operator=(const FarOutlet&) = delete;

    // As of NearOutlet. Throws std::bad_alloc, and nothing has happened.
    [[nodiscard]] char* reserve(std::uint64_t bytes);
    void commit(std::uint64_t bytes) noexcept;

    void cancel() noexcept { is_reserved_ = false; }

    // Goes on with what is under way.
    void go_on();

    [[nodiscard]] bool is_settled();

    // Whether all that was sent has left the memory of this process.
    [[nodiscard]] bool is_sent() const noexcept {
        return sending_.has_arrived() && refused_.empty();
    }

    // The destination has closed its context.
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

    [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_ || sending_.is_cut_off(); }

    void settle() noexcept;

private:
    static constexpr std::uint64_t ask_after_ns = 1'000'000;
    // Where there was no lease none is asked for again so soon, as each question goes to another node.
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
    std::uint64_t refused_at_ns_ = 0;           // when no lease was free, or the pool not open
    std::uint64_t full_since_ns_ = 0;           // 0: there was room; else asked last
    bool is_reserved_ = false;                  // a message is being composed, and the ring stays
    bool is_announced_ = false;                 // a hello was sent
    bool is_heard_ = false;                     // and has arrived: nothing else is sent before
    bool is_met_ =
        false;  // and was received: it is told again until then, as nobody can ask for it
    std::uint64_t announced_at_ns_ = 0;
    bool is_closed_ = false;
    bool is_cut_off_ = false;
};

}  // namespace acp::pm
