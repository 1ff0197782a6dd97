#include "headrace_tls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static struct {
    const void *(*TLS_server_method)(void);
    void *(*SSL_CTX_new)(const void *);
    void (*SSL_CTX_free)(void *);
    int (*SSL_CTX_use_certificate_ASN1)(void *, int, const unsigned char *);
    int (*SSL_CTX_use_PrivateKey_ASN1)(int, void *, const unsigned char *, long);
    void (*SSL_CTX_set_verify)(void *, int, int (*)(int, void *));
    void *(*SSL_new)(void *);
    void (*SSL_free)(void *);
    int (*SSL_set_fd)(void *, int);
    int (*SSL_accept)(void *);
    int (*SSL_read)(void *, void *, int);
    int (*SSL_pending)(const void *);
    int (*SSL_write)(void *, const void *, int);
    int (*SSL_shutdown)(void *);
    void (*SSL_CTX_set_alpn_select_cb)(void *, int (*)(void *, const unsigned char **, unsigned char *, const unsigned char *,
        unsigned int, void *), void *);
    void (*SSL_get0_alpn_selected)(const void *, const unsigned char **, unsigned int *);
} ssl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;

static void load(void) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        library = dlopen("libssl.so.1.1", RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        return;
    }
#define FIND(name) ((*(void **)&ssl.name = dlsym(library, #name)) != NULL)
    is_loaded = FIND(TLS_server_method) && FIND(SSL_CTX_new) && FIND(SSL_CTX_free)
        && FIND(SSL_CTX_use_certificate_ASN1) && FIND(SSL_CTX_use_PrivateKey_ASN1) && FIND(SSL_CTX_set_verify) && FIND(SSL_new) && FIND(SSL_free)
        && FIND(SSL_set_fd) && FIND(SSL_accept) && FIND(SSL_read) && FIND(SSL_pending) && FIND(SSL_write)
        && FIND(SSL_shutdown) && FIND(SSL_CTX_set_alpn_select_cb) && FIND(SSL_get0_alpn_selected);
#undef FIND
}

bool htls_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

htls_context htls_context_new(const unsigned char *certificate, int certificate_size, const unsigned char *key, int key_size) {
    const int elliptic_curve = 408; // EVP_PKEY_EC
    void *context = ssl.SSL_CTX_new(ssl.TLS_server_method());
    if (context != NULL && ssl.SSL_CTX_use_certificate_ASN1(context, certificate_size, certificate) == 1
        && ssl.SSL_CTX_use_PrivateKey_ASN1(elliptic_curve, context, key, key_size) == 1) {
        return context;
    }
    ssl.SSL_CTX_free(context);
    return NULL;
}

static int accept_any(int is_trusted, void *store) {
    (void)is_trusted;
    (void)store;
    return 1;
}

void htls_context_ask_client(htls_context context) {
    const int verify_peer = 1;
    const int fail_if_none = 2;
    ssl.SSL_CTX_set_verify(context, verify_peer | fail_if_none, accept_any);
}

static const char http_2[] = "h2";
static const char http_1[] = "http/1.1";

// Returns a protocol's name in an ALPN list, in which a length byte precedes each name, or NULL.
static const unsigned char *find_protocol(const char *name, const unsigned char *list, unsigned int size) {
    for (unsigned int index = 0; index < size; index += 1 + list[index]) {
        if (list[index] == strlen(name) && index + list[index] < size
            && memcmp(list + index + 1, name, list[index]) == 0) {
            return list + index + 1;
        }
    }
    return NULL;
}

static int select_protocol(void *session, const unsigned char **selected, unsigned char *size, const unsigned char *offered,
    unsigned int offered_size, void *supported) {
    const int ok = 0;
    const int fatal_alert = 2;
    (void)session;
    const char *const names[] = {(intptr_t)supported & HTLS_HTTP_2 ? http_2 : NULL, (intptr_t)supported & HTLS_HTTP_1 ? http_1 : NULL};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        const unsigned char *found = names[index] != NULL ? find_protocol(names[index], offered, offered_size) : NULL;
        if (found != NULL) {
            *selected = found;
            *size = (unsigned char)strlen(names[index]);
            return ok;
        }
    }
    return fatal_alert;
}

void htls_context_support(htls_context context, int protocols) {
    ssl.SSL_CTX_set_alpn_select_cb(context, select_protocol, (void *)(intptr_t)protocols);
}

bool htls_is_http_2(htls_session session) {
    const unsigned char *name = NULL;
    unsigned int size = 0;
    ssl.SSL_get0_alpn_selected(session, &name, &size);
    return size == strlen(http_2) && memcmp(name, http_2, size) == 0;
}

void htls_context_free(htls_context context) {
    ssl.SSL_CTX_free(context);
}

htls_session htls_accept(htls_context context, int socket) {
    // libssl uses write(), which raises SIGPIPE if the client has closed the connection.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    void *session = ssl.SSL_new(context);
    if (session != NULL && ssl.SSL_set_fd(session, socket) == 1 && ssl.SSL_accept(session) == 1) {
        return session;
    }
    ssl.SSL_free(session);
    return NULL;
}

int htls_receive(htls_session session, void *buffer, int size) {
    int count = ssl.SSL_read(session, buffer, size);
    return count > 0 ? count : 0;
}

int htls_pending(htls_session session) {
    return ssl.SSL_pending(session);
}

bool htls_send(htls_session session, const void *bytes, int size) {
    return size == 0 || ssl.SSL_write(session, bytes, size) == size;
}

void htls_send_close_notify(htls_session session) {
    ssl.SSL_shutdown(session);
}

void htls_free(htls_session session) {
    ssl.SSL_free(session);
}
