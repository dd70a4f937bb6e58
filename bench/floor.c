/* The floor: read the listed files and write their bytes, and do nothing else.
 *
 *   floor LIST OUT      LIST holds paths, each ended by a NUL byte
 *
 * No walk, no ignore rules, no sniffing, no header between the files. Nothing
 * that packs these files can be faster, so a ratio to this program says how much
 * of a tool's time is its own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

static char room[ROOM];
static size_t held;

static int flush(int out) {
    size_t done = 0;
    while (done < held) {
        ssize_t n = write(out, room + done, held - done);
        if (n < 0) return -1;
        done += (size_t)n;
    }
    held = 0;
    return 0;
}

/* Small files share one write; a large file passes through the same room in pieces. */
static int copy(const char *path, int out) {
    int in = open(path, O_RDONLY);
    if (in < 0) return -1;
    for (;;) {
        if (held == ROOM && flush(out) < 0) break;
        ssize_t n = read(in, room + held, ROOM - held);
        if (n < 0) break;
        if (n == 0) return close(in);
        held += (size_t)n;
    }
    close(in);
    return -1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: floor LIST OUT\n");
        return 2;
    }
    FILE *list = fopen(argv[1], "rb");
    int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (list == NULL || out < 0) {
        perror("floor");
        return 1;
    }
    char *path = NULL;
    size_t size = 0;
    while (getdelim(&path, &size, '\0', list) > 0) {
        if (copy(path, out) < 0) {
            perror(path);
            return 1;
        }
    }
    free(path);
    fclose(list);
    return flush(out) < 0 || close(out) < 0;
}
