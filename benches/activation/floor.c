/* The least a daemon can do: for each line of standard input, starts as many children as the line says, with posix_spawn. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    char line[32];
    while (count > 1 && read(0, line, sizeof line) > 0)
        for (int left = atoi(line); left > 0; left--) {
            pid_t child;
            if (posix_spawn(&child, arguments[1], NULL, &attributes, arguments + 1, environ)) return 1;
        }
    return 0;
}
