"""What the verbs of pipeline.py do alike. Wiring only: every decision is in core/.

    outside    time, chance, and the way to the service
    planning   a plan made afresh: read, compare, judge
    held       what a writing run holds, let go of on every way out; who looks on
    carrying   settle what earlier runs left, carry out, end the run
    undoing    a saved undo, and what of it may be carried out now

Each knows those above it. Effects are in service/, store/ and apply/.
"""
