/* Loaded into a daemon, makes it as large as BALLAST_MIB says; what the daemon starts stays small. */
#include <stdlib.h>
#include <string.h>

static volatile char *ballast;

__attribute__((constructor)) static void grow(void) {
    const char *mebibytes = getenv("BALLAST_MIB");
    if (mebibytes == NULL) return;
    size_t size = strtoul(mebibytes, NULL, 10) << 20;
    unsetenv("BALLAST_MIB");
    unsetenv("LD_PRELOAD");
    ballast = malloc(size);
    if (ballast == NULL) abort();
    memset((void *)ballast, 1, size);
}
