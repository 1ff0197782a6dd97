// libcrypto, loaded at run time: the hash functions of its stable ABI. Where its own header is present,
// headrace_crypto.c checks every prototype against it.

#ifndef HEADRACE_CRYPTO_H
#define HEADRACE_CRYPTO_H

#if defined(__linux__)

#include <stddef.h>

/// A hash function that has begun.
typedef void *hr_digest;

typedef enum hr_digest_algorithm {
    HR_DIGEST_MD5,
    HR_DIGEST_SHA1,
    HR_DIGEST_SHA256,
    HR_DIGEST_SHA384,
    HR_DIGEST_SHA512,
} hr_digest_algorithm;

/// Loads libcrypto once; 1, or 0 where there is none.
int hr_crypto_load(void);
/// What the dynamic loader says of its absence. Never freed.
const char *hr_crypto_description(void);

/// Begins, after libcrypto was loaded; NULL where it does not give this function, as some policies have it.
hr_digest hr_digest_new(hr_digest_algorithm algorithm);
/// Takes bytes in: 1, or 0 on failure.
int hr_digest_update(hr_digest digest, const void *bytes, size_t count);
/// Ends, and writes at most 64 bytes: their number, or 0 on failure.
int hr_digest_finalize(hr_digest digest, unsigned char *bytes);
void hr_digest_free(hr_digest digest);

#endif
#endif
