// The umbrella header of the C module: functions that Swift cannot call directly, most of them for Linux only.

#include "headrace_crypto.h"
#include "headrace_curl.h"
#include "headrace_decoder.h"
#include "headrace_files.h"
#include "headrace_locks.h"
#include "headrace_netlink.h"
#include "headrace_poller.h"
#include "headrace_sanitizer.h"
