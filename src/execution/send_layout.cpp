// SPDX-License-Identifier: BSD-3-Clause
// Lays out the messages of one receiver after another.
#include "execution/send_layout.hpp"

#include <map>
#include <utility>

#include "sync/lines.hpp"

namespace acp::execution {

namespace {

constexpr std::uint64_t word_bytes = 8;

class Layer {
public:
    Layer(SendLayout& layout, std::uint64_t parcel_bytes_max)
        : layout_(layout), parcel_bytes_max_(parcel_bytes_max) {}

    void run(const exchange::SendOrder& order) {
        find_receivers();
        for (const LaidReceiver& receiver : layout_.receivers) {
            if (receiver.is_near) place_near(receiver);
        }
        open_.resize(layout_.receivers.size());
        for (const exchange::SentPiece& piece : order.pieces) {
            const LaidMessage& message = layout_.messages[piece.message];
            if (!message.is_near && is_short(message) && piece.offset_bytes == 0) add_short(piece);
        }
        for (LaidReceiver& receiver : layout_.receivers) {
            if (!receiver.is_near) place_far(receiver);
        }
        add_parcels(order);
    }

private:
    [[nodiscard]] bool is_short(const LaidMessage& message) const noexcept {
        return message.bytes <= parcel_bytes_max_;
    }

    void find_receivers() {
        receiver_of_.resize(layout_.messages.size());
        std::map<std::uint32_t, std::vector<std::uint32_t>> by_rank;
        for (std::uint32_t i = 0; i < layout_.messages.size(); ++i)
            by_rank[layout_.messages[i].rank].push_back(i);
        for (auto& [rank, messages] : by_rank) {
            const bool is_near = layout_.messages[messages.front()].is_near;
            for (const std::uint32_t i : messages)
                receiver_of_[i] = static_cast<std::uint32_t>(layout_.receivers.size());
            layout_.receivers.push_back({rank, is_near, std::move(messages), 0, 0});
        }
    }

    [[nodiscard]] std::uint64_t take_outbox(std::uint64_t bytes, std::uint64_t unit) noexcept {
        const std::uint64_t offset = rounded_up(layout_.outbox_bytes, unit);
        layout_.outbox_bytes = offset + bytes;
        return offset;
    }

    // Each receiver has cache lines of its own in the outbox, and so has each message that fills a
    // line (Rounds::take). If some message is read in place, the round lasts until the receiver has
    // consumed it, so copying its short messages would save nothing.
    void place_near(const LaidReceiver& receiver) {
        layout_.outbox_bytes = rounded_up(layout_.outbox_bytes, sync::line_bytes);
        std::uint64_t shared_bytes = 0;
        for (const std::uint32_t i : receiver.messages) {
            if (layout_.messages[i].is_shared) shared_bytes += layout_.messages[i].bytes;
        }
        for (const std::uint32_t i : receiver.messages) {
            LaidMessage& message = layout_.messages[i];
            message.is_in_place =
                message.is_shared && message.bytes != 0 && shared_bytes >= in_place_bytes_min;
            if (message.is_in_place) continue;
            const bool is_in_lines = message.bytes >= sync::line_bytes;
            const std::uint64_t unit = is_in_lines ? sync::line_bytes : word_bytes;
            message.outbox_offset = take_outbox(rounded_up(message.bytes, unit), unit);
        }
    }

    // Adds the message to the last parcel of short messages of its receiver, or begins a new one.
    // Its place in the landing area follows the short message before it.
    void add_short(const exchange::SentPiece& piece) {
        LaidMessage& message = layout_.messages[piece.message];
        const std::uint32_t receiver = receiver_of_[piece.message];
        std::vector<ShortParcel>& open = open_[receiver];
        if (open.empty() || open.back().bytes + message.bytes > parcel_bytes_max_)
            open.push_back({piece.message, 0});
        open.back().bytes += message.bytes;
        message.landing_offset =
            std::exchange(layout_.receivers[receiver].landing_bytes,
                          layout_.receivers[receiver].landing_bytes + message.bytes);
    }

    // Short messages have the same order and offsets in the outbox as in the landing area; the long
    // ones follow.
    void place_far(LaidReceiver& receiver) {
        const std::uint64_t outbox = take_outbox(receiver.landing_bytes, sync::line_bytes);
        for (const std::uint32_t i : receiver.messages) {
            LaidMessage& message = layout_.messages[i];
            if (is_short(message)) {
                message.outbox_offset = outbox + message.landing_offset;
                continue;
            }
            message.is_in_place = message.is_shared && message.bytes >= in_place_bytes_min;
            if (!message.is_in_place)
                message.outbox_offset = take_outbox(message.bytes, sync::line_bytes);
            message.landing_offset = rounded_up(receiver.landing_bytes, sync::line_bytes);
            receiver.landing_bytes = message.landing_offset + message.bytes;
        }
    }

    // A parcel of short messages takes the place of its first message in the send order.
    void add_parcels(const exchange::SendOrder& order) {
        std::vector<std::size_t> gone(open_.size());
        for (const exchange::SentPiece& piece : order.pieces) {
            const LaidMessage& message = layout_.messages[piece.message];
            if (message.is_near) continue;
            const std::uint32_t receiver = receiver_of_[piece.message];
            LaidParcel parcel{receiver,      layout_.receivers[receiver].parcels,
                              piece.message, piece.offset_bytes,
                              piece.bytes,   piece.engine};
            if (is_short(message)) {
                std::size_t& next = gone[receiver];
                if (next == open_[receiver].size() ||
                    open_[receiver][next].message != piece.message || piece.offset_bytes != 0) {
                    continue;
                }
                parcel.bytes = open_[receiver][next++].bytes;
            }
            layout_.parcels.push_back(parcel);
            ++layout_.receivers[receiver].parcels;
        }
    }

    struct ShortParcel {
        std::uint32_t message = 0;  // its first message
        std::uint64_t bytes = 0;
    };

    SendLayout& layout_;
    std::uint64_t parcel_bytes_max_;
    std::vector<std::uint32_t> receiver_of_;      // index of the receiver of each message
    std::vector<std::vector<ShortParcel>> open_;  // indexed by receiver
};

}  // namespace

SendLayout lay_out(std::vector<LaidMessage> messages,
                   const exchange::SendOrder& order,
                   std::uint64_t parcel_bytes_max) {
    SendLayout layout;
    layout.messages = std::move(messages);
    Layer(layout, parcel_bytes_max).run(order);
    layout.outbox_bytes = rounded_up(layout.outbox_bytes, sync::line_bytes);
    return layout;
}

}  // namespace acp::execution
