// File calls that Swift's overlay of the C library leaves out.

#ifndef HEADRACE_FILES_H
#define HEADRACE_FILES_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Renames a file to a name that must be free: 0, or -1 with errno.
int hr_rename_exclusive(const char *path, const char *new_path);

/// Sets the time of the last change of an open file's bytes, in seconds since 1970: 0, or -1 with errno.
int hr_set_modified(int file, int64_t seconds);

/// Sets an extended attribute of an open file: 0, or -1 with errno.
int hr_set_attribute(int file, const char *name, const void *bytes, size_t count);

/// Reads an extended attribute of what has a path, links not followed: the number of its bytes, or -1 with errno.
ssize_t hr_attribute(const char *path, const char *name, void *bytes, size_t count);

/// Finds the first byte of an open file, at or after an offset, that is in no hole: its offset, or -1 with errno.
int64_t hr_seek_data(int file, int64_t offset);

/// Finds the first hole of an open file, at or after an offset, of which its end is one: its offset, or -1 with errno.
int64_t hr_seek_hole(int file, int64_t offset);

/// Opens a descriptor that can be read, without waiting, once a file was moved into a folder, or the folder was removed or
/// moved (inotify(7)): -1 with errno where the kernel does not tell.
int hr_watch_folder(const char *path);

#endif
#endif
