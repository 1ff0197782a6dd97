#ifndef HEADRACE_LIBRARY_H
#define HEADRACE_LIBRARY_H

#include <dlfcn.h>
#include <stdio.h>

// Copies the reason for the last failure: the next call or the end of the thread frees the system's own text.
static const char *copy_of_dlerror(void) {
    static char copy[512];
    const char *text = dlerror();
    snprintf(copy, sizeof copy, "%s", text != NULL ? text : "the system gives no reason");
    return copy;
}

// Opens the first of two libraries that is installed; if `name` is missing, `description` becomes the reason. Binds lazily,
// as the linker does, or all symbols of the thirty libraries that libcurl depends on would be resolved.
static void *open_library(const char *name, const char *other, const char **description) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        *description = copy_of_dlerror();
        library = dlopen(other, RTLD_LAZY | RTLD_LOCAL);
    }
    return library;
}

// Looks up a function of a library; if it is missing, `description` becomes the reason.
static int find(void *library, void **function, const char *name, const char **description) {
    *function = dlsym(library, name);
    if (*function == NULL) {
        *description = copy_of_dlerror();
    }
    return *function != NULL;
}

#endif
