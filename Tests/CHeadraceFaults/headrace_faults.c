// A library to preload that makes one file call of a process fail, or kills the process in place of the call.
//
// It counts the calls of all threads on paths in one folder and on files opened there. Environment variables:
//   HEADRACE_FAULTS_FOLDER  the folder, as an absolute path
//   HEADRACE_FAULTS_AT      the number of the failing call, counted from 1; 0 only counts
//   HEADRACE_FAULTS_ERRNO   the errno of the failing call; 0 sends SIGKILL
//   HEADRACE_FAULTS_CALL    counts only calls of this name; all if unset
//   HEADRACE_FAULTS_LOG     the file that receives the name of the failed call, or the number of calls if none failed

#define _GNU_SOURCE
#include <stdlib.h>

#if defined(__linux__) && defined(__GLIBC__)
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { descriptor_count = 4096 };

static const char *folder;
static const char *only;
static const char *log_path;
static long fault_number;
static int fault_errno;
static atomic_long call_count;
static atomic_bool is_injected;
static atomic_bool is_open_there[descriptor_count];

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("HEADRACE_FAULTS_AT");
    const char *error = getenv("HEADRACE_FAULTS_ERRNO");
    fault_number = number != NULL ? atol(number) : 0;
    fault_errno = error != NULL ? atoi(error) : 0;
    only = getenv("HEADRACE_FAULTS_CALL");
    log_path = getenv("HEADRACE_FAULTS_LOG");
    folder = getenv("HEADRACE_FAULTS_FOLDER");
}

// Uses raw system calls, which are not counted.
static void report(const char *text) {
    if (log_path == NULL) {
        return;
    }
    long file = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0) {
        syscall(SYS_write, file, text, strlen(text));
        syscall(SYS_close, file);
    }
}

__attribute__((destructor)) static void end(void) {
    char text[32];
    snprintf(text, sizeof text, "%ld", atomic_load(&call_count));
    if (folder != NULL && !atomic_load(&is_injected)) {
        report(text);
    }
}

static bool is_there(const char *path) {
    return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static bool is_file_there(int file) {
    return file >= 0 && file < descriptor_count && atomic_load(&is_open_there[file]);
}

static bool fails(const char *name) {
    if (only != NULL && strcmp(only, name) != 0) {
        return false;
    }
    if (atomic_fetch_add(&call_count, 1) + 1 != fault_number) {
        return false;
    }
    atomic_store(&is_injected, true);
    report(name);
    if (fault_errno == 0) {
        kill(getpid(), SIGKILL);
        while (true) {
            pause();
        }
    }
    errno = fault_errno;
    return true;
}

#define CALL(result, name, parameters, arguments, is_counted)         \
    result name parameters {                                          \
        static result(*next) parameters;                              \
        if (next == NULL) {                                           \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                \
        }                                                             \
        return (is_counted) && fails(#name) ? -1 : next arguments;    \
    }

#define OPEN_CALL(name)                                               \
    int name(const char *path, int flags, ...) {                      \
        static int (*next)(const char *, int, ...);                   \
        if (next == NULL) {                                           \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                \
        }                                                             \
        va_list list;                                                 \
        va_start(list, flags);                                        \
        mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                 \
        if (is_there(path) && fails("open")) {                        \
            return -1;                                                \
        }                                                             \
        int file = next(path, flags, mode);                           \
        if (file >= 0 && file < descriptor_count) {                   \
            atomic_store(&is_open_there[file], is_there(path));       \
        }                                                             \
        return file;                                                  \
    }

OPEN_CALL(open)
OPEN_CALL(open64)

int close(int file) {
    static int (*next)(int);
    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "close");
    }
    bool is_failing = is_file_there(file) && fails("close");
    int error = errno;
    if (file >= 0 && file < descriptor_count) {
        atomic_store(&is_open_there[file], false);
    }
    // The descriptor is closed whatever close() returns.
    int result = next(file);
    if (!is_failing) {
        return result;
    }
    errno = error;
    return -1;
}

CALL(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count), is_file_there(file))
CALL(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at), is_file_there(file))
CALL(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at), is_file_there(file))
CALL(ssize_t, read, (int file, void *bytes, size_t count), (file, bytes, count), is_file_there(file))
CALL(ssize_t, pread, (int file, void *bytes, size_t count, off_t at), (file, bytes, count, at), is_file_there(file))
CALL(ssize_t, pread64, (int file, void *bytes, size_t count, off64_t at), (file, bytes, count, at), is_file_there(file))
CALL(int, ftruncate, (int file, off_t size), (file, size), is_file_there(file))
CALL(int, ftruncate64, (int file, off64_t size), (file, size), is_file_there(file))
CALL(int, fallocate, (int file, int mode, off_t at, off_t count), (file, mode, at, count), is_file_there(file))
CALL(off_t, lseek, (int file, off_t at, int whence), (file, at, whence), is_file_there(file))
CALL(off64_t, lseek64, (int file, off64_t at, int whence), (file, at, whence), is_file_there(file))
CALL(int, fsync, (int file), (file), is_file_there(file))
CALL(int, fdatasync, (int file), (file), is_file_there(file))
CALL(int, flock, (int file, int operation), (file, operation), is_file_there(file))
CALL(int, fchmod, (int file, mode_t mode), (file, mode), is_file_there(file))
CALL(int, fchown, (int file, uid_t owner, gid_t group), (file, owner, group), is_file_there(file))
CALL(int, futimens, (int file, const struct timespec times[2]), (file, times), is_file_there(file))
CALL(int, fstat, (int file, struct stat *status), (file, status), is_file_there(file))
CALL(
    int, fsetxattr, (int file, const char *name, const void *value, size_t size, int flags), (file, name, value, size, flags),
    is_file_there(file)
)
CALL(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size), (path, name, value, size), is_there(path))
CALL(int, stat, (const char *path, struct stat *status), (path, status), is_there(path))
CALL(int, lstat, (const char *path, struct stat *status), (path, status), is_there(path))
CALL(
    int, fstatat, (int directory, const char *path, struct stat *status, int flags), (directory, path, status, flags),
    is_there(path)
)
CALL(int, access, (const char *path, int mode), (path, mode), is_there(path))
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), is_there(path))
CALL(int, rename, (const char *path, const char *new_path), (path, new_path), is_there(new_path))
CALL(
    int, renameat2, (int directory, const char *path, int new_directory, const char *new_path, unsigned flags),
    (directory, path, new_directory, new_path, flags), is_there(new_path)
)
CALL(int, link, (const char *path, const char *new_path), (path, new_path), is_there(new_path))
CALL(int, unlink, (const char *path), (path), is_there(path))
#endif
