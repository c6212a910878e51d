#!/usr/bin/env python3
"""Runs what README.md tells its reader to run, and compares what it shows as output.

readme.py BUILD: blocks of README.md that begin with "```sh tested" are run in order, in one shell,
from the top of the repository, with the programs of BUILD. A "```text" block directly after one is
its output: every line of it must occur in the real output, in that order; "..." in it stands for
anything. hptd is given free ports in the place of its default ones, so that the test disturbs no
daemon and none disturbs it.
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
MARK = "---- block"
SHELL_SECONDS = 300


def blocks(text):
    """Yields (line number, commands, expected output) of the tested blocks."""
    pattern = re.compile(r"^```sh tested\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.M | re.S)
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2] or ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def normal(line):
    return " ".join(line.split())


def missing_line(expected, output):
    """The first line of `expected` that does not follow in `output`, or None."""
    lines = iter(output.splitlines())
    for line in expected.splitlines():
        wanted = re.compile(".*".join(re.escape(normal(part)) for part in line.split("...")))
        if not any(wanted.search(normal(candidate)) for candidate in lines):
            return line
    return None


def main(build):
    found = list(blocks((TOP / "README.md").read_text()))
    if not found:
        sys.exit("README.md has no tested block")
    grpc_port, metrics_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        # Programs by the names that README.md uses, on the ports of this test.
        daemon = pathlib.Path(folder, "hptd")
        daemon.write_text(f'#!/bin/sh\nexec "{build}/bin/hptd" --listen=127.0.0.1:{grpc_port} '
                          f'--metrics_listen=127.0.0.1:{metrics_port} "$@"\n')
        daemon.chmod(0o755)
        pathlib.Path(folder, "hptctl").symlink_to(f"{build}/bin/hptctl")
        script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
        for line, commands, _ in found:
            script += f"echo '{MARK} {line}'\n{commands}"
        script = (script.replace("$PWD/build/release/bin", folder)
                  .replace("127.0.0.1:50051", f"127.0.0.1:{grpc_port}")
                  .replace("127.0.0.1:9464", f"127.0.0.1:{metrics_port}"))
        environment = dict(os.environ, HPTD_TARGET=f"127.0.0.1:{grpc_port}")
        run = subprocess.run(["bash", "-c", script], cwd=TOP, env=environment, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=SHELL_SECONDS, check=False)
    print(run.stdout)
    if run.returncode != 0:
        sys.exit(f"README.md: the last block above ended with exit code {run.returncode}")
    outputs = {int(part.partition("\n")[0]): part.partition("\n")[2]
               for part in run.stdout.split(MARK + " ")[1:]}
    for line, _, expected in found:
        missing = missing_line(expected, outputs[line])
        if missing is not None:
            sys.exit(f"README.md:{line}: the output has no line, or not in this place: {missing}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
