"""A name that may be a patient's, as a hash that stands for it in messages.

hashed("Birchwood_Ann-01")     "#5b1f4a02"
"""

from __future__ import annotations

import hashlib
import hmac
import os


def hashed(name: str) -> str:
    """A name as a number sign and eight hexadecimal digits."""
    key, content = os.environ.get("PHISTACK_KEY", "").strip(), name.encode("utf-8", "surrogatepass")
    digest = hmac.digest(key.encode(), b"shown:" + content, "sha256") if key else hashlib.sha256(content).digest()
    return f"#{digest.hex()[:8]}"
