# Builds the image `serve` and tries it as its user on a read-only root: `make container BUNDLE=runs/first`, as root on
# Debian with buildah and mmdebstrap, without a daemon. Its base is Debian's own Python, without pages and languages.
set -eu
bundle=$(realpath "${BUNDLE:-runs/first}")
cd "$(dirname "$0")/.."
sh deploy/check.sh
work=$(mktemp -d)
container=$(buildah from scratch)
trap 'buildah rm "$container" > "$work/removed"; rm -rf "$work"' EXIT
mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' trixie "$work/base.tar" http://deb.debian.org/debian
buildah add --quiet "$container" "$work/base.tar" /
buildah commit --quiet "$container" scoring-model:base
buildah build --quiet --format docker --isolation chroot --build-arg BASE=localhost/scoring-model:base \
    --volume /etc/ssl/certs:/etc/ssl/certs:ro --file deploy/Containerfile --target serve --tag scoring-model:serve .
buildah rm "$container" > "$work/removed"
container=$(buildah from scoring-model:serve)
root=$(buildah mount "$container")
for part in "$root" "$root/opt"; do du --summarize --block-size=1MB "$part"; done
mkdir -p "$root/bundle"
cat > "$work/try.sh" <<'END'
set -eu
mount --bind "$root" "$root"
mount --bind "$bundle" "$root/bundle"
mount -t tmpfs -o uid=10001 tmpfs "$root/bundles"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount --bind /proc "$root/proc"
mount -o remount,bind,ro "$root"
within="chroot --userspec=10001:10001 $root env --ignore-environment PATH=/opt/scoring-model/bin:/usr/bin:/bin
    SCORING_MODEL_DATABASE=sqlite:////tmp/scoring.db SCORING_MODEL_BUNDLES=/bundles scoring-model"
$within serve --bundle /bundle --port 8100 --metrics-port 8101 2> "$work/log" &
trap 'kill $!' EXIT
curl --silent --fail --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:8100/health/ready
echo
$within clients create container > "$work/headers"
curl --silent --show-error --fail http://127.0.0.1:8100/scoring/v1/verifications --header @"$work/headers" \
    --header 'Content-Type: application/json' --data '{"signals": {"deviceId": "d-1"}}'
echo
curl --silent --fail http://127.0.0.1:8101/metrics | grep 'requests_total{operation="createVerification"'
END
root=$root bundle=$bundle work=$work unshare --mount --propagation private sh "$work/try.sh"
