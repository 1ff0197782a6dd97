// The kernel's messages about links, addresses and routes (rtnetlink(7)): opens the socket, sends requests and reads
// bytes. It is in C because Swift cannot import the structures portably. Swift code parses the messages.

#ifndef HEADRACE_NETLINK_H
#define HEADRACE_NETLINK_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Opens a socket on which the kernel reports each change; returns the descriptor, or -1 with errno.
int hr_netlink_open(void);

/// Requests all objects of a kind (RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE); returns 0, or -1 with errno.
int hr_netlink_dump(int socket, uint16_t kind, uint32_t sequence);

/// Reads messages without waiting; returns the number of bytes, or 0 if there are no messages. On failure, returns -1
/// with errno: ENOBUFS if messages were lost.
ssize_t hr_netlink_receive(int socket, void *bytes, size_t count);

#endif
#endif
