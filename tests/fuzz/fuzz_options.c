/* The --berth value, and the same bytes as an argument of plugstack.conf and as the note to the
 * nodes. */
#include "../../spank/note.h"
#include "../../spank/options.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(const char *sentence)
{
    if (strlen(sentence) > 255)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options options;
    struct site site;
    struct note note;
    struct berth_error err;
    char *text = malloc(size + 1), again[NOTE_MAX + 1];

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (!options_parse(text, &options, &err)) {
        if (!options.off && !options.help && !options.mesh == !options.map)
            abort();
        if (options.mesh && !options.off && !options.help && options.fixed < 1)
            abort();
        options_clear(&options);
    }
    site_parse(1, &text, &site, ignore);
    if (site.port_low > site.port_high)
        abort();
    if (!note_parse(text, &note, &err) && !note_format(&note, again, sizeof(again)))
        abort();
    free(text);
    return 0;
}
