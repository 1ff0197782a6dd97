// libnghttp2's decoder for HTTP/2 header blocks (RFC 7541), loaded at run time: libcurl depends on libnghttp2 anyway.

#ifndef HEADRACE_HPACK_H
#define HEADRACE_HPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The decoder of one connection.
typedef void *hpack_decoder;

/// A field of a header block; the text belongs to the decoder and is valid until the next call.
typedef struct hpack_field {
    const uint8_t *name;
    size_t name_size;
    const uint8_t *value;
    size_t value_size;
} hpack_field;

/// Loads libnghttp2 once; false if it is not installed.
bool hpack_load(void);
/// Returns NULL if memory is exhausted.
hpack_decoder hpack_new(void);
void hpack_free(hpack_decoder decoder);
/// Decodes one field of a complete header block, and returns the number of bytes consumed, or -1 if they are malformed.
///
/// `name` is NULL if they held no field. The block is complete when all its bytes are consumed and no field is returned.
int hpack_next(hpack_decoder decoder, const uint8_t *block, size_t size, hpack_field *field);

#endif
