// A poller of sockets that another thread can wake: epoll and an eventfd, whose structures Swift
// cannot import portably.

#ifndef HEADRACE_POLLER_H
#define HEADRACE_POLLER_H

#if defined(__linux__)

#include <stdint.h>

typedef struct hr_poller {
    int epoll;
    int event;
} hr_poller;

typedef struct hr_ready {
    int socket;
    /// HR_CSELECT bits.
    int events;
} hr_ready;

/// Returns 0, or the errno of what failed.
int hr_poller_open(hr_poller *poller);
void hr_poller_close(hr_poller *poller);
/// Watches a socket for HR_CSELECT_IN and HR_CSELECT_OUT, or no longer where `events` is 0.
void hr_poller_watch(const hr_poller *poller, int socket, int events);
/// Waits for at most `milliseconds` (-1: without end) and fills `ready`; wake-ups are swallowed.
int hr_poller_wait(const hr_poller *poller, hr_ready *ready, int capacity, int milliseconds);
/// Ends the wait from any thread.
void hr_poller_wake(const hr_poller *poller);

/// Blocks SIGPIPE in the calling thread: a peer's closed socket is an error, not the process's end.
void hr_block_sigpipe(void);

/// Names the calling thread; the kernel keeps 15 bytes.
void hr_name_thread(const char *name);

#endif
#endif
