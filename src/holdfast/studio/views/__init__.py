"""The views in the order of their links; each is a module that ends in `VIEW`."""

from holdfast.studio.pages import View
from holdfast.studio.views import account, accuracy, audits, check, data, exact, release, use

VIEWS: tuple[View, ...] = (
    data.VIEW,
    exact.VIEW,
    accuracy.VIEW,
    release.VIEW,
    account.VIEW,
    check.VIEW,
    use.VIEW,
    audits.VIEW,
)
