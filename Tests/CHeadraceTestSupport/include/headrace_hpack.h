// The decoder of HTTP/2 header blocks (RFC 7541) of libnghttp2, which is loaded at run time: libcurl brings it along.

#ifndef HEADRACE_HPACK_H
#define HEADRACE_HPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The decoder of one connection.
typedef void *hpack_decoder;

/// A field of a header block; the text belongs to the decoder and is valid until its next call.
typedef struct hpack_field {
    const uint8_t *name;
    size_t name_size;
    const uint8_t *value;
    size_t value_size;
} hpack_field;

/// Loads libnghttp2, once; false if there is none.
bool hpack_load(void);
/// Returns NULL if memory is exhausted.
hpack_decoder hpack_new(void);
void hpack_free(hpack_decoder decoder);
/// Decodes one field of a complete header block, and returns the number of bytes it took, or -1 if they are malformed.
///
/// The name is NULL if they held no field. The block is complete when all of its bytes are taken and no field is returned.
int hpack_next(hpack_decoder decoder, const uint8_t *block, size_t size, hpack_field *field);

#endif
