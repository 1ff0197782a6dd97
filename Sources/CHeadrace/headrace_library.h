#ifndef HEADRACE_LIBRARY_H
#define HEADRACE_LIBRARY_H

#include <dlfcn.h>
#include <stdio.h>

// Why the last library or symbol was not found. The system's own text is freed by the next call, and with its thread.
static const char *copy_of_dlerror(void) {
    static char copy[512];
    const char *text = dlerror();
    snprintf(copy, sizeof copy, "%s", text != NULL ? text : "the system gives no reason");
    return copy;
}

// The first of two libraries that is there; where the first is not, `description` becomes the reason. Lazily bound, as by the
// linker: else all symbols of the thirty libraries that libcurl brings along are looked up, most of them for nothing.
static void *open_library(const char *name, const char *other, const char **description) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        *description = copy_of_dlerror();
        library = dlopen(other, RTLD_LAZY | RTLD_LOCAL);
    }
    return library;
}

// Whether a library has a function; where it does not, `description` becomes the reason.
static int find(void *library, void **function, const char *name, const char **description) {
    *function = dlsym(library, name);
    if (*function == NULL) {
        *description = copy_of_dlerror();
    }
    return *function != NULL;
}

#endif
