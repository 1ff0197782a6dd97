// Checks at compile time that headrace_crypto.c agrees with libcrypto's own header, if that is installed.

#ifndef HEADRACE_CRYPTO_CHECKS_H
#define HEADRACE_CRYPTO_CHECKS_H

// Calling a function through a pointer of another type would be undefined behaviour.
#define SAME_TYPE(pointer, function) _Static_assert(__builtin_types_compatible_p(__typeof__(&function), pointer), #function)

SAME_TYPE(EVP_MD_CTX *(*)(void), EVP_MD_CTX_new);
SAME_TYPE(void (*)(EVP_MD_CTX *), EVP_MD_CTX_free);
SAME_TYPE(int (*)(EVP_MD_CTX *, const EVP_MD *, ENGINE *), EVP_DigestInit_ex);
SAME_TYPE(int (*)(EVP_MD_CTX *, const void *, size_t), EVP_DigestUpdate);
SAME_TYPE(int (*)(EVP_MD_CTX *, unsigned char *, unsigned int *), EVP_DigestFinal_ex);
SAME_TYPE(const EVP_MD *(*)(void), EVP_md5);
SAME_TYPE(const EVP_MD *(*)(void), EVP_sha1);
SAME_TYPE(const EVP_MD *(*)(void), EVP_sha256);
SAME_TYPE(const EVP_MD *(*)(void), EVP_sha384);
SAME_TYPE(const EVP_MD *(*)(void), EVP_sha512);
_Static_assert(EVP_MAX_MD_SIZE <= 64, "a digest has at most 64 bytes");

#undef SAME_TYPE

#endif
