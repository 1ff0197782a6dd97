#if defined(__linux__)

#include "headrace_openssl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// The layout of libcurl's curl_tlssessioninfo.
typedef struct hr_tls_session {
    int backend;
    const void *internals;
} hr_tls_session;

// OpenSSL's functions, found through libcurl's dependencies; NULL if libcurl uses another TLS library.
static struct {
    void (*CTX_set_info_callback)(void *context, void (*callback)(const void *tls, int where, int value));
    void (*get0_alpn_selected)(const void *tls, const unsigned char **name, unsigned int *size);
    // The functions below change the order of the ciphers; OpenSSL provides all of them since 1.1.1.
    const void *(*CTX_get_ciphers)(const void *context);
    int (*CTX_set_ciphersuites)(void *context, const char *names);
    int (*CTX_set_cipher_list)(void *context, const char *names);
    const char *(*CIPHER_get_name)(const void *cipher);
    int (*sk_num)(const void *stack);
    const void *(*sk_value)(const void *stack, int index);
    int can_order_ciphers;
} ssl;

int hr_names_openssl(const char *libraries) {
    static const char *const names[] = {"OpenSSL", "LibreSSL", "BoringSSL", "quictls", "AWS-LC"};
    // If libcurl lists several libraries, the unused ones are in parentheses.
    while (libraries != NULL && *libraries == '(') {
        libraries = strchr(libraries, ' ');
        libraries = libraries != NULL ? libraries + 1 : NULL;
    }
    for (size_t index = 0; libraries != NULL && index < sizeof names / sizeof *names; index++) {
        if (strncmp(libraries, names[index], strlen(names[index])) == 0) {
            return 1;
        }
    }
    return 0;
}

void hr_find_openssl(void *library) {
#define FIND_SSL(name) ((*(void **)&ssl.name = dlsym(library, "SSL_" #name)) != NULL)
#define FIND_STACK(name) ((*(void **)&ssl.name = dlsym(library, "OPENSSL_" #name)) != NULL)
    (void)FIND_SSL(CTX_set_info_callback);
    (void)FIND_SSL(get0_alpn_selected);
    ssl.can_order_ciphers = FIND_SSL(CTX_get_ciphers) && FIND_SSL(CTX_set_ciphersuites) && FIND_SSL(CTX_set_cipher_list)
        && FIND_SSL(CIPHER_get_name) && FIND_STACK(sk_num) && FIND_STACK(sk_value);
#undef FIND_STACK
#undef FIND_SSL
}

static _Thread_local hr_close_notify_callback on_close_notify;
static _Thread_local void *close_notify_context;

void hr_on_close_notify(hr_close_notify_callback callback, void *context) {
    on_close_notify = callback;
    close_notify_context = context;
}

static void tls_happened(const void *tls, int where, int value) {
    const int alert_was_read = 0x4004; // SSL_CB_READ_ALERT
    const int close_notify = 0;
    if (where == alert_was_read && (value & 0xff) == close_notify && on_close_notify != NULL) {
        on_close_notify(close_notify_context, tls);
    }
}

struct suites {
    char names[4096];
    size_t length;
};

static void append(struct suites *suites, const char *name) {
    if (suites->length < sizeof suites->names) {
        suites->length += (size_t)snprintf(
            suites->names + suites->length, sizeof suites->names - suites->length, ":%s", name);
    }
}

// Prefers AES-128 to AES-256, as browsers do: every server supports it (RFC 8446, section 9.1), and it takes a fifth
// less CPU time on both sides. Other ciphers keep their order, and ciphers disabled by the system stay disabled.
static void prefer_aes_128(void *context) {
    struct suites tls_1_3 = {.length = 0}, tls_1_2 = {.length = 0};
    const void *ciphers = ssl.CTX_get_ciphers(context);
    for (int are_preferred = 1; are_preferred >= 0; are_preferred--) {
        for (int index = 0; index < ssl.sk_num(ciphers); index++) {
            const char *name = ssl.CIPHER_get_name(ssl.sk_value(ciphers, index));
            const int is_1_3 = strncmp(name, "TLS_", 4) == 0;
            // AES-128 without an ephemeral key exchange would be a worse choice than AES-256 with one.
            const int is_preferred = is_1_3 ? strstr(name, "AES_128_GCM") != NULL
                                            : strncmp(name, "ECDHE-", 6) == 0 && strstr(name, "-AES128-GCM-") != NULL;
            if (is_preferred == are_preferred) {
                append(is_1_3 ? &tls_1_3 : &tls_1_2, name);
            }
        }
    }
    if (tls_1_3.length > 0 && tls_1_3.length < sizeof tls_1_3.names) {
        ssl.CTX_set_ciphersuites(context, tls_1_3.names + 1);
    }
    if (tls_1_2.length > 0 && tls_1_2.length < sizeof tls_1_2.names) {
        ssl.CTX_set_cipher_list(context, tls_1_2.names + 1);
    }
}

static int tls_is_made(void *easy, void *context, void *user) {
    (void)easy;
    (void)user;
    ssl.CTX_set_info_callback(context, tls_happened);
    if (ssl.can_order_ciphers) {
        prefer_aes_128(context);
    }
    return HR_E_OK;
}

void hr_easy_configure_tls(hr_easy easy) {
    if (ssl.CTX_set_info_callback != NULL) {
        hr_easy_set_tls_callback(easy, tls_is_made);
    }
}

const void *hr_easy_tls(hr_easy easy) {
    void *pointer = NULL;
    if (ssl.CTX_set_info_callback == NULL || hr_easy_get_pointer(easy, HR_INFO_TLS_SSL_PTR, &pointer) != HR_E_OK
        || pointer == NULL) {
        return NULL;
    }
    const hr_tls_session *session = pointer;
    return session->backend == HR_SSLBACKEND_OPENSSL ? session->internals : NULL;
}

int hr_easy_negotiated_version(hr_easy easy) {
    const void *tls = ssl.get0_alpn_selected != NULL ? hr_easy_tls(easy) : NULL;
    if (tls == NULL) {
        return 0;
    }
    const unsigned char *name = NULL;
    unsigned int size = 0;
    ssl.get0_alpn_selected(tls, &name, &size);
    return size == 2 && memcmp(name, "h2", size) == 0 ? 2 : 1;
}

#endif
