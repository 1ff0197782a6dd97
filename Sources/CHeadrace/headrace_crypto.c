#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_crypto.h"
#include "headrace_library.h"

#include <pthread.h>

#if !defined(HEADRACE_NO_CRYPTO_HEADER) && __has_include(<openssl/evp.h>)
#include <openssl/evp.h>
#include "headrace_crypto_checks.h"
#endif

static struct {
    void *(*MD_CTX_new)(void);
    void (*MD_CTX_free)(void *);
    int (*DigestInit_ex)(void *, const void *, void *);
    int (*DigestUpdate)(void *, const void *, size_t);
    int (*DigestFinal_ex)(void *, unsigned char *, unsigned int *);
    const void *(*md5)(void);
    const void *(*sha1)(void);
    const void *(*sha256)(void);
    const void *(*sha384)(void);
    const void *(*sha512)(void);
} evp;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_loaded;
static const char *description = "libcrypto is not loaded";

static void load(void) {
    void *library = open_library("libcrypto.so.3", "libcrypto.so.1.1", &description);
    if (library == NULL) {
        return;
    }
#define FIND(name) find(library, (void **)&evp.name, "EVP_" #name, &description)
    is_loaded = FIND(MD_CTX_new) && FIND(MD_CTX_free) && FIND(DigestInit_ex) && FIND(DigestUpdate)
        && FIND(DigestFinal_ex) && FIND(md5) && FIND(sha1) && FIND(sha256) && FIND(sha384) && FIND(sha512);
#undef FIND
}

int hr_crypto_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

const char *hr_crypto_description(void) {
    return description;
}

static const void *function(hr_digest_algorithm algorithm) {
    switch (algorithm) {
    case HR_DIGEST_MD5: return evp.md5();
    case HR_DIGEST_SHA1: return evp.sha1();
    case HR_DIGEST_SHA256: return evp.sha256();
    case HR_DIGEST_SHA384: return evp.sha384();
    case HR_DIGEST_SHA512: return evp.sha512();
    }
    return NULL;
}

hr_digest hr_digest_new(hr_digest_algorithm algorithm) {
    void *context = evp.MD_CTX_new();
    if (context != NULL && evp.DigestInit_ex(context, function(algorithm), NULL) != 1) {
        evp.MD_CTX_free(context);
        return NULL;
    }
    return context;
}

int hr_digest_update(hr_digest digest, const void *bytes, size_t count) {
    return evp.DigestUpdate(digest, bytes, count);
}

int hr_digest_finalize(hr_digest digest, unsigned char *bytes) {
    unsigned int count = 0;
    return evp.DigestFinal_ex(digest, bytes, &count) == 1 ? (int)count : 0;
}

void hr_digest_free(hr_digest digest) {
    evp.MD_CTX_free(digest);
}

#endif
