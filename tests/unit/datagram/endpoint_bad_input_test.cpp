// SPDX-License-Identifier: BSD-3-Clause
// Wrong datagrams, one row each: a datagram counts up the counter that names its error, changes no
// visible state, and is answered by no more bytes than it has.
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "datagram/duplicate_window.hpp"

#include "unit/datagram/bad_input_scene.hpp"

namespace acp::datagram::testing {
namespace {

using Scene = BadInputScene;

template <typename Change>
Datagram ack(Change change, std::size_t cut = 0) {
    AckFrame frame;
    frame.cumulative = 0;
    change(frame);
    Datagram bytes(AckFrame::bytes_max);
    bytes.resize(encode_ack(frame, static_cast<std::uint8_t>(ControlFrame::ack), bytes));
    bytes.resize(bytes.size() - cut);
    return bytes;
}

Datagram control(std::initializer_list<int> bytes) {
    Datagram datagram;
    for (const int byte : bytes) datagram.push_back(static_cast<std::byte>(byte));
    return datagram;
}

Datagram joined(Datagram a, const Datagram& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const auto nothing = [](auto&) {};

// WIRE-1 WIRE-2 WIRE-3 WIRE-4 WIRE-5 WIRE-6 WIRE-7
const std::vector<Row> clear_rows{
    {"twenty_four_bytes_of_zero", &EndpointCounters::wrong_version,
     [](Scene&) { return Datagram(24); }},
    {"empty", &EndpointCounters::short_header, [](Scene&) { return Datagram(); }},
    {"one_byte", &EndpointCounters::short_header, [](Scene&) { return Datagram(1, std::byte{1}); }},
    {"fifteen_bytes", &EndpointCounters::short_header,
     [](Scene&) { return header(wire_version, 4, 1, 15); }},
    {"version_0", &EndpointCounters::wrong_version, [](Scene&) { return header(0, 4, 1, 100); }},
    {"version_1", &EndpointCounters::wrong_version, [](Scene&) { return header(1, 4, 1, 100); }},
    {"the_version_before", &EndpointCounters::wrong_version,
     [](Scene&) { return header(wire_version - 1, 4, 1, 100); }},
    {"the_next_version", &EndpointCounters::wrong_version,
     [](Scene&) { return header(wire_version + 1, 4, 1, 100); }},
    {"version_255", &EndpointCounters::wrong_version,
     [](Scene&) { return header(255, 4, 1, 100); }},
    {"type_0", &EndpointCounters::unknown_type,
     [](Scene&) { return header(wire_version, 0, 1, 100); }},
    {"type_6", &EndpointCounters::unknown_type,
     [](Scene&) { return header(wire_version, 6, 1, 100); }},
    {"type_255", &EndpointCounters::unknown_type,
     [](Scene&) { return header(wire_version, 255, 1, 100); }},
    {"from_itself", &EndpointCounters::unknown_node,
     [](Scene&) { return header(wire_version, 4, 0, 100); }},
    {"node_past_the_last", &EndpointCounters::unknown_node,
     [](Scene&) { return header(wire_version, 4, Scene::nodes, 100); }},
    {"node_without_bounds", &EndpointCounters::unknown_node,
     [](Scene&) { return header(wire_version, 4, ~0U, 100); }},
    {"init_from_itself", &EndpointCounters::unknown_node,
     [](Scene&) { return header(wire_version, 1, 0, sizeof(InitPacket)); }},
    {"data_of_a_header_alone", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 4, 1, 16); }},
    {"data_one_byte_too_short", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 4, 1, 39); }},
    {"data_longer_than_udp", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 4, 1, 65508); }},
    {"data_of_an_unmet_node", &EndpointCounters::not_connected,
     [](Scene&) { return header(wire_version, 4, Scene::unmet, 60); }},
    {"data_of_an_unmet_node_that_is_answered", &EndpointCounters::not_connected,
     [](Scene&) { return header(wire_version, 4, Scene::unmet, 64); }},
    {"data_of_a_node_still_connecting", &EndpointCounters::not_connected,
     [](Scene&) { return header(wire_version, 4, Scene::connecting, 100); }},
    {"data_of_a_severed_node", &EndpointCounters::from_severed,
     [](Scene&) { return header(wire_version, 4, Scene::severed, 60); }},
    {"data_of_a_severed_node_that_is_answered", &EndpointCounters::from_severed,
     [](Scene&) { return header(wire_version, 4, Scene::severed, 100); }},
};

// WIRE-30 WIRE-31 WIRE-32
const std::vector<Row> sealed_rows{
    {"length_that_the_datagram_denies", &EndpointCounters::wrong_length,
     [](Scene& scene) {
         return flipped(scene.inside({1, 12, has_dsn, 0}), 2);
     }},
    {"number_of_another_epoch", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         return flipped(scene.inside({1, 12, has_dsn, 0}), 11);
     }},
    {"second_epoch_far_ahead_at_once", &EndpointCounters::wrong_epoch,
     [](Scene& scene) {
         scene.feed(flipped(scene.sealed(Scene::connected, 99ULL << 22, Datagram(48)), 60));
         return flipped(scene.sealed(Scene::connected, 199ULL << 22, Datagram(48)), 60);
     }},
    {"epoch_far_ahead_by_a_forger", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         return flipped(scene.sealed(Scene::connected, 99ULL << 22, Datagram(48)), 60);
     }},
    {"next_epoch_by_a_forger", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         return flipped(scene.sealed(Scene::connected, 1ULL << 22, Datagram(48)), 60);
     }},
    {"first_bit_of_the_body", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         return flipped(scene.inside({1, 12, has_dsn, 0}), 16);
     }},
    {"a_bit_of_the_tag", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         Datagram data = scene.inside({1, 12, has_dsn, 0});
         return flipped(data, data.size() - 1);
     }},
    {"another_number", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         return flipped(scene.inside({1, 12, has_dsn, 0}), 8);
     }},
    {"another_node_s_name", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         Datagram data = scene.inside({1, 12, has_dsn, 0});
         data[4] = std::byte{Scene::caller};
         return data;
     }},
    {"one_byte_missing", &EndpointCounters::wrong_length,
     [](Scene& scene) {
         Datagram data = scene.inside({1, 12, has_dsn, 0});
         return resized(data, data.size() - 1);
     }},
    {"one_byte_more", &EndpointCounters::wrong_length,
     [](Scene& scene) {
         Datagram data = scene.inside({1, 12, has_dsn, 0});
         return resized(data, data.size() + 1);
     }},
    {"one_byte_missing_and_said", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         Datagram data = scene.inside({1, 12, has_dsn, 0});
         return relabelled(resized(data, data.size() - 1));
     }},
    {"one_byte_more_and_said", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         Datagram data = scene.inside({1, 12, has_dsn, 0});
         return relabelled(resized(data, data.size() + 1));
     }},
    {"sent_back_to_its_sender", &EndpointCounters::wrong_tag,
     [](Scene& scene) {
         Datagram data = scene.data_of(0, Scene::connected);
         store(data.data() + 4, Scene::connected);
         store(data.data() + 8, PacketNumber{2000});
         return data;
     }},
    {"noise", &EndpointCounters::wrong_tag,
     [](Scene&) {
         Datagram data = header(wire_version, 4, Scene::connected, 1472);
         store(data.data() + 8, Scene::fresh);
         return data;
     }},
    {"noise_for_a_half_open_node", &EndpointCounters::wrong_tag,
     [](Scene&) { return header(wire_version, 4, Scene::half_open, 200); }},
    {"noise_for_a_folded_node", &EndpointCounters::wrong_tag,
     [](Scene&) { return header(wire_version, 4, Scene::folded, 200); }},
    {"replay", &EndpointCounters::replayed,
     [](Scene& scene) { return scene.data_of(Scene::connected, 0); }},
    {"replay_for_a_folded_node", &EndpointCounters::replayed,
     [](Scene& scene) { return scene.data_of(Scene::folded, 0); }},
    {"replay_of_the_caller", &EndpointCounters::replayed,
     [](Scene& scene) { return scene.data_of(Scene::caller, 0); }},
};

// WIRE-20 WIRE-21 WIRE-22 WIRE-25 WIRE-33 WIRE-41
const std::vector<Row> inside_rows{
    {"more_frames_than_bytes", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 100, has_dsn, 0}, {}, 99);
     }},
    {"far_more_frames_than_bytes", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 65535, has_dsn, 0}, {}, 12);
     }},
    {"content_without_frames", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 0, has_dsn, 0});
     }},
    {"unknown_flag", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 12, 2, 0});
     }},
    {"known_and_unknown_flag", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 12, 0x81, 0});
     }},
    {"serial_number_without_flag", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 0, 0, 0});
     }},
    {"frames_without_flag", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({0, 12, 0, 0});
     }},
    {"reserved_byte", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({1, 12, has_dsn, 1});
     }},
    {"acknowledgement_of_one_byte", &EndpointCounters::malformed,
     [](Scene& scene) { return scene.inside({}, control({1})); }},
    {"acknowledgement_cut_short", &EndpointCounters::malformed,
     [](Scene& scene) { return scene.inside({}, ack(nothing, 1)); }},
    {"acknowledgement_with_its_words_cut_off", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({}, ack(
                                     [](AckFrame& frame) {
                                         frame.largest = 500;
                                         frame.count = 2;
                                     },
                                     8));
     }},
    {"acknowledgement_with_too_many_words", &EndpointCounters::malformed,
     [](Scene& scene) {
         Datagram frame = ack(nothing);
         frame[1] = std::byte{17};
         return scene.inside({}, resized(frame, 300));
     }},
    {"acknowledgement_of_a_run_before_the_first", &EndpointCounters::malformed,
     [](Scene& scene) { return scene.inside({}, ack([](AckFrame& frame) { frame.run = 1; })); }},
    {"acknowledgement_of_the_last_number_there_is", &EndpointCounters::malformed,
     [](Scene& scene) {
         return scene.inside({}, ack([](AckFrame& frame) { frame.largest = ~0ULL; }));
     }},
    {"acknowledgement_of_what_was_not_sent", &EndpointCounters::unsent_acknowledged,
     [](Scene& scene) {
         return scene.inside({}, ack([](AckFrame& frame) { frame.largest = 1'000'000; }));
     }},
    {"acknowledgement_of_content_that_was_not_sent", &EndpointCounters::unsent_acknowledged,
     [](Scene& scene) {
         return scene.inside({}, ack([](AckFrame& frame) { frame.cumulative = 100'000; }));
     }},
    {"unknown_control_frame", &EndpointCounters::unknown_frame,
     [](Scene& scene) { return scene.inside({}, control({3})); }},
    {"unknown_control_frame_255", &EndpointCounters::unknown_frame,
     [](Scene& scene) { return scene.inside({}, control({255})); }},
    {"unknown_control_frame_after_a_ping", &EndpointCounters::unknown_frame,
     [](Scene& scene) {
         return scene.inside({}, control({2, 9}));
     }},
    {"unknown_control_frame_after_good_content", &EndpointCounters::unknown_frame,
     [](Scene& scene) {
         return scene.inside({1, 12, has_dsn, 0}, control({9}));
     }},
    {"unknown_control_frame_after_a_good_acknowledgement", &EndpointCounters::unknown_frame,
     [](Scene& scene) {
         return scene.inside({},
                             joined(ack([](AckFrame& frame) { frame.largest = 1; }), control({9})));
     }},
    {"serial_number_a_window_ahead", &EndpointCounters::beyond_window,
     [](Scene& scene) {
         return scene.inside({DuplicateWindow::span + 1, 12, has_dsn, 0});
     }},
    {"serial_number_far_ahead", &EndpointCounters::beyond_window,
     [](Scene& scene) {
         return scene.inside({1U << 30, 12, has_dsn, 0});
     }},
    {"serial_number_far_behind", &EndpointCounters::beyond_window,
     [](Scene& scene) {
         return scene.inside({0U - (1U << 30), 12, has_dsn, 0});
     }},
    {"content_that_came_before", &EndpointCounters::duplicates,
     [](Scene& scene) {
         return scene.inside({0, 12, has_dsn, 0});
     }},
};

class BadInput : public ::testing::TestWithParam<Row> {};

TEST_P(BadInput, raises_its_counter_and_changes_nothing) {
    expect_harmless(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Clear, BadInput, ::testing::ValuesIn(clear_rows), name_of);
INSTANTIATE_TEST_SUITE_P(Sealed, BadInput, ::testing::ValuesIn(sealed_rows), name_of);
INSTANTIATE_TEST_SUITE_P(Inside, BadInput, ::testing::ValuesIn(inside_rows), name_of);

}  // namespace
}  // namespace acp::datagram::testing
