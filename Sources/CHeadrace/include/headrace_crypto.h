// libcrypto, loaded at run time: the hash functions of its stable ABI. If its own header is installed,
// headrace_crypto.c checks every prototype against it.

#ifndef HEADRACE_CRYPTO_H
#define HEADRACE_CRYPTO_H

#if defined(__linux__)

#include <stddef.h>

/// The state of an unfinished hash.
typedef void *hr_digest;

typedef enum hr_digest_algorithm {
    HR_DIGEST_MD5,
    HR_DIGEST_SHA1,
    HR_DIGEST_SHA256,
    HR_DIGEST_SHA384,
    HR_DIGEST_SHA512,
} hr_digest_algorithm;

/// Loads libcrypto once; returns 1, or 0 if libcrypto is missing or unusable.
int hr_crypto_load(void);
/// Returns the reason why libcrypto could not be loaded. Never freed.
const char *hr_crypto_description(void);

/// Starts a hash; libcrypto must have been loaded. Returns NULL if libcrypto does not provide the algorithm, for
/// example because a system policy disables it.
hr_digest hr_digest_new(hr_digest_algorithm algorithm);
/// Hashes more bytes; returns 1, or 0 on failure.
int hr_digest_update(hr_digest digest, const void *bytes, size_t count);
/// Writes the digest, of at most 64 bytes, to `bytes`; returns its size, or 0 on failure.
int hr_digest_finalize(hr_digest digest, unsigned char *bytes);
void hr_digest_free(hr_digest digest);

#endif
#endif
