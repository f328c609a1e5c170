"""What the verbs of pipeline.py do alike. Wiring only: every decision is in core/.

    collecting   loading without the cyclic collector
    remembering  what lists showed, from one run to the next
    rehoming     records of a former address of the service
    targets      which service, and which of its workspaces
    standstill   a plan that said nothing, found again where nothing has changed
    known_stores  which store this project had, remembered outside of its folder
    planning     a plan made afresh: read, compare, judge
    exporting    live scopes as entries of manifests
    held         what a run holds, let go of on every way out; who looks on
    reaching     who the contacts of a message are at the service
    explaining   what has to be read for an explanation of an address
    locking      the lock in the service, taken while earlier runs are settled and the plan is made
    settling     what earlier runs left in doubt is looked for
    undoing      a saved undo, and what of it may be carried out now
    ending       the report of a run that has ended
    carrying     show a plan, check it, ask, carry it out

Each knows only those above it. Effects are in service/, store/ and applying/.
"""
