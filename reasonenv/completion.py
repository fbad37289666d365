"""Completion in bash, printed: eval "$(reasonenv completion)".

It completes reasonenv, reasonenv-train, and python -m with a module of reasonenv or agents: names
of commands, flags, and values to choose from. They are those of a command's help, which the first
TAB of a command reads and the shell keeps.
"""

import sys
from collections.abc import Sequence

from reasonenv.console import new_parser, print_line

SCRIPT = r"""
declare -gA _reasonenv_help
_reasonenv() {
  local size=2 words
  if [[ $1 == python* ]]; then
    [[ ${COMP_WORDS[1]} == -m && ${COMP_WORDS[2]} =~ ^(reasonenv|agents)(\.|$) ]] || return
    [[ ${COMP_WORDS[2]} == *.* ]] && size=3 || size=4
  fi
  local -a command=("${COMP_WORDS[@]:0:$((COMP_CWORD < size ? COMP_CWORD : size))}")
  local key="${command[*]}"
  if [[ -z ${_reasonenv_help[$key]} ]]; then
    _reasonenv_help[$key]=$(export COLUMNS=200
      "${command[@]}" --help-all 2> /dev/null || "${command[@]}" --help 2> /dev/null)
  fi
  local help=${_reasonenv_help[$key]//│/}
  local flags=$(sed -nE 's/^ {1,2}(-.*)/\1/p' <<< "$help" | sed 's/   *.*//')
  if [[ $2 == -* ]]; then
    words=$(grep -oE -- '--[a-z][a-z0-9-]*' <<< "$flags")
  elif [[ $3 == --* ]]; then
    words=$(sed -nE "s/^(.*, )?$3 \[*\{([^}]*)\}.*/\2/p" <<< "$flags" | tr , ' ')
  elif ((COMP_CWORD < size)); then
    words=$(sed -nE 's/^    ([a-z_]+)( .*|$)/\1/p' <<< "$help")
  fi
  COMPREPLY=($(compgen -W "$words" -- "$2"))
}
complete -o default -F _reasonenv reasonenv reasonenv-train python python3
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the script."""
    new_parser("completion", __doc__).parse_args(arguments)
    for line in SCRIPT.strip().splitlines():
        print_line(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
