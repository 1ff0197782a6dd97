#include "headrace_locks.h"

#include <stdlib.h>

enum { max_held = 64 };

static _Thread_local uint8_t held[max_held];
static _Thread_local int held_count;

int hr_lock_ranks_push(uint8_t rank) {
    if (held_count == max_held) abort();
    int highest = -1;
    for (int i = 0; i < held_count; i++) {
        if (held[i] > highest) highest = held[i];
    }
    held[held_count++] = rank;
    return highest;
}

void hr_lock_ranks_pop(void) {
    held_count--;
}
