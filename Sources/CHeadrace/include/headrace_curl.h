// libcurl, loaded at run time: the part of its stable ABI that Headrace uses, declared here so that
// nothing needs libcurl's own header to build. If that header is installed, headrace_curl.c checks
// every constant and prototype below against it.

#ifndef HEADRACE_CURL_H
#define HEADRACE_CURL_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>

/// The oldest supported libcurl: 7.68.0. Some options and codes below exist only in later releases.
#define HR_CURL_MINIMUM_VERSION 0x074400

/// An easy handle, which performs one transfer at a time.
typedef void *hr_easy;
/// A multi handle, which drives many transfers and owns their connections.
typedef void *hr_multi;
/// A linked list of strings.
typedef void *hr_slist;

typedef enum hr_easy_option {
    HR_OPT_WRITEDATA = 10001,
    HR_OPT_URL = 10002,
    HR_OPT_PROXY = 10004,
    HR_OPT_ERRORBUFFER = 10010,
    HR_OPT_WRITEFUNCTION = 20011,
    HR_OPT_USERAGENT = 10018,
    HR_OPT_HTTPHEADER = 10023,
    HR_OPT_HEADERDATA = 10029,
    HR_OPT_SSLVERSION = 32,
    HR_OPT_CAINFO = 10065,
    HR_OPT_CAPATH = 10097,
    HR_OPT_INTERFACE = 10062,
    HR_OPT_HEADERFUNCTION = 20079,
    HR_OPT_FRESH_CONNECT = 74,
    HR_OPT_FORBID_REUSE = 75,
    HR_OPT_HTTP_VERSION = 84,
    HR_OPT_DNS_CACHE_TIMEOUT = 92,
    HR_OPT_BUFFERSIZE = 98,
    HR_OPT_NOSIGNAL = 99,
    HR_OPT_PRIVATE = 10103,
    HR_OPT_SSL_CTX_FUNCTION = 20108,
    HR_OPT_IPRESOLVE = 113,
    HR_OPT_RESOLVE = 10203,
    HR_OPT_UNIX_SOCKET_PATH = 10231,
    HR_OPT_CONNECT_TO = 10243,
    HR_OPT_DOH_URL = 10279,
    HR_OPT_CONNECTTIMEOUT_MS = 156,
    HR_OPT_HTTP_CONTENT_DECODING = 158,
    HR_OPT_OPENSOCKETFUNCTION = 20163,
    HR_OPT_OPENSOCKETDATA = 10164,
    HR_OPT_PROTOCOLS = 181,
    HR_OPT_PIPEWAIT = 237,
    HR_OPT_PATH_AS_IS = 234,
    HR_OPT_SSLCERT = 10025,
    HR_OPT_KEYPASSWD = 10026,
    HR_OPT_SSLKEY = 10087,
    HR_OPT_PROXYUSERNAME = 10175,
    HR_OPT_PROXYPASSWORD = 10176,
    HR_OPT_NOPROXY = 10177,
    HR_OPT_PINNEDPUBLICKEY = 10230,
    HR_OPT_PROXY_CAINFO = 10246,
    HR_OPT_PROXY_CAPATH = 10247,
    HR_OPT_PROXY_SSLVERSION = 250,
    HR_OPT_TCP_KEEPALIVE = 213,
    HR_OPT_SUPPRESS_CONNECT_HEADERS = 265,
    HR_OPT_HTTP09_ALLOWED = 285,
    HR_OPT_MAXAGE_CONN = 288,
    HR_OPT_QUICK_EXIT = 322,
    HR_OPT_POST = 47,
    HR_OPT_POSTFIELDSIZE = 60,
    HR_OPT_CUSTOMREQUEST = 10036,
    HR_OPT_COPYPOSTFIELDS = 10165,
} hr_easy_option;

typedef enum hr_multi_option {
    HR_MOPT_SOCKETFUNCTION = 20001,
    HR_MOPT_SOCKETDATA = 10002,
    HR_MOPT_PIPELINING = 3,
    HR_MOPT_TIMERFUNCTION = 20004,
    HR_MOPT_TIMERDATA = 10005,
    HR_MOPT_MAXCONNECTS = 6,
    HR_MOPT_MAX_HOST_CONNECTIONS = 7,
    HR_MOPT_RESOLVE_THREADS_MAX = 20,
    HR_MOPT_QUICK_EXIT = 21,
} hr_multi_option;

typedef enum hr_easy_info {
    HR_INFO_PRIVATE = 0x100000 + 21,
    HR_INFO_HTTP_CONNECTCODE = 0x200000 + 22,
    HR_INFO_OS_ERRNO = 0x200000 + 25,
    HR_INFO_NUM_CONNECTS = 0x200000 + 26,
    HR_INFO_TLS_SSL_PTR = 0x400000 + 45,
    HR_INFO_ACTIVESOCKET = 0x500000 + 44,
    HR_INFO_PRIMARY_IP = 0x100000 + 32,
    HR_INFO_RESPONSE_CODE = 0x200000 + 2,
    HR_INFO_HTTP_VERSION = 0x200000 + 46,
    HR_INFO_SIZE_UPLOAD_T = 0x600000 + 7,
    HR_INFO_SIZE_DOWNLOAD_T = 0x600000 + 8,
    HR_INFO_TOTAL_TIME_T = 0x600000 + 50,
    HR_INFO_NAMELOOKUP_TIME_T = 0x600000 + 51,
    HR_INFO_CONNECT_TIME_T = 0x600000 + 52,
    HR_INFO_STARTTRANSFER_TIME_T = 0x600000 + 54,
    HR_INFO_APPCONNECT_TIME_T = 0x600000 + 56,
    HR_INFO_PRETRANSFER_TIME_T = 0x600000 + 53,
} hr_easy_info;

enum {
    HR_PROTO_HTTP = 1,
    HR_PROTO_HTTPS = 2,
    HR_HTTP_VERSION_1_1 = 2,
    HR_HTTP_VERSION_2TLS = 4,
    HR_HTTP_VERSION_3 = 30,
    HR_IPRESOLVE_V4 = 1,
    HR_IPRESOLVE_V6 = 2,
    HR_FEATURE_HTTP2 = 1 << 16,
    HR_FEATURE_HTTP3 = 1 << 25,
    HR_SSLVERSION_TLSv1_2 = 6,
    HR_PIPE_NOTHING = 0,
    HR_PIPE_MULTIPLEX = 2,
    HR_PAUSE_RECV = 1,
    HR_PAUSE_CONT = 0,
    HR_ERROR_SIZE = 256,
    HR_MSG_DONE = 1,
    HR_SOCKET_TIMEOUT = -1,
    HR_SOCKET_BAD = -1,
    HR_CSELECT_IN = 1,
    HR_CSELECT_OUT = 2,
    HR_CSELECT_ERR = 4,
    HR_POLL_REMOVE = 4,
    HR_SSLBACKEND_OPENSSL = 1,
};

/// The CURLcode values that Headrace distinguishes.
typedef enum hr_code {
    HR_E_OK = 0,
    HR_E_UNSUPPORTED_PROTOCOL = 1,
    HR_E_URL_MALFORMAT = 3,
    HR_E_NOT_BUILT_IN = 4,
    HR_E_COULDNT_RESOLVE_PROXY = 5,
    HR_E_COULDNT_RESOLVE_HOST = 6,
    HR_E_COULDNT_CONNECT = 7,
    HR_E_WEIRD_SERVER_REPLY = 8,
    HR_E_HTTP2 = 16,
    HR_E_PARTIAL_FILE = 18,
    HR_E_WRITE_ERROR = 23,
    HR_E_OUT_OF_MEMORY = 27,
    HR_E_OPERATION_TIMEDOUT = 28,
    HR_E_SSL_CONNECT_ERROR = 35,
    HR_E_BAD_FUNCTION_ARGUMENT = 43,
    HR_E_INTERFACE_FAILED = 45,
    HR_E_UNKNOWN_OPTION = 48,
    HR_E_GOT_NOTHING = 52,
    HR_E_SEND_ERROR = 55,
    HR_E_RECV_ERROR = 56,
    HR_E_SSL_CERTPROBLEM = 58,
    HR_E_SSL_CIPHER = 59,
    HR_E_PEER_FAILED_VERIFICATION = 60,
    HR_E_BAD_CONTENT_ENCODING = 61,
    HR_E_FILESIZE_EXCEEDED = 63,
    HR_E_SSL_CACERT_BADFILE = 77,
    HR_E_SSL_CRL_BADFILE = 82,
    HR_E_SSL_ISSUER_ERROR = 83,
    HR_E_SSL_PINNEDPUBKEYNOTMATCH = 90,
    HR_E_SSL_INVALIDCERTSTATUS = 91,
    HR_E_HTTP2_STREAM = 92,
    HR_E_PROXY = 97,
    HR_E_SSL_CLIENTCERT = 98,
    HR_E_TOO_LARGE = 100,
} hr_code;

/// Receives size * count bytes of the body or header; a smaller return value aborts the transfer.
typedef size_t (*hr_data_callback)(char *bytes, size_t size, size_t count, void *context);
/// An address that libcurl is about to connect to, with the kind of socket to open for it.
typedef struct hr_address hr_address;
/// Opens the socket for an address and returns it, or returns HR_SOCKET_BAD to refuse the address.
typedef int (*hr_open_socket_callback)(void *context, int purpose, hr_address *address);
/// Receives in `what` the events to watch on a socket, or HR_POLL_REMOVE to stop watching it.
typedef int (*hr_socket_callback)(void *easy, int socket, int what, void *context, void *socket_context);
/// Called when the peer of a TLS connection has sent close_notify, the alert that announces an orderly end.
typedef void (*hr_close_notify_callback)(void *context, const void *tls);
/// Receives the milliseconds after which libcurl must be called even without an event; -1 for never.
typedef int (*hr_timer_callback)(void *multi, long milliseconds, void *context);

/// Loads libcurl once and returns its version number, such as 0x075801, or 0 if libcurl is missing or unusable.
///
/// The environment variable HEADRACE_LIBCURL names the library to load instead of the system's; a setuid program
/// ignores it.
unsigned int hr_curl_load(void);
/// Returns the features of the loaded libcurl, such as HR_FEATURE_HTTP3; 0 before it is loaded.
int hr_curl_features(void);
/// Returns the version as text, or the reason why libcurl could not be loaded. Never freed.
const char *hr_curl_description(void);
/// Returns whether libcurl uses OpenSSL or a fork of it, given the ssl_version text of libcurl.
int hr_names_openssl(const char *libraries);

hr_easy hr_easy_init(void);
void hr_easy_reset(hr_easy easy);
void hr_easy_cleanup(hr_easy easy);
hr_code hr_easy_set_long(hr_easy easy, hr_easy_option option, long value);
/// Sets a string option; libcurl copies the string.
hr_code hr_easy_set_string(hr_easy easy, hr_easy_option option, const char *value);
/// Sets a pointer option; except for HR_OPT_COPYPOSTFIELDS, the pointer must stay valid as long as the transfer.
hr_code hr_easy_set_pointer(hr_easy easy, hr_easy_option option, void *value);
hr_code hr_easy_set_data_callback(hr_easy easy, hr_easy_option option, hr_data_callback callback);
hr_code hr_easy_set_open_socket_callback(hr_easy easy, hr_open_socket_callback callback);
hr_code hr_easy_get_long(hr_easy easy, hr_easy_info info, long *value);
hr_code hr_easy_get_offset(hr_easy easy, hr_easy_info info, int64_t *value);
hr_code hr_easy_get_pointer(hr_easy easy, hr_easy_info info, void **value);
hr_code hr_easy_pause(hr_easy easy, int mask);
const char *hr_easy_strerror(hr_code code);
hr_slist hr_slist_append(hr_slist list, const char *text);
void hr_slist_free_all(hr_slist list);

/// Copies the 4 or 16 bytes of an address and returns their number, or 0 if it is neither IPv4 nor IPv6.
int hr_address_bytes(const hr_address *address, uint8_t *bytes);
/// Opens the socket that libcurl requests, with close-on-exec; returns HR_SOCKET_BAD on failure.
int hr_address_open(const hr_address *address);

/// Sets the callback for close_notify alerts on the TLS connections that the calling thread drives.
void hr_on_close_notify(hr_close_notify_callback callback, void *context);
/// Enables the callback of hr_on_close_notify for the handle's TLS connections, and makes them prefer AES-128, the
/// cheapest cipher. Has no effect without OpenSSL.
void hr_easy_configure_tls(hr_easy easy);
/// Returns the TLS connection in use, or NULL if there is none or the TLS library is not OpenSSL.
const void *hr_easy_tls(hr_easy easy);
/// Returns the major HTTP version that ALPN selected on the TLS connection in use: 1 without ALPN, 0 if it is unknown.
int hr_easy_negotiated_version(hr_easy easy);
/// Returns the shortest round-trip time of the connection in use, or the time to establish it if the system does not
/// report one, in microseconds; -1 if both are unknown.
int64_t hr_easy_round_trip(hr_easy easy);

hr_multi hr_multi_init(void);
int hr_multi_cleanup(hr_multi multi);
int hr_multi_add(hr_multi multi, hr_easy easy);
int hr_multi_remove(hr_multi multi, hr_easy easy);
int hr_multi_set_long(hr_multi multi, hr_multi_option option, long value);
int hr_multi_set_pointer(hr_multi multi, hr_multi_option option, void *value);
int hr_multi_set_socket_callback(hr_multi multi, hr_socket_callback callback);
int hr_multi_set_timer_callback(hr_multi multi, hr_timer_callback callback);
int hr_multi_socket_action(hr_multi multi, int socket, int events);
/// Takes one finished transfer from libcurl's message queue and returns 1, or returns 0 if there is none.
int hr_multi_next_done(hr_multi multi, hr_easy *easy, hr_code *code);

#endif
#endif
