#ifndef HEADRACE_OPENSSL_H
#define HEADRACE_OPENSSL_H

#include "headrace_curl.h"

// libcurl's callback for the TLS context of a new connection.
typedef int (*hr_tls_callback)(void *easy, void *context, void *user);

hr_code hr_easy_set_tls_callback(hr_easy easy, hr_tls_callback callback);

// Looks up OpenSSL's functions; `library` is the handle of libcurl, which depends on OpenSSL.
void hr_find_openssl(void *library);

#endif
