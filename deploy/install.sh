# Installs the packages that a file names, as requirements.lock has them, and the wheel: `sh install.sh serve.txt`.
set -eu
cd "$(dirname "$0")"
target=${2:-/opt/scoring-model}
python3 -m venv "$target"
awk 'NR == FNR { wanted[$1]; next } /^[a-z0-9]/ { split($1, name, "=="); keep = name[1] in wanted } keep' \
    "$1" requirements.lock > locked.txt
"$target/bin/pip" install --quiet --no-cache-dir --no-deps --require-hashes --requirement locked.txt
"$target/bin/pip" install --quiet --no-cache-dir --no-deps scoring_model*.whl
"$target/bin/pip" uninstall --quiet --yes pip
