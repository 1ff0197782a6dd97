// Measures a line with datagrams, independently of the line's own figures.

#define _GNU_SOURCE
#include "headrace_line.h"

#ifndef __linux__

int hline_serve_probes(const char *address) {
    (void)address;
    return HLINE_IMPOSSIBLE;
}

struct hline_measurement hline_probe(const struct hline *line, const char *address) {
    (void)line, (void)address;
    return (struct hline_measurement){.bits_per_second = -1, .round_trip_seconds = -1, .loss = -1};
}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    port = 7,
    /// The headers of IP and UDP, which take part of the line's rate.
    overhead = 28,
    large = 1500 - overhead,
    small = 200 - overhead,
    ping_count = 11,
    window = 200,
    mark_count = 4096,
};

/// A request, which the server returns at the start of each datagram of its response.
struct probe {
    uint32_t round;
    uint32_t count;
    uint32_t size;
    uint32_t number;
    int64_t bits_per_second;
};

/// The clock with which the kernel marks datagrams.
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_for(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static int make_socket(const char *address, struct sockaddr_in *name) {
    *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &name->sin_addr);
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int size = 32 << 20;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    int one = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
    return descriptor;
}

int hline_serve_probes(const char *address) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1);
    struct sched_param priority = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) setpriority(PRIO_PROCESS, 0, -20);
    struct sockaddr_in name;
    int descriptor = make_socket(address, &name);
    if (bind(descriptor, (struct sockaddr *)&name, sizeof name) != 0) {
        fprintf(stderr, "cannot listen on %s: %s\n", address, strerror(errno));
        return 1;
    }
    unsigned char bytes[large] = {0};
    while (true) {
        struct probe probe;
        struct sockaddr_in sender;
        socklen_t length = sizeof sender;
        ssize_t got = recvfrom(descriptor, &probe, sizeof probe, 0, (struct sockaddr *)&sender, &length);
        if (got != sizeof probe || probe.size < sizeof probe || probe.size > sizeof bytes) continue;
        double start = now();
        double step = 8.0 * (probe.size + overhead) / (double)probe.bits_per_second;
        for (probe.number = 0; probe.number < probe.count; probe.number++) {
            double due = start + step * probe.number;
            // Sleeping for less takes longer than it should.
            if (due > now() + 200e-6) sleep_for(due - now());
            memcpy(bytes, &probe, sizeof probe);
            sendto(descriptor, bytes, probe.size, 0, (struct sockaddr *)&sender, length);
        }
    }
}

/// A client's socket and the number of its last request.
struct prober {
    int descriptor;
    uint32_t round;
    struct sockaddr_in server;
    double patience;
};

struct response {
    uint32_t count;
    /// When every 200th datagram arrived.
    double marks[mark_count];
};

/// Receives a datagram, with the time at which the kernel received it: this process may be late.
static ssize_t receive(int descriptor, unsigned char *bytes, double *arrival) {
    _Alignas(struct cmsghdr) unsigned char control[128];
    struct iovec buffer = {.iov_base = bytes, .iov_len = large};
    struct msghdr message = {
        .msg_iov = &buffer, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(descriptor, &message, 0);
    *arrival = now();
    struct cmsghdr *header = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_TIMESTAMPNS) {
        struct timespec time;
        memcpy(&time, CMSG_DATA(header), sizeof time);
        *arrival = (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
    }
    return length;
}

/// Sends a request, and receives datagrams until all have arrived or none has for some time.
static struct response request(struct prober *prober, struct probe probe) {
    probe.round = ++prober->round;
    struct response response = {0};
    sendto(prober->descriptor, &probe, sizeof probe, 0, (struct sockaddr *)&prober->server, sizeof prober->server);
    struct timeval patience = {.tv_sec = (time_t)prober->patience};
    patience.tv_usec = (suseconds_t)((prober->patience - (double)patience.tv_sec) * 1e6);
    setsockopt(prober->descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (response.count < probe.count) {
        unsigned char bytes[large];
        double arrival;
        struct probe received;
        ssize_t length = receive(prober->descriptor, bytes, &arrival);
        if (length < 0) break;
        if (length < (ssize_t)sizeof received) continue;
        memcpy(&received, bytes, sizeof received);
        if (received.round != probe.round) continue;
        uint32_t mark = response.count++ / window;
        if (mark < mark_count && response.marks[mark] == 0) response.marks[mark] = arrival;
    }
    return response;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

struct hline_measurement hline_probe(const struct hline *line, const char *address) {
    struct hline_measurement result = {.bits_per_second = -1, .round_trip_seconds = -1, .loss = -1};
    struct prober prober = {.patience = 0.5 + 4e-9 * (double)line->delay_nanoseconds};
    prober.descriptor = make_socket(address, &prober.server);
    double rate = (double)line->bits_per_second;

    // The server may not have started yet.
    for (int turn = 0; turn < 20; turn++) {
        struct probe ping = {.count = 1, .size = sizeof ping, .bits_per_second = line->bits_per_second};
        if (request(&prober, ping).count == 1) break;
        sleep_for(0.1);
    }
    double times[ping_count];
    size_t count = 0;
    for (int turn = 0; turn < ping_count; turn++) {
        double start = now();
        struct probe ping = {.count = 1, .size = sizeof ping, .bits_per_second = line->bits_per_second};
        struct response response = request(&prober, ping);
        if (response.count == 1) times[count++] = response.marks[0] - start;
    }
    qsort(times, count, sizeof *times, compare);
    if (count > 0) result.round_trip_seconds = times[count / 2];

    // More than the line can carry, for at least a second. The median ignores moments in which the server was late.
    struct probe flood = {.size = large, .bits_per_second = line->bits_per_second / 10 * 11};
    flood.count = (uint32_t)(rate * 1.1 / 8 / (large + overhead)) + 3 * window;
    struct response flooded = request(&prober, flood);
    double durations[mark_count];
    count = 0;
    for (size_t mark = 1; mark < mark_count && flooded.marks[mark] > 0; mark++)
        durations[count++] = flooded.marks[mark] - flooded.marks[mark - 1];
    qsort(durations, count, sizeof *durations, compare);
    if (count > 0 && durations[count / 2] > 0)
        result.bits_per_second = 8.0 * (large + overhead) * window / durations[count / 2];

    // Half of what the line can carry, so that the queue drops nothing, for at most three seconds.
    double pace = rate / 2 < 64e6 ? rate / 2 : 64e6;
    struct probe counted = {.size = small, .bits_per_second = (int64_t)pace};
    counted.count = (uint32_t)(3 * pace / 8 / (small + overhead));
    result.packets = counted.count;
    if (counted.count > 0) result.loss = 1 - (double)request(&prober, counted).count / counted.count;
    close(prober.descriptor);
    return result;
}

#endif
