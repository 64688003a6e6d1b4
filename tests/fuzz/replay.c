/*
 * Runs a fuzz target over files and folders of inputs, for compilers without libFuzzer: what the
 * fuzzers found once is tried again by every `make check`.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    uint8_t *data = malloc(1 << 22);
    if (!in || !data) {
        perror(path);
        return 1;
    }
    size_t size = fread(data, 1, 1 << 22, in);
    fclose(in);
    /* an exact copy, so that AddressSanitizer sees a read past the end */
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        return 1;
    memcpy(exact, data, size);
    free(data);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            failed |= replay_file(argv[i]);
            files++;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            failed |= replay_file(path);
            files++;
        }
        closedir(dir);
    }
    printf("%d inputs\n", files);
    return failed || files == 0;
}
