#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_curl.h"
#include "headrace_library.h"
#include "headrace_openssl.h"

#include <dlfcn.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned int loaded_version;
static int features;
static const char *description = "libcurl is not loaded";

static void load(void) {
    // secure_getenv ignores the variable in a setuid program, which must not load a library that its user chooses.
    const char *own = secure_getenv("HEADRACE_LIBCURL");
    const int has_own = own != NULL && *own != 0;
    // The GnuTLS build has the same interface and is the only one on some systems.
    void *library = open_library(has_own ? own : "libcurl.so.4", has_own ? own : "libcurl-gnutls.so.4", &description);
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
    features = info->features;
    // Contexts of another TLS library must not be passed to OpenSSL, which libcurl may link for other purposes.
    if (hr_names_openssl(info->ssl_version)) {
        hr_find_openssl(library);
    }
}

unsigned int hr_curl_load(void) {
    pthread_once(&once, load);
    return loaded_version;
}

int hr_curl_features(void) {
    return features;
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

hr_code hr_easy_set_tls_callback(hr_easy easy, hr_tls_callback callback) {
    return curl.easy_setopt(easy, HR_OPT_SSL_CTX_FUNCTION, callback);
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

// The time, in microseconds, to establish the present connection: one round trip; -1 if it had served another request.
static int64_t connect_time(hr_easy easy) {
    int64_t found = 0, connected = 0;
    if (curl.easy_getinfo(easy, HR_INFO_NAMELOOKUP_TIME_T, &found) != HR_E_OK
        || curl.easy_getinfo(easy, HR_INFO_CONNECT_TIME_T, &connected) != HR_E_OK || connected <= found) {
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
    // Uses the minimum: the average would contain the delays of the server's acknowledgments.
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
