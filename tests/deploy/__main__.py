"""`python -m tests.deploy`: builds helm and promtool, or says why there are none. `make test-deploy` asks it first."""

from __future__ import annotations

import sys

from tests.apiserver.building import NotBuiltError
from tests.deploy.programs import RECIPES


def main() -> int:
    code = 0
    for recipe in RECIPES:
        try:
            sys.stdout.write(f"{recipe.told} in {recipe.build()}\n")
        except NotBuiltError as error:
            sys.stderr.write(f"NOT RUN: what needs {recipe.what}. {error}\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
