// SPDX-License-Identifier: BSD-3-Clause
// A one-way ring of records from one sender to one receiver, two processes of one node or of two. Contract: whole records arrive in order
// and exactly once, even if a process is killed at any instruction, and even if the words between the ends (headers, journal, credits,
// requests) are overwritten. Knows no channel, no clock, no futex and no network. Each end belongs to one thread at a time.
// Tests: tests/unit/message/ring_test.cpp, ring_corruption_test.cpp, ring_kill_test.cpp, ring_concurrency_test.cpp.
//
// RECORDS. A record starts at a line of 64 bytes: a header word, and the payload behind it, so that a message of up to 56 bytes is one
// cache line. Where the payload would go beyond the ring's end it lies at the ring's start instead, in one piece, and the header says
// so. Both ends count lines, and each knows from the lengths alone where the next record starts: no position is ever sent that the other
// one must believe. A header has a check over its content, the key of the sender and the number of its line; so it is its
// own sequence number, and "not yet there" is simply a word that does not fit.
//
//     sender                                              receiver
//     wait for room: a credit                             header fits its line?
//     payload -> behind the header's place                use the payload where it lies, or copy it
//     header  -> journal       (release)                  later: 0 -> first word of each of its lines
//     header  -> its place     (release)                  every quarter of the ring: credit -> both credit words
//     does the receiver sleep? wake it                    does the sender sleep? wake it
//
// The receiver stores zeros where headers may come to lie, so a header's place is 0 before the header comes. (Besides, this leaves the
// line with the receiver's cache in the state that makes the sender's next write cheap.) It does so before it tells a credit of those lines,
// and not at once: such a store waits for the sender's cache, and an answer that the receiver sends would wait behind it. So
// the zeros of a record are stored when the next one has not come, else when that is released.
//
// A record of one line moves that line from the sender to the receiver and touches no other line that both use, except when the sender's
// credit has run out or a quarter of the ring was released. The journal's lines are the sender's alone; the bell's line is only read.
//
// WHEN WORDS ARE LOST OR OVERWRITTEN. Only the words between the ends can be damaged; each end keeps what it knows in memory of its own.
//   header          the journal has it: recover() puts it back
//   header, journal recover() stores a request; the sender has all its headers and stores this one again (serve())
//   one credit word the other one says the same
//   both of them    recover() stores them again
//   a request       the next recover() stores another
// A receiver that waits calls recover() when nothing has come for 0.25 ms, again before it sleeps, and when it was woken and found nothing.
// Having waited 5 ms for one record it calls Path::ring() once, for a sender that sleeps has not seen the request. A sender calls
// serve() whenever it waits. Damage to a payload is not noticed by the ring; a receiver that cannot use one says so by refuse(), in the
// place of a request, and is not heard by one who does not serve().
//
// WHEN AN END DIES OR STOPS. A sender that dies before its store to the journal has sent nothing; after it, the record is whole and the
// receiver gets it, by recover() if the header is missing. The receiver takes what is there, calls recover(), and takes once more; then it
// opens a ring anew under another key (RingReceiver::open), and another sender begins. If a receiver dies, what it had not released is
// lost with it; another one opens the ring anew, and the sender too begins anew. A stopped end delays the other one and nobody else.
// A ring never uses a key twice, and a sender is gone before the next one gets its key.
//
// A PATH brings what one end stores to where the other one looks. On a node it is MappedPath. Between nodes every line of this file stays
// as it is; the memory of records lies at the receiver, that of credits at the sender, and a path turns each call into a put:
//   Word& word(offset)             a word of the part that lies at home
//   char* room(offset)             where the sender may compose a payload: the target itself, else a copy of the ring at home
//   void place(offset, bytes...)   a put of at least a byte; no effect where source is the target
//   void store(offset, word)       a put of 8 bytes, ordered after all earlier ones. A path may leave out stores to the journal: a lost header then
//                                  costs a request and its answer
//   bool publish(offset, word)     for a header the signal of a put with signal: an addition to a word that is 0, in the datagram of
//                                  the payload. For credits a put. On a node: the store, then a look whether the other end sleeps;
//                                  true: the caller must wake it on its bell's word
//   bool ring()                    that look alone
//   bool is_idle()                 whether nothing that was sent is under way
// Between nodes a call waits only for the end of an earlier word of its own kind; ask may_send() first where that must not be. A put whose source
// is `room` may be under way until a credit covers it. And for whoever keeps an end
// (sending.hpp, receiving.hpp), where MappedPath has nothing to do:
//   bool may_send()                whether another record may be sent without waiting for what is under way
//   bool is_cut_off()              whether something that was sent has failed, since the other node is lost
//   void probe()                   sends a word that means nothing, if nothing is under way, so that is_cut_off() learns of a loss
//   void settle()                  waits until nothing that was sent is under way
//
// SLEEPING is the caller's, on a bell (sync/bell.hpp) that may serve many rings: announce(), the barrier that MappedPath::Fence names, one
// more look, futex wait.
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

// How an attempt to send ended.
enum class SendAttempt : std::uint8_t {
    full,  // there is no room; nothing was sent
    sent,
    sent_to_sleeper  // sent, and the caller must wake the receiver
};

template <typename Path, typename Shape = RingShape>
class RingSender {
public:
    // Begins as if the ring were full: the first credit under its key tells that the receiver has opened the ring.
    RingSender(const Path& path, Shape shape, RingKey key)
        : path_(path), shape_(shape), key_(key), headers_(shape.lines()) {}

    RingSender(const RingSender&) = delete;
    RingSender& operator=(const RingSender&) = delete;
    ~RingSender() = default;

    // Room for a payload, aligned to 8 bytes, which becomes a record by commit(). Another reserve() or a send() discards it.
    //   bytes  0 .. payload_bytes_max()
    // nullptr: the ring is full.
    [[nodiscard]] char* reserve(std::uint64_t bytes) noexcept {
        return has_room(bytes) ? path_.room(shape_.payload_offset(next_, wraps_)) : nullptr;
    }

    // Sends the first bytes of what was last reserved. true: the caller must wake the receiver.
    //   bytes  at most those reserved
    //   tag    0 .. tag_max: the receiver gets it with the record; the ring gives it no meaning
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

    // The same of a payload of 1 .. 56 bytes, on a path where room() is the target itself, in few instructions and without a call. full: there
    // is no room that the sender knows of, and send() may find some.
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

    // Whether the receiver has released all lines before this one, and has told so (RingReceiver::tell_released).
    //   line  a next() of this ring, or 0, which asks whether the ring was opened
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
        // A put that is under way is late, not lost, and its header must not arrive before its payload. So the request stays
        // until the puts have ended.
        if (!path_.is_idle()) return;
        // What comes between the load and this stays.
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

    // Whether the receiver has refused a record (RingReceiver::refuse), as the last serve() has seen.
    [[nodiscard]] bool is_refused() const noexcept { return is_refused_; }

private:
    // Compares by the signed difference, since released_ begins below 0: at minus the lines of the ring, modulo 2^64.
    [[nodiscard]] bool is_known_released(std::uint64_t line) const noexcept {
        return static_cast<std::int64_t>(released_ - line) >= 0;
    }

    // Whether there is room for a record. Sets wraps_: whether its payload must lie at the ring's start.
    bool has_room(std::uint64_t bytes) noexcept {
        ACP_ASSERT(bytes <= shape_.payload_bytes_max());
        wraps_ = !is_one_line(bytes) && shape_.must_wrap(next_, bytes);
        const std::uint64_t end = next_ + lines_of(bytes);
        if (end - released_ > shape_.lines()) [[unlikely]]
            read_credits();
        return end - released_ <= shape_.lines();
    }

    // Of a record that begins at the next line.
    [[nodiscard]] std::uint64_t lines_of(std::uint64_t bytes) const noexcept {
        if (!wraps_ && is_one_line(bytes)) [[likely]]
            return 1;
        return shape_.lines_of(next_, bytes, wraps_);
    }

    [[gnu::noinline]] void read_credits() noexcept {
        serve();
        // The header that was asked for may have been received meanwhile. Then the answer must not come after the record that takes its place.
        if (has_answered_ && !path_.is_idle()) return;
        has_answered_ = false;
        for (std::uint64_t which = 0; which < 2; ++which) {
            // acquire: partner is RingReceiver::tell_credit(); the receiver no longer reads these lines, and its zeros are there
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

    // Sends a record whose payload put(offset) brings to its place.
    template <typename Put>
    [[nodiscard, gnu::always_inline]] bool finish(std::uint64_t lines,
                                                  RecordHead head,
                                                  const Put& put) noexcept {
        // In registers: the compiler reads members again after each store.
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
    bool wraps_ = false;         // of the record that was last asked room for
    bool has_answered_ = false;  // since nothing was known to be under way
    bool is_refused_ = false;
    std::uint64_t next_ = 0;  // line of the next record
    // Lines before this one were released, as far as this end knows.
    std::uint64_t released_ = std::uint64_t{0} - shape_.lines();
    std::vector<std::uint64_t>
        headers_;  // what was sent, by the lines of the ring: to answer requests
};

// A record in the ring's memory. Of two words, so that functions return it in registers.
struct ReceivedRecord {
    const char* data = nullptr;  // aligned to 8 bytes; nullptr: there is no record
    std::uint32_t bytes = 0;
    std::uint8_t tag = 0;
};

// What RingReceiver::take_line() has found.
enum class LineTaken : std::uint8_t { none, another, taken };

template <typename Path, typename Shape = RingShape>
class RingReceiver {
public:
    // Call open() before anything else. Not needed where the ring's memory is zero except for both credit words, which hold the credit of
    // line 0 under this key: then the ring is open already.
    // Throws what copying the path throws.
    RingReceiver(const Path& path, Shape shape, RingKey key)
        : path_(path), shape_(shape), key_(key) {}

    RingReceiver(const RingReceiver&) = delete;
    RingReceiver& operator=(const RingReceiver&) = delete;
    ~RingReceiver() = default;

    // Starts over with an empty ring under another key; what the ring's memory holds is ignored. true: the caller must wake the sender.
    [[nodiscard]] bool open(RingKey key) noexcept {
        key_ = key;
        line_ = 0;
        cleared_ = 0;
        is_held_ = false;
        clear(0, shape_.lines());
        return tell_credit();
    }

    // The oldest record that is not yet released, where it lies. It stays until release(). One load when there is none, unless zeros are due.
    [[nodiscard]] ReceivedRecord receive() noexcept {
        // acquire: partner is Path::publish(); the payload is there
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

    // What the last receive() that gave a record said of it, for callers who hand the record on: read field by field from here it costs
    // nothing, while a copy of a ReceivedRecord waits until all stores before it have left the processor.
    [[nodiscard]] RecordHead held() const noexcept { return RingKey::read_header(held_); }

    // Whether receive() would give a record.
    [[nodiscard]] bool has_record() const noexcept {
        // relaxed: nobody reads the payload after this
        return fits(path_.word(shape_.header_offset(line_)).load(std::memory_order_relaxed));
    }

    // Whether a record that is not released has come at all, be it behind others that have not. Looks at every line.
    [[nodiscard]] bool has_any_record() const noexcept {
        for (std::uint64_t line = line_; line != line_ + shape_.lines(); ++line) {
            // relaxed: as above
            const auto& place = path_.word(shape_.header_offset(line));
            if (key_.fits_header(place.load(std::memory_order_relaxed), line)) return true;
        }
        return false;
    }

    // Gives the lines of the record of the last receive() back. true: the caller must wake the sender.
    [[nodiscard]] bool release() noexcept {
        ACP_ASSERT(is_held_);
        is_held_ = false;
        clear_released();
        const std::uint32_t bytes = RingKey::bytes_of(held_);
        const bool wraps = RingKey::wraps_of(held_);
        if (!wraps && is_one_line(bytes)) [[likely]] {
            // Records of one line have a branch of their own: the CPU predicts it, and loads the next line before it has this line's header.
            ++line_;
        } else {
            line_ += shape_.lines_of(line_, bytes, wraps);
        }
        return tell_due();
    }

    // Copies the payload of the oldest record to `target` and gives its line back, in few instructions and without a call. none: nothing has
    // come. another: what has come is for receive(), and stays: it is more than a line, or none; longer than `room`; of another tag; or the
    // sender is to be told of a credit with it.
    //   bytes  becomes the length
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

    // Tells the sender of a quarter of the ring that was released while the path had no room. true: the caller must wake the sender.
    [[nodiscard]] bool tell_due() noexcept {
        return line_ - told_ >= shape_.credit_lines() && path_.may_send() && tell_credit();
    }

    // Tells the sender now of all lines that were released; release() tells it only after each quarter of the ring, and then where the path
    // has room. true: the caller must wake the sender.
    [[nodiscard]] bool tell_released() noexcept { return tell_credit(); }

    [[nodiscard]] bool has_told_all() const noexcept { return told_ == line_; }

    // How many lines were released since the ring was opened.
    [[nodiscard]] std::uint64_t released() const noexcept { return line_; }

    [[nodiscard]] Path& path() noexcept { return path_; }

    // Repairs damaged words between the ends. Called when a record is waited for and does not come; harmless when none was sent. The caller
    // looks for a record again afterwards.
    void recover() noexcept {
        auto& place = path_.word(shape_.header_offset(line_));
        // acquire: as in receive()
        if (fits(place.load(std::memory_order_acquire))) return;
        // acquire: partner is Path::store(); the payload is there
        const std::uint64_t noted =
            path_.word(shape_.journal_offset(line_)).load(std::memory_order_acquire);
        if (fits(noted)) {
            // relaxed: receive() of this thread reads it. The sender may be about to store the same header, perhaps only after release().
            // Then a stale word stays where 0 should be. It fits no line. A later header of a sender on this node is stored over it; one
            // from another node is added to it, and the sum fits no line either: then the journal has the right header.
            place.store(noted, std::memory_order_relaxed);
            return;
        }
        path_.store(shape_.request_offset(), key_.request(line_));
        tell_again();
    }

    // Tells the sender that what a record says cannot be. true: the caller must wake the sender.
    [[nodiscard]] bool refuse() noexcept {
        return path_.publish(shape_.request_offset(), key_.refusal());
    }

    // Stores both credits again, for a sender that may have lost them while this end misses nothing.
    void tell_again() noexcept {
        path_.store(shape_.credit_offset(0), key_.credit(told_));
        path_.store(shape_.credit_offset(1), key_.credit(told_));
    }

    // Whether a credit word here differs from the credit that was told. For a ring whose sender has this memory mapped.
    [[nodiscard]] bool is_credit_damaged() const noexcept {
        const std::uint64_t credit = key_.credit(told_);
        // relaxed: the sender does not write them
        return path_.word(shape_.credit_offset(0)).load(std::memory_order_relaxed) != credit ||
               path_.word(shape_.credit_offset(1)).load(std::memory_order_relaxed) != credit;
    }

private:
    // Whether a word is the header of a record that starts at this line and can lie there.
    [[nodiscard]] bool fits(std::uint64_t word) const noexcept {
        if (!key_.fits_header(word, line_)) return false;
        const std::uint32_t bytes = RingKey::bytes_of(word);
        if (is_one_line(bytes)) [[likely]]
            return true;
        return bytes <= shape_.payload_bytes_max() &&
               (RingKey::wraps_of(word) || !shape_.must_wrap(line_, bytes));
    }

    // Stores 0 into the first word of each line: a later header may be put there.
    void clear(std::uint64_t first, std::uint64_t end) noexcept {
        // relaxed: the store of the credit (tell_credit) releases them to the sender
        for (std::uint64_t line = first; line != end; ++line)
            path_.word(shape_.header_offset(line)).store(0, std::memory_order_relaxed);
    }

    // Of the lines that were released since the last call.
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
    std::uint64_t held_ = 0;  // header of the record that the last receive() gave
    bool is_held_ = false;
    std::uint64_t line_ = 0;     // of the oldest record that is not released
    std::uint64_t cleared_ = 0;  // zeros were stored into the lines before this one
    std::uint64_t told_ = 0;     // the sender was told that lines before this one were released
};

}  // namespace acp::message
