"""What the commands cost: calls, seconds and memory of whole processes, beside the peers and the ideal.

    script/bench                        1,000, 10,000 and 100,000 people, three runs of each case
    script/bench --quick                1,000 and 10,000, one run: within three minutes
    script/bench 1000 1000000           other numbers
    script/bench --write                also puts the tables into docs/performance.md
    script/bench 100000 --rows 'three people' --rows 'nothing to do' --runs 1
                                        the rows whose name holds one of the texts, and what they need before

Our program and octoDNS are compiled first, because a program is compiled where it was installed; rows that
say "not compiled" measure the other state of both. What is compared takes turns, A B A B.

Every case is a process of its own, start-up included, against a sandbox on this machine (bench/cases.py).
Peers run in between, on the same people: octoDNS with a YAML source and a target in memory, a script of
PyYAML, jsonschema, httpx and DeepDiff, and a loop over Ansible's `uri`. Results go to bench/results.json and,
as tables, to stdout. Budgets that were missed are marked; the exit code does not depend on the machine.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import peers
from cases import MANY_CREATES, applies, memory, plans, starts
from processes import compile_programs
from stages import Case, Group, carry_out, is_wanted, merged
from tables import PAGE, as_json, as_markdown, machine, write_into_page

HERE = Path(__file__).parent


def main() -> None:
    """Measure what is asked for, write the results, and print them as tables."""
    parser = argparse.ArgumentParser(prog="script/bench")
    parser.add_argument("sizes", nargs="*", type=int, help="numbers of people; default 1000 10000 100000")
    parser.add_argument("--quick", action="store_true", help="1000 and 10000, one run of each case")
    parser.add_argument("--runs", type=int, default=0, help="runs of each case; default 3, --quick 1")
    parser.add_argument("--no-peers", action="store_true", help="our own commands alone")
    parser.add_argument("--no-applies", action="store_true", help="leave out what writes")
    parser.add_argument(
        "--rows", action="append", default=[], metavar="TEXT", help="rows that hold it; repeatable"
    )
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    parser.add_argument("--output", type=Path, default=HERE / "results.json", help="where the JSON goes")
    asked = parser.parse_args()
    compile_programs()
    where = machine()
    cases = merged(_cases(asked))
    asked.output.write_text(json.dumps(as_json(where, cases), indent=2) + "\n", encoding="utf-8")
    text = "".join(f"{line}\n" for line in as_markdown(where, cases))
    sys.stdout.write(text)
    if asked.write:
        write_into_page("script/bench", text)


def _cases(asked: argparse.Namespace) -> Iterator[Case]:
    """Yield every case that is asked for, and say on stderr which comes next."""
    for about, groups in _groups(asked):
        print(about, file=sys.stderr, flush=True)
        for group in groups:
            yield from carry_out(group, lambda name: is_wanted(name, asked.rows))


def _groups(asked: argparse.Namespace) -> Iterator[tuple[str, Iterator[Group]]]:
    runs = asked.runs or (1 if asked.quick else 3)
    with_peers = not asked.no_peers and peers.there()
    for size in asked.sizes or ([1000, 10_000] if asked.quick else [1000, 10_000, 100_000]):
        yield f"{size:,} people", plans(size, runs, with_peers=with_peers)
    if not asked.no_applies:
        yield "applies", applies(runs, with_peers=with_peers)
        if not asked.quick:
            yield f"{MANY_CREATES:,} creates", memory()
    yield "start", starts(runs)


if __name__ == "__main__":
    main()
