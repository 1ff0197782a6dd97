// A server's side of TLS by libssl, which is loaded at run time: some tests need it, and the build must not.

#ifndef HEADRACE_TLS_H
#define HEADRACE_TLS_H

#include <stdbool.h>

/// What is served: a certificate and its key.
typedef void *htls_context;
/// One connection.
typedef void *htls_session;

/// Loads libssl, once; false where there is none that can be used.
bool htls_load(void);
/// Returns NULL where the certificate or the key, both DER, cannot be used.
htls_context htls_context_new(const unsigned char *certificate, int certificate_size, const unsigned char *key, int key_size);
/// Has clients present a certificate, whichever it is, or the handshake fails.
void htls_context_ask_client(htls_context context);
/// Protocols that a server supports.
enum {
    HTLS_HTTP_1 = 1,
    HTLS_HTTP_2 = 2,
};
/// Selects the protocol by ALPN, HTTP/2 first; the handshake fails if the client offers none of these.
void htls_context_support(htls_context context, int protocols);
void htls_context_free(htls_context context);

/// Waits for the client's part of the handshake; NULL where it fails. The socket stays the caller's.
htls_session htls_accept(htls_context context, int socket);
/// Returns whether ALPN selected HTTP/2.
bool htls_is_http_2(htls_session session);
/// Waits for bytes; 0 at the end of the connection, however it ended.
int htls_receive(htls_session session, void *buffer, int size);
/// How many bytes can be had without a look at the socket.
int htls_pending(htls_session session);
/// Sends everything; false where the connection broke.
bool htls_send(htls_session session, const void *bytes, int size);
/// Tells the client that nothing more comes (close_notify).
void htls_say_goodbye(htls_session session);
void htls_free(htls_session session);

#endif
