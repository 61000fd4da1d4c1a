// SPDX-License-Identifier: BSD-3-Clause
// Records with impossible content, as after a write of the program into memory of the library: a
// receive fails, without access to the memory that the record names, and so does each later one; a
// request to free skips such records. This thread is sender and receiver.
#include "message/receiving.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "message/mapped_path.hpp"
#include "message/sending.hpp"
#include "node/member.hpp"

#include "claims/library_claims.hpp"

namespace acp::message {
namespace {

using base::Code;

constexpr std::uint64_t huge = ~std::uint64_t{0};

class ReceivingTest : public testing::Test {
protected:
    static constexpr std::uint32_t sender = 1;  // slot of the rank that sends
    static constexpr std::uint64_t words_at = 4096;
    static constexpr std::uint64_t source_at = 8192;
    static constexpr std::uint64_t bytes = 100'000;

    ReceivingTest() : ring_(shape.bytes() / sizeof(std::uint64_t) + 8), room_(bytes) {
        base::Config config;
        config.starter_bytes = 1 << 16;
        config.heap_bytes = 8 << 20;
        auto made = node::Segment::create(node::shape_for(config, 2), claims::library_claims());
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        node_ = std::move(made).value();
        member_ = std::make_unique<node::Member>(node_.share(), 0);
        EXPECT_TRUE(member_->take_slot().is_ok());
        hazards_ = std::make_unique<local::Hazards>(member_->segment(), 0);
        auto opened = gma::Gma::open(*member_, *hazards_, fast_, config, {});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma_ = std::move(opened).value();
        const RingKey key(7);
        const MappedPath<> path(ring_memory(), bell_, MappedPath<>::Fence::by_each);
        sending_ = std::make_unique<RingSender<MappedPath<>>>(path, shape, key);
        heap_ = local::heap_memory(member_->segment(), sender);
        receiving_ = std::make_unique<Receiving<MappedPath<>>>(
            *gma_, path, shape, key, SenderPlaces{0, heap_, sender}, bell_);
        EXPECT_FALSE(receiving_->ring().open(key));
        for (std::uint64_t i = 0; i < bytes; ++i) heap_.start[source_at + i] = content(i);
    }

    static char content(std::uint64_t i) { return static_cast<char>(i * 7 % 251); }

    [[nodiscard]] char* ring_memory() {
        auto* const start = reinterpret_cast<char*>(ring_.data());
        return start + (-reinterpret_cast<std::uintptr_t>(start) % line_bytes);
    }

    void put(const void* payload, std::uint64_t payload_bytes, RecordTag tag) {
        EXPECT_NE(sending_->send(payload, payload_bytes, static_cast<std::uint8_t>(tag)),
                  SendAttempt::full);
    }

    template <typename Payload>
    void put(const Payload& payload, RecordTag tag) {
        put(&payload, sizeof payload, tag);
    }

    void put_whole(const std::string& text) { put(text.data(), text.size(), RecordTag::whole); }

    // A loan of the sender's buffer, with its number.
    [[nodiscard]] LentMessage loan(std::uint64_t number) const {
        const local::SharedRange node = local::node_memory(member_->segment());
        return {node.place_of(heap_.at(words_at)), number, node.place_of(heap_.at(source_at)),
                bytes};
    }

    ChannelRequest& add(RequestKind kind) {
        auto& request = *requests_.emplace_back(std::make_unique<ChannelRequest>());
        request.kind = kind;
        if (kind == RequestKind::receive) {
            request.buffer = room_.data();
            request.bytes = room_.size();
        }
        queue_.add(request);
        return request;
    }

    // Begins a request and makes progress on it.
    ChannelRequest& begin(RequestKind kind) {
        ChannelRequest& request = add(kind);
        (void)receiving_->go_on(queue_);
        return request;
    }

    void expect_received(const std::string& text) {
        const ChannelRequest& request = begin(RequestKind::receive);
        ASSERT_TRUE(request.is_done.load());
        EXPECT_TRUE(request.result.status.is_ok()) << request.result.status.message();
        EXPECT_EQ(std::string(room_.data(), request.result.bytes), text);
    }

    // Expects that each receive refuses the record that was put last, that a request to free skips
    // it, and that the sender is notified.
    void expect_refused() {
        put_whole("behind it");
        room_.assign(room_.size(), 'x');
        for (int i = 0; i < 3; ++i) {
            const ChannelRequest& request = begin(RequestKind::receive);
            ASSERT_TRUE(request.is_done.load());
            EXPECT_EQ(request.result.status.code(), Code::system);
            EXPECT_NE(request.result.status.message().find("was overwritten"), std::string::npos);
            EXPECT_EQ(request.result.bytes, 0U);
        }
        EXPECT_EQ(room_, std::vector<char>(room_.size(), 'x'));
        EXPECT_FALSE(sending_->is_refused());
        sending_->serve();
        EXPECT_TRUE(sending_->is_refused());
        const ChannelRequest& free = begin(RequestKind::free);
        EXPECT_FALSE(free.is_done.load());
        put(nullptr, 0, RecordTag::end);
        (void)receiving_->go_on(queue_);
        EXPECT_TRUE(free.is_done.load());
        EXPECT_TRUE(free.result.status.is_ok());
        EXPECT_TRUE(receiving_->is_over());
    }

    static constexpr RingShape shape{4096};
    std::vector<std::uint64_t> ring_;
    std::vector<char> room_;
    sync::Bell<> bell_;
    node::Segment node_;
    std::unique_ptr<node::Member> member_;
    std::unique_ptr<local::Hazards> hazards_;
    gma::FastPath fast_;
    std::unique_ptr<gma::Gma> gma_;
    local::SharedRange heap_;
    std::unique_ptr<RingSender<MappedPath<>>> sending_;
    std::unique_ptr<Receiving<MappedPath<>>> receiving_;
    std::vector<std::unique_ptr<ChannelRequest>> requests_;
    RequestQueue queue_;
};

TEST_F(ReceivingTest, sound_records_are_received) {
    put_whole("a message");
    expect_received("a message");
    put(PipePiece{source_at, 4096, 4096}, RecordTag::slot);
    std::string wanted;
    for (std::uint64_t i = 0; i < bytes; ++i) wanted += content(i);
    expect_received(wanted.substr(0, 4096));
    put(loan(1), RecordTag::loan);
    wanted.clear();
    for (std::uint64_t i = 0; i < bytes; ++i) wanted += heap_.start[source_at + i];
    expect_received(wanted);
    const auto& words = *reinterpret_cast<const LendingWords<>*>(heap_.at(words_at));
    EXPECT_EQ(words.taken.load(), 1U);
}

class CorruptPieceTest : public ReceivingTest, public testing::WithParamInterface<PipePiece> {};

TEST_P(CorruptPieceTest, is_refused) {
    put(GetParam(), RecordTag::slot);
    expect_refused();
}

INSTANTIATE_TEST_SUITE_P(Pieces,
                         CorruptPieceTest,
                         testing::Values(PipePiece{8 << 20, 64, 64},
                                         PipePiece{(8 << 20) - 64, 65, 65},
                                         PipePiece{64, huge, huge},
                                         PipePiece{huge - 63, 128, 128},
                                         PipePiece{65, 64, 64},
                                         PipePiece{std::uint64_t{1} << 60, 64, 64}));

TEST_F(ReceivingTest, a_piece_that_is_no_record_of_one_is_refused) {
    const PipePiece piece{source_at, 64, 64};
    put(&piece, sizeof piece - 8, RecordTag::slot);
    expect_refused();
}

TEST_F(ReceivingTest, a_piece_in_the_midst_of_a_message_is_refused_with_the_message) {
    put(PipePiece{source_at, 4096, 8192}, RecordTag::slot);
    EXPECT_FALSE(begin(RequestKind::receive).is_done.load());
    put(PipePiece{huge, 4096, 8192}, RecordTag::slot);
    (void)receiving_->go_on(queue_);
    EXPECT_EQ(requests_.back()->result.status.code(), Code::system);
    expect_refused();
}

TEST_F(ReceivingTest, a_loan_of_what_the_node_does_not_share_is_refused) {
    LentMessage bad = loan(1);
    bad.source = huge - 100;
    put(bad, RecordTag::loan);
    expect_refused();
}

TEST_F(ReceivingTest, a_loan_that_goes_beyond_what_the_node_shares_is_refused) {
    LentMessage bad = loan(1);
    bad.bytes = local::node_memory(member_->segment()).bytes;
    put(bad, RecordTag::loan);
    expect_refused();
}

TEST_F(ReceivingTest, a_loan_whose_words_lie_elsewhere_is_refused) {
    LentMessage bad = loan(1);
    bad.words = local::node_memory(member_->segment()).bytes - 64;
    put(bad, RecordTag::loan);
    expect_refused();
}

TEST_F(ReceivingTest, a_loan_whose_words_do_not_begin_a_line_is_refused) {
    LentMessage bad = loan(1);
    bad.words += 8;
    put(bad, RecordTag::loan);
    expect_refused();
}

TEST_F(ReceivingTest, a_loan_that_was_not_the_next_one_is_refused) {
    put(loan(2), RecordTag::loan);
    expect_refused();
}

// A program that receives into memory of the library overwrites the words of the loan itself.
TEST_F(ReceivingTest, a_loan_whose_claims_are_overwritten_ends_with_an_error) {
    constexpr std::uint64_t far_source_at = 1 << 20;
    constexpr std::uint64_t loan_bytes = 4 * LentPieces::bytes_min;
    std::memset(heap_.at(far_source_at), 0xa5, loan_bytes);
    LentMessage big = loan(1);
    big.source = local::node_memory(member_->segment()).place_of(heap_.at(far_source_at));
    big.bytes = loan_bytes;
    put(big, RecordTag::loan);
    auto& request = *requests_.emplace_back(std::make_unique<ChannelRequest>());
    request.kind = RequestKind::receive;
    request.buffer = heap_.at(0);
    request.bytes = loan_bytes;
    queue_.add(request);
    (void)receiving_->go_on(queue_);
    ASSERT_TRUE(request.is_done.load());
    EXPECT_EQ(request.result.status.code(), Code::system);
    EXPECT_TRUE(receiving_->is_idle());
    expect_refused();
}

// Both the request that waits for a loan and the requests behind it.
TEST_F(ReceivingTest, the_requests_of_a_sender_whose_record_was_refused_fail) {
    auto* const words = new (heap_.at(words_at)) LendingWords<>();
    const RingKey key(8);
    const MappedPath<> path(ring_memory(), bell_, MappedPath<>::Fence::by_each);
    RingReceiver<MappedPath<>> receiver(path, shape, key);
    EXPECT_FALSE(receiver.open(key));
    SendingRule rule;
    rule.slot_bytes = 4096;
    rule.lend_bytes = 4 * rule.slot_bytes;
    rule.lending = words;
    rule.node = local::node_memory(member_->segment());
    Sending<MappedPath<>> sending(*gma_, path, shape, key, rule, words->taken, bell_);
    const auto add = [&](RequestKind kind, std::uint64_t its_bytes) -> ChannelRequest& {
        auto& request = *requests_.emplace_back(std::make_unique<ChannelRequest>());
        request.kind = kind;
        request.buffer = heap_.at(source_at);
        request.bytes = its_bytes;
        queue_.add(request);
        return request;
    };
    const ChannelRequest& lent = add(RequestKind::send, bytes);
    const ChannelRequest& behind = add(RequestKind::send, 8);
    const ChannelRequest& free = add(RequestKind::free, 0);
    (void)sending.go_on(queue_);
    EXPECT_FALSE(lent.is_done.load());
    const ReceivedRecord record = receiver.receive();
    ASSERT_EQ(static_cast<RecordTag>(record.tag), RecordTag::loan);
    EXPECT_FALSE(receiver.refuse());
    EXPECT_TRUE(sending.go_on(queue_));
    for (const ChannelRequest* request : {&lent, &behind}) {
        ASSERT_TRUE(request->is_done.load());
        EXPECT_EQ(request->result.status.code(), Code::system);
        EXPECT_NE(request->result.status.message().find("the receiver has found"),
                  std::string::npos);
    }
    EXPECT_FALSE(free.is_done.load());
    for (int i = 0; i < 3; ++i) {
        ASSERT_NE(receiver.receive().data, nullptr);
        (void)receiver.release();
    }
    (void)receiver.tell_released();
    EXPECT_TRUE(sending.go_on(queue_));
    EXPECT_TRUE(free.is_done.load());
    EXPECT_TRUE(sending.is_over());
    const ChannelRequest& later = add(RequestKind::send, 8);
    EXPECT_TRUE(sending.go_on(queue_));
    EXPECT_EQ(later.result.status.code(), Code::system);
}

TEST_F(ReceivingTest, a_length_of_another_length_is_refused) {
    put(std::uint32_t{5}, RecordTag::length);
    expect_refused();
}

TEST_F(ReceivingTest, an_offer_of_another_length_is_refused) {
    put(std::uint64_t{5}, RecordTag::offer);
    expect_refused();
}

TEST_F(ReceivingTest, a_loan_that_the_sender_has_taken_back_fails) {
    put(loan(1), RecordTag::loan);
    auto& words = *reinterpret_cast<LendingWords<>*>(heap_.at(words_at));
    Lender<>::revoke(words);
    const ChannelRequest& request = begin(RequestKind::receive);
    ASSERT_TRUE(request.is_done.load());
    EXPECT_EQ(request.result.status.code(), Code::peer);
    EXPECT_EQ(words.taken.load(), 1U);
    put_whole("behind it");
    expect_received("behind it");
}

TEST_F(ReceivingTest, after_the_last_record_nothing_is_written_to_the_ring_which_the_sender_frees) {
    put(nullptr, 0, RecordTag::end);
    EXPECT_EQ(begin(RequestKind::receive).result.status.code(), Code::stale);
    // overwrites the ring, as a new owner of the block would
    ring_.assign(ring_.size(), 0x5555555555555555);
    const std::vector<std::uint64_t> before = ring_;
    receiving_->recover();
    EXPECT_TRUE(begin(RequestKind::free).is_done.load());
    EXPECT_EQ(ring_, before);
}

// A path on which words to the sender may be in flight.
class BusyPath : public MappedPath<> {
public:
    BusyPath(const MappedPath<>& path, const bool& is_busy) noexcept
        : MappedPath<>(path), is_busy_(&is_busy) {}

    [[nodiscard]] bool is_idle() const noexcept { return !*is_busy_; }

private:
    const bool* is_busy_;
};

// An earlier word would arrive after the credit, on which the sender may free its memory.
TEST_F(ReceivingTest, the_last_record_is_taken_only_with_no_credit_to_the_sender_in_flight) {
    for (const bool is_refused : {false, true}) {
        const RingKey key(is_refused ? 8 : 9);
        const MappedPath<> path(ring_memory(), bell_, MappedPath<>::Fence::by_each);
        sending_ = std::make_unique<RingSender<MappedPath<>>>(path, shape, key);
        bool is_busy = true;
        Receiving<BusyPath> receiving(*gma_, BusyPath(path, is_busy), shape, key,
                                      SenderPlaces{0, heap_, sender}, bell_);
        EXPECT_FALSE(receiving.ring().open(key));
        if (is_refused) put("text", 4, static_cast<RecordTag>(99));
        put(nullptr, 0, RecordTag::end);
        const std::uint64_t end = sending_->next();
        const ChannelRequest& free = add(RequestKind::free);
        (void)receiving.go_on(queue_);
        EXPECT_FALSE(receiving.is_over());
        EXPECT_FALSE(sending_->is_released(end));
        is_busy = false;
        EXPECT_TRUE(receiving.go_on(queue_));
        EXPECT_TRUE(free.is_done.load());
        EXPECT_TRUE(receiving.is_over());
        EXPECT_TRUE(sending_->is_released(end));
    }
}

// The receiving call puts its own name before this message.
TEST_F(ReceivingTest, a_fetch_that_fails_names_no_other_call_of_the_interface) {
    put(FetchOffer{gma_->space().starter_address(1) + (1 << 16), 100}, RecordTag::offer);
    const ChannelRequest& request = begin(RequestKind::receive);
    ASSERT_TRUE(request.is_done.load());
    const std::string message(request.result.status.message());
    EXPECT_EQ(request.result.status.code(), Code::address) << message;
    EXPECT_NE(message.find("the fetch of a message by rank 0"), std::string::npos) << message;
    EXPECT_EQ(message.find("acp_"), std::string::npos) << message;
}

TEST_F(ReceivingTest, a_record_of_no_kind_is_refused) {
    put("text", 4, static_cast<RecordTag>(99));
    expect_refused();
}

}  // namespace
}  // namespace acp::message
