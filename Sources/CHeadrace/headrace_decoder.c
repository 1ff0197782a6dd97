#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_decoder.h"
#include "headrace_library.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

// The layout of zlib's z_stream.
typedef struct zlib_stream {
    const void *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    void *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *allocate;
    void *release;
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} zlib_stream;

enum { ZLIB_OK = 0, ZLIB_STREAM_END = 1, ZLIB_MEM_ERROR = -4, ZLIB_BUF_ERROR = -5 };
// Added to the size of the window for the gzip format.
enum { ZLIB_WINDOW_BITS = 15, ZLIB_GZIP = 16 };
enum { BROTLI_ERROR = 0, BROTLI_SUCCESS = 1 };
enum { ZSTD_WINDOW_LOG_MAX = 100 };

// The layout of libzstd's ZSTD_inBuffer and ZSTD_outBuffer.
typedef struct zstd_buffer {
    const void *bytes;
    size_t size;
    size_t position;
} zstd_buffer;

#if !defined(HEADRACE_NO_DECODER_HEADERS)
#include "headrace_decoder_checks.h"
#endif

static struct {
    int (*Init2_)(zlib_stream *stream, int window_bits, const char *version, int size);
    int (*run)(zlib_stream *stream, int flush);
    int (*Reset)(zlib_stream *stream);
    int (*End)(zlib_stream *stream);
} zlib;

static struct {
    void *(*CreateInstance)(void *allocate, void *release, void *opaque);
    int (*DecompressStream)(void *state, size_t *input_count, const uint8_t **input, size_t *output_count, uint8_t **output,
        size_t *total);
    void (*DestroyInstance)(void *state);
} brotli;

static struct {
    void *(*createDCtx)(void);
    size_t (*freeDCtx)(void *context);
    size_t (*DCtx_setParameter)(void *context, int parameter, int value);
    size_t (*decompressStream)(void *context, zstd_buffer *output, zstd_buffer *input);
    unsigned int (*isError)(size_t result);
} zstd;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int has_zlib, has_brotli, has_zstd;

static void load(void) {
    const char *description = NULL;
#define FIND(group, name, symbol) find(library, (void **)&group.name, symbol, &description)
    void *library = open_library("libz.so.1", "libz.so", &description);
    has_zlib = library != NULL && FIND(zlib, Init2_, "inflateInit2_") && FIND(zlib, run, "inflate")
        && FIND(zlib, Reset, "inflateReset") && FIND(zlib, End, "inflateEnd");
    library = open_library("libbrotlidec.so.1", "libbrotlidec.so", &description);
    has_brotli = library != NULL && FIND(brotli, CreateInstance, "BrotliDecoderCreateInstance")
        && FIND(brotli, DecompressStream, "BrotliDecoderDecompressStream")
        && FIND(brotli, DestroyInstance, "BrotliDecoderDestroyInstance");
    library = open_library("libzstd.so.1", "libzstd.so", &description);
    has_zstd = library != NULL && FIND(zstd, createDCtx, "ZSTD_createDCtx") && FIND(zstd, freeDCtx, "ZSTD_freeDCtx")
        && FIND(zstd, DCtx_setParameter, "ZSTD_DCtx_setParameter")
        && FIND(zstd, decompressStream, "ZSTD_decompressStream") && FIND(zstd, isError, "ZSTD_isError");
#undef FIND
}

int hr_decoder_load(hr_coding coding) {
    pthread_once(&once, load);
    switch (coding) {
    case HR_CODING_GZIP:
    case HR_CODING_DEFLATE: return has_zlib;
    case HR_CODING_BR: return has_brotli;
    case HR_CODING_ZSTD: return has_zstd;
    }
    return 0;
}

struct hr_decoder_state {
    hr_coding coding;
    // Whether the file may end here.
    int is_finished;
    zlib_stream stream;
    // The state of libbrotlidec or libzstd.
    void *state;
};

hr_decoder hr_decoder_new(hr_coding coding) {
    hr_decoder decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL) {
        return NULL;
    }
    decoder->coding = coding;
    int is_ready = 0;
    switch (coding) {
    case HR_CODING_GZIP:
    case HR_CODING_DEFLATE: {
        const int bits = ZLIB_WINDOW_BITS + (coding == HR_CODING_GZIP ? ZLIB_GZIP : 0);
        // zlib compares only the major version.
        is_ready = zlib.Init2_(&decoder->stream, bits, "1", (int)sizeof decoder->stream) == ZLIB_OK;
        break;
    }
    case HR_CODING_BR:
        decoder->state = brotli.CreateInstance(NULL, NULL, NULL);
        is_ready = decoder->state != NULL;
        break;
    case HR_CODING_ZSTD:
        decoder->state = zstd.createDCtx();
        // A window of more than 8 MiB is forbidden (RFC 9659, section 3).
        is_ready = decoder->state != NULL && !zstd.isError(zstd.DCtx_setParameter(decoder->state, ZSTD_WINDOW_LOG_MAX, 23));
        break;
    }
    if (is_ready) {
        return decoder;
    }
    if (coding == HR_CODING_ZSTD && decoder->state != NULL) {
        zstd.freeDCtx(decoder->state);
    }
    free(decoder);
    return NULL;
}

static hr_decoding inflate_bytes(
    hr_decoder decoder, const void *input, size_t *input_count, void *output, size_t *output_count) {
    zlib_stream *stream = &decoder->stream;
    if (decoder->is_finished && *input_count > 0) {
        // A gzip file may consist of several members (RFC 1952, section 2.2).
        if (decoder->coding != HR_CODING_GZIP || zlib.Reset(stream) != ZLIB_OK) {
            *output_count = 0;
            return HR_DECODING_DAMAGED;
        }
        decoder->is_finished = 0;
    }
    const size_t capacity = *output_count < UINT_MAX ? *output_count : UINT_MAX;
    const size_t count = *input_count < UINT_MAX ? *input_count : UINT_MAX;
    stream->next_in = input;
    stream->avail_in = (unsigned int)count;
    stream->next_out = output;
    stream->avail_out = (unsigned int)capacity;
    const int result = zlib.run(stream, 0);
    *input_count -= count - stream->avail_in;
    *output_count = capacity - stream->avail_out;
    switch (result) {
    case ZLIB_STREAM_END: decoder->is_finished = 1; return HR_DECODING_FINISHED;
    case ZLIB_OK:
    // There was neither input nor pending output.
    case ZLIB_BUF_ERROR: return HR_DECODING_UNFINISHED;
    case ZLIB_MEM_ERROR: return HR_DECODING_OUT_OF_MEMORY;
    default: return HR_DECODING_DAMAGED;
    }
}

static hr_decoding decode_brotli(
    hr_decoder decoder, const void *input, size_t *input_count, void *output, size_t *output_count) {
    if (decoder->is_finished && *input_count > 0) {
        *output_count = 0;
        return HR_DECODING_DAMAGED;
    }
    const uint8_t *next_in = input;
    uint8_t *next_out = output;
    size_t room = *output_count;
    const int result = brotli.DecompressStream(decoder->state, input_count, &next_in, &room, &next_out, NULL);
    *output_count -= room;
    if (result == BROTLI_ERROR) {
        return HR_DECODING_DAMAGED;
    }
    decoder->is_finished = result == BROTLI_SUCCESS;
    return decoder->is_finished ? HR_DECODING_FINISHED : HR_DECODING_UNFINISHED;
}

static hr_decoding decode_zstd(
    hr_decoder decoder, const void *input, size_t *input_count, void *output, size_t *output_count) {
    zstd_buffer in = {.bytes = input, .size = *input_count, .position = 0};
    zstd_buffer out = {.bytes = output, .size = *output_count, .position = 0};
    // Continues with the next frame, if there is one (RFC 8878, section 3.1).
    const size_t result = zstd.decompressStream(decoder->state, &out, &in);
    *input_count -= in.position;
    *output_count = out.position;
    if (zstd.isError(result)) {
        return HR_DECODING_DAMAGED;
    }
    decoder->is_finished = result == 0;
    return decoder->is_finished ? HR_DECODING_FINISHED : HR_DECODING_UNFINISHED;
}

hr_decoding hr_decoder_run(
    hr_decoder decoder, const void *input, size_t *input_count, void *output, size_t *output_count) {
    switch (decoder->coding) {
    case HR_CODING_GZIP:
    case HR_CODING_DEFLATE: return inflate_bytes(decoder, input, input_count, output, output_count);
    case HR_CODING_BR: return decode_brotli(decoder, input, input_count, output, output_count);
    case HR_CODING_ZSTD: return decode_zstd(decoder, input, input_count, output, output_count);
    }
    return HR_DECODING_DAMAGED;
}

void hr_decoder_free(hr_decoder decoder) {
    switch (decoder->coding) {
    case HR_CODING_GZIP:
    case HR_CODING_DEFLATE: zlib.End(&decoder->stream); break;
    case HR_CODING_BR: brotli.DestroyInstance(decoder->state); break;
    case HR_CODING_ZSTD: zstd.freeDCtx(decoder->state); break;
    }
    free(decoder);
}

#endif
