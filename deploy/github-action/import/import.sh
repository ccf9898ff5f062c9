#!/bin/bash
# Imports the issues of $GITHUB_REPOSITORY that changed since the last import into the archive $ARCHIVE. Needs gh.
set -euo pipefail
query="$(dirname "$0")/../../github/issues.graphql"
cursor="$ARCHIVE/imported-until"
begun="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
since=()
[ ! -e "$cursor" ] || since=(-F "since=$(cat "$cursor")")
issues="$(mktemp --suffix .json)"
trap 'rm -f "$issues"' EXIT
gh api graphql --paginate -F owner="${GITHUB_REPOSITORY%/*}" -F name="${GITHUB_REPOSITORY#*/}" \
  -F query=@"$query" "${since[@]}" > "$issues"
if [ -e "$cursor" ] && ! grep -q '"number"' "$issues"; then
  echo "no issue has changed since $(cat "$cursor")"
else
  askalike import github "$issues" -o "$ARCHIVE"
fi
echo "$begun" > "$cursor" # only now: an import that failed is made again
