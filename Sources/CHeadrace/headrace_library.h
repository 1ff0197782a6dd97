#ifndef HEADRACE_LIBRARY_H
#define HEADRACE_LIBRARY_H

#include <dlfcn.h>
#include <stdio.h>

// Returns a copy of the last dlerror() text, which the next dlerror() or the end of the thread would free. The next
// call of this function overwrites the copy.
static const char *copy_of_dlerror(void) {
    static char copy[512];
    const char *text = dlerror();
    snprintf(copy, sizeof copy, "%s", text != NULL ? text : "the system gives no reason");
    return copy;
}

// Opens the library `name`; if that fails, sets `description` to the reason and opens `other`. Returns NULL if neither
// can be opened. Binds lazily, because otherwise all symbols of the thirty libraries that libcurl depends on would be
// resolved at once.
static void *open_library(const char *name, const char *other, const char **description) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        *description = copy_of_dlerror();
        library = dlopen(other, RTLD_LAZY | RTLD_LOCAL);
    }
    return library;
}

// Looks up a function of a library; returns 0 and sets `description` to the reason if it is missing.
static int find(void *library, void **function, const char *name, const char **description) {
    *function = dlsym(library, name);
    if (*function == NULL) {
        *description = copy_of_dlerror();
    }
    return *function != NULL;
}

#endif
