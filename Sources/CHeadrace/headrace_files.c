#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

int hr_rename_exclusive(const char *path, const char *new_path) {
    return renameat2(AT_FDCWD, path, AT_FDCWD, new_path, RENAME_NOREPLACE);
}

int hr_create_unnamed(const char *directory) {
    return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

int hr_link(int file, const char *path) {
    // Needs no look-ups in /proc, but a privilege before Linux 6.10.
    int result = linkat(file, "", AT_FDCWD, path, AT_EMPTY_PATH);
    if (result == 0 || errno == EEXIST) return result;
    char open_file[32];
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", file);
    return linkat(AT_FDCWD, open_file, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int hr_set_modified(int file, int64_t seconds) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds}};
    return futimens(file, times);
}

int hr_set_attribute(int file, const char *name, const void *bytes, size_t count) {
    return fsetxattr(file, name, bytes, count, 0);
}

ssize_t hr_attribute(const char *path, const char *name, void *bytes, size_t count) {
    return lgetxattr(path, name, bytes, count);
}

int64_t hr_seek_data(int file, int64_t offset) {
    return lseek(file, offset, SEEK_DATA);
}

int64_t hr_seek_hole(int file, int64_t offset) {
    return lseek(file, offset, SEEK_HOLE);
}

int hr_watch_folder(const char *path) {
    int file = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (file < 0) {
        return -1;
    }
    uint32_t events = IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;
    if (inotify_add_watch(file, path, events) < 0) {
        int error = errno;
        close(file);
        errno = error;
        return -1;
    }
    return file;
}

#endif
