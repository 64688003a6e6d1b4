/*
 * SLURM_BERTH_STEP: "1 MODE PARTS PORT FLAGS ADDR", the first word its version, "-" for no flags.
 */
#include "config.h"

#include "../lib/map.h"
#include "note.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const modes[] = {"layout", "remap", "nodes"};

/* One word of what a host name or an address is made of. */
static bool addr_sound(const char *addr)
{
    size_t n = strlen(addr);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)addr[i]) && !strchr(".-_:%", addr[i]))
            return false;
    return n > 0 && n < NOTE_ADDR_MAX;
}

bool note_format(const struct note *note, char *buf, size_t size)
{
    const char *mode = modes[note->nodes ? 2 : note->layout ? 0 : 1];
    if (!addr_sound(note->addr))
        return false;
    int n = snprintf(buf, size, "1 %s %d %d %s%s%s- %s", mode, note->parts, note->port,
                     note->strict ? "s" : "", note->override_slurm ? "o" : "",
                     note->keep_local_rank ? "k" : "", note->addr);
    return n > 0 && (size_t)n < size;
}

int note_parse(const char *text, struct note *note, struct berth_error *err)
{
    char mode[16], flags[16], rest;
    int version, mode_index = 0;

    memset(note, 0, sizeof(*note));
    if (strlen(text) > NOTE_MAX ||
        sscanf(text, "%4d %15s %6d %6d %15s %255s%c", &version, mode, &note->parts, &note->port,
               flags, note->addr, &rest) != 6 ||
        version != 1)
        return berth_error_set(err, BERTH_EINPUT,
                               NOTE_VARIABLE " is not what this version of Berth writes");
    while (mode_index < 3 && strcmp(mode, modes[mode_index]))
        mode_index++;
    if (mode_index == 3 || strspn(flags, "sok-") != strlen(flags) || !addr_sound(note->addr))
        return berth_error_set(err, BERTH_EINPUT, NOTE_VARIABLE " is garbled");
    if (note->parts < 1 || note->parts > BERTH_PACK_PARTS_MAX || note->port < 1 ||
        note->port > 65535)
        return berth_error_set(err, BERTH_EINPUT,
                               NOTE_VARIABLE ": %d parts and port %d are out of range", note->parts,
                               note->port);
    note->layout = mode_index == 0;
    note->nodes = mode_index == 2;
    note->strict = strchr(flags, 's');
    note->override_slurm = strchr(flags, 'o');
    note->keep_local_rank = strchr(flags, 'k');
    return 0;
}
