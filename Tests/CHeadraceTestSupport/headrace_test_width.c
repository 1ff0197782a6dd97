#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// By default Swift Testing starts all tests at once. Each step of a test then waits for those of a thousand others, and
// real time-outs expire meanwhile. The variable must be set before any test code runs.
__attribute__((constructor)) static void limit_tests_at_once(void) {
    char width[16];
    snprintf(width, sizeof width, "%ld", 4 * sysconf(_SC_NPROCESSORS_ONLN));
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}
