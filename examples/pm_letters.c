/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Letters between all ranks, in any order, with PM messages: each rank writes 1000 letters to each one, itself too, and counts what it gets. A
 * letter is composed where it is sent from and read where it came to lie. A rank that finds no room for a letter first reads what has come, as
 * the other one may wait for room in the same way; and it sleeps when there is neither.
 *
 *   acprun -n 4 ./pm_letters
 *
 * prints
 *
 *   4 ranks exchanged 16000 letters, each in the order written
 *
 * Exits with 1 when a letter is missing or out of order.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { letters = 1000 };

typedef struct {
    int32_t number;
    char text[60];
} letter_t;

static acp_pm_t pm;
static int32_t* numbers; /* of the next letter from each rank */
static long received = 0;

static void stop(const char* what) {
    fprintf(stderr, "pm_letters: %s: %s\n", what, acp_error_message());
    acp_abort("pm_letters");
}

/* Reads all letters that are here. */
static void read_letters(void) {
    const void* place = NULL;
    int from = 0;
    while (acp_receive_pm(pm, &place, NULL, &from) == 1) {
        const letter_t* letter = place;
        if (letter->number != numbers[from]) stop("a letter is out of order");
        ++numbers[from];
        ++received;
        if (acp_release_pm(pm) != 0) stop("cannot release");
    }
}

static void write_letter(int to, int32_t number) {
    void* place = NULL;
    int has_room = 0;
    while ((has_room = acp_wait_buffer_pm(pm, to, sizeof(letter_t), &place, -1)) ==
           ACP_PM_RECEIVE_FIRST)
        read_letters();
    if (has_room != 1) stop("no room");
    letter_t* letter = place;
    letter->number = number;
    snprintf(letter->text, sizeof letter->text, "rank %d to rank %d, letter %d", acp_rank(), to,
             (int)number);
    if (acp_send_pm(pm) != 0) stop("cannot send");
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    const int procs = acp_procs();
    pm = acp_open_pm(0);
    numbers = calloc((size_t)procs, sizeof *numbers);
    if (pm == ACP_PM_NULL || numbers == NULL) stop("cannot begin");
    for (int32_t number = 0; number < letters; ++number)
        for (int i = 0; i < procs; ++i) write_letter((acp_rank() + i) % procs, number);
    while (received < (long)letters * procs) {
        if (acp_wait_pm(pm, -1) != 1) stop("cannot wait");
        read_letters();
    }
    while (acp_test_sent_pm(pm) == 0) continue; /* to other nodes */
    acp_sync();
    if (acp_rank() == 0)
        printf("%d ranks exchanged %ld letters, each in the order written\n", procs,
               (long)letters * procs * procs);
    free(numbers);
    if (acp_close_pm(pm) != 0) stop("cannot close");
    return acp_finalize() == 0 ? 0 : 1;
}
