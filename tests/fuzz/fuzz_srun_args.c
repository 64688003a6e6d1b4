/* srun's command line: any bytes, with spaces for the NULs so that seeds can be read. */
#include "../../spank/srun_args.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *none(const char *name)
{
    (void)name;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct srun_args args;
    char *bytes = malloc(size ? size : 1);

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == ' ')
            bytes[i] = 0;
    srun_args_parse(bytes, size, &args);
    srun_args_environment(&args, none);
    if (args.ntasks < 0 || args.nodes < 0 || args.gpus_per_node < 0 ||
        (!args.certain && !args.doubt[0]))
        abort();
    if (args.program && (args.program < bytes || args.program >= bytes + size))
        abort();
    srun_args_is_helper(args.program);
    free(bytes);
    return 0;
}
