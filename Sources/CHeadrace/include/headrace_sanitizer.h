// Reports locks that the thread sanitizer does not recognize by itself; does nothing in other builds.

#ifndef HEADRACE_SANITIZER_H
#define HEADRACE_SANITIZER_H

#include <stdbool.h>

#if __has_feature(thread_sanitizer)
#define HR_THREAD_SANITIZER 1
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#else
#define HR_THREAD_SANITIZER 0
#endif

/// Returns whether this build uses the thread sanitizer.
static inline bool hr_uses_thread_sanitizer(void) {
    return HR_THREAD_SANITIZER;
}

/// Reports that the calling thread has acquired the lock identified by this address.
static inline void hr_lock_acquired(void *address) {
#if HR_THREAD_SANITIZER
    __tsan_acquire(address);
#else
    (void)address;
#endif
}

/// Reports that the calling thread is about to release the lock identified by this address.
static inline void hr_lock_released(void *address) {
#if HR_THREAD_SANITIZER
    __tsan_release(address);
#else
    (void)address;
#endif
}

#endif
