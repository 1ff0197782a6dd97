// File calls that Swift's overlay of the C library leaves out.

#ifndef HEADRACE_FILES_H
#define HEADRACE_FILES_H

#if defined(__linux__)

/// Renames a file to a name that must be free: 0, or -1 with errno.
int hr_rename_exclusive(const char *path, const char *new_path);

#endif
#endif
