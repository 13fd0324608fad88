/* A handler that writes down when its main began, in nanoseconds since 1970, and waits if it is told how many seconds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char line[32];
    int length = snprintf(line, sizeof line, "%lld%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    int file = open(arguments[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || write(file, line, length) != length) return 1;
    if (count > 2) sleep(atoi(arguments[2]));
    return 0;
}
