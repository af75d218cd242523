"""Features of the references to document images. The images themselves are never fetched."""

from urllib.parse import urlsplit

from scoring_model.features.catalogue import MISSING, Family, Feature, Group

VERSION = 1


def references(urls: tuple[str, ...] | None) -> tuple[float, ...]:
    """Number, hosts, repeats, mean length of the path, and queries of the references."""
    if urls is None:
        return (0.0, MISSING, MISSING, MISSING, MISSING)
    parts = [urlsplit(url) for url in urls]
    return (
        float(len(urls)),
        float(len({part.netloc.lower() for part in parts})),
        float(len(urls) - len(set(urls))),
        sum(len(part.path) for part in parts) / len(parts),
        float(sum(bool(part.query) for part in parts)),
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
