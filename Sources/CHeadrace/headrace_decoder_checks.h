// Checks at compile time that headrace_decoder.c agrees with the libraries' own headers, if these are installed.

#ifndef HEADRACE_DECODER_CHECKS_H
#define HEADRACE_DECODER_CHECKS_H

// Calling a function through a pointer of another type would be undefined behaviour.
#define SAME_TYPE(pointer, function) _Static_assert(__builtin_types_compatible_p(__typeof__(&function), pointer), #function)

#if __has_include(<zlib.h>)
#include <zlib.h>
SAME_TYPE(int (*)(z_streamp, int, const char *, int), inflateInit2_);
SAME_TYPE(int (*)(z_streamp, int), inflate);
SAME_TYPE(int (*)(z_streamp), inflateReset);
SAME_TYPE(int (*)(z_streamp), inflateEnd);
_Static_assert(sizeof(z_stream) == sizeof(zlib_stream), "z_stream");
_Static_assert(offsetof(z_stream, avail_in) == offsetof(zlib_stream, avail_in), "avail_in");
_Static_assert(offsetof(z_stream, next_out) == offsetof(zlib_stream, next_out), "next_out");
_Static_assert(offsetof(z_stream, avail_out) == offsetof(zlib_stream, avail_out), "avail_out");
_Static_assert(Z_OK == ZLIB_OK && Z_STREAM_END == ZLIB_STREAM_END && Z_BUF_ERROR == ZLIB_BUF_ERROR, "results");
_Static_assert(Z_MEM_ERROR == ZLIB_MEM_ERROR && Z_NO_FLUSH == 0, "results");
#endif

#if __has_include(<brotli/decode.h>)
#include <brotli/decode.h>
SAME_TYPE(BrotliDecoderState *(*)(brotli_alloc_func, brotli_free_func, void *), BrotliDecoderCreateInstance);
SAME_TYPE(BrotliDecoderResult (*)(BrotliDecoderState *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *),
    BrotliDecoderDecompressStream);
SAME_TYPE(void (*)(BrotliDecoderState *), BrotliDecoderDestroyInstance);
_Static_assert(BROTLI_DECODER_RESULT_ERROR == BROTLI_ERROR && BROTLI_DECODER_RESULT_SUCCESS == BROTLI_SUCCESS, "results");
#endif

#if __has_include(<zstd.h>)
#include <zstd.h>
SAME_TYPE(ZSTD_DCtx *(*)(void), ZSTD_createDCtx);
SAME_TYPE(size_t (*)(ZSTD_DCtx *), ZSTD_freeDCtx);
SAME_TYPE(size_t (*)(ZSTD_DCtx *, ZSTD_outBuffer *, ZSTD_inBuffer *), ZSTD_decompressStream);
SAME_TYPE(unsigned (*)(size_t), ZSTD_isError);
_Static_assert(sizeof(ZSTD_inBuffer) == sizeof(zstd_buffer) && sizeof(ZSTD_outBuffer) == sizeof(zstd_buffer), "buffers");
_Static_assert((int)ZSTD_d_windowLogMax == ZSTD_WINDOW_LOG_MAX, "parameters");
#endif

#undef SAME_TYPE

#endif
