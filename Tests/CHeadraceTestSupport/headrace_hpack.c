#include "headrace_hpack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>

// nghttp2_nv.
struct pair {
    uint8_t *name;
    uint8_t *value;
    size_t name_size;
    size_t value_size;
    uint8_t flags;
};

static struct {
    int (*nghttp2_hd_inflate_new)(void **);
    void (*nghttp2_hd_inflate_del)(void *);
    ssize_t (*nghttp2_hd_inflate_hd2)(void *, struct pair *, int *, const uint8_t *, size_t, int);
    int (*nghttp2_hd_inflate_end_headers)(void *);
} nghttp2;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;

static void load(void) {
    void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
#define FIND(name) ((*(void **)&nghttp2.name = dlsym(library, #name)) != NULL)
    is_loaded = FIND(nghttp2_hd_inflate_new) && FIND(nghttp2_hd_inflate_del) && FIND(nghttp2_hd_inflate_hd2)
        && FIND(nghttp2_hd_inflate_end_headers);
#undef FIND
}

bool hpack_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

hpack_decoder hpack_new(void) {
    void *decoder = NULL;
    return nghttp2.nghttp2_hd_inflate_new(&decoder) == 0 ? decoder : NULL;
}

void hpack_free(hpack_decoder decoder) {
    nghttp2.nghttp2_hd_inflate_del(decoder);
}

int hpack_next(hpack_decoder decoder, const uint8_t *block, size_t size, hpack_field *field) {
    const int is_final = 1;    // NGHTTP2_HD_INFLATE_FINAL
    const int is_emitted = 2;  // NGHTTP2_HD_INFLATE_EMIT
    struct pair pair;
    int flags = 0;
    *field = (hpack_field){.name = NULL};
    ssize_t count = nghttp2.nghttp2_hd_inflate_hd2(decoder, &pair, &flags, block, size, 1);
    if (count < 0) {
        return -1;
    }
    if (flags & is_emitted) {
        *field = (hpack_field){pair.name, pair.name_size, pair.value, pair.value_size};
    }
    if (flags & is_final) {
        nghttp2.nghttp2_hd_inflate_end_headers(decoder);
    }
    return (int)count;
}
