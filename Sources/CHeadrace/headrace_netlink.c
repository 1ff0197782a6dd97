#if defined(__linux__)

#define _GNU_SOURCE
#include "headrace_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int hr_netlink_open(void) {
    int socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (socket_ < 0) {
        return -1;
    }
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(socket_, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(socket_);
        errno = error;
        return -1;
    }
    return socket_;
}

int hr_netlink_dump(int socket, uint16_t kind, uint32_t sequence) {
    struct {
        struct nlmsghdr header;
        struct rtgenmsg body;
    } request = {
        .header = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
            .nlmsg_type = kind,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
            .nlmsg_seq = sequence,
        },
        .body = {.rtgen_family = AF_UNSPEC},
    };
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(socket, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel);
    return sent < 0 ? -1 : 0;
}

ssize_t hr_netlink_receive(int socket, void *bytes, size_t count) {
    while (1) {
        struct sockaddr_nl sender = {0};
        socklen_t length = sizeof sender;
        ssize_t received = recvfrom(socket, bytes, count, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&sender, &length);
        if (received < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno == EAGAIN ? 0 : -1;
        }
        // Any process may send to the socket; only messages from the kernel count.
        if (received == 0 || sender.nl_pid != 0) {
            continue;
        }
        if ((size_t)received > count) {
            errno = ENOBUFS;
            return -1;
        }
        return received;
    }
}

#endif
