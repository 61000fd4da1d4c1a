// SPDX-License-Identifier: BSD-3-Clause
// Senders ring the bell of waiting threads only while these threads prove by polls that they
// attend.
#include "gma/attendance.hpp"

#include <gtest/gtest.h>

namespace acp::gma {
namespace {

struct Scene {
    node::Door door{};
    Attendance attendance{door};
};

TEST(Attendance, a_waiting_thread_is_rung_until_it_leaves) {
    Scene scene;
    EXPECT_FALSE(scene.attendance.is_attended());
    scene.attendance.enter();
    scene.attendance.enter();
    scene.attendance.leave();
    EXPECT_TRUE(scene.attendance.is_attended());
    EXPECT_TRUE(scene.door.is_attended());  // the condition that senders test
    scene.attendance.leave();
    EXPECT_FALSE(scene.attendance.is_attended());
}

TEST(Attendance, a_thread_that_leaves_work_and_does_not_poll_is_doubted_once) {
    Scene scene;
    scene.attendance.enter();
    scene.attendance.note_look();
    EXPECT_FALSE(scene.attendance.doubt_idle(true));  // it has polled since it entered
    EXPECT_TRUE(scene.attendance.doubt_idle(true));
    EXPECT_FALSE(scene.attendance.is_attended());
    EXPECT_FALSE(scene.door.is_attended());
    EXPECT_FALSE(scene.attendance.doubt_idle(true));
}

TEST(Attendance, a_thread_without_work_is_believed_asleep) {
    Scene scene;
    scene.attendance.enter();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(scene.attendance.doubt_idle(false));
    EXPECT_TRUE(scene.attendance.is_attended());
}

TEST(Attendance, a_look_restores_belief_in_all_that_wait) {
    Scene scene;
    scene.attendance.enter();
    ASSERT_TRUE(scene.attendance.doubt_idle(true));
    scene.attendance.enter();
    EXPECT_FALSE(scene.attendance.is_attended());  // it has not polled yet
    scene.attendance.note_look();
    EXPECT_TRUE(scene.attendance.is_attended());
    scene.attendance.leave();
    scene.attendance.leave();
    EXPECT_FALSE(scene.attendance.is_attended());
    EXPECT_EQ(scene.door.attendants.load(), 0U);
}

TEST(Attendance, a_doubt_outlives_the_threads_that_caused_it) {
    Scene scene;
    scene.attendance.enter();
    ASSERT_TRUE(scene.attendance.doubt_idle(true));
    scene.attendance.leave();
    EXPECT_FALSE(scene.attendance.is_attended());
    scene.attendance.enter();
    scene.attendance.note_look();
    EXPECT_TRUE(scene.attendance.is_attended());
}

}  // namespace
}  // namespace acp::gma
