"""Features of the references to document images. The images themselves are never fetched."""

from scoring_model.features.catalogue import MISSING, Family, Feature, Group

VERSION = 1


def references(urls: tuple[str, ...] | None) -> tuple[float, ...]:
    """Number, hosts, repeats, mean length of the path, and queries of the references."""
    if urls is None:
        return (0.0, MISSING, MISSING, MISSING, MISSING)
    hosts, path_lengths, queries = set(), 0, 0
    for url in urls:
        resource, _, query = url.partition("?")
        # After https: and the empty part between the slashes; the contract leaves no other form.
        host, slash, path = resource.split("//", 1)[1].partition("/")
        hosts.add(host.lower())
        path_lengths += len(slash + path)
        queries += bool(query)
    return (
        float(len(urls)),
        float(len(hosts)),
        float(len(urls) - len(set(urls))),
        path_lengths / len(urls),
        float(queries),
    )


def family() -> Family:
    """The features of images."""
    return Family(
        name="images",
        version=VERSION,
        groups=(Group(inputs=("imageUrls",), features=_FEATURES, function=references),),
    )


def _of_images(name: str, unit: str, sentence: str) -> Feature:
    return Feature(name=name, inputs=("imageUrls",), unit=unit, reason="DOCUMENT_IMAGES", sentence=sentence)


_FEATURES = (
    _of_images("image_count", "images", "Number of document images."),
    _of_images("image_hosts", "hosts", "Distinct hosts of the document images."),
    _of_images("image_repeats", "images", "Document images that are named more than once."),
    _of_images("image_path_length", "characters", "Mean length of the paths of the document images."),
    _of_images("image_queries", "images", "Document images whose address has a query."),
)
