"""What a guarantee says of secrets, under the laws that a spec names: `[privacy] laws`.

They are a word, for a class of laws on all tables that agree with the invariants, or the name of a model
file. With a model the release is calibrated to its Delta_z: tables so many records apart are told apart by no
more than was asked for, and that is epsilon-TP, or rho-TP, for the laws of the model [theory, 7]. Where one
person's change takes more records than that, it reaches as far: a model never leaves a person less protected
between tables than the same spec without one.
"""

from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from holdfast.data.invariants import margin_levels
from holdfast.data.schema import Schema
from holdfast.privacy.guarantee import Guarantee
from holdfast.public import Public
from holdfast.spec.model import Spec
from holdfast.spec.privacy import MODEL, Privacy
from holdfast.system.errors import SpecError
from holdfast.system.text import canonical
from holdfast.system.ways import assigned, setting

if TYPE_CHECKING:
    from holdfast.privacy.pufferfish.guarantee import TPGuarantee
    from holdfast.privacy.pufferfish.of_model import StatedModel, TableOf
    from holdfast.privacy.pufferfish.tables import NamedTable


def stated_model(spec: Spec) -> "StatedModel | None":
    """Return the model that a spec names, None where it names none."""
    laws = spec.privacy.laws
    if laws is None or spec.privacy.laws_kind != MODEL:
        return None
    if laws == MODEL:
        raise SpecError(
            f"{assigned(setting('privacy', 'laws'), 'model')} names no file: write its name, such"
            ' as "model.toml".'
        )
    from holdfast.privacy.pufferfish.of_model import StatedModel  # noqa: PLC0415 - few specs name a model

    return StatedModel.read(spec.resolve(laws))


def calibrated(privacy: Privacy, model: "StatedModel | None", public: Public) -> Privacy:
    """Return what was asked for, with a distance as far as a secret of the model moves a table."""
    if model is None:
        return privacy
    from holdfast.privacy.pufferfish.of_model import fitted  # noqa: PLC0415 - few specs name a model

    far = ceil(fitted(model.family, _table(public))[1].finite)  # what does not fit is refused here
    if privacy.adjacency == "unit" or privacy.distance is not None:
        return privacy
    least = public.premises("semi").semi_adjacency.worst_case
    return privacy.model_copy(update={"distance": max(far, least, 1)})


def secrets_of(
    guarantee: Guarantee, public: Public, privacy: Privacy, model: "StatedModel | None"
) -> "TPGuarantee | None":
    """Return a guarantee between tables in terms of secrets; None where no laws were asked for.

    Raises GuaranteeError where it says nothing of them.
    """
    kind = privacy.laws_kind
    if kind is None:
        return None
    if kind == "model":
        if model is None:
            raise SpecError(f"{setting('privacy', 'laws')} names a model, and there is none: add it.")
        from holdfast.privacy.pufferfish.of_model import tp_of_model  # noqa: PLC0415 - few name a model

        return tp_of_model(guarantee, model, _table(public))
    from holdfast.privacy.pufferfish.tables import tp_of_tables  # noqa: PLC0415 - where laws are named

    return tp_of_tables(guarantee, kind, bounded=bool(public.inequalities), table=_named(public.schema))


def _named(schema: Schema) -> "NamedTable":
    """Return a table by its attributes, and what identifies its cells: levels, nestings, structural zeros."""
    from holdfast.privacy.pufferfish.tables import NamedTable  # noqa: PLC0415 - where laws are named

    return NamedTable(tuple(schema.names), sha256(canonical(schema.to_dict()).encode()).hexdigest())


def _table(public: Public) -> "TableOf":
    from holdfast.privacy.pufferfish.of_model import TableOf  # noqa: PLC0415 - few specs name a model

    names, places = public.schema.names, np.asarray(public.possible, dtype=np.int64)
    cells = tuple(", ".join(levels) for levels in margin_levels(public.schema, names, places))
    return TableOf(public.scope, tuple(names), cells, public.whom)
