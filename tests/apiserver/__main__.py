"""`python -m tests.apiserver`: builds the real API servers, or says why there are none. `make test-apiserver` asks it first."""

from __future__ import annotations

import sys

from tests.apiserver.binaries import NotBuiltError, build


def main() -> int:
    try:
        binaries = build()
    except NotBuiltError as error:
        sys.stderr.write(f"NOT RUN: no test met a real API server. {error}\n")
        return 1
    sys.stdout.write(f"kube-apiserver {binaries.version} in {binaries.folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
