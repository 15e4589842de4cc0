"""Record numbers, telephone numbers, usernames and other codes, each in many shapes.

    random_code(("###-##-##",), rng)    "482-10-77"

A shape is text in which `#` stands for a digit, `%` for a digit above 1, `@` for a capital letter and `?` for a
small one; all else stands for itself.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence

_CHARACTERS = {"#": string.digits, "%": "23456789", "@": string.ascii_uppercase, "?": string.ascii_lowercase}

SHAPES: Mapping[str, Sequence[str]] = {
    "MEDICALRECORD": (
        *("#######", "###-##-##", "%######", "###-##-##-#", "########"),
        *("@#######", "####-##-##", "## ## ##", "###-##-###", "@@######", "00######", "###.##.##", "#####-#"),
    ),
    "IDNUM": (
        *("#-########", "@@###/#####", "%#######", "######", "@##-#####", "@@####:######", "##-@@-####", "@@-##-#####"),
        *("#######-#", "%####", "@#####", "##:@@######", "@@@##-###", "###########", "@@###/####-#", "##########"),
    ),
    "social": ("###-##-####", "#########", "### ## ####"),
    "DEVICE": ("@@@######@", "@@@-#####", "@####-##", "SN ######", "########", "@@ ###-@", "#@#####"),
    "BIOID": ("@@-####-##", "DNA ######", "@#######"),
    "HEALTHPLAN": ("@@@###-##-####", "@@########", "###-######-#", "######## ##", "@######@"),
    "FAX": ("(%##) %##-####", "%##-%##-####", "%##-####", "1-%##-%##-####", "%##.%##.####"),
    "PHONE": (
        *("(%##) %##-####", "%##-%##-####", "%##-####", "%##.%##.####", "(%##)%##-####", "1-%##-%##-####"),
        *("%## %## ####", "%##/%##-####", "%##-%##-#### x####", "%##-#### ext. ###", "%##-%##-####, ext. ####"),
    ),
    "pager": ("#####", "####", "p#####", "#-####", "%##-####", "3####"),
    "extension": ("#####", "#-####", "####", "####", "###"),
    "username": ("?###", "??##", "??###", "??#", "@@###", "???##", "??####", "@@##", "???"),
}
"""Label or kind -> its shapes. One tuple a label; the first shapes of a label are no likelier than the rest."""


def random_code(shapes: Sequence[str], rng: random.Random) -> str:
    """A random code in one of the shapes."""
    return "".join(rng.choice(_CHARACTERS.get(sign, sign)) for sign in rng.choice(shapes))
