# A small Debian of its own in the cache folder, for what this machine's Debian has not; read by other scripts.
#
# Nothing on the machine changes but for the package debootstrap. Needs root, and a process's own mounts.

checkout="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/wb"
shared="$(realpath -m "${WB_SHARED:-$checkout/../shared}")"
target="${CARGO_TARGET_DIR:-$cache/target}"

# debian_skip NAME REASON: ends with 77, as a test that was skipped.
debian_skip() {
  echo "SKIPPED $1: $2"
  exit 77
}

# debian_needs NAME SUITE [PACKAGE ...]: makes it, once; the folder appears only when it is whole. A package is taken from
# the backports where the suite has them. Some mirrors keep a Release file of sid past its date; signatures are checked.
debian_needs() {
  [ "$(id -u)" -eq 0 ] || debian_skip "$1" "needs root, to make a Debian in a folder"
  unshare --mount true 2>/dev/null || debian_skip "$1" "this machine allows no mounts of a process's own"
  [ -d "$cache/$1" ] || debian_install "$@" || debian_skip "$1" "Debian's packages could not be had, see $cache/$1.log"
}

debian_install() {
  local name="$1" suite="$2" log="$cache/$1.log" new="$cache/$1.new" from=() mirror
  shift 2
  mkdir -p "$cache"
  mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$')" || return 1
  command -v debootstrap >/dev/null || { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >> "$log" 2>&1 || return 1
  rm -rf "$new"
  {
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$new" "$mirror" || return 1
    cp /etc/resolv.conf "$new/etc/" || return 1
    if [ "$suite" = sid ]; then
      echo 'Acquire::Check-Valid-Until "false";' > "$new/etc/apt/apt.conf.d/99dates"
    else
      echo "deb $mirror $suite-backports main" > "$new/etc/apt/sources.list.d/backports.list"
      from=(-t "$suite-backports")
    fi
    chroot "$new" apt-get update || return 1
    chroot "$new" apt-get install -y --no-install-recommends "${from[@]}" "$@" || return 1
    chroot "$new" apt-get clean || return 1
  } >> "$log" 2>&1
  mv -T "$new" "$cache/$name"
}

# debian_exec NAME PLACES COMMAND [ARGUMENT ...]: takes the place of the script. The command finds this checkout, the build
# output, the cache folder, the shared data, /tmp and PLACES (with colons between them) where they are here; what is
# mounted is gone with the command.
debian_exec() {
  local name="$1" places="$2"
  shift 2
  export DEBIAN="$cache/$name" PLACES="$checkout:$target:$cache:$shared:/tmp:$places" HERE="$PWD"
  exec unshare --mount --propagation private bash -euo pipefail -c '
    mount -t proc proc "$DEBIAN/proc"
    mount --rbind /dev "$DEBIAN/dev"
    IFS=:
    for place in $PLACES; do
      if [ -d "$place" ]; then
        mkdir -p "$DEBIAN$place"
        mount --rbind "$place" "$DEBIAN$place"
      fi
    done
    unset IFS
    exec chroot "$DEBIAN" /bin/sh -c "cd \"\$0\" && exec \"\$@\"" "$HERE" "$@"
  ' "$name" "$@"
}
