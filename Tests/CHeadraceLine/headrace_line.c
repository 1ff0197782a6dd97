// The line: moves IP packets between two TUN devices, one thread per direction.
//
// Each direction is a first-in first-out queue, a transmitter and a delay. A packet that arrives while the queue is full
// is dropped. The transmitter sends one packet after the other, at the rate of the line: a token bucket that is one packet
// deep. Lost packets take their time on the line, but do not arrive.
//
// As with a network card that offloads segmentation, the kernel passes several segments of a TCP connection as one large
// packet. The line treats each segment as a packet of its own, and delivers those that follow each other closely together.

#define _GNU_SOURCE
#include "headrace_line.h"

#ifndef __linux__

int hline_configure_namespace(void) {
    return HLINE_IMPOSSIBLE;
}

int hline_enter_namespace(int process) {
    (void)process;
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
#include <netinet/ip.h>
#include <netinet/tcp.h>
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
    /// Of the header before each packet: with a number that is not used, but aligns what follows.
    header_size = sizeof(struct virtio_net_hdr_mrg_rxbuf),
    largest = header_size + 65536,
    /// Packets are read in batches, so that those that are due do not wait long.
    batch = 32,
};
static const int64_t second = 1000000000;

/// A packet in the ring, which its bytes follow.
struct packet {
    int64_t due;
    /// The number of bytes; 0 if the next packet is at the start of the ring.
    int32_t length;
    int32_t segments;
};

struct direction {
    const struct hline *line;
    int input, output;
    uint64_t random_state;
    /// A ring of the packets on the line, with the bytes in use from `first` on.
    unsigned char *ring;
    size_t capacity, first, used;
    /// When the transmitter will have sent all packets in the queue.
    int64_t idle_at;
    /// When the thread last looked for packets.
    int64_t read_at;
    /// How long the thread sleeps while packets arrive, to handle them in batches.
    int64_t quantum;
    /// How many segments may be delivered together.
    int burst;
    _Alignas(16) unsigned char bytes[largest];
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

static size_t stride(int32_t length) {
    return (sizeof(struct packet) + (size_t)length + 15) / 16 * 16;
}

/// Returns the first packet on the line; NULL if there is none.
static struct packet *first_packet(struct direction *direction) {
    if (direction->used == 0) return NULL;
    struct packet *packet = (struct packet *)(direction->ring + direction->first);
    if (packet->length > 0) return packet;
    direction->used -= direction->capacity - direction->first;
    direction->first = 0;
    return first_packet(direction);
}

/// Reserves room for a packet after the last one; returns NULL if there is none.
static struct packet *append(struct direction *direction, int32_t length) {
    size_t size = stride(length);
    size_t last = (direction->first + direction->used) % direction->capacity;
    size_t rest = direction->capacity - last;
    size_t skipped = size > rest ? rest : 0;
    if (direction->used + skipped + size > direction->capacity) return NULL;
    if (skipped > 0) {
        *(struct packet *)(direction->ring + last) = (struct packet){0};
        direction->used += skipped;
        last = 0;
    }
    direction->used += size;
    struct packet *packet = (struct packet *)(direction->ring + last);
    packet->length = length;
    return packet;
}

/// Delivers the packets that are due.
static void deliver(struct direction *direction) {
    struct packet *packet;
    while ((packet = first_packet(direction)) != NULL) {
        int64_t lateness = now() - packet->due;
        if (lateness < 0) return;
        if (lateness > atomic_load_explicit(&direction->latest, memory_order_relaxed)) direction->latest = lateness;
        // A device that takes no packet loses it, as a network card does.
        if (write(direction->output, packet + 1, (size_t)packet->length) == packet->length)
            direction->carried += packet->segments;
        size_t size = stride(packet->length);
        direction->first = (direction->first + size) % direction->capacity;
        direction->used -= size;
    }
}

/// Passes a packet of that many bytes through the queue and the transmitter; returns whether it will arrive.
static bool transmit(struct direction *direction, int64_t time, int bytes) {
    const struct hline *line = direction->line;
    int64_t wait = direction->idle_at > time ? direction->idle_at - time : 0;
    if ((double)wait * (double)line->bits_per_second / 8e9 + bytes > (double)line->queue_bytes) {
        direction->dropped++;
        return false;
    }
    direction->idle_at += 8 * bytes * second / line->bits_per_second;
    if (random_fraction(direction) < line->loss) {
        direction->lost++;
        return false;
    }
    return true;
}

/// Puts a packet on the line: headers from the start of the buffer, and the given part of its payload.
static struct packet *put(struct direction *direction, int headers, int offset, int size, int segments) {
    struct packet *packet = append(direction, header_size + headers + size);
    if (packet == NULL) {
        direction->dropped += segments;
        return NULL;
    }
    unsigned char *bytes = (unsigned char *)(packet + 1);
    memcpy(bytes, direction->bytes, (size_t)(header_size + headers));
    memcpy(bytes + header_size + headers, direction->bytes + header_size + headers + offset, (size_t)size);
    packet->due = direction->idle_at + direction->line->delay_nanoseconds;
    packet->segments = segments;
    return packet;
}

/// The sum of 16-bit words that checksums of IP and TCP are made of.
static uint32_t folded(const void *words, size_t size, uint32_t sum) {
    const unsigned char *bytes = words;
    for (size_t index = 0; index + 1 < size; index += 2) sum += (uint32_t)bytes[index] << 8 | bytes[index + 1];
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/// Corrects the headers of a packet that has only some of the segments of a large one.
static void correct(struct packet *packet, int offset, int size, int segment, bool is_last) {
    struct virtio_net_hdr *offload = (struct virtio_net_hdr *)(packet + 1);
    struct iphdr *internet = (struct iphdr *)((unsigned char *)offload + header_size);
    struct tcphdr *transport = (struct tcphdr *)((unsigned char *)internet + 4 * internet->ihl);
    int headers = 4 * internet->ihl + 4 * transport->doff;
    internet->id = htons((uint16_t)(ntohs(internet->id) + offset / segment));
    internet->tot_len = htons((uint16_t)(headers + size));
    internet->check = 0;
    internet->check = htons((uint16_t)~folded(internet, 4 * internet->ihl, 0));
    transport->seq = htonl(ntohl(transport->seq) + (uint32_t)offset);
    if (!is_last) transport->th_flags &= (uint8_t) ~(TH_FIN | TH_PUSH);
    // The kernel adds the sum of the other bytes where it needs the checksum.
    uint32_t sum = IPPROTO_TCP + (uint32_t)(4 * transport->doff + size);
    transport->check = htons((uint16_t)folded(&internet->saddr, 8, sum));
    offload->hdr_len = (uint16_t)headers;
    if (size <= segment) {
        offload->gso_type = VIRTIO_NET_HDR_GSO_NONE;
        offload->gso_size = 0;
    }
}

/// Puts the segments of a large TCP packet on the line, in bursts.
static void put_segments(struct direction *direction, int64_t time, int length) {
    const struct virtio_net_hdr *offload = (const struct virtio_net_hdr *)direction->bytes;
    const struct iphdr *internet = (const struct iphdr *)(direction->bytes + header_size);
    const struct tcphdr *transport = (const struct tcphdr *)((const unsigned char *)internet + 4 * internet->ihl);
    int headers = 4 * internet->ihl + 4 * transport->doff;
    int segment = offload->gso_size;
    int payload = length - headers;
    int start = 0, segments = 0;
    for (int offset = 0; offset < payload; offset += segment) {
        int size = payload - offset < segment ? payload - offset : segment;
        bool is_last = offset + size == payload;
        // A lost segment ends a burst, which must be put on the line before.
        int64_t idle_at = direction->idle_at;
        bool arrives = transmit(direction, time, headers + size);
        segments += arrives;
        int end = arrives ? offset + size : offset;
        if (segments > 0 && (!arrives || is_last || segments == direction->burst)) {
            int64_t sent_at = direction->idle_at;
            if (!arrives) direction->idle_at = idle_at;
            struct packet *packet = put(direction, headers, start, end - start, segments);
            if (packet != NULL) correct(packet, start, end - start, segment, end == payload);
            direction->idle_at = sent_at;
            segments = 0;
        }
        if (segments == 0) start = offset + size;
    }
}

/// Reads a batch of packets, and returns their number.
static int receive(struct direction *direction) {
    // Packets may have arrived since the last look: a thread that is late must not make the line slower.
    if (direction->idle_at < direction->read_at) direction->idle_at = direction->read_at;
    int64_t time = direction->read_at = now();
    int received = 0;
    while (received < batch) {
        ssize_t length = read(direction->input, direction->bytes, largest) - header_size;
        if (length <= 0) break;
        received++;
        const struct virtio_net_hdr *offload = (const struct virtio_net_hdr *)direction->bytes;
        if (offload->gso_type == VIRTIO_NET_HDR_GSO_TCPV4)
            put_segments(direction, time, (int)length);
        else if (transmit(direction, time, (int)length))
            put(direction, 0, 0, (int)length, 1);
    }
    return received;
}

static void *carry(void *argument) {
    struct direction *direction = argument;
    while (true) {
        deliver(direction);
        bool is_busy = receive(direction) > 0;
        const struct packet *packet = first_packet(direction);
        if (is_busy) {
            struct timespec time = interval(direction->quantum);
            clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
        } else {
            struct pollfd input = {.fd = direction->input, .events = POLLIN};
            int64_t wait = packet == NULL ? 0 : packet->due - now();
            struct timespec time = interval(wait > 0 ? wait : 0);
            ppoll(&input, 1, packet == NULL ? NULL : &time, NULL);
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
/// Packets carry a virtio header, so that the kernel need not compute checksums or make segments.
static int open_device(const char *name, const char *address) {
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    int size = header_size;
    bool is_up = device >= 0 && control >= 0 && ioctl(device, TUNSETIFF, &request) == 0
        && ioctl(device, TUNSETVNETHDRSZ, &size) == 0
        && ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) == 0;
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
    direction->read_at = now();
    // Room for a line that is full of small packets, within reason.
    direction->capacity = ((size_t)(2 * limit) + (4 << 20)) / 16 * 16;
    direction->quantum = line->delay_nanoseconds / 20;
    if (direction->quantum > 200000) direction->quantum = 200000;
    if (direction->quantum < 20000) direction->quantum = 20000;
    // The bytes that the line carries in a fifth of a millisecond.
    direction->burst = 1 + (int)(line->bits_per_second / 8 / mtu / 5000);
    direction->ring = malloc(direction->capacity);
    return direction->ring != NULL;
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

int hline_enter_namespace(int process) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", process);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0) return report("cannot enter the other namespace");
    close(namespace);
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
    struct sched_param priority = {.sched_priority = 2};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) setpriority(PRIO_PROCESS, 0, -20);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, NULL);

    int near_device = open_device("hr-near", near_address);
    if (near_device < 0) return report("cannot make a TUN device");
    int status = hline_enter_namespace(far);
    if (status != 0) return status;
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
