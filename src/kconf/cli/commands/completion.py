"""`kconf completion`: completion scripts for shells.

The scripts call kconf itself (`kconf completion suggest LINE`), so topic names and keys are completed too.
"""

from __future__ import annotations

import argparse
from typing import Final

from kconf.cli.common.help import add_verb

EXAMPLES: Final = """\
examples:
  kconf completion bash
  kconf completion zsh
  kconf completion fish
  kconf completion suggest 'set topic:orders compression.type='

In ~/.bashrc: source <(kconf completion bash). In ~/.zshrc, after compinit: source <(kconf completion zsh).
For fish: kconf completion fish > ~/.config/fish/completions/kconf.fish
"""
# bash replaces only the text after the last : or =, so the text before it is removed from the completions.
_BASH: Final = """\
_kconf() {
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$'\\n' answers
    local word="${line##* }"
    local head="${word%"${word##*[:=]}"}"
    answers=($(kconf completion suggest -- "${line#*kconf }" 2>/dev/null))
    COMPREPLY=("${answers[@]#"$head"}")
    [[ ${#answers[@]} -eq 1 && ${answers[0]} == *[:=] ]] && compopt -o nospace
    return 0
}
complete -o default -F _kconf kconf
"""
_ZSH: Final = """\
#compdef kconf
_kconf() {
    local -a answers open whole
    answers=("${(@f)$(kconf completion suggest -- "${LBUFFER#*kconf }" 2>/dev/null)}")
    open=(${(M)answers:#*[:=]})
    whole=(${answers:#*[:=]})
    (( ${#open} )) && compadd -S '' -- $open
    (( ${#whole} )) && compadd -- $whole
    (( ${#open} + ${#whole} )) || _files
}
if [[ $funcstack[1] == _kconf ]]; then _kconf "$@"; else compdef _kconf kconf; fi
"""
_FISH: Final = """\
function __kconf_suggest
    set -l line (commandline -cp)
    kconf completion suggest -- (string replace -r '^.*?kconf ' '' -- $line) 2>/dev/null
end
complete -c kconf -a '(__kconf_suggest)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "completion",
        help="shell completion for bash, zsh and fish",
        description="Print the completion script for a shell.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="shells", metavar="SHELL", required=True)
    for name, script in SCRIPTS.items():
        verb = add_verb(verbs, name, f"for {name}", f"Print the completion script for {name}.", EXAMPLES)
        verb.set_defaults(run=run, script=script)
    about = "Print the completions of the last word of a command line."
    suggest = add_verb(verbs, "suggest", "completions of a command line", about, EXAMPLES)
    suggest.add_argument("line", metavar="LINE", help="the command line after `kconf`")
    suggest.set_defaults(run=run_suggest)


def run(options: argparse.Namespace) -> int:
    print(options.script, end="")
    return 0


def run_suggest(options: argparse.Namespace) -> int:
    from kconf.cli.common.completion import suggestions

    for each in suggestions(options.program, options.line):
        print(each)
    return 0
