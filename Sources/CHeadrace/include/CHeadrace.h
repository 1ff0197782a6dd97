// The module's umbrella header.

#include "headrace_crypto.h"
#include "headrace_curl.h"
#include "headrace_files.h"
#include "headrace_netlink.h"
#include "headrace_poller.h"
#include "headrace_sanitizer.h"
