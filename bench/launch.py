"""Starts one command, and writes what it took into the pipe whose number comes first.

Linux counts the memory of a program that starts another one as the other's, until that one is loaded. This
program is smaller than every command that is measured; the one that holds the results is not.

    python -I -S bench/launch.py 5 COMMAND...

Two lines: the id of the process; then seconds, processor seconds, peak KiB and exit code.
"""

import os
import sys
import time


def main(pipe: int, command: list[str]) -> None:
    """Run the command to its end."""
    os.set_inheritable(pipe, False)
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    os.write(pipe, f"{child}\n".encode())
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    os.write(pipe, f"{seconds} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {code}\n".encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
