// The server side of TLS, using libssl loaded at run time: some tests need it, but the build must not.

#ifndef HEADRACE_TLS_H
#define HEADRACE_TLS_H

#include <stdbool.h>

/// A server's certificate and key.
typedef void *htls_context;
/// One TLS connection.
typedef void *htls_session;

/// Loads libssl once; false if no usable version is installed.
bool htls_load(void);
/// Returns NULL if the certificate or the key, both in DER, is unusable.
htls_context htls_context_new(const unsigned char *certificate, int certificate_size, const unsigned char *key, int key_size);
/// Requires a client certificate, any one, for the handshake to succeed.
void htls_context_ask_client(htls_context context);
/// The protocols that a server supports, as a bit mask.
enum {
    HTLS_HTTP_1 = 1,
    HTLS_HTTP_2 = 2,
};
/// Selects the protocol by ALPN, HTTP/2 first; the handshake fails if the client offers none of these.
void htls_context_support(htls_context context, int protocols);
void htls_context_free(htls_context context);

/// Performs the handshake and returns NULL if it fails. The caller still owns the socket.
htls_session htls_accept(htls_context context, int socket);
/// Returns whether ALPN selected HTTP/2.
bool htls_is_http_2(htls_session session);
/// Receives bytes, waiting if there are none; 0 once the connection has ended, however it ended.
int htls_receive(htls_session session, void *buffer, int size);
/// Returns the number of decrypted bytes that can be read without touching the socket.
int htls_pending(htls_session session);
/// Sends all bytes; false if the connection broke.
bool htls_send(htls_session session, const void *bytes, int size);
/// Sends close_notify.
void htls_send_close_notify(htls_session session);
void htls_free(htls_session session);

#endif
