"""Letter case of words that a configuration lists."""


def lower_case(text: str) -> str:
    """Return a trimmed word in lower case, without the dot that Python leaves behind the `i` of a Turkish `İ`."""
    return text.strip().lower().replace("i\u0307", "i")


def fold_case(text: str) -> str:
    """Return a word as words are compared: in lower case, with one i for the two of Turkish.

    Examples
    --------
    >>> fold_case(" TEMİZ "), fold_case("kapalı") == fold_case("KAPALI")
    ('temiz', True)
    """
    return lower_case(text).replace("ı", "i")
