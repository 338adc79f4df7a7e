"""Pages made from the program: what it knows of itself is not written twice."""

from website.pages import GENERATED
from website.reference import pages


def generated() -> dict[str, str]:
    """Return all generated pages by their path on the site."""
    found = dict(pages.all_pages())
    assert found.keys() == set(GENERATED)
    return found
