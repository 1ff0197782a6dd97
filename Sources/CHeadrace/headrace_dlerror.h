#ifndef HEADRACE_DLERROR_H
#define HEADRACE_DLERROR_H

#include <dlfcn.h>
#include <stdio.h>

// Why the last library or symbol was not found, in memory of the caller's: the system's is freed by the next call, and with
// its thread.
static inline const char *hr_copy_of_dlerror(char *copy, size_t length) {
    const char *text = dlerror();
    snprintf(copy, length, "%s", text != NULL ? text : "the system gives no reason");
    return copy;
}

#endif
