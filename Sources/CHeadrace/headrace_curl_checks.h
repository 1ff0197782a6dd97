// Checks at compile time that headrace_curl.h agrees with libcurl's own header, if that is installed.

#ifndef HEADRACE_CURL_CHECKS_H
#define HEADRACE_CURL_CHECKS_H

#define SAME_VALUE(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is not " #theirs)
// Calling a function through a pointer of another type would be undefined behaviour.
#define SAME_TYPE(pointer, function) _Static_assert(__builtin_types_compatible_p(__typeof__(&function), pointer), #function)

SAME_VALUE(HR_OPT_WRITEDATA, CURLOPT_WRITEDATA);
SAME_VALUE(HR_OPT_URL, CURLOPT_URL);
SAME_VALUE(HR_OPT_PROXY, CURLOPT_PROXY);
SAME_VALUE(HR_OPT_ERRORBUFFER, CURLOPT_ERRORBUFFER);
SAME_VALUE(HR_OPT_WRITEFUNCTION, CURLOPT_WRITEFUNCTION);
SAME_VALUE(HR_OPT_USERAGENT, CURLOPT_USERAGENT);
SAME_VALUE(HR_OPT_HTTPHEADER, CURLOPT_HTTPHEADER);
SAME_VALUE(HR_OPT_HEADERDATA, CURLOPT_HEADERDATA);
SAME_VALUE(HR_OPT_SSLVERSION, CURLOPT_SSLVERSION);
SAME_VALUE(HR_OPT_CAINFO, CURLOPT_CAINFO);
SAME_VALUE(HR_OPT_CAPATH, CURLOPT_CAPATH);
SAME_VALUE(HR_OPT_HEADERFUNCTION, CURLOPT_HEADERFUNCTION);
SAME_VALUE(HR_OPT_HTTP_VERSION, CURLOPT_HTTP_VERSION);
SAME_VALUE(HR_OPT_BUFFERSIZE, CURLOPT_BUFFERSIZE);
SAME_VALUE(HR_OPT_FRESH_CONNECT, CURLOPT_FRESH_CONNECT);
SAME_VALUE(HR_OPT_FORBID_REUSE, CURLOPT_FORBID_REUSE);
SAME_VALUE(HR_OPT_DNS_CACHE_TIMEOUT, CURLOPT_DNS_CACHE_TIMEOUT);
SAME_VALUE(HR_OPT_NOSIGNAL, CURLOPT_NOSIGNAL);
SAME_VALUE(HR_OPT_PRIVATE, CURLOPT_PRIVATE);
SAME_VALUE(HR_OPT_SSL_CTX_FUNCTION, CURLOPT_SSL_CTX_FUNCTION);
SAME_VALUE(HR_OPT_CONNECTTIMEOUT_MS, CURLOPT_CONNECTTIMEOUT_MS);
SAME_VALUE(HR_OPT_HTTP_CONTENT_DECODING, CURLOPT_HTTP_CONTENT_DECODING);
SAME_VALUE(HR_OPT_OPENSOCKETFUNCTION, CURLOPT_OPENSOCKETFUNCTION);
SAME_VALUE(HR_OPT_OPENSOCKETDATA, CURLOPT_OPENSOCKETDATA);
SAME_VALUE(HR_OPT_PROTOCOLS, CURLOPT_PROTOCOLS);
SAME_VALUE(HR_OPT_PIPEWAIT, CURLOPT_PIPEWAIT);
SAME_VALUE(HR_OPT_SSLCERT, CURLOPT_SSLCERT);
SAME_VALUE(HR_OPT_KEYPASSWD, CURLOPT_KEYPASSWD);
SAME_VALUE(HR_OPT_SSLKEY, CURLOPT_SSLKEY);
SAME_VALUE(HR_OPT_PROXYUSERNAME, CURLOPT_PROXYUSERNAME);
SAME_VALUE(HR_OPT_PROXYPASSWORD, CURLOPT_PROXYPASSWORD);
SAME_VALUE(HR_OPT_NOPROXY, CURLOPT_NOPROXY);
SAME_VALUE(HR_OPT_PINNEDPUBLICKEY, CURLOPT_PINNEDPUBLICKEY);
SAME_VALUE(HR_OPT_PROXY_CAINFO, CURLOPT_PROXY_CAINFO);
SAME_VALUE(HR_OPT_PROXY_CAPATH, CURLOPT_PROXY_CAPATH);
SAME_VALUE(HR_OPT_PROXY_SSLVERSION, CURLOPT_PROXY_SSLVERSION);
SAME_VALUE(HR_OPT_TCP_KEEPALIVE, CURLOPT_TCP_KEEPALIVE);
SAME_VALUE(HR_OPT_SUPPRESS_CONNECT_HEADERS, CURLOPT_SUPPRESS_CONNECT_HEADERS);
SAME_VALUE(HR_OPT_HTTP09_ALLOWED, CURLOPT_HTTP09_ALLOWED);
SAME_VALUE(HR_OPT_MAXAGE_CONN, CURLOPT_MAXAGE_CONN);
#if LIBCURL_VERSION_NUM >= 0x075700
SAME_VALUE(HR_OPT_QUICK_EXIT, CURLOPT_QUICK_EXIT);
#endif
SAME_VALUE(HR_MOPT_SOCKETFUNCTION, CURLMOPT_SOCKETFUNCTION);
SAME_VALUE(HR_MOPT_SOCKETDATA, CURLMOPT_SOCKETDATA);
SAME_VALUE(HR_MOPT_PIPELINING, CURLMOPT_PIPELINING);
SAME_VALUE(HR_MOPT_TIMERFUNCTION, CURLMOPT_TIMERFUNCTION);
SAME_VALUE(HR_MOPT_TIMERDATA, CURLMOPT_TIMERDATA);
SAME_VALUE(HR_MOPT_MAXCONNECTS, CURLMOPT_MAXCONNECTS);
SAME_VALUE(HR_MOPT_MAX_HOST_CONNECTIONS, CURLMOPT_MAX_HOST_CONNECTIONS);
SAME_VALUE(HR_INFO_PRIVATE, CURLINFO_PRIVATE);
SAME_VALUE(HR_INFO_HTTP_CONNECTCODE, CURLINFO_HTTP_CONNECTCODE);
SAME_VALUE(HR_INFO_OS_ERRNO, CURLINFO_OS_ERRNO);
SAME_VALUE(HR_INFO_NUM_CONNECTS, CURLINFO_NUM_CONNECTS);
SAME_VALUE(HR_INFO_PRETRANSFER_TIME_T, CURLINFO_PRETRANSFER_TIME_T);
SAME_VALUE(HR_INFO_TLS_SSL_PTR, CURLINFO_TLS_SSL_PTR);
SAME_VALUE(HR_INFO_ACTIVESOCKET, CURLINFO_ACTIVESOCKET);
SAME_VALUE(HR_SSLBACKEND_OPENSSL, CURLSSLBACKEND_OPENSSL);
SAME_VALUE(HR_PROTO_HTTP, CURLPROTO_HTTP);
SAME_VALUE(HR_PROTO_HTTPS, CURLPROTO_HTTPS);
SAME_VALUE(HR_HTTP_VERSION_1_1, CURL_HTTP_VERSION_1_1);
SAME_VALUE(HR_HTTP_VERSION_2TLS, CURL_HTTP_VERSION_2TLS);
SAME_VALUE(HR_SSLVERSION_TLSv1_2, CURL_SSLVERSION_TLSv1_2);
SAME_VALUE(HR_PIPE_NOTHING, CURLPIPE_NOTHING);
SAME_VALUE(HR_PIPE_MULTIPLEX, CURLPIPE_MULTIPLEX);
SAME_VALUE(HR_PAUSE_RECV, CURLPAUSE_RECV);
SAME_VALUE(HR_PAUSE_CONT, CURLPAUSE_CONT);
SAME_VALUE(HR_ERROR_SIZE, CURL_ERROR_SIZE);
SAME_VALUE(HR_MSG_DONE, CURLMSG_DONE);
SAME_VALUE(HR_SOCKET_TIMEOUT, CURL_SOCKET_TIMEOUT);
SAME_VALUE(HR_SOCKET_BAD, CURL_SOCKET_BAD);
SAME_VALUE(HR_CSELECT_IN, CURL_CSELECT_IN);
SAME_VALUE(HR_CSELECT_OUT, CURL_CSELECT_OUT);
SAME_VALUE(HR_CSELECT_ERR, CURL_CSELECT_ERR);
SAME_VALUE(HR_POLL_REMOVE, CURL_POLL_REMOVE);
SAME_VALUE(HR_E_OK, CURLE_OK);
SAME_VALUE(HR_E_UNSUPPORTED_PROTOCOL, CURLE_UNSUPPORTED_PROTOCOL);
SAME_VALUE(HR_E_URL_MALFORMAT, CURLE_URL_MALFORMAT);
SAME_VALUE(HR_E_NOT_BUILT_IN, CURLE_NOT_BUILT_IN);
SAME_VALUE(HR_E_UNKNOWN_OPTION, CURLE_UNKNOWN_OPTION);
SAME_VALUE(HR_E_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_PROXY);
SAME_VALUE(HR_E_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_HOST);
SAME_VALUE(HR_E_COULDNT_CONNECT, CURLE_COULDNT_CONNECT);
SAME_VALUE(HR_E_WEIRD_SERVER_REPLY, CURLE_WEIRD_SERVER_REPLY);
SAME_VALUE(HR_E_WRITE_ERROR, CURLE_WRITE_ERROR);
SAME_VALUE(HR_E_HTTP2, CURLE_HTTP2);
SAME_VALUE(HR_E_OUT_OF_MEMORY, CURLE_OUT_OF_MEMORY);
SAME_VALUE(HR_E_RECV_ERROR, CURLE_RECV_ERROR);
SAME_VALUE(HR_E_SEND_ERROR, CURLE_SEND_ERROR);
SAME_VALUE(HR_E_OPERATION_TIMEDOUT, CURLE_OPERATION_TIMEDOUT);
SAME_VALUE(HR_E_SSL_CONNECT_ERROR, CURLE_SSL_CONNECT_ERROR);
SAME_VALUE(HR_E_BAD_FUNCTION_ARGUMENT, CURLE_BAD_FUNCTION_ARGUMENT);
SAME_VALUE(HR_E_GOT_NOTHING, CURLE_GOT_NOTHING);
SAME_VALUE(HR_E_SSL_CERTPROBLEM, CURLE_SSL_CERTPROBLEM);
SAME_VALUE(HR_E_SSL_CIPHER, CURLE_SSL_CIPHER);
SAME_VALUE(HR_E_PEER_FAILED_VERIFICATION, CURLE_PEER_FAILED_VERIFICATION);
SAME_VALUE(HR_E_BAD_CONTENT_ENCODING, CURLE_BAD_CONTENT_ENCODING);
SAME_VALUE(HR_E_FILESIZE_EXCEEDED, CURLE_FILESIZE_EXCEEDED);
SAME_VALUE(HR_E_SSL_CACERT_BADFILE, CURLE_SSL_CACERT_BADFILE);
SAME_VALUE(HR_E_SSL_CRL_BADFILE, CURLE_SSL_CRL_BADFILE);
SAME_VALUE(HR_E_SSL_ISSUER_ERROR, CURLE_SSL_ISSUER_ERROR);
SAME_VALUE(HR_E_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_PINNEDPUBKEYNOTMATCH);
SAME_VALUE(HR_E_SSL_INVALIDCERTSTATUS, CURLE_SSL_INVALIDCERTSTATUS);
SAME_VALUE(HR_E_HTTP2_STREAM, CURLE_HTTP2_STREAM);
#if LIBCURL_VERSION_NUM >= 0x074900
SAME_VALUE(HR_E_PROXY, CURLE_PROXY);
#endif
#if LIBCURL_VERSION_NUM >= 0x074d00
SAME_VALUE(HR_E_SSL_CLIENTCERT, CURLE_SSL_CLIENTCERT);
#endif
#if LIBCURL_VERSION_NUM >= 0x080600
SAME_VALUE(HR_E_TOO_LARGE, CURLE_TOO_LARGE);
#endif

_Static_assert(sizeof(CURLcode) == sizeof(int) && sizeof(CURLMcode) == sizeof(int), "codes are passed as int");
_Static_assert(sizeof(CURLoption) == sizeof(int) && sizeof(CURLINFO) == sizeof(int), "options are passed as int");
_Static_assert(sizeof(curl_off_t) == sizeof(int64_t), "an offset is an int64_t");
_Static_assert(sizeof(curl_socket_t) == sizeof(int), "a socket is an int");
_Static_assert(sizeof(curlsocktype) == sizeof(int), "a purpose is passed as int");
_Static_assert(offsetof(struct curl_sockaddr, family) == 0, "curl_sockaddr.family");
_Static_assert(offsetof(struct curl_sockaddr, socktype) == sizeof(int), "curl_sockaddr.socktype");
_Static_assert(offsetof(struct curl_sockaddr, protocol) == 2 * sizeof(int), "curl_sockaddr.protocol");
_Static_assert(offsetof(struct curl_sockaddr, addrlen) == 3 * sizeof(int), "curl_sockaddr.addrlen");
_Static_assert(offsetof(struct curl_sockaddr, addr) == 4 * sizeof(int), "curl_sockaddr.addr");
_Static_assert(offsetof(struct CURLMsg, easy_handle) == sizeof(void *), "CURLMsg.easy_handle");
_Static_assert(offsetof(struct CURLMsg, data) == 2 * sizeof(void *), "CURLMsg.data");
_Static_assert(offsetof(struct curl_tlssessioninfo, backend) == 0, "curl_tlssessioninfo.backend");
_Static_assert(offsetof(struct curl_tlssessioninfo, internals) == sizeof(void *), "curl_tlssessioninfo.internals");
_Static_assert(offsetof(curl_version_info_data, version) == sizeof(void *), "curl_version_info_data.version");
_Static_assert(offsetof(curl_version_info_data, version_num) == 2 * sizeof(void *), "version_num");
_Static_assert(offsetof(curl_version_info_data, host) == 3 * sizeof(void *), "curl_version_info_data.host");
_Static_assert(offsetof(curl_version_info_data, features) == 4 * sizeof(void *), "curl_version_info_data.features");
_Static_assert(offsetof(curl_version_info_data, ssl_version) == 5 * sizeof(void *), "ssl_version");

SAME_TYPE(CURLcode (*)(long), curl_global_init);
SAME_TYPE(curl_version_info_data *(*)(CURLversion), curl_version_info);
SAME_TYPE(CURL *(*)(void), curl_easy_init);
SAME_TYPE(void (*)(CURL *), curl_easy_reset);
SAME_TYPE(void (*)(CURL *), curl_easy_cleanup);
SAME_TYPE(CURLcode (*)(CURL *, CURLoption, ...), curl_easy_setopt);
SAME_TYPE(CURLcode (*)(CURL *, CURLINFO, ...), curl_easy_getinfo);
SAME_TYPE(CURLcode (*)(CURL *, int), curl_easy_pause);
SAME_TYPE(const char *(*)(CURLcode), curl_easy_strerror);
SAME_TYPE(struct curl_slist *(*)(struct curl_slist *, const char *), curl_slist_append);
SAME_TYPE(void (*)(struct curl_slist *), curl_slist_free_all);
SAME_TYPE(CURLM *(*)(void), curl_multi_init);
SAME_TYPE(CURLMcode (*)(CURLM *), curl_multi_cleanup);
SAME_TYPE(CURLMcode (*)(CURLM *, CURL *), curl_multi_add_handle);
SAME_TYPE(CURLMcode (*)(CURLM *, CURL *), curl_multi_remove_handle);
SAME_TYPE(CURLMcode (*)(CURLM *, CURLMoption, ...), curl_multi_setopt);
SAME_TYPE(CURLMcode (*)(CURLM *, curl_socket_t, int, int *), curl_multi_socket_action);
SAME_TYPE(CURLMsg *(*)(CURLM *, int *), curl_multi_info_read);
_Static_assert(
    __builtin_types_compatible_p(curl_write_callback, size_t (*)(char *, size_t, size_t, void *)), "write callback");
_Static_assert(
    __builtin_types_compatible_p(curl_ssl_ctx_callback, CURLcode (*)(CURL *, void *, void *)), "TLS context callback");
_Static_assert(
    __builtin_types_compatible_p(
        curl_opensocket_callback, curl_socket_t (*)(void *, curlsocktype, struct curl_sockaddr *)),
    "open-socket callback");
_Static_assert(
    __builtin_types_compatible_p(curl_socket_callback, int (*)(CURL *, curl_socket_t, int, void *, void *)),
    "socket callback");
_Static_assert(__builtin_types_compatible_p(curl_multi_timer_callback, int (*)(CURLM *, long, void *)), "timer callback");

#undef SAME_VALUE
#undef SAME_TYPE

#endif
