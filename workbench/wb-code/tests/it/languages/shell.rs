//! Shell.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r##"#!/usr/bin/env bash
# License.

set -euo pipefail

# Puts a word on top of the stack.
# Fails where there is no room.
# Globals:
#   STACK
# Arguments:
#   The word.
# shellcheck disable=SC2034
function push() {
  local word="$1" # not about the next function
  grow() { echo "$1"; }
  STACK+=("$word")
}

#######################################
# Says how many there are.
#######################################
stack::size() (
  echo "${#STACK[@]}"
)

# @description Turns the stack around.
# @arg $1 string A name.
function turn { :; }

# Stands apart.

apart() { :; }

cat <<EOF
# Not a function.
no() { :; }
EOF

#!/bin/sh
main() {
  case "$1" in
    a) push a ;;
    *) usage <<<"x" ;;
  esac
}
main "$@"
"##;

#[test]
fn lines_directly_above() {
    let expected = [
        (
            "push",
            [13, 17],
            "Puts a word on top of the stack. Fails where there is no room.",
            "function push() {\n  local word=\"$1\" # not about the next function\n  grow() { echo \"$1\"; }\n  STACK+=(\"$word\")\n}",
        ),
        ("stack::size", [22, 24], "Says how many there are.", "stack::size() (\n  echo \"${#STACK[@]}\"\n)"),
        ("turn", [28, 28], "Turns the stack around.", "function turn { :; }"),
    ];
    check(Language::Shell, SOURCE, &expected);
}

#[test]
fn functions() {
    let expected = [
        "f push 6-17 @13",
        "f grow 15-15",
        "f stack::size 19-24 @22",
        "f turn 26-28 @28",
        "f apart 32-32",
        "f main 40-45",
    ];
    assert_eq!(outline(Language::Shell, SOURCE), expected);
}
