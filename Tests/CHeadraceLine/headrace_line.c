// The line: moves IP packets between two TUN devices, one thread per direction.
//
// Each direction is a first-in first-out queue, a transmitter and a delay. A packet that arrives while the queue is full
// is dropped. The transmitter sends one packet after the other, at the rate of the line: a token bucket that is one packet
// deep. Lost packets take their time on the line, but do not arrive.

#define _GNU_SOURCE
#include "headrace_line.h"

#ifndef __linux__

int hline_configure_namespace(void) {
    return HLINE_IMPOSSIBLE;
}

int hline_hold_namespace(void) {
    return HLINE_IMPOSSIBLE;
}

int hline_run(const struct hline *line, int far, const char *near_address, const char *far_address) {
    (void)line, (void)far, (void)near_address, (void)far_address;
    return HLINE_IMPOSSIBLE;
}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    mtu = 1500,
    header_size = sizeof(struct virtio_net_hdr),
    /// Packets are read in batches, so that those that are due do not wait long.
    batch = 256,
};
static const int64_t second = 1000000000;

struct packet {
    int64_t due;
    int length;
    unsigned char bytes[header_size + mtu];
};

struct direction {
    const struct hline *line;
    int input, output;
    uint64_t random_state;
    /// A ring of the packets on the line.
    struct packet *packets;
    size_t capacity, first, count;
    /// When the transmitter will have sent all packets in the queue.
    int64_t idle_at;
    /// When the thread last looked for packets.
    int64_t read_at;
    /// How long the thread sleeps while packets arrive, to handle them in batches.
    int64_t quantum;
    atomic_llong carried, lost, dropped, latest;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

static struct timespec interval(int64_t nanoseconds) {
    return (struct timespec){.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

/// SplitMix64, as a fraction from 0 to 1.
static double random_fraction(struct direction *direction) {
    uint64_t word = direction->random_state += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    word ^= word >> 31;
    return (double)(word >> 11) * 0x1p-53;
}

/// Delivers the packets that are due.
static void deliver(struct direction *direction) {
    while (direction->count > 0) {
        struct packet *packet = &direction->packets[direction->first];
        int64_t lateness = now() - packet->due;
        if (lateness < 0) return;
        if (lateness > atomic_load_explicit(&direction->latest, memory_order_relaxed)) direction->latest = lateness;
        // A device that takes no packet loses it, as a network card does.
        if (write(direction->output, packet->bytes, (size_t)packet->length) == packet->length) direction->carried++;
        direction->first = (direction->first + 1) % direction->capacity;
        direction->count--;
    }
}

/// Reads a batch of packets, and returns their number.
static int receive(struct direction *direction) {
    const struct hline *line = direction->line;
    int received = 0;
    // Packets may have arrived since the last look: a thread that is late must not make the line slower.
    if (direction->idle_at < direction->read_at) direction->idle_at = direction->read_at;
    int64_t time = direction->read_at = now();
    while (received < batch && direction->count < direction->capacity) {
        size_t last = (direction->first + direction->count) % direction->capacity;
        struct packet *packet = &direction->packets[last];
        ssize_t length = read(direction->input, packet->bytes, sizeof packet->bytes);
        if (length <= header_size) break;
        received++;
        int64_t bits = 8 * (length - header_size);
        int64_t wait = direction->idle_at > time ? direction->idle_at - time : 0;
        if ((double)wait * (double)line->bits_per_second / 8e9 + (double)bits / 8 > (double)line->queue_bytes) {
            direction->dropped++;
            continue;
        }
        direction->idle_at += bits * second / line->bits_per_second;
        if (random_fraction(direction) < line->loss) {
            direction->lost++;
            continue;
        }
        packet->due = direction->idle_at + line->delay_nanoseconds;
        packet->length = (int)length;
        direction->count++;
    }
    return received;
}

static void *carry(void *argument) {
    struct direction *direction = argument;
    while (true) {
        deliver(direction);
        bool is_busy = receive(direction) > 0 || direction->count == direction->capacity;
        int64_t wait = direction->count > 0 ? direction->packets[direction->first].due - now() : 0;
        if (is_busy) {
            struct timespec time = interval(direction->quantum);
            clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
        } else {
            struct pollfd input = {.fd = direction->input, .events = POLLIN};
            struct timespec time = interval(wait > 0 ? wait : 0);
            ppoll(&input, 1, direction->count > 0 ? &time : NULL, NULL);
            direction->read_at = now();
        }
    }
    return NULL;
}

static int report(const char *operation) {
    bool is_denied = errno == EPERM || errno == EACCES || errno == ENOENT || errno == ENODEV || errno == ENXIO;
    fprintf(stderr, "%s: %s\n", operation, strerror(errno));
    return is_denied ? HLINE_IMPOSSIBLE : 1;
}

/// Opens a TUN device in the current namespace; returns -1 if that fails.
///
/// Packets carry a virtio header, so that the kernel need not compute checksums.
static int open_device(const char *name, const char *address) {
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    bool is_up = device >= 0 && control >= 0 && ioctl(device, TUNSETIFF, &request) == 0
        && ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM) == 0;
    // The kernel must not drop packets before they reach the line's own queue.
    request.ifr_qlen = 20000;
    is_up = is_up && ioctl(control, SIOCSIFTXQLEN, &request) == 0;
    request.ifr_mtu = mtu;
    is_up = is_up && ioctl(control, SIOCSIFMTU, &request) == 0;
    struct sockaddr_in *internet = (struct sockaddr_in *)&request.ifr_addr;
    memset(internet, 0, sizeof request.ifr_addr);
    internet->sin_family = AF_INET;
    is_up = is_up && inet_pton(AF_INET, address, &internet->sin_addr) == 1
        && ioctl(control, SIOCSIFADDR, &request) == 0;
    internet->sin_addr.s_addr = htonl(0xffffff00);
    is_up = is_up && ioctl(control, SIOCSIFNETMASK, &request) == 0;
    is_up = is_up && ioctl(control, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags |= IFF_UP;
    is_up = is_up && ioctl(control, SIOCSIFFLAGS, &request) == 0;
    int failure = errno;
    if (control >= 0) close(control);
    if (!is_up && device >= 0) close(device);
    errno = failure;
    return is_up ? device : -1;
}

static bool prepare(struct direction *direction, const struct hline *line, int input, int output, uint64_t seed) {
    int64_t limit = line->queue_bytes + line->bits_per_second / 8 * line->delay_nanoseconds / second;
    direction->line = line;
    direction->input = input;
    direction->output = output;
    direction->random_state = seed;
    // Room for a line that is full of small packets, within reason.
    direction->capacity = 8192 + (size_t)(2 * limit / mtu);
    direction->quantum = line->delay_nanoseconds / 20;
    if (direction->quantum > 200000) direction->quantum = 200000;
    if (direction->quantum < 20000) direction->quantum = 20000;
    direction->packets = calloc(direction->capacity, sizeof *direction->packets);
    return direction->packets != NULL;
}

static void summarize(const char *name, struct direction *direction) {
    printf("%s carried=%lld lost=%lld dropped=%lld latest=%lld\n", name, (long long)direction->carried,
        (long long)direction->lost, (long long)direction->dropped, (long long)direction->latest);
}

static bool set(const char *path, const char *value) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool is_set = file >= 0 && write(file, value, strlen(value)) == (ssize_t)strlen(value);
    int failure = errno;
    if (file >= 0) close(file);
    errno = failure;
    return is_set;
}

int hline_configure_namespace(void) {
    // A download must not profit from what the kernel has learned in the one before.
    if (!set("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")) return report("cannot configure TCP");
    if (!set("/proc/sys/net/ipv4/tcp_congestion_control", "cubic")) return report("cannot select cubic");
    return 0;
}

int hline_hold_namespace(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) != 0) return report("cannot make a network namespace");
    int status = hline_configure_namespace();
    if (status != 0) return status;
    printf("ready\n");
    fflush(stdout);
    while (true) pause();
}

int hline_run(const struct hline *line, int far, const char *near_address, const char *far_address) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The line must be punctual even if programs compete for the processors.
    prctl(PR_SET_TIMERSLACK, 1);
    struct sched_param priority = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) setpriority(PRIO_PROCESS, 0, -20);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, NULL);

    int near_device = open_device("hr-near", near_address);
    if (near_device < 0) return report("cannot make a TUN device");
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", far);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0) return report("cannot enter the other namespace");
    close(namespace);
    int far_device = open_device("hr-far", far_address);
    if (far_device < 0) return report("cannot make a TUN device");

    static struct direction down, up;
    pthread_t thread;
    if (!prepare(&down, line, far_device, near_device, line->seed)
        || !prepare(&up, line, near_device, far_device, ~line->seed)
        || pthread_create(&thread, NULL, carry, &down) != 0 || pthread_create(&thread, NULL, carry, &up) != 0)
        return report("cannot start the line");
    printf("ready\n");
    fflush(stdout);
    int signal;
    sigwait(&end, &signal);
    summarize("down", &down);
    summarize("up", &up);
    fflush(stdout);
    return 0;
}

#endif
