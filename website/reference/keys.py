"""What each key of a spec means, with an example; where a class says it itself, only the example stands here."""

from typing import NamedTuple


class Key(NamedTuple):
    """A key's example as TOML, and its meaning unless the class has it."""

    example: str
    meaning: str = ""
    type: str = ""
    """In words, where the class takes anything and looks at it later."""


WHERE = 'where = { age = [18, 64], sex = "f" }'
KEYS: dict[str, dict[str, Key]] = {
    "[data]": {
        "path": Key('path = "people.csv"', "A CSV or Parquet file, a folder or pattern of them, or a store."),
        "database": Key('database = "registry.duckdb"'),
        "table": Key('table = "people"'),
        "query": Key('query = "select county, sex from people"'),
        "cells": Key('cells = ["county", "age", "sex"]'),
        "count": Key('count = "people"', "The column that says how many records a row stands for."),
        "levels": Key(
            'levels = { sex = ["f", "m"] }',
            "The levels of an attribute; those that are not declared are taken from the data, and so published.",
        ),
        "within": Key('within = { tract = "county" }'),
        "geography": Key('geography = { columns = ["state", "county"] }'),
        "separator": Key('separator = ";"', "The sign between the fields of a CSV file."),
        "encoding": Key('encoding = "latin-1"', "How a CSV file is written."),
        "missing": Key('missing = ["", "NA", "-9"]'),
        "aggregate": Key("aggregate = true"),
        "recode": Key(
            'recode = { age = { "0-17" = [0, 17], "18+" = [18, 120] } }',
            "Bins of numbers, or lists of levels that become one.",
        ),
        "omit": Key('omit = { sex = ["Total"] }'),
        "wide": Key('wide = { columns = { men = { sex = "m" }, women = { sex = "f" } } }'),
        "derive": Key('derive = { month = { from = "born", part = "month" } }'),
        "fold": Key("fold = true"),
        "thousands": Key('thousands = ","'),
        "id": Key('id = "household_id"'),
        "persons": Key('persons = "persons.csv"'),
    },
    "[data.geography]": {
        "column": Key('column = "block"'),
        "prefixes": Key("prefixes = { state = 2, county = 5, tract = 11 }"),
        "areas": Key('areas = { place = "places.csv" }'),
        "regroup": Key('regroup = ["tract"]'),
        "columns": Key('columns = ["state", "county", "tract"]', "A column for each level, root first."),
    },
    "[data.wide]": {
        "columns": Key('columns = { pop_white = { race = "white" } }', "The levels that each column counts."),
        "pattern": Key('pattern = "{measure}_{race}"', "The names of columns, with attributes in braces."),
        "differences": Key('differences = { minor = "pop - vap" }'),
    },
    "[data.derive]": {
        "source": Key('from = "born"', "The column of dates; the key is `from`."),
        "part": Key('part = "month"', "The part of the date: year, quarter, month, week or weekday."),
        "order": Key('order = "day-month-year"'),
    },
    "[[invariants]]": {
        "name": Key('name = "adults"', "What the statistic is called in certificates."),
        "margin": Key(
            'margin = ["county"]', "The number of records of each level, or combination of levels."
        ),
        "total": Key("total = true", "The number of all records."),
        "where": Key(WHERE, "The number of records of a selection; with a margin, the margin within it."),
        "weights": Key('weights = { file = "weights.csv" }', "Any whole-number combinations of cells."),
        "equals": Key("equals = 900", "The value that is to come out, checked against the data."),
        "level": Key('level = "county"', "One such statistic for every place of a level of the geography."),
    },
    "[invariants.weights]": {
        "file": Key(
            'file = "weights.csv"', "A file with the columns invariant, one for each attribute, and weight."
        ),
    },
    "[constraints]": {
        "nonnegative": Key("nonnegative = true", "No released count is below zero; for mechanisms that can."),
        "inequalities": Key(
            "inequalities = [{ total = true, at_most = 5000 }]", "Counts with bounds that everybody knows."
        ),
        "floors": Key(
            'floors = { file = "floors.csv" }', "The least count of every cell, from a public file."
        ),
        "structural_zeros": Key(
            'structural_zeros = [{ county = "Beta", age = "65" }]', "Cells that cannot have a record."
        ),
    },
    "[[constraints.inequalities]]": {
        "name": Key('name = "beds"', "What the bound is called in certificates."),
        "margin": Key('margin = ["county"]', "As of an invariant."),
        "total": Key("total = true", "As of an invariant."),
        "where": Key(WHERE, "As of an invariant."),
        "weights": Key('weights = { file = "weights.csv" }', "As of an invariant."),
        "equals": Key("equals = 0", "Not for bounds: use at_least or at_most."),
        "level": Key('level = "county"', "As of an invariant."),
        "at_least": Key("at_least = 10", "The least value of the count."),
        "at_most": Key("at_most = 250", "The largest value of the count."),
    },
    "[constraints.floors]": {
        "file": Key('file = "floors.csv"', "A public file with a column for each attribute and a count."),
        "count": Key('count = "least"', "The column of counts."),
    },
    "[[accuracy]]": {
        "marginal": Key(
            'marginal = ["county", "sex"]', "The counts that are to be accurate: those of a margin."
        ),
        "where": Key(WHERE, "Or the count of a selection."),
        "cells": Key("cells = true", "Or every cell."),
        "level": Key('level = "0.95"', "The probability, or the name of a level of the geography."),
        "probability": Key(
            'probability = "0.95"', "The probability, where level names a level of the geography."
        ),
        "within": Key('within = "5"', "How far a count may be off: a number, or a share such as 2%."),
        "of": Key('of = "1000"'),
    },
    "[privacy]": {
        "unit": Key('unit = "household"', "The noun for who is protected, used in every sentence."),
        "records_per_unit": Key("records_per_unit = 3", "How many records a person may have."),
        "standard": Key('standard = "zcdp"', "How the output of neighbouring tables is compared."),
        "epsilon": Key(
            'epsilon = "1/2"', "The target of pure and approximate guarantees, exact and in quotes."
        ),
        "delta": Key('delta = "1e-10"', "The delta of an approximate guarantee."),
        "rho": Key('rho = "2.56"', "The target of a zero-concentrated guarantee."),
        "mu": Key('mu = "1"', "The target of a Gaussian guarantee."),
        "adjacency": Key(
            'adjacency = "unit"',
            "`semi`: the number is for one person's whole change. `unit`: it is for each record of distance.",
        ),
        "neighbours": Key(
            'neighbours = "add-remove"', "Whether a record may be another, or be there or not."
        ),
        "distance": Key("distance = 4", "Protect tables up to so many records apart, if that is more."),
        "laws": Key('laws = "model.toml"'),
    },
    "[budget]": {
        "division": Key('division = "weights"', "How several tables share one budget."),
    },
    "[[tables]]": {
        "name": Key('name = "by-age"', "The name of the table, and of its file."),
        "cells": Key('cells = ["county", "age"]', "Its cells."),
        "weight": Key('weight = "2"', "Its weight in the division of the budget."),
        "invariants": Key(
            'invariants = [{ margin = ["county"] }]', "What it keeps exactly.", "list of tables"
        ),
        "constraints": Key(
            'constraints = { structural_zeros = [{ age = "0" }] }',
            "What everybody knows of it.",
            "table of keys",
        ),
        "accuracy": Key(
            'accuracy = [{ marginal = ["age"], within = 3 }]',
            "How accurate its counts are to be: the least budget of all follows.",
            "list of tables",
        ),
        "mechanism": Key(
            'mechanism = { name = "lattice-gaussian" }',
            "Its mechanism, unless all share one.",
            "table of keys",
        ),
    },
    "[[tables]] of several files": {
        "name": Key('name = "people"', "The name of the table, and of its file."),
        "cells": Key('cells = ["age", "sex"]', "Its cells; without, it has one count for each place."),
        "weight": Key('weight = "2"', "Not for several files: each has a target of its own."),
        "invariants": Key(
            'invariants = [{ total = true, level = "state" }]', "What it keeps exactly.", "list of tables"
        ),
        "constraints": Key(
            'constraints = { structural_zeros = [{ age = "0" }] }',
            "What everybody knows of it.",
            "table of keys",
        ),
        "accuracy": Key(
            'accuracy = [{ marginal = ["age"], within = 3 }]',
            "How accurate its counts are to be: its least budget follows.",
            "list of tables",
        ),
        "mechanism": Key(
            'mechanism = { name = "topdown" }', "How its budget is shared out.", "table of keys"
        ),
        "data": Key('data = { path = "people.csv", count = "people" }', "Its file, as of `[data]`."),
        "privacy": Key('privacy = { unit = "person", rho = "1" }', "Its unit and target, as of `[privacy]`."),
        "published": Key(
            'published = [{ release = "pl" }]', "What was published before and stays.", "list of tables"
        ),
    },
    "[[published]] before a release": {
        "release": Key('release = "pl"', "The folder of an earlier release, whose numbers stay."),
        "table": Key('table = "people"', "Of several tables in it, the one that is meant."),
        "file": Key('file = "old.csv"', "In place of a release, any table."),
        "count": Key('count = "people"', "The column of its numbers."),
        "cost": Key('cost = "rho 1 for one person"', "What that table cost whom, in words."),
        "level": Key('level = "tract"', "The level at whose nodes they are kept."),
        "margin": Key('margin = ["age"]', "The attributes by which they are kept."),
        "columns": Key('columns = { age = "votingage" }', "What an attribute is called there."),
        "recode": Key('recode = { age = { "0-17" = [0, 17], "18+" = [18, 120] } }', "The levels there."),
    },
    "[[constraints.across]]": {
        "name": Key('name = "people live where a facility is"', "What it is called in certificates."),
        "level": Key('level = "block"'),
        "left": Key('left = { table = "people", margin = ["place"] }', "The one side."),
        "sense": Key('sense = ">="', "How the left side compares with the right one."),
        "right": Key('right = { table = "units", margin = ["kind"] }', "The other side."),
        "zero": Key("zero = true", "The left side is 0 wherever the right side is."),
    },
    "[constraints.across.left] and right": {
        "table": Key('table = "people"', "The table whose counts are meant."),
        "margin": Key('margin = ["place"]', "One constraint for each combination of these levels."),
        "where": Key('where = { place = ["dorm", "home"] }', "Only these records."),
        "times": Key("times = 2", "A whole number that the counts are multiplied by."),
    },
    "[publication]": {
        "title": Key('title = "Births by month"', "The title of the page."),
        "publisher": Key('publisher = "Office of Statistics"', "Who publishes it."),
        "contact": Key('contact = "statistics@example.org"', "Whom to ask."),
        "period": Key('period = "2024"', "The time that the counts are about."),
        "url": Key('url = "https://example.org/births"', "Where it is published."),
        "licence": Key('licence = "CC BY 4.0"', "Under which terms."),
        "status": Key("status = true"),
        "formats": Key('formats = ["xlsx", "csvw"]'),
    },
    "[mechanism]": {
        "name": Key('name = "lattice-gaussian"', "The mechanism."),
        "queries": Key('queries = [{ marginal = ["county"], weight = "2" }]'),
        "optimise_for": Key('optimise_for = [{ marginal = ["county", "age"] }]', "Margins to be best for."),
        "norm": Key('norm = "l2"', "The norm of the noise."),
        "epsilon_per_unit": Key(
            'epsilon_per_unit = "1/4"', "The loss per unit of the norm or loss, in place of a target."
        ),
        "chain": Key("chain = true", "Draw by a Markov chain where no exact draw is in reach."),
        "moves": Key('moves = "moves.csv"', "A file of moves for the chain, unless it finds its own."),
        "stratify": Key('stratify = ["state", "size"]', "Columns in which records must agree to be swapped."),
        "swap": Key('swap = ["county"]', "Columns that are swapped, together."),
        "renumber": Key('renumber = ["household_id"]'),
        "rate": Key('rate = "1/20"', "The swap rate; solved for from epsilon where it is left out."),
        "rates": Key('rates = [{ at_most = 5, rate = "1/5" }]'),
        "rounds": Key('rounds = [{ within = ["tract"], rate = "1/10" }]'),
        "repeatable": Key("repeatable = true"),
        "nulls": Key('nulls = "level"'),
        "allocation": Key('allocation = { state = "1/4", county = "3/4" }'),
        "loss": Key('loss = "l2"', "What the weights fall with."),
        "base": Key('base = "prior"', "The base measure."),
        "prior": Key('prior = "last-year.csv"', "A public file of past counts."),
        "prior_count": Key('prior_count = "people"', "Its column of counts."),
        "prior_where": Key('prior_where = { year = "2023" }', "The rows of it that are meant."),
        "concentration": Key('concentration = "1"', "How much the prior weighs."),
        "floor": Key('floor = "1/2"', "What is added to each count of the prior."),
        "passes": Key('passes = [["total"], ["race"]]'),
        "estimate": Key('estimate = "linear"', "The estimate that is released."),
        "of": Key('of = "income"', "The response."),
        "on": Key('on = ["age"]', "The predictors."),
        "where": Key(WHERE, "The records that are meant."),
        "level": Key('level = "1/2"', "The level of a quantile."),
        "event": Key('event = "yes"', "The level of the response that a logistic regression tells."),
        "low": Key('low = "0"', "The least value that the response may have."),
        "high": Key('high = "100"', "The largest one."),
        "bound": Key(
            'bound = "8"',
            "A bound: of coefficients of a regression; of swapping, which of the two bounds is stated.",
        ),
        "steps": Key("steps = 4096", "How finely the range is divided."),
        "anchors": Key(
            'anchors = { race = "other" }',
            "Levels at which the cells are preferred that close the invariants.",
        ),
    },
    "[[mechanism.rates]]": {
        "rate": Key('rate = "1/5"', "The swap rate of these strata."),
        "where": Key('where = { county = ["North", "East"] }', "Strata with these levels of their key."),
        "at_least": Key("at_least = 50"),
        "at_most": Key("at_most = 5"),
    },
    "[[mechanism.rounds]]": {
        "within": Key('within = ["tract"]', "Columns of swap that stay as they are in this round."),
        "rate": Key('rate = "1/10"', "Its swap rate; solved for, or that of the last round, where left out."),
        "rates": Key('rates = [{ at_most = 5, rate = "1/5" }]', "Rates of some of its strata."),
    },
    "[[mechanism.queries]]": {
        "name": Key('name = "race"'),
        "recode": Key('recode = { age = { minor = ["0-17"], adult = ["18-64", "65+"] } }'),
        "marginal": Key(
            'marginal = ["county", "sex"]', "Sums of cells by these attributes; none is the total."
        ),
        "level": Key('level = "county"', "A level of the geography."),
        "where": Key(WHERE, "Only these records."),
        "weights": Key('weights = { file = "weights.csv" }', "Any whole-number combinations of cells."),
        "weight": Key('weight = "2"', "Its share of the budget relative to the others."),
    },
    "[[published]]": {
        "path": Key('path = "by_county.csv"', "A published table."),
        "attributes": Key('attributes = ["county", "sex"]', "Its columns of levels; all but the count."),
        "count": Key('count = "people"', "Its column of counts; the last one unless named."),
        "rule": Key('rule = "rounded"', "How its numbers came about."),
        "base": Key("base = 5", "Of rounding: the base."),
        "method": Key('method = "random"', "Of rounding: to which multiple; `drb` needs no base."),
        "below": Key("below = 10", "Of suppression: counts below it are hidden."),
        "symbol": Key('symbol = "*"', "What stands for a hidden count."),
        "secondary": Key('secondary = "x"', "What stands for one that is hidden with others."),
        "zeros": Key('zeros = "hidden"', "Whether counts of 0 are hidden as well."),
        "top": Key("top = 100", "Where counts are cut off."),
        "merged": Key('merged = { age = { "0-17" = ["0-4", "5-17"] } }', "What merged levels stand for."),
    },
    "[population]": {
        "attributes": Key('attributes = ["county", "age"]', "The cells that are asked about."),
        "group": Key('group = { facts = "age", largest = 5 }', "Small groups, and what may follow of them."),
        "hierarchies": Key('hierarchies = { age = "ages.hrc" }', "Files of nested levels (.hrc)."),
        "within": Key('within = { tract = "county" }', "Nested attributes."),
        "narrow": Key("narrow = 3", "The width below which an interval is told."),
    },
    "[coarsen]": {
        "method": Key('method = "suppression"', "How tables may be made coarser."),
        "narrow": Key("narrow = 3", "The width that intervals must reach."),
        "below": Key("below = 10", "Only cells with counts below it must reach that."),
        "attributes": Key('attributes = ["age"]', "The attributes that may be recoded."),
        "bases": Key("bases = [5, 10]", "The bases that rounding may take."),
        "cost": Key('cost = "people"', "What is least: hidden numbers, or the people they count."),
        "keep": Key('keep = ["states.csv"]', "Tables that stay as they are, as they are out."),
        "totals": Key("totals = true", "Whether all totals are added to each table."),
        "records": Key("records = true", "Whether files hold a person a row."),
    },
    "[model]": {
        "kind": Key('kind = "rates"', "How counts come about: rates, proportions or counts."),
        "areas": Key('areas = ["county"]', "The attributes that make an area."),
        "by": Key('by = ["sex"]'),
        "cells": Key('cells = ["county", "tenure"]'),
        "level": Key('level = "tract"'),
        "per": Key("per = 1000"),
    },
    "[exposure]": {
        "file": Key('file = "population.csv"', "A file with a number for each area."),
        "column": Key('column = "people"', "Its column of numbers."),
        "each": Key("each = 1000", "One number for all cells, in place of a file."),
    },
    "[prior]": {
        "mean": Key("mean = { median = 0.01, factor = 10 }", "The mean of the rates."),
        "shape": Key("shape = { median = 2, factor = 4 }", "How alike rates are: more is more alike."),
        "weight": Key("weight = { median = 1, factor = 3 }", "The parameter of proportions."),
        "earlier": Key('earlier = { file = "2020.csv", column = "people" }', "Earlier counts of the cells."),
        "floor": Key("floor = 0.5", "What is added to each earlier count."),
    },
    "[sampler]": {
        "name": Key('name = "gibbs"', "How draws are made."),
        "draws": Key("draws = 4000", "How many, over all chains."),
        "chains": Key("chains = 4", "How many chains."),
        "warmup": Key("warmup = 500", "Sweeps of each chain before its first draw."),
        "thin": Key("thin = 2", "How many sweeps there are for one draw."),
        "proposals": Key('proposals = "noise"'),
    },
    "[[mechanism.optimise_for]]": {
        "marginal": Key('marginal = ["county", "sex"]', "A margin whose errors are to be small."),
        "level": Key('level = "county"', "A level of the geography."),
        "up_to": Key("up_to = 2", "All margins of up to so many attributes."),
        "accuracy": Key("accuracy = true", "What [[accuracy]] asks for."),
        "weight": Key('weight = "2"', "How much it counts relative to the others."),
    },
}
