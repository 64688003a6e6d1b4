/*
 * What the sub-commands share besides their input: messages and exit codes, options, and output
 * to files.
 */
#include "command.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int command_fail(const struct berth_error *err)
{
    fprintf(stderr, "berth: %s\n", err->text);
    return err->kind == BERTH_ENO ? COMMAND_NO : COMMAND_WRONG;
}

int command_usage(const char *command, const char *format, ...)
{
    char text[BERTH_ERROR_MAX / 2];
    struct berth_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    berth_error_set(&err, BERTH_EINPUT, "%s; see `berth %s --help`", text, command);
    return command_fail(&err);
}

int command_help(const struct command *command)
{
    printf("usage: berth %s %s", command->name, command->help);
    return COMMAND_DONE;
}

int command_option(int argc, char **argv, const char *letters, const struct option *table)
{
    opterr = 0;
    int option = getopt_long(argc, argv, letters, table, NULL);
    if (option != ':' && option != '?')
        return option;
    const char *word = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_long = strncmp(word, "--", 2) == 0;
    if (option == '?' && !is_long)
        word = letter;
    if (option == ':')
        command_usage(argv[0], "option '%.100s' needs a value", word);
    else if (is_long && optopt != 0)
        command_usage(argv[0], "option '%.100s' takes no value", word);
    else
        command_usage(argv[0], "there is no option '%.100s'", word);
    return '?';
}

int command_number(const char *option, const char *text, int min, int max, int *value,
                   struct berth_error *err)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end || errno || number < min || number > max)
        return berth_error_set(err, BERTH_EINPUT,
                               "%s wants a whole number from %d to %d, not '%.60s'", option, min,
                               max, text);
    *value = (int)number;
    return 0;
}

bool command_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((no && *no) || (term && strcmp(term, "dumb") == 0))
        return false;
    return isatty(fileno(stream)) == 1;
}

int output_json(FILE *out, void *json, struct berth_error *err)
{
    if (json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0 ||
        putc('\n', out) == EOF)
        return berth_error_set(err, BERTH_ESYSTEM, "the output cannot be written: %s",
                               strerror(errno));
    return 0;
}
