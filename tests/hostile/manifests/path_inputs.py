"""Hostile and mistaken file references: what is written, and words of the message, or "fine".

They are read from `manifests/ops.yaml` of a project that `world` below describes.
"""

ABSOLUTE, OUT, SPACES = "is an absolute path", "leads out of the project root", "has spaces around it"

CASES: list[tuple[str, str]] = [
    # What may be written.
    ("list.csv", "fine"),
    ("./list.csv", "fine"),
    ("deep/list.csv", "fine"),
    ("deep/../list.csv", "fine"),
    ("deep//list.csv", "fine"),
    ("../outside-manifests.csv", "fine"),
    ("../manifests/list.csv", "fine"),
    ("with space.csv", "fine"),
    ("käse.csv", "fine"),
    ("...", "begins with a dot"),
    ("-rf", "fine"),
    ("$HOME", "fine"),
    ("%2e%2e", "fine"),
    ("*", "fine"),
    # Out of the root.
    ("../../secret.csv", OUT),
    ("../../../../../../etc/passwd", OUT),
    ("deep/../../../secret.csv", OUT),
    ("..", "names no file"),
    ("../..", OUT),
    ("../../project/manifests/list.csv", OUT),
    ("./../../secret.csv", OUT),
    ("list.csv/../../../secret.csv", OUT),
    # Absolute, in every dialect.
    ("/etc/passwd", ABSOLUTE),
    ("//server/share", ABSOLUTE),
    ("/dev/zero", ABSOLUTE),
    ("/proc/self/environ", ABSOLUTE),
    ("C:/Windows/win.ini", ABSOLUTE),
    ("c:list.csv", ABSOLUTE),
    ("\\\\server\\share", "holds a backslash"),
    ("C:\\Windows", "holds a backslash"),
    ("deep\\list.csv", "holds a backslash"),
    ("..\\..\\secret.csv", "holds a backslash"),
    ("~/list.csv", "begins with a tilde"),
    ("~root/list.csv", "begins with a tilde"),
    ("~", "begins with a tilde"),
    # URLs are paths that do not exist.
    ("file:///etc/passwd", "does not exist"),
    ("http://127.0.0.1/x", "does not exist"),
    ("https:list.csv", "does not exist"),
    # Nothing, blanks, folders.
    (" ", SPACES),
    (" list.csv", SPACES),
    ("list.csv ", SPACES),
    (".", "is a folder"),
    ("./", "names a folder"),
    ("deep", "is a folder"),
    ("deep/", "names a folder"),
    ("list.csv/", "names a folder"),
    ("list.csv/x", "something that is not a folder"),
    ("list.csv/.", "fine"),
    # Not there.
    ("missing.csv", "does not exist"),
    ("LIST.CSV", "does not exist"),
    ("missing/list.csv", "does not exist"),
    ("deep/../../missing/list.csv", "does not exist"),
    ("%2e%2e%2f%2e%2e%2fsecret.csv", "does not exist"),
    ("..../secret.csv", "begins with a dot"),
    ("a" * 256, "longer than any path may be"),
    ("ü" * 130, "longer than any path may be"),
    ("a/" * 600 + "b", "longer than any path may be"),
    # Links, each of them.
    ("link-inside.csv", "leads through the symbolic link manifests/link-inside.csv"),
    ("link-outside.csv", "leads through the symbolic link manifests/link-outside.csv"),
    ("link-folder/list.csv", "leads through the symbolic link manifests/link-folder"),
    ("link-folder/../list.csv", "fine"),
    ("link-root/secret.csv", "leads through the symbolic link manifests/link-root"),
    ("link-chain.csv", "leads through the symbolic link manifests/link-chain.csv"),
    ("link-loop", "leads through the symbolic link manifests/link-loop"),
    ("link-dangling", "leads through the symbolic link manifests/link-dangling"),
    ("link-proc", "leads through the symbolic link manifests/link-proc"),
    # No regular files.
    ("fifo", "is not a regular file"),
    ("socket", "is not a regular file"),
    # Too much, too little.
    ("huge.csv", "536,870,913 bytes; the limit is "),
    ("empty.csv", "the payload is empty"),
]

# These cannot be written plainly in YAML; they come by escapes.
ESCAPED: list[tuple[str, str]] = [
    ('"list.csv\\n"', "holds the control character U+000A"),
    ('"list\\tx.csv"', "holds the control character U+0009"),
    ('"a\\rb"', "holds the control character U+000D"),
]
