"""`make bench`: every comparison, as a table and as JSON.

.venv/bin/python -m bench.compare [NAME ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from bench.compare import measuring
from bench.compare.rows import ROWS
from gitops_mc import __version__

ROOT = Path(__file__).parents[2]


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        "?",
    )
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return {
        "cpu": f"{os.cpu_count()} x {cpu}",
        "memory": f"{int(memory) // 1024} MiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "git": git,
        "gitops-mc": __version__,
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare")
    parser.add_argument("names", nargs="*", choices=[*(row.name for row in ROWS), []], metavar="NAME")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    asked = parser.parse_args()
    rows = [row for row in ROWS if not asked.names or row.name in asked.names]
    told = machine()
    print("  ".join(f"{name}: {value}" for name, value in told.items()))
    print(f"\n{'what':34} {'size':26} {'ours':>11} {'yardstick':>11} {'ratio':>7} {'aim':>8}")
    found, missed = [], 0
    for row in rows:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="gitops-mc-bench-") as folder:
            figures = list(row.measure(Path(folder)))
        for figure in figures:
            missed += _show(row, figure)
        found.append(
            {
                "name": row.name,
                "what": row.what,
                "yardstick": row.yardstick,
                "aim": row.aim.at_most,
                "figures": [{**asdict(f), "ratio": round(f.ratio, 4)} for f in figures],
                "seconds": round(time.monotonic() - begun, 1),
            }
        )
    print("\nyardsticks: " + "; ".join(f"{row.what}: {row.yardstick}" for row in rows))
    if asked.json is not None:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps({"machine": told, "rows": found}, indent=2) + "\n")
    print(f"\n{missed} above its aim" if missed else "\nevery aim is met")
    return 0


def _show(row: measuring.Row, figure: measuring.Figure) -> bool:
    missed = row.aim.at_most is not None and figure.ratio > row.aim.at_most
    aim = "" if row.aim.at_most is None else f"<= {row.aim.at_most:g}"
    shown = [
        f"{value:9.3f} {figure.unit:>1}" if figure.unit == "s" else f"{value:7.1f} {figure.unit}"
        for value in (figure.ours, figure.yardstick)
    ]
    mark = "  MISSED" if missed else ""
    note = f"  {figure.note}" if figure.note else ""
    print(
        f"{row.what:34} {figure.size:26} {shown[0]:>11} {shown[1]:>11} {figure.ratio:7.2f} {aim:>8}{mark}{note}",
        flush=True,
    )
    return missed


if __name__ == "__main__":
    sys.exit(main())
