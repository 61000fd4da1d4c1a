// SPDX-License-Identifier: BSD-3-Clause
// A one-way ring of records from one sender to one receiver, two processes of one node or of two.
// Contract: whole records arrive in order and exactly once, even if a process is killed at any
// instruction, and even if the words between the ends (headers, journal, credits, requests) are
// overwritten. Knows no channel, no clock, no futex and no network. Each end belongs to one thread
// at a time. Tests: tests/unit/message/ring_test.cpp, ring_corruption_test.cpp, ring_kill_test.cpp,
// ring_concurrency_test.cpp.
//
// RECORDS. A record starts at a line of 64 bytes: a header word, then the payload, so that a
// message of up to 56 bytes is one cache line. A payload that would go beyond the ring's end is at
// the ring's start instead, in one piece, and the header says so. Both ends count lines, and the
// lengths alone give each end the start of the next record: no position is ever sent that the other
// end must believe. A header has a check over its content, the key of the sender and its line
// number; so it is its own sequence number, and a word that does not fit means that the record has
// not arrived.
//
//     sender                                        receiver
//     wait for room: a credit                       header fits its line?
//     payload -> behind the header's place          use the payload in place, or copy it
//     header  -> journal       (release)            later: 0 -> first word of each of its lines
//     header  -> its place     (release)            per quarter of the ring: credit -> both words
//     does the receiver sleep? wake it              does the sender sleep? wake it
//
// The receiver stores zeros at every possible place of a header, so the place is 0 before the
// header arrives. (This also leaves the line in the receiver's cache in a state that makes the
// sender's next write cheap.) It does so before it grants a credit for those lines, but not at
// once: such a store waits for the sender's cache, and a reply of the receiver would wait behind
// it. So the zeros of a record are stored when the next record has not arrived yet, or else when
// that one is released.
//
// A record of one line moves that line from the sender to the receiver, and touches no other line
// that both use, unless the sender's credit has run out or a quarter of the ring was released. Only
// the sender uses the journal's lines; the bell's line is only read.
//
// LOST OR OVERWRITTEN WORDS. Only words between the ends can be damaged; each end keeps its own
// state in private memory.
//   header           recover() restores it from the journal
//   header, journal  recover() stores a request; the sender, which keeps all its headers, stores
//                    the header again (serve())
//   one credit word  the other one has the same value
//   both of them     recover() stores them again
//   a request        the next recover() stores another
// A waiting receiver calls recover() after 0.25 ms without a record, again before it sleeps, and
// when it was woken and found no record. After 5 ms of waiting for one record it calls Path::ring()
// once, for a sleeping sender has not seen the request. A waiting sender calls serve() at every
// poll. The ring does not detect damage to a payload. A receiver that cannot use one calls
// refuse(), which stores a refusal in place of a request; serve() reads it.
//
// DEATHS AND STOPS. A sender that dies before its store to the journal has sent nothing; after it,
// the record is whole and the receiver gets it, by recover() if the header is missing. The receiver
// takes the records that are there, calls recover(), and takes once more; then it opens the ring
// under another key (RingReceiver::open), and another sender begins. If a receiver dies, records
// that it had not released are lost; another receiver opens the ring, and the sender begins anew. A
// stopped end delays only its partner. A ring never uses a key twice, and a sender is gone before
// the next one gets its key.
//
// A PATH carries the stores of one end to the memory that the other end reads. On a node it is
// MappedPath. Between nodes this file is the same: the records are in the receiver's memory, the
// credits in the sender's, and the path turns each call into a put:
//   Word& word(offset)       a word of the part in this process
//   char* room(offset)       where the sender may compose a payload: the target, or a local copy
//   void place(offset, ...)  a put of 1 byte or more; no effect if source is the target
//   void store(offset, w)    a put of 8 bytes, ordered after all earlier ones. A path may leave out
//                            stores to the journal: a lost header then costs a request
//   bool publish(offset, w)  Between nodes: for a header, the signal of a put with signal, in the
//                            datagram of the payload; for credits a put. On a node: a store, then a
//                            check of the peer's bell; true: the caller must wake the peer
//   bool ring()              that check alone
//   bool is_idle()           whether no put is in flight
// Between nodes a call waits only for the end of an earlier word of its own kind; call may_send()
// first where waiting is not allowed. A put whose source is `room` may be in flight until a credit
// covers it. The owners of an end (sending.hpp, receiving.hpp) also use these, which MappedPath
// need not do:
//   bool may_send()          whether another record may be sent without waiting for a put in flight
//   bool is_cut_off()        whether a put has failed because the other node is lost
//   void probe()             issues a word without meaning, if no put is in flight, so that
//                            is_cut_off() learns of a loss
//   void settle()            waits for all puts in flight
//
// SLEEPING is the caller's task, on a bell (sync/bell.hpp) that may serve many rings: announce(),
// the barrier that MappedPath::Fence names, one more poll, futex wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "message/payload_copy.hpp"
#include "message/ring_layout.hpp"
#include "message/ring_words.hpp"

namespace acp::message {

// The result of an attempt to send.
enum class SendAttempt : std::uint8_t {
    full,  // no room; nothing was sent
    sent,
    sent_to_sleeper  // sent, and the caller must wake the receiver
};

template <typename Path, typename Shape = RingShape>
class RingSender {
public:
    // Begins as if the ring were full: the first credit under its key shows that the receiver has
    // opened the ring.
    RingSender(const Path& path, Shape shape, RingKey key)
        : path_(path), shape_(shape), key_(key), headers_(shape.lines()) {}

    RingSender(const RingSender&) = delete;
    RingSender& operator=(const RingSender&) = delete;
    ~RingSender() = default;

    // Reserves room for a payload, aligned to 8 bytes, which commit() makes a record. Another
    // reserve() or a send() discards it. nullptr: the ring is full.
    //   bytes  0 .. payload_bytes_max()
    [[nodiscard]] char* reserve(std::uint64_t bytes) noexcept {
        return has_room(bytes) ? path_.room(shape_.payload_offset(next_, wraps_)) : nullptr;
    }

    // Sends the first `bytes` bytes of the last reservation. True: the caller must wake the
    // receiver.
    //   bytes  at most those reserved
    //   tag    0 .. tag_max: delivered with the record; the ring gives it no meaning
    [[nodiscard]] bool commit(std::uint64_t bytes, std::uint8_t tag = 0) noexcept {
        const std::uint64_t offset = shape_.payload_offset(next_, wraps_);
        return finish(path_.room(offset), bytes, tag);
    }

    // Sends a record with a copy of `source`.
    //   bytes  0 .. payload_bytes_max()
    [[nodiscard]] SendAttempt send(const void* source,
                                   std::uint64_t bytes,
                                   std::uint8_t tag = 0) noexcept {
        if (!has_room(bytes)) return SendAttempt::full;
        return finish(source, bytes, tag) ? SendAttempt::sent_to_sleeper : SendAttempt::sent;
    }

    // send() of 1 .. 56 bytes, for a path whose room() is the target itself: few instructions, no
    // call. full: there is no known room; send() may find some.
    [[nodiscard, gnu::always_inline]] SendAttempt send_line(const void* source,
                                                            std::uint64_t bytes,
                                                            std::uint8_t tag) noexcept {
        if (next_ + 1 - released_ > shape_.lines()) [[unlikely]]
            return SendAttempt::full;
        const RecordHead head{static_cast<std::uint32_t>(bytes), tag, false};
        return finish(1, head,
                      [&](std::uint64_t offset) { copy_line(path_.room(offset), source, bytes); })
                   ? SendAttempt::sent_to_sleeper
                   : SendAttempt::sent;
    }

    // The line after the last record that was sent: where the next one starts.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

    // Whether the receiver has released all lines before this one and has granted credit for them
    // (RingReceiver::tell_released).
    //   line  a next() of this ring; or 0: whether the ring was opened
    [[nodiscard]] bool is_released(std::uint64_t line) noexcept {
        if (!is_known_released(line)) read_credits();
        return is_known_released(line);
    }

    // The longest payload of a record.
    [[nodiscard]] std::uint64_t payload_bytes_max() const noexcept {
        return shape_.payload_bytes_max();
    }

    [[nodiscard]] Path& path() noexcept { return path_; }

    // Answers a request for a header, if there is one. One load if not.
    void serve() noexcept {
        auto& request = path_.word(shape_.request_offset());
        const std::uint64_t word = request.load(std::memory_order_relaxed);
        if (word == 0) [[likely]]
            return;
        is_refused_ = is_refused_ || word == key_.refusal();
        // A put in flight is late, not lost, and its header must not arrive before its payload. So
        // the request stays until the puts have ended.
        if (!path_.is_idle()) return;
        // A request that arrives after the load stays.
        std::uint64_t seen = word;
        (void)request.compare_exchange_strong(seen, 0, std::memory_order_relaxed,
                                              std::memory_order_relaxed);
        std::uint64_t line = 0;
        if (!key_.read_request(word, released_, next_ - released_, line)) return;
        const std::uint64_t header = headers_[shape_.index_of(line)];
        if (!key_.fits_header(header, line)) return;  // no record starts there
        path_.store(shape_.journal_offset(line), header);
        path_.store(shape_.header_offset(line), header);
        has_answered_ = true;
    }

    // Whether the receiver has refused a record (RingReceiver::refuse), as of the last serve().
    [[nodiscard]] bool is_refused() const noexcept { return is_refused_; }

private:
    // By the signed difference, as released_ begins below 0: at minus the ring's lines, mod 2^64.
    [[nodiscard]] bool is_known_released(std::uint64_t line) const noexcept {
        return static_cast<std::int64_t>(released_ - line) >= 0;
    }

    // Whether there is room for a record. Sets wraps_: its payload must be at the ring's start.
    bool has_room(std::uint64_t bytes) noexcept {
        ACP_ASSERT(bytes <= shape_.payload_bytes_max());
        wraps_ = !is_one_line(bytes) && shape_.must_wrap(next_, bytes);
        const std::uint64_t end = next_ + lines_of(bytes);
        if (end - released_ > shape_.lines()) [[unlikely]]
            read_credits();
        return end - released_ <= shape_.lines();
    }

    // The lines of a record that begins at the next line.
    [[nodiscard]] std::uint64_t lines_of(std::uint64_t bytes) const noexcept {
        if (!wraps_ && is_one_line(bytes)) [[likely]]
            return 1;
        return shape_.lines_of(next_, bytes, wraps_);
    }

    [[gnu::noinline]] void read_credits() noexcept {
        serve();
        // The receiver may have found the requested header by other means. Then the answer must not
        // overwrite a later record.
        if (has_answered_ && !path_.is_idle()) return;
        has_answered_ = false;
        for (std::uint64_t which = 0; which < 2; ++which) {
            // acquire: the receiver no longer reads these lines, and its zeros are visible;
            // partner: RingReceiver::tell_credit()
            const std::uint64_t word =
                path_.word(shape_.credit_offset(which)).load(std::memory_order_acquire);
            (void)key_.read_credit(word, released_, next_ - released_ + 1, released_);
        }
    }

    [[nodiscard]] bool finish(const void* source, std::uint64_t bytes, std::uint8_t tag) noexcept {
        const RecordHead head{static_cast<std::uint32_t>(bytes), tag, wraps_};
        return finish(lines_of(bytes), head, [&](std::uint64_t offset) {
            // An empty payload may have no source at all.
            if (bytes != 0) path_.place(offset, source, bytes);
        });
    }

    // Sends a record whose payload put(offset) writes.
    template <typename Put>
    [[nodiscard, gnu::always_inline]] bool finish(std::uint64_t lines,
                                                  RecordHead head,
                                                  const Put& put) noexcept {
        // In registers: the compiler would reload members after each store.
        const Shape shape = shape_;
        const std::uint64_t line = next_;
        const std::uint64_t header = key_.header(line, head);
        headers_[shape.index_of(line)] = header;
        next_ = line + lines;
        put(shape.payload_offset(line, head.wraps));
        path_.store(shape.journal_offset(line), header);
        return path_.publish(shape.header_offset(line), header);
    }

    Path path_;
    Shape shape_;
    RingKey key_;
    bool wraps_ = false;         // has_room() sets it: the payload begins at the ring's start
    bool has_answered_ = false;  // answers may be in flight
    bool is_refused_ = false;
    std::uint64_t next_ = 0;  // line of the next record
    // Lines before this one were released, as far as this end knows.
    std::uint64_t released_ = std::uint64_t{0} - shape_.lines();
    // The headers sent, indexed by line: to answer requests.
    std::vector<std::uint64_t> headers_;
};

// A record in the ring's memory. Two words, so that functions return it in registers.
struct ReceivedRecord {
    const char* data = nullptr;  // aligned to 8 bytes; nullptr: there is no record
    std::uint32_t bytes = 0;
    std::uint8_t tag = 0;
};

// The result of RingReceiver::take_line().
enum class LineTaken : std::uint8_t { none, another, taken };

template <typename Path, typename Shape = RingShape>
class RingReceiver {
public:
    // Call open() first, unless the ring's memory is zero except for both credit words, which hold
    // the credit of line 0 under this key: such a ring is open. Throws what copying the path
    // throws.
    RingReceiver(const Path& path, Shape shape, RingKey key)
        : path_(path), shape_(shape), key_(key) {}

    RingReceiver(const RingReceiver&) = delete;
    RingReceiver& operator=(const RingReceiver&) = delete;
    ~RingReceiver() = default;

    // Starts over with an empty ring under another key, whatever the memory holds. True: the caller
    // must wake the sender.
    [[nodiscard]] bool open(RingKey key) noexcept {
        key_ = key;
        line_ = 0;
        cleared_ = 0;
        is_held_ = false;
        clear(0, shape_.lines());
        return tell_credit();
    }

    // The oldest unreleased record, in place until release(). One load if there is none and no
    // zeros are due.
    [[nodiscard]] ReceivedRecord receive() noexcept {
        // acquire: makes the payload visible; partner: Path::publish()
        const std::uint64_t header =
            path_.word(shape_.header_offset(line_)).load(std::memory_order_acquire);
        if (!fits(header)) {
            clear_released();
            return {};
        }
        held_ = header;
        is_held_ = true;
        const bool wraps = RingKey::wraps_of(header);
        return {path_.room(shape_.payload_offset(line_, wraps)), RingKey::bytes_of(header),
                RingKey::tag_of(header)};
    }

    // The head of the record of the last receive(), for callers that hand the record on. Its fields
    // are read one by one: copying a ReceivedRecord would wait until earlier stores have left the
    // CPU.
    [[nodiscard]] RecordHead held() const noexcept { return RingKey::read_header(held_); }

    // Whether receive() would return a record.
    [[nodiscard]] bool has_record() const noexcept {
        // relaxed: the payload is not read after this
        return fits(path_.word(shape_.header_offset(line_)).load(std::memory_order_relaxed));
    }

    // Whether any unreleased record has arrived, even behind a missing one. Reads every line.
    [[nodiscard]] bool has_any_record() const noexcept {
        for (std::uint64_t line = line_; line != line_ + shape_.lines(); ++line) {
            // relaxed: as in has_record()
            const auto& place = path_.word(shape_.header_offset(line));
            if (key_.fits_header(place.load(std::memory_order_relaxed), line)) return true;
        }
        return false;
    }

    // Releases the record of the last receive(). True: the caller must wake the sender.
    [[nodiscard]] bool release() noexcept {
        ACP_ASSERT(is_held_);
        is_held_ = false;
        clear_released();
        const std::uint32_t bytes = RingKey::bytes_of(held_);
        const bool wraps = RingKey::wraps_of(held_);
        if (!wraps && is_one_line(bytes)) [[likely]] {
            // A branch of its own for one-line records: the CPU predicts it, and loads the next
            // line before it has this header.
            ++line_;
        } else {
            line_ += shape_.lines_of(line_, bytes, wraps);
        }
        return tell_due();
    }

    // Copies the payload of the oldest record to `target` and releases it, in few instructions and
    // without a call. none: no record. another: the record stays, for receive(): it has more than
    // one line or no payload, is longer than `room`, has another tag, or its release makes a credit
    // due.
    //   bytes  receives the length
    [[nodiscard, gnu::always_inline]] LineTaken take_line(std::uint8_t tag,
                                                          char* target,
                                                          std::uint64_t room,
                                                          std::uint64_t& bytes) noexcept {
        const Shape shape = shape_;
        const std::uint64_t line = line_;
        // acquire: as in receive()
        const std::uint64_t header =
            path_.word(shape.header_offset(line)).load(std::memory_order_acquire);
        if (!key_.fits_header(header, line)) {
            clear_released();
            return LineTaken::none;
        }
        const std::uint64_t length = RingKey::bytes_of(header);
        if (length == 0 || length > room || !is_one_line(length) || RingKey::wraps_of(header) ||
            RingKey::tag_of(header) != tag || line + 1 - told_ >= shape.credit_lines())
            [[unlikely]] {
            return LineTaken::another;
        }
        copy_line(target, path_.room(shape.payload_offset(line, false)), length);
        clear_released();
        line_ = line + 1;
        bytes = length;
        return LineTaken::taken;
    }

    // Grants the credit for a quarter of the ring that was released while the path had no room.
    // True: the caller must wake the sender.
    [[nodiscard]] bool tell_due() noexcept {
        return line_ - told_ >= shape_.credit_lines() && path_.may_send() && tell_credit();
    }

    // Grants credit for all released lines now; release() does so only per quarter of the ring, and
    // when the path has room. True: the caller must wake the sender.
    [[nodiscard]] bool tell_released() noexcept { return tell_credit(); }

    [[nodiscard]] bool has_told_all() const noexcept { return told_ == line_; }

    // How many lines were released since the ring was opened.
    [[nodiscard]] std::uint64_t released() const noexcept { return line_; }

    [[nodiscard]] Path& path() noexcept { return path_; }

    // Repairs damaged words between the ends. Called when an expected record does not arrive;
    // harmless if none was sent. The caller polls for a record again afterwards.
    void recover() noexcept {
        auto& place = path_.word(shape_.header_offset(line_));
        // acquire: as in receive()
        if (fits(place.load(std::memory_order_acquire))) return;
        // acquire: makes the payload visible; partner: Path::store()
        const std::uint64_t noted =
            path_.word(shape_.journal_offset(line_)).load(std::memory_order_acquire);
        if (fits(noted)) {
            // relaxed: this thread's receive() reads it. The sender may be about to store the same
            // header, perhaps only after release(). Then a stale word is left where 0 should be,
            // and fits no line. A later header of a sender on this node overwrites it; one from
            // another node is added to it, the sum fits no line either, and the journal has the
            // right header.
            place.store(noted, std::memory_order_relaxed);
            return;
        }
        path_.store(shape_.request_offset(), key_.request(line_));
        tell_again();
    }

    // Reports to the sender that a record is impossible. True: the caller must wake the sender.
    [[nodiscard]] bool refuse() noexcept {
        return path_.publish(shape_.request_offset(), key_.refusal());
    }

    // Stores both credits again, for a sender that may have lost them while this end lacks nothing.
    void tell_again() noexcept {
        path_.store(shape_.credit_offset(0), key_.credit(told_));
        path_.store(shape_.credit_offset(1), key_.credit(told_));
    }

    // Whether a credit word here differs from the last credit granted. For a ring whose sender has
    // this memory mapped.
    [[nodiscard]] bool is_credit_damaged() const noexcept {
        const std::uint64_t credit = key_.credit(told_);
        // relaxed: the sender does not write them
        return path_.word(shape_.credit_offset(0)).load(std::memory_order_relaxed) != credit ||
               path_.word(shape_.credit_offset(1)).load(std::memory_order_relaxed) != credit;
    }

private:
    // Whether a word is the header of a record that starts at this line and has a possible length.
    [[nodiscard]] bool fits(std::uint64_t word) const noexcept {
        if (!key_.fits_header(word, line_)) return false;
        const std::uint32_t bytes = RingKey::bytes_of(word);
        if (is_one_line(bytes)) [[likely]]
            return true;
        return bytes <= shape_.payload_bytes_max() &&
               (RingKey::wraps_of(word) || !shape_.must_wrap(line_, bytes));
    }

    // Stores 0 into the first word of each line, where a later header may be put.
    void clear(std::uint64_t first, std::uint64_t end) noexcept {
        // relaxed: the release store of the credit (tell_credit) publishes them to the sender
        for (std::uint64_t line = first; line != end; ++line)
            path_.word(shape_.header_offset(line)).store(0, std::memory_order_relaxed);
    }

    // Clears the lines that were released since the last call.
    void clear_released() noexcept {
        clear(cleared_, line_);
        cleared_ = line_;
    }

    [[gnu::noinline]] bool tell_credit() noexcept {
        clear_released();
        told_ = line_;
        path_.store(shape_.credit_offset(0), key_.credit(line_));
        return path_.publish(shape_.credit_offset(1), key_.credit(line_));
    }

    Path path_;
    Shape shape_;
    RingKey key_;
    std::uint64_t held_ = 0;  // header of the record that the last receive() returned
    bool is_held_ = false;
    std::uint64_t line_ = 0;     // line of the oldest unreleased record
    std::uint64_t cleared_ = 0;  // lines before this one are zeroed
    std::uint64_t told_ = 0;     // lines before this one are granted to the sender
};

}  // namespace acp::message
