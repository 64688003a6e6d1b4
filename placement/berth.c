/*
 * berth: the command. It picks a sub-command from the table and ends with its exit code; every
 * sub-command parses its own options.
 */
#include "command.h"
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {&command_map, &command_topo, &command_show};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void print_overview(FILE *out)
{
    fputs("usage: berth COMMAND [OPTION]...\n\n"
          "Puts every rank of a training job in its place.\n\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-6s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`berth help COMMAND` or `berth COMMAND --help` says more; `berth --version` the "
          "version.\n"
          "Exit status: 0 done, 1 the answer is no, 2 wrong usage or input.\n",
          out);
}

static int unknown(const char *word)
{
    struct berth_error err;
    berth_error_set(&err, BERTH_EINPUT, "there is no %s '%.100s': see `berth --help`",
                    word[0] == '-' ? "option" : "command", word);
    return command_fail(&err);
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stdout);
        return COMMAND_DONE;
    }
    const struct command *command = find(argv[1]);
    return command ? command_help(command) : unknown(argv[1]);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 1) {
        print_overview(stderr);
        return COMMAND_WRONG;
    }
    if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
        strcmp(argv[0], "-h") == 0)
        return help(argc, argv);
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "version") == 0) {
        printf("berth %s\n", PACKAGE_VERSION);
        return COMMAND_DONE;
    }
    const struct command *command = find(argv[0]);
    return command ? command->run(argc, argv) : unknown(argv[0]);
}

int main(int argc, char **argv)
{
    int code = dispatch(argc - 1, argv + 1);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code != COMMAND_WRONG) {
        struct berth_error err;
        berth_error_set(&err, BERTH_ESYSTEM, "standard output cannot be written: %s",
                        strerror(errno));
        return command_fail(&err);
    }
    return code;
}
