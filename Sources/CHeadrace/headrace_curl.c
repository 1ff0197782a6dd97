#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_curl.h"
#include "headrace_library.h"

#include <dlfcn.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#if !defined(HEADRACE_NO_CURL_HEADER) && __has_include(<curl/curl.h>)
#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#include "headrace_curl_checks.h"
#endif

// The start of curl_version_info_data, which is the same in every libcurl.
typedef struct hr_version_info {
    int age;
    const char *version;
    unsigned int version_num;
    const char *host;
    int features;
    const char *ssl_version;
} hr_version_info;

// The layout of libcurl's CURLMsg.
typedef struct hr_message {
    int msg;
    hr_easy easy;
    union {
        void *whatever;
        int result;
    } data;
} hr_message;

// The layout of libcurl's curl_tlssessioninfo.
typedef struct hr_tls_session {
    int backend;
    const void *internals;
} hr_tls_session;

// The layout of libcurl's curl_sockaddr. An address longer than a struct sockaddr extends past the structure's end.
struct hr_address {
    int family;
    int type;
    int protocol;
    unsigned int length;
    struct sockaddr address;
};
_Static_assert(offsetof(struct hr_address, address) == 4 * sizeof(int), "hr_address.address");

static struct {
    int (*global_init)(long);
    hr_version_info *(*version_info)(int);
    hr_easy (*easy_init)(void);
    void (*easy_reset)(hr_easy);
    void (*easy_cleanup)(hr_easy);
    int (*easy_setopt)(hr_easy, int, ...);
    int (*easy_getinfo)(hr_easy, int, ...);
    int (*easy_pause)(hr_easy, int);
    const char *(*easy_strerror)(int);
    hr_slist (*slist_append)(hr_slist, const char *);
    void (*slist_free_all)(hr_slist);
    hr_multi (*multi_init)(void);
    int (*multi_cleanup)(hr_multi);
    int (*multi_add_handle)(hr_multi, hr_easy);
    int (*multi_remove_handle)(hr_multi, hr_easy);
    int (*multi_setopt)(hr_multi, int, ...);
    int (*multi_socket_action)(hr_multi, int, int, int *);
    hr_message *(*multi_info_read)(hr_multi, int *);
} curl;

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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned int loaded_version;
static const char *description = "libcurl is not loaded";

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

static void find_openssl(void *library) {
#define FIND_SSL(name) ((*(void **)&ssl.name = dlsym(library, "SSL_" #name)) != NULL)
#define FIND_STACK(name) ((*(void **)&ssl.name = dlsym(library, "OPENSSL_" #name)) != NULL)
    (void)FIND_SSL(CTX_set_info_callback);
    (void)FIND_SSL(get0_alpn_selected);
    ssl.can_order_ciphers = FIND_SSL(CTX_get_ciphers) && FIND_SSL(CTX_set_ciphersuites) && FIND_SSL(CTX_set_cipher_list)
        && FIND_SSL(CIPHER_get_name) && FIND_STACK(sk_num) && FIND_STACK(sk_value);
#undef FIND_STACK
#undef FIND_SSL
}

static void load(void) {
    // The GnuTLS build has the same interface and is the only one on some systems.
    void *library = open_library("libcurl.so.4", "libcurl-gnutls.so.4", &description);
    if (library == NULL) {
        return;
    }
#define FIND(name) find(library, (void **)&curl.name, "curl_" #name, &description)
    if (!(FIND(global_init) && FIND(version_info) && FIND(easy_init) && FIND(easy_reset) && FIND(easy_cleanup)
          && FIND(easy_setopt) && FIND(easy_getinfo) && FIND(easy_pause) && FIND(easy_strerror) && FIND(slist_append)
          && FIND(slist_free_all) && FIND(multi_init) && FIND(multi_cleanup) && FIND(multi_add_handle)
          && FIND(multi_remove_handle) && FIND(multi_setopt) && FIND(multi_socket_action) && FIND(multi_info_read))) {
        return;
    }
#undef FIND
    const long everything = 3;
    if (curl.global_init(everything) != HR_E_OK) {
        description = "libcurl could not be initialised";
        return;
    }
    hr_version_info *info = curl.version_info(0);
    description = info->version;
    loaded_version = info->version_num;
    // Contexts of another TLS library must not be passed to OpenSSL, which libcurl may link for other purposes.
    if (hr_names_openssl(info->ssl_version)) {
        find_openssl(library);
    }
}

unsigned int hr_curl_load(void) {
    pthread_once(&once, load);
    return loaded_version;
}

const char *hr_curl_description(void) {
    return description;
}

hr_easy hr_easy_init(void) {
    return curl.easy_init();
}

void hr_easy_reset(hr_easy easy) {
    curl.easy_reset(easy);
}

void hr_easy_cleanup(hr_easy easy) {
    curl.easy_cleanup(easy);
}

hr_code hr_easy_set_long(hr_easy easy, hr_easy_option option, long value) {
    return curl.easy_setopt(easy, option, value);
}

hr_code hr_easy_set_string(hr_easy easy, hr_easy_option option, const char *value) {
    return curl.easy_setopt(easy, option, value);
}

hr_code hr_easy_set_pointer(hr_easy easy, hr_easy_option option, void *value) {
    return curl.easy_setopt(easy, option, value);
}

hr_code hr_easy_set_data_callback(hr_easy easy, hr_easy_option option, hr_data_callback callback) {
    return curl.easy_setopt(easy, option, callback);
}

hr_code hr_easy_set_open_socket_callback(hr_easy easy, hr_open_socket_callback callback) {
    return curl.easy_setopt(easy, HR_OPT_OPENSOCKETFUNCTION, callback);
}

int hr_address_bytes(const hr_address *address, uint8_t *bytes) {
    const char *start = (const char *)address + offsetof(struct hr_address, address);
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (address->family == AF_INET && address->length >= sizeof in) {
        memcpy(&in, start, sizeof in);
        memcpy(bytes, &in.sin_addr, 4);
        return 4;
    }
    if (address->family == AF_INET6 && address->length >= sizeof in6) {
        memcpy(&in6, start, sizeof in6);
        memcpy(bytes, &in6.sin6_addr, 16);
        return 16;
    }
    return 0;
}

int hr_address_open(const hr_address *address) {
    return socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
}

hr_code hr_easy_get_long(hr_easy easy, hr_easy_info info, long *value) {
    return curl.easy_getinfo(easy, info, value);
}

hr_code hr_easy_get_offset(hr_easy easy, hr_easy_info info, int64_t *value) {
    return curl.easy_getinfo(easy, info, value);
}

hr_code hr_easy_get_pointer(hr_easy easy, hr_easy_info info, void **value) {
    return curl.easy_getinfo(easy, info, value);
}

hr_code hr_easy_pause(hr_easy easy, int mask) {
    return curl.easy_pause(easy, mask);
}

const char *hr_easy_strerror(hr_code code) {
    return curl.easy_strerror(code);
}

hr_slist hr_slist_append(hr_slist list, const char *text) {
    return curl.slist_append(list, text);
}

void hr_slist_free_all(hr_slist list) {
    curl.slist_free_all(list);
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
        curl.easy_setopt(easy, HR_OPT_SSL_CTX_FUNCTION, tls_is_made);
    }
}

const void *hr_easy_tls(hr_easy easy) {
    hr_tls_session *session = NULL;
    if (ssl.CTX_set_info_callback == NULL || curl.easy_getinfo(easy, HR_INFO_TLS_SSL_PTR, &session) != HR_E_OK
        || session == NULL || session->backend != HR_SSLBACKEND_OPENSSL) {
        return NULL;
    }
    return session->internals;
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

// The time in which the present connection was established, one round trip; -1 if it had served another request.
static int64_t connect_time(hr_easy easy) {
    enum { NAMELOOKUP_TIME_T = 0x600000 + 51, CONNECT_TIME_T = 0x600000 + 52 };
    int64_t found = 0, connected = 0;
    if (curl.easy_getinfo(easy, NAMELOOKUP_TIME_T, &found) != HR_E_OK
        || curl.easy_getinfo(easy, CONNECT_TIME_T, &connected) != HR_E_OK || connected <= found) {
        return -1;
    }
    return connected - found;
}

int64_t hr_easy_round_trip(hr_easy easy) {
    int socket = -1; // libcurl's curl_socket_t
    struct tcp_info info;
    socklen_t size = sizeof info;
    // Some libcurl releases report the socket only at the end of a transfer.
    if (curl.easy_getinfo(easy, HR_INFO_ACTIVESOCKET, &socket) != HR_E_OK || socket < 0
        || getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0
        || size < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt || info.tcpi_min_rtt == 0
        || info.tcpi_min_rtt == UINT32_MAX) {
        return connect_time(easy);
    }
    // Not the average, which contains the server's delayed acknowledgments.
    return info.tcpi_min_rtt;
}

hr_multi hr_multi_init(void) {
    return curl.multi_init();
}

int hr_multi_cleanup(hr_multi multi) {
    return curl.multi_cleanup(multi);
}

int hr_multi_add(hr_multi multi, hr_easy easy) {
    return curl.multi_add_handle(multi, easy);
}

int hr_multi_remove(hr_multi multi, hr_easy easy) {
    return curl.multi_remove_handle(multi, easy);
}

int hr_multi_set_long(hr_multi multi, hr_multi_option option, long value) {
    return curl.multi_setopt(multi, option, value);
}

int hr_multi_set_pointer(hr_multi multi, hr_multi_option option, void *value) {
    return curl.multi_setopt(multi, option, value);
}

int hr_multi_set_socket_callback(hr_multi multi, hr_socket_callback callback) {
    return curl.multi_setopt(multi, HR_MOPT_SOCKETFUNCTION, callback);
}

int hr_multi_set_timer_callback(hr_multi multi, hr_timer_callback callback) {
    return curl.multi_setopt(multi, HR_MOPT_TIMERFUNCTION, callback);
}

int hr_multi_socket_action(hr_multi multi, int socket, int events) {
    int running;
    return curl.multi_socket_action(multi, socket, events, &running);
}

int hr_multi_next_done(hr_multi multi, hr_easy *easy, hr_code *code) {
    int left;
    hr_message *message;
    while ((message = curl.multi_info_read(multi, &left)) != NULL) {
        if (message->msg == HR_MSG_DONE) {
            *easy = message->easy;
            *code = message->data.result;
            return 1;
        }
    }
    return 0;
}

#endif
