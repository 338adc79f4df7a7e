"""Down a hierarchy: whole counts of every node from measurements, as in the census's TopDown.

Only measurements and public values enter. ``descent`` is the road from the root to the leaves, over what is
``known`` of each level, with what lower levels ask of upper ones (``carry``); ``run`` says where it is done.

``step`` is one parent and its children: ``children`` for a detailed and a total query, ``general`` for any,
then ``rounding``. ``subtree`` is several levels at once, a table alone, or whatever a step does not reach, by
``squares`` under any ``system``. What no counts can keep is told by ``conflict``.
"""
