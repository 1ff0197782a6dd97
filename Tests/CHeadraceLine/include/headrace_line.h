// A network line in user space, between two network namespaces (Linux only).

#ifndef HEADRACE_LINE_H
#define HEADRACE_LINE_H

#include <stdint.h>

struct hline {
    int64_t bits_per_second;
    /// The one-way delay.
    int64_t delay_nanoseconds;
    /// The share of packets lost in each direction, from 0 to 1.
    double loss;
    /// The capacity of the queue at each end; a packet that does not fit is dropped.
    int64_t queue_bytes;
    uint64_t seed;
};

/// The exit status of a process that the system does not allow to do its work.
enum { HLINE_IMPOSSIBLE = 77 };

/// Makes TCP connections of the current network namespace use cubic, and begin without knowledge of earlier ones.
///
/// Returns 0, or an exit status on failure.
int hline_configure_namespace(void);

/// Moves to the network namespace of a process, and makes this process end with the one that started it.
///
/// Returns 0, or an exit status on failure.
int hline_enter_namespace(int process);

/// Moves to a new network namespace, configures it, prints `ready`, and stays there until a signal ends the process.
///
/// Returns an exit status on failure.
int hline_hold_namespace(void);

/// Connects this network namespace with the one of the process `far` until SIGTERM.
///
/// Prints `ready` when the devices are up, and statistics at the end. Returns an exit status.
int hline_run(const struct hline *line, int far, const char *near_address, const char *far_address);

/// The result of a probe; a negative value if there was no response.
struct hline_measurement {
    double bits_per_second;
    double round_trip_seconds;
    double loss;
    /// The number of packets that `loss` refers to.
    int64_t packets;
};

/// Responds to probes at a UDP port of this address, until a signal ends the process. Returns an exit status on failure.
int hline_serve_probes(const char *address);

/// Measures a line with datagrams from a process that serves probes.
struct hline_measurement hline_probe(const struct hline *line, const char *address);

#endif
