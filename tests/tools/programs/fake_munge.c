/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces libmunge.so.2 in the tests: its credentials have the payload in another form, but any
 * user can open them. It requires the options for encryption and for one user, and can fail like
 * the real one without its daemon. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ok = 0, bad_argument = 2, no_socket = 6, bad_credential = 8 };

enum { option_cipher = 0, option_user = 9 };

enum { sealed_max = 512, mask = 0x5a };

struct munge_ctx {
    int cipher;
    unsigned user;
};

struct munge_ctx* munge_ctx_create(void);
void munge_ctx_destroy(struct munge_ctx* context);
int munge_ctx_set(struct munge_ctx* context, int option, ...);
const char* munge_ctx_strerror(struct munge_ctx* context);
const char* munge_strerror(int error);
int munge_encode(char** credential, struct munge_ctx* context, const void* bytes, int count);
int munge_decode(const char* credential,
                 struct munge_ctx* context,
                 void** bytes,
                 int* count,
                 unsigned* user,
                 unsigned* group);

static int fails(const char* call) {
    const char* wanted = getenv("FAKE_MUNGE_FAILS");
    return wanted != NULL && strcmp(wanted, call) == 0;
}

struct munge_ctx* munge_ctx_create(void) {
    return calloc(1, sizeof(struct munge_ctx));
}

void munge_ctx_destroy(struct munge_ctx* context) {
    free(context);
}

int munge_ctx_set(struct munge_ctx* context, int option, ...) {
    va_list given;
    va_start(given, option);
    const int value = va_arg(given, int);
    va_end(given);
    if (option == option_cipher) context->cipher = value;
    if (option == option_user) context->user = (unsigned)value + 1;
    return ok;
}

const char* munge_ctx_strerror(struct munge_ctx* context) {
    (void)context;
    return "Failed to access \"/run/munge/munge.socket.2\": No such file or directory";
}

const char* munge_strerror(int error) {
    (void)error;
    return "an error";
}

int munge_encode(char** credential, struct munge_ctx* context, const void* bytes, int count) {
    if (fails("encode")) return no_socket;
    if (context->cipher < 2 || context->user != geteuid() + 1U) return bad_argument;
    char* text = malloc(sealed_max);
    if (text == NULL) return bad_argument;
    int length = snprintf(text, sealed_max, "MUNGE:%u:", (unsigned)geteuid());
    const unsigned char* from = bytes;
    for (int i = 0; i < count; ++i) {
        length += snprintf(text + length, (size_t)(sealed_max - length), "%02x",
                           (unsigned)(from[i] ^ mask));
    }
    *credential = text;
    return ok;
}

int munge_decode(const char* credential,
                 struct munge_ctx* context,
                 void** bytes,
                 int* count,
                 unsigned* user,
                 unsigned* group) {
    (void)context;
    int head = 0;
    if (fails("decode") || sscanf(credential, "MUNGE:%u:%n", user, &head) != 1)
        return bad_credential;
    if (fails("user")) *user += 1;
    *group = 0;
    *count = (int)(strlen(credential + head) / 2);
    unsigned char* into = malloc((size_t)*count + 1);
    if (into == NULL) return bad_argument;
    for (int i = 0; i < *count; ++i) {
        unsigned byte = 0;
        if (sscanf(credential + head + 2 * i, "%2x", &byte) != 1) byte = 0;
        into[i] = (unsigned char)(byte ^ mask);
    }
    *bytes = into;
    return ok;
}
