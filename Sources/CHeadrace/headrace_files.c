#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_files.h"

#include <fcntl.h>
#include <stdio.h>

int hr_rename_exclusive(const char *path, const char *new_path) {
    return renameat2(AT_FDCWD, path, AT_FDCWD, new_path, RENAME_NOREPLACE);
}

#endif
