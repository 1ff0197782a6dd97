// File calls that Swift's C library overlay does not expose.

#ifndef HEADRACE_FILES_H
#define HEADRACE_FILES_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Renames a file without replacing an existing one; returns 0, or -1 with errno.
int hr_rename_exclusive(const char *path, const char *new_path);

/// Creates a file without a name in a directory, with the mode 0666 less the umask; returns its descriptor, or -1 with
/// errno.
int hr_create_unnamed(const char *directory);

/// Gives an open file without a name the name `path`, unless that exists; returns 0, or -1 with errno.
int hr_link(int file, const char *path);

/// Sets an open file's modification time in seconds since 1970; returns 0, or -1 with errno.
int hr_set_modified(int file, int64_t seconds);

/// Sets an extended attribute of an open file; returns 0, or -1 with errno.
int hr_set_attribute(int file, const char *name, const void *bytes, size_t count);

/// Reads an extended attribute without following a symbolic link; returns its size in bytes, or -1 with errno.
ssize_t hr_attribute(const char *path, const char *name, void *bytes, size_t count);

/// Returns the offset of the first byte at or after `offset` that is not in a hole of an open file; returns -1 with
/// errno: ENXIO if there is none.
int64_t hr_seek_data(int file, int64_t offset);

/// Returns the offset of the first hole at or after `offset` in an open file, or -1 with errno. The end of the file
/// counts as a hole.
int64_t hr_seek_hole(int file, int64_t offset);

/// Opens a non-blocking descriptor that becomes readable when a file is moved into the folder, or the folder is removed
/// or moved (inotify(7)); returns -1 with errno if the folder cannot be watched.
int hr_watch_folder(const char *path);

#endif
#endif
