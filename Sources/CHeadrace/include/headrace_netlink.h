// The kernel's messages about links, addresses and routes (rtnetlink(7)), whose structures Swift cannot
// import portably: opening the socket, asking, and reading bytes. What they mean is Swift's to say.

#ifndef HEADRACE_NETLINK_H
#define HEADRACE_NETLINK_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Opens a socket on which the kernel tells of each change: the descriptor, or -1 with errno.
int hr_netlink_open(void);

/// Asks for all that there is of a kind (RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE): 0, or -1 with errno.
int hr_netlink_dump(int socket, uint16_t kind, uint32_t sequence);

/// Reads messages without waiting: the number of their bytes, 0 where there are none, or -1 with errno; ENOBUFS
/// where some were lost.
ssize_t hr_netlink_receive(int socket, void *bytes, size_t count);

#endif
#endif
