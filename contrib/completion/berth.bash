# Completion of berth for bash. Commands and options are read from the program's own help.

_berth_options() {
    berth help "$1" 2>/dev/null | grep -oE -- '(^ +|, )--?[a-z-]+' | grep -oE -- '--?[a-z-]+'
}

_berth() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help ]]; then
        words=$(berth --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
        ((COMP_CWORD == 1)) && words+=" help --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    case $before in
    --format) words="json tsv hostfile rankfile env" ;;
    --method) words="planned name topology" ;;
    --mesh | --order | --traffic | --nodes | --slots | --gpus-per-node | --axis | --rank | --node) return ;;
    *) [[ $current == -* ]] && words=$(_berth_options "${COMP_WORDS[1]}") ;;
    esac
    if [[ -n ${words:-} ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        compopt -o filenames 2>/dev/null
    fi
}

complete -F _berth berth
