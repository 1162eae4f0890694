# Debian packages for the build and the tests. Sourced by POSIX shells; only functions and lists, nothing runs by itself.

# What the program needs to be built.
build_packages="cmake g++ ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev"
# What the tests need besides.
test_packages="libgtest-dev libbenchmark-dev python3 ccache clang-format-19 clang-tidy-19"

# need_packages NAME...: installs those that are missing. When nothing is missing it touches neither apt nor the network,
# so that a second run is quick and works offline.
need_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "collc: this is not a Debian system; going on with what is installed (wanted: $*)" >&2
    return 0
  fi
  missing=
  for package in "$@"; do
    case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" in
      "install ok installed") ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0

  as_root=
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "collc: packages are missing and there is neither root nor sudo; as root run: apt-get install$missing" >&2
      return 1
    fi
    as_root=sudo
  fi
  echo "collc: installing$missing"
  # dpkg tells of every file it unpacks; what goes wrong is on standard error. The variables are split on purpose:
  # $as_root may be empty and $missing holds several names.
  # shellcheck disable=SC2086
  $as_root apt-get update -qq >/dev/null &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
