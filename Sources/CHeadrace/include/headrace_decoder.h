// The decoders of content codings in zlib, libbrotlidec and libzstd, loaded at run time through their stable ABIs. If
// their own headers are installed, headrace_decoder.c checks its declarations against them.

#ifndef HEADRACE_DECODER_H
#define HEADRACE_DECODER_H

#if defined(__linux__)

#include <stddef.h>

typedef enum hr_coding {
    HR_CODING_GZIP,
    /// The zlib format (RFC 9110, section 8.4.1.2).
    HR_CODING_DEFLATE,
    HR_CODING_BR,
    HR_CODING_ZSTD,
} hr_coding;

/// A decoder of one file.
typedef struct hr_decoder_state *hr_decoder;

typedef enum hr_decoding {
    /// More input is needed, or the output is full.
    HR_DECODING_UNFINISHED,
    /// A complete file was decoded; only gzip and zstd input may continue, with another member or frame.
    HR_DECODING_FINISHED,
    /// The input is damaged, or bytes follow its end.
    HR_DECODING_DAMAGED,
    HR_DECODING_OUT_OF_MEMORY,
} hr_decoding;

/// Loads the libraries of all codings once; returns 1, or 0 if the library of this coding is missing or unusable.
int hr_decoder_load(hr_coding coding);

/// Creates a decoder; the library must have been loaded. Returns NULL if there is not enough memory.
hr_decoder hr_decoder_new(hr_coding coding);
/// Decodes bytes of the input until it is used up or the output is full.
///
/// Before the call, `input_count` and `output_count` are the sizes of the input and the output in bytes. After it, they
/// are the number of bytes left at the end of the input and the number of bytes written.
hr_decoding hr_decoder_run(
    hr_decoder decoder, const void *input, size_t *input_count, void *output, size_t *output_count);
void hr_decoder_free(hr_decoder decoder);

#endif
#endif
