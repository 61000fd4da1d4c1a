// SPDX-License-Identifier: BSD-3-Clause
// Wrong handshake messages, one row each: from strangers, and from a gateway of the job that is
// mistaken, late or of an earlier instance.
#include <gtest/gtest.h>
#include <string>

#include "unit/datagram/bad_input_scene.hpp"

namespace acp::datagram::testing {
namespace {

using Scene = BadInputScene;

const auto nothing = [](auto&) {};

// WIRE-6 WIRE-15 WIRE-16 WIRE-19 WIRE-70 WIRE-72 WIRE-80
const std::vector<Row> init_rows{
    {"init_one_byte_short", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 1, Scene::unmet, sizeof(InitPacket) - 1); }},
    {"init_one_byte_long", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 1, Scene::unmet, sizeof(InitPacket) + 1); }},
    {"init_by_a_stranger", &EndpointCounters::wrong_mac,
     [](Scene&) { return header(wire_version, 1, Scene::unmet, sizeof(InitPacket)); }},
    {"init_under_another_name", &EndpointCounters::wrong_mac,
     [](Scene& scene) {
         InitPacket init = scene.init_of(Scene::caller, 0);
         init.outer.source = Scene::unmet;
         return Scene::bytes_of(init);
     }},
    {"init_of_another_job", &EndpointCounters::wrong_job,
     [](Scene& scene) {
         return scene.signed_as(scene.init_of(Scene::caller, 0),
                                [](InitPacket& init) { ++init.job; });
     }},
    {"init_for_another_node", &EndpointCounters::wrong_target,
     [](Scene& scene) {
         return scene.signed_as(scene.init_of(Scene::caller, 0),
                                [](InitPacket& init) { ++init.target; });
     }},
    {"init_with_other_security", &EndpointCounters::wrong_features,
     [](Scene& scene) {
         return scene.signed_as(scene.init_of(Scene::caller, 0),
                                [](InitPacket& init) { ++init.features; });
     }},
    {"init_with_a_made_up_cookie", &EndpointCounters::stale_cookie,
     [](Scene& scene) {
         scene.from = ipv4(9, 9, 9, 9, 9);
         return scene.signed_as(scene.init_of(Scene::caller, 0), [](InitPacket& init) {
             init.outer.source = Scene::unmet;
             init.cookie.fill(std::byte{7});
         });
     }},
    {"init_repeated_when_connected", &EndpointCounters::init_repeated,
     [](Scene& scene) { return Scene::bytes_of(scene.init_of(Scene::caller, 0)); }},
    {"init_repeated_when_folded", &EndpointCounters::init_repeated,
     [](Scene& scene) {
         return scene.signed_as(scene.init_of(Scene::caller, 0), [&](InitPacket& init) {
             init.outer.source = Scene::folded;
             init.instance = scene.instance_of(Scene::folded);
         });
     }},
    {"init_repeated_when_half_open", &EndpointCounters::init_repeated,
     [](Scene& scene) {
         scene.from = address_of(Scene::half_open);
         return Scene::bytes_of(scene.init_of(Scene::half_open, 0));
     }},
    {"init_that_crosses_ours", &EndpointCounters::init_crossed,
     [](Scene& scene) {
         return scene.signed_as(scene.init_of(Scene::caller, 0),
                                [](InitPacket& init) { init.outer.source = Scene::connecting; });
     }},
    {"init_of_a_severed_node", &EndpointCounters::init_severed,
     [](Scene& scene) {
         return scene.signed_as(scene.init_of(Scene::caller, 0),
                                [](InitPacket& init) { init.outer.source = Scene::severed; });
     }},
};

// WIRE-15 WIRE-81
const std::vector<Row> answer_rows{
    {"cookie_of_wrong_length", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 2, Scene::connecting, 81); }},
    {"cookie_by_a_stranger", &EndpointCounters::wrong_mac,
     [](Scene&) { return header(wire_version, 2, Scene::connecting, 80); }},
    {"cookie_nobody_asked_for", &EndpointCounters::unexpected_cookie,
     [](Scene& scene) { return scene.signed_as(scene.cookie_from(Scene::unmet), nothing); }},
    {"cookie_for_another_question", &EndpointCounters::unexpected_cookie,
     [](Scene& scene) { return scene.signed_as(scene.cookie_from(Scene::connecting), nothing); }},
    {"cookie_when_connected", &EndpointCounters::unexpected_cookie,
     [](Scene& scene) { return scene.signed_as(scene.cookie_from(Scene::connected), nothing); }},
    {"cookie_of_another_job", &EndpointCounters::wrong_job,
     [](Scene& scene) {
         return scene.signed_as(scene.cookie_from(Scene::connecting),
                                [](CookiePacket& cookie) { ++cookie.job; });
     }},
    {"cookie_for_another_node", &EndpointCounters::wrong_target,
     [](Scene& scene) {
         return scene.signed_as(scene.cookie_from(Scene::connecting),
                                [](CookiePacket& cookie) { cookie.target = 1; });
     }},
    {"response_of_wrong_length", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 3, Scene::connecting, sizeof(ResponsePacket) - 1); }},
    {"response_by_a_stranger", &EndpointCounters::wrong_mac,
     [](Scene&) { return header(wire_version, 3, Scene::connecting, sizeof(ResponsePacket)); }},
    {"response_repeated", &EndpointCounters::unexpected_response,
     [](Scene& scene) { return Scene::bytes_of(scene.response_of(Scene::connected, 0)); }},
    {"response_nobody_asked_for", &EndpointCounters::unexpected_response,
     [](Scene& scene) {
         return scene.signed_as(
             scene.response_of(Scene::connected, 0),
             [](ResponsePacket& response) { response.outer.source = Scene::unmet; });
     }},
    {"response_to_another_question", &EndpointCounters::unexpected_response,
     [](Scene& scene) {
         return scene.signed_as(
             scene.response_of(Scene::connected, 0),
             [](ResponsePacket& response) { response.outer.source = Scene::connecting; });
     }},
    {"response_of_a_severed_node", &EndpointCounters::response_severed,
     [](Scene& scene) {
         return scene.signed_as(
             scene.response_of(Scene::connected, 0),
             [](ResponsePacket& response) { response.outer.source = Scene::severed; });
     }},
    {"response_with_other_security", &EndpointCounters::wrong_features,
     [](Scene& scene) {
         return scene.signed_as(scene.response_of(Scene::connected, 0),
                                [](ResponsePacket& response) {
                                    response.outer.source = Scene::connecting;
                                    response.features ^= 1;
                                });
     }},
    {"response_of_another_job", &EndpointCounters::wrong_job,
     [](Scene& scene) {
         return scene.signed_as(scene.response_of(Scene::connected, 0),
                                [](ResponsePacket& response) { ++response.job; });
     }},
    {"close_of_wrong_length", &EndpointCounters::wrong_length,
     [](Scene&) { return header(wire_version, 5, Scene::connected, 63); }},
    {"close_by_a_stranger", &EndpointCounters::wrong_mac,
     [](Scene&) { return header(wire_version, 5, Scene::connected, 64); }},
    {"close_of_another_job", &EndpointCounters::wrong_job,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connected, CloseReason::severed),
                                [](ClosePacket& close) { ++close.job; });
     }},
    {"close_for_another_node", &EndpointCounters::wrong_target,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connected, CloseReason::severed),
                                [](ClosePacket& close) { close.target = Scene::caller; });
     }},
    {"close_for_an_earlier_instance_of_us", &EndpointCounters::stale_close,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connected, CloseReason::severed),
                                [](ClosePacket& close) { ++close.other_instance; });
     }},
    {"close_by_another_instance", &EndpointCounters::stale_close,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connected, CloseReason::severed),
                                [](ClosePacket& close) { ++close.instance; });
     }},
    {"close_by_one_that_did_not_know_us_yet", &EndpointCounters::stale_close,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connected, CloseReason::unknown),
                                [](ClosePacket& close) { close.other_instance = 0; });
     }},
    {"close_for_a_number_we_never_sent", &EndpointCounters::stale_close,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connected, CloseReason::unknown),
                                [](ClosePacket& close) {
                                    close.other_instance = 0;
                                    ++close.instance;
                                    close.outer.number = 1'000'000;
                                });
     }},
    {"close_by_a_stranger_instance_while_connecting", &EndpointCounters::stale_close,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::connecting, CloseReason::unknown),
                                [](ClosePacket& close) { close.other_instance = 0; });
     }},
    {"close_of_a_severed_node", &EndpointCounters::stale_close,
     [](Scene& scene) {
         return scene.signed_as(scene.close_from(Scene::severed, CloseReason::severed), nothing);
     }},
};

class BadHandshake : public ::testing::TestWithParam<Row> {};

TEST_P(BadHandshake, raises_its_counter_and_changes_nothing) {
    expect_harmless(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Init, BadHandshake, ::testing::ValuesIn(init_rows), name_of);
INSTANTIATE_TEST_SUITE_P(Answer, BadHandshake, ::testing::ValuesIn(answer_rows), name_of);

}  // namespace
}  // namespace acp::datagram::testing
