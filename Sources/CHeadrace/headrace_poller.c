#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_poller.h"
#include "headrace_curl.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

int hr_poller_open(hr_poller *poller) {
    poller->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll < 0) {
        return errno;
    }
    poller->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = poller->event};
    if (poller->event < 0 || epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->event, &event) != 0) {
        int error = errno;
        hr_poller_close(poller);
        return error;
    }
    return 0;
}

void hr_poller_close(hr_poller *poller) {
    if (poller->event >= 0) {
        close(poller->event);
    }
    close(poller->epoll);
}

int hr_poller_watch(const hr_poller *poller, int socket, int events) {
    if (events == 0) {
        // Fails if the socket is closed already.
        epoll_ctl(poller->epoll, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    event.events = (events & HR_CSELECT_IN ? EPOLLIN : 0) | (events & HR_CSELECT_OUT ? EPOLLOUT : 0);
    // The set usually does not contain the socket: the kernel removes closed descriptors, and their numbers are reused.
    if (epoll_ctl(poller->epoll, EPOLL_CTL_ADD, socket, &event) == 0
        || (errno == EEXIST && epoll_ctl(poller->epoll, EPOLL_CTL_MOD, socket, &event) == 0)) {
        return 0;
    }
    return errno;
}

int hr_poller_wait(const hr_poller *poller, hr_ready *ready, int capacity, int milliseconds) {
    struct epoll_event events[256];
    if (capacity > 256) {
        capacity = 256;
    }
    int count = epoll_wait(poller->epoll, events, capacity, milliseconds);
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == poller->event) {
            uint64_t wakes;
            (void)!read(poller->event, &wakes, sizeof wakes);
            continue;
        }
        ready[found].socket = events[i].data.fd;
        ready[found].events = (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP) ? HR_CSELECT_IN : 0)
            | (events[i].events & EPOLLOUT ? HR_CSELECT_OUT : 0)
            | (events[i].events & EPOLLERR ? HR_CSELECT_ERR : 0);
        found++;
    }
    return found;
}

void hr_poller_wake(const hr_poller *poller) {
    uint64_t one = 1;
    (void)!write(poller->event, &one, sizeof one);
}

void hr_block_sigpipe(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void hr_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

#endif
