// A socket poller that another thread can wake: epoll and an eventfd, whose structures Swift cannot
// import portably.

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
    /// The HR_CSELECT bits of the events that occurred.
    int events;
} hr_ready;

/// Opens the poller's descriptors; returns 0, or the errno of the call that failed.
int hr_poller_open(hr_poller *poller);
void hr_poller_close(hr_poller *poller);
/// Watches a socket for HR_CSELECT_IN and HR_CSELECT_OUT, or stops watching it if `events` is 0.
/// Returns 0, or the errno if the socket cannot be watched, for example for lack of memory.
int hr_poller_watch(const hr_poller *poller, int socket, int events);
/// Waits at most `milliseconds` (-1: indefinitely), and returns the number of ready sockets that it wrote to `ready`,
/// at most `capacity`; 0 after a timeout, a wake or a signal.
int hr_poller_wait(const hr_poller *poller, hr_ready *ready, int capacity, int milliseconds);
/// Makes the current or the next call of hr_poller_wait return; callable from any thread.
void hr_poller_wake(const hr_poller *poller);

/// Blocks SIGPIPE in the calling thread, so that writing to a closed connection fails instead of ending the process.
void hr_block_sigpipe(void);

/// Names the calling thread; the kernel uses the first 15 bytes.
void hr_name_thread(const char *name);

#endif
#endif
