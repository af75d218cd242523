"""Features of the references to document images. The images themselves are never fetched."""

from scoring_model.features.catalogue import MISSING, Family, Feature, Group, ReasonTopic
from scoring_model.features.words import PICTURES, PUBLIC_HOSTS

VERSION = 2

_HOST_ALONE = 3


def references(urls: tuple[str, ...] | None) -> tuple[float, ...]:
    """Describe the references: number, hosts, repetitions and form."""
    if not urls:
        return (0, *(MISSING,) * (len(_FEATURES) - 1))
    hosts, paths, names = set(), [], []
    queries = pictures = 0
    for url in urls:
        if "?" in url:
            queries += 1
            url = url[: url.index("?")]
        # Parts: https:, empty, host, path; the contract allows no other form.
        part = url.split("/", 3)
        hosts.add(part[2].lower())
        if len(part) > _HOST_ALONE:
            path = part[3]
            paths.append(path)
            name = path[path.rfind("/") + 1 :]
            names.append(name)
            if name[name.rfind(".") + 1 :].lower() in PICTURES:
                pictures += 1
    joined, n = "".join(paths), len(urls)
    length = len(joined) + len(paths)  # with the slash before each
    octets = joined.encode("utf-8", "surrogatepass")
    return (
        n,
        len(hosts),
        n - len(set(urls)),
        len(names) - len(set(names)),
        length / n,
        joined.count("/") / n,
        (len(octets) - len(octets.translate(None, b"0123456789"))) / max(length, 1),
        queries,
        n - pictures,
        sum(map(_is_public, hosts)),
        sum(map(_is_bare, hosts)),
    )


def _is_public(host: str) -> bool:
    """Return True if a host is public or a subdomain of a public one."""
    while host:
        if host in PUBLIC_HOSTS:
            return True
        host = host.partition(".")[2]
    return False


def _is_bare(host: str) -> bool:
    """Return True if a host is numeric, or has a user or a port."""
    return not host[-1:].isalpha() or "@" in host or ":" in host


def family() -> Family:
    """The features of images."""
    return Family(
        name="images",
        version=VERSION,
        reasons=_REASONS,
        groups=(Group(inputs=("imageUrls",), features=_FEATURES, function=references),),
    )


def _of_images(name: str, unit: str, sentence: str) -> Feature:
    return Feature(name=name, inputs=("imageUrls",), unit=unit, reason="DOCUMENT_IMAGES", sentence=sentence)


_FEATURES = (
    _of_images("image_count", "images", "Number of document images."),
    _of_images("image_hosts", "hosts", "Distinct hosts of the document images."),
    _of_images("image_repeats", "images", "Document images that are named more than once."),
    _of_images("image_same_names", "images", "Document images whose file is called like another's."),
    _of_images("image_path_length", "characters", "Mean length of the paths of the document images."),
    _of_images("image_depth", "folders", "Mean number of folders in the paths of the document images."),
    _of_images("image_digit_share", "share", "Share of digits in the paths of the document images."),
    _of_images("image_queries", "images", "Document images whose address has a query."),
    _of_images("image_no_ending", "images", "Document images whose file has no ending of a picture."),
    _of_images(
        "image_public_hosts", "hosts", "Hosts of the document images where anybody can put a picture."
    ),
    _of_images(
        "image_bare_hosts",
        "hosts",
        "Hosts of the document images that are numbers, or have a user or a port.",
    ),
)

_REASONS = (
    ReasonTopic(
        code="DOCUMENT_IMAGES",
        sentence="The references to document images counted against the {event}.",
        about="document images",
        positive=("image_count",),
        absence=("NO_DOCUMENT_IMAGES", "No document image was given."),
    ),
)
