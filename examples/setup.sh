# Sourced by examples/quickstart.sh and tests/run.sh with the folder of the project as working directory:
# installs what is missing, Debian packages (as root, or by sudo) and a Python environment in .venv.
# More Debian packages are taken from $extra_packages.

packages="fonts-dejavu-core g++ libboost-dev libcli11-dev libeigen3-dev libfmt-dev libfreetype-dev libopenblas-dev libpng-dev
    libutf8proc-dev nlohmann-json3-dev python3-dev python3-venv $extra_packages"

missing=
for package in $packages; do
    case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" in
    *" installed") ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -n "$missing" ]; then
    echo "Installing Debian packages:$missing"
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null; then
        as_root=sudo
    else
        echo "These need root: apt-get install$missing" >&2
        exit 1
    fi
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

if ! cmp -s examples/requirements.txt .venv/requirements.txt; then
    echo "Installing Python packages into .venv"
    [ -x .venv/bin/pip ] || python3 -m venv .venv
    .venv/bin/pip install -q --disable-pip-version-check --no-deps -r examples/requirements.txt
    cp examples/requirements.txt .venv/requirements.txt
fi
PATH="$PWD/.venv/bin:$PATH"
