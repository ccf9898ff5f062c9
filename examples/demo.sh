#!/bin/sh
# The main job on the bundled example archive: import, index, search, measure. Each command is shown, then run.
set -eu

bold=
plain=
if [ -t 1 ]; then
    bold=$(printf '\033[1m')
    plain=$(printf '\033[0m')
fi

run() {
    printf '\n%s$ %s%s\n' "$bold" "$1" "$plain"
    eval "$1"
}

run 'askalike import table examples/riverside.csv -o demo'
printf '\nThe first index after an installation compiles the search loops: up to a minute, once.\n'
run 'askalike index demo'
run 'askalike search demo "my bicycle was stolen, what now" -k 3 --explain'
run 'askalike search demo "Wie lange darf ich das Buch behalten?" -k 1 --explain'
run 'askalike search demo "lost my libary card" -k 1 --tag card'
run 'askalike search demo "best pizza in Rome"'
run 'askalike evaluate demo --split rephrasings --measures "Success@1 Success@10"'

printf '\nThe archive is in demo/. Ask it something yourself, or open its pages at http://127.0.0.1:8080:\n'
printf '    .venv/bin/askalike search demo "your question"\n    .venv/bin/askalike serve demo\n'
