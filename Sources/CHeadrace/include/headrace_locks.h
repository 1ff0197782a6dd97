// The ranks of the locks that the calling thread holds; used by debug builds to check the lock order.

#ifndef HEADRACE_LOCKS_H
#define HEADRACE_LOCKS_H

#include <stdint.h>

/// Records that the calling thread takes a lock of this rank.
/// Returns the highest rank among the locks that it already holds; -1 if it holds none.
int hr_lock_ranks_push(uint8_t rank);

/// Records that the calling thread releases the lock that it took last.
void hr_lock_ranks_pop(void);

#endif
