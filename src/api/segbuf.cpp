// SPDX-License-Identifier: BSD-3-Clause
// <acp/segbuf.h>.
#include <cstdint>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "gma/commands.hpp"
#include "message/segbufs.hpp"

// Here the names are those of acp.h.
#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_segbuf.h>
#include <acp/segbuf.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::handle_of;
using api::library;
using api::number_of;
using api::process_of;
using base::Result;
using base::Status;
using message::SegbufEnd;
using message::SegmentRing;
using message::Side;

// "acp_ack_segbuf(0x100000001) by rank 0 on host"
Status named(const char* call, acp_segbuf_t segbuf, Status failure) {
    return std::move(failure).within(std::string(call) + "(" + base::hex(number_of(segbuf)) + ")" +
                                     gma::by_rank(library().member->rank()));
}

// Runs body(segbufs), which returns a Status, as a call that returns 0 or -1.
template <typename Body>
int run_status(const char* call, acp_segbuf_t segbuf, const Body& body) noexcept {
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        Status status = body(*library().segbufs);
        if (!status.is_ok()) return named(call, segbuf, std::move(status));
        return 0;
    });
}

// Returns the Result of answer(end) for an end.
template <typename T, typename Answer>
T ask(const char* call, acp_segbuf_t segbuf, const Answer& answer) noexcept {
    return api::run<Gravity::misuse_ends>(call, T{-1}, [&]() -> Result<T> {
        Result<T> answered = library().segbufs->with(number_of(segbuf), answer);
        if (!answered.is_ok()) return named(call, segbuf, std::move(answered).failure());
        return answered;
    });
}

// Returns has(end, counts) as 0 or 1, or -1 after a failure.
template <typename Has>
int ask_whether(const char* call, acp_segbuf_t segbuf, const Has& has) noexcept {
    return ask<int>(call, segbuf, [&](SegbufEnd& end) -> Result<int> {
        auto now = end.look(false);
        if (now.is_ok() && !has(end, now.value())) now = end.look(true);
        if (!now.is_ok()) return std::move(now).failure();
        return has(end, now.value()) ? 0 : 1;
    });
}

// A segment's number: counted from the first one, or its index in the buffer.
enum class Told : std::uint8_t { count, place };

int64_t ask_count(const char* call,
                  acp_segbuf_t segbuf,
                  std::uint64_t SegbufEnd::Counts::*count,
                  Told told) noexcept {
    return ask<int64_t>(call, segbuf, [&](SegbufEnd& end) -> Result<int64_t> {
        if (count == &SegbufEnd::Counts::left && end.side() != Side::sender) {
            return Status(base::Code::argument,
                          "this rank is the destination of the buffer; its source asks how many "
                          "segments are left");
        }
        auto now = end.look(false);
        if (!now.is_ok()) return std::move(now).failure();
        const std::uint64_t found = now.value().*count;
        return static_cast<int64_t>(told == Told::place ? found % end.segments() : found);
    });
}

acp_segbuf_t create(
    const char* call, Side side, const char* other, int rank, const SegmentRing& ring) noexcept {
    return api::run<Gravity::misuse_ends>(call, ACP_SEGBUF_NULL, [&]() -> Result<acp_segbuf_t> {
        const auto make = [&]() -> Result<acp_segbuf_t> {
            auto partner = process_of(other, rank);
            if (!partner.is_ok()) return std::move(partner).failure();
            if (api::is_in_shared_range(ring.buffer)) return api::in_shared_range("buf");
            auto made = library().segbufs->make(partner.value(), side, ring);
            if (!made.is_ok()) return std::move(made).failure();
            return handle_of<acp_segbuf_t>(made.value());
        };
        auto made = make();
        if (made.is_ok()) return made;
        return std::move(made).failure().within(std::string(call) + "(" + other + " " +
                                                std::to_string(rank) + ")" +
                                                gma::by_rank(library().member->rank()));
    });
}

}  // namespace

extern "C" {

acp_segbuf_t acp_create_src_segbuf(int dst_rank, const void* buf, size_t segsize, size_t segnum) {
    // The source only reads from its buffer.
    return create("acp_create_src_segbuf", Side::sender, "dst_rank", dst_rank,
                  {static_cast<char*>(const_cast<void*>(buf)), segsize, segnum});
}

acp_segbuf_t acp_create_dst_segbuf(int src_rank, void* buf, size_t segsize, size_t segnum) {
    return create("acp_create_dst_segbuf", Side::receiver, "src_rank", src_rank,
                  {static_cast<char*>(buf), segsize, segnum});
}

int acp_connect_segbuf(acp_segbuf_t segbuf) {
    return run_status("acp_connect_segbuf", segbuf, [&](message::Segbufs& segbufs) {
        return segbufs.connect(number_of(segbuf));
    });
}

int acp_isconnected_segbuf(acp_segbuf_t segbuf) {
    return ask<int>("acp_isconnected_segbuf", segbuf, [](SegbufEnd& end) -> Result<int> {
        auto connected = end.is_connected();
        if (!connected.is_ok()) return std::move(connected).failure();
        return connected.value() ? 0 : 1;
    });
}

int acp_ready_segbuf(acp_segbuf_t segbuf) {
    return run_status("acp_ready_segbuf", segbuf, [&](message::Segbufs& segbufs) {
        return segbufs.with(number_of(segbuf), [](SegbufEnd& end) { return end.release(); });
    });
}

int acp_ack_segbuf(acp_segbuf_t segbuf) {
    return run_status("acp_ack_segbuf", segbuf, [&](message::Segbufs& segbufs) {
        return segbufs.with(number_of(segbuf), [](SegbufEnd& end) { return end.send(); });
    });
}

int acp_isready_segbuf(acp_segbuf_t segbuf) {
    return ask_whether("acp_isready_segbuf", segbuf,
                       [](const SegbufEnd& end, const SegbufEnd::Counts& now) {
                           return now.sent - now.released < end.segments();
                       });
}

int acp_isacked_segbuf(acp_segbuf_t segbuf) {
    return ask_whether(
        "acp_isacked_segbuf", segbuf,
        [](const SegbufEnd&, const SegbufEnd::Counts& now) { return now.sent != now.released; });
}

int64_t acp_query_segbuf_head(acp_segbuf_t segbuf) {
    return ask_count("acp_query_segbuf_head", segbuf, &SegbufEnd::Counts::released, Told::count);
}

int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf) {
    return ask_count("acp_query_segbuf_tail", segbuf, &SegbufEnd::Counts::sent, Told::count);
}

int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf) {
    return ask_count("acp_query_segbuf_sent", segbuf, &SegbufEnd::Counts::left, Told::count);
}

int64_t acp3_query_segbuf_head(acp_segbuf_t segbuf) {
    return ask_count("acp_query_segbuf_head", segbuf, &SegbufEnd::Counts::released, Told::place);
}

int64_t acp3_query_segbuf_tail(acp_segbuf_t segbuf) {
    return ask_count("acp_query_segbuf_tail", segbuf, &SegbufEnd::Counts::sent, Told::place);
}

int64_t acp3_query_segbuf_sent(acp_segbuf_t segbuf) {
    return ask_count("acp_query_segbuf_sent", segbuf, &SegbufEnd::Counts::left, Told::place);
}

int acp_disconnect_segbuf(acp_segbuf_t segbuf) {
    return run_status("acp_disconnect_segbuf", segbuf, [&](message::Segbufs& segbufs) {
        return segbufs.with(number_of(segbuf), [](SegbufEnd& end) { return end.disconnect(); });
    });
}

int acp_free_segbuf(acp_segbuf_t segbuf) {
    return run_status("acp_free_segbuf", segbuf,
                      [&](message::Segbufs& segbufs) { return segbufs.free(number_of(segbuf)); });
}

}  // extern "C"
