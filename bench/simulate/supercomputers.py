"""Times of real supercomputers: what the two files of ../shared/data hold, which of it is healthy, and the forms of the
simulator's models that are fit to it.

Nothing is fit to more than 128 ranks. The form of a model is chosen there, too: each is fit to fewer than 128 ranks, the
one that foretells 128 best is fit again to all that may be used.
"""
import csv
import dataclasses
import json

import calibration as c

FITTED_UP_TO = 128
# Of one node: another machine.
RANKS_PER_NODE = {"frontier": 8, "perlmutter": 4}
# RCCL's plug-in for Slingshot takes 76 to 82 us a step there, whatever the size (README of the data).
PATHOLOGICAL = lambda cell, machine: machine == "frontier" and cell.algorithm == "vendor" and cell.ranks > FITTED_UP_TO

LIBRARIES = {"RCCL": "vendor", "NCCL": "vendor", "PCCL": "pccl"}
MACHINES = {"RCCL": "frontier", "NCCL": "perlmutter"}


def read_csv(file, fields):
    """Rows with their line numbers. Raises c.Failure that names file and line."""
    try:
        with open(file, encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            if list(rows.fieldnames or []) != fields:
                raise c.Failure(f"{file}: line 1: wanted are the columns {','.join(fields)}")
            for number, row in enumerate(rows, 2):
                if None in row or None in row.values():
                    raise c.Failure(f"{file}: line {number}: wanted are {len(fields)} fields")
                yield number, row
    except OSError as error:
        raise c.Failure(f"{file}: {error.strerror}") from None


def positive(file, number, row, field, kind):
    try:
        value = kind(row[field])
    except ValueError:
        value = 0
    if not value > 0:
        raise c.Failure(f"{file}: line {number}: {field}: \"{row[field]}\" is no number above 0")
    return value


def read_timings(file):
    """{(machine, cell): [us of each run]}; the cell's algorithm is the library."""
    times = {}
    for number, row in read_csv(file, ["machine", "collective", "run_set", "library", "ranks", "bytes", "time_ms"]):
        cell = c.Cell(row["collective"], row["library"], positive(file, number, row, "ranks", int), positive(file, number, row, "bytes", int))
        times.setdefault((row["machine"], cell), []).append(1e3 * positive(file, number, row, "time_ms", float))
    return times


def read_figures(file):
    """{(machine, cell, figure): us} of the vendors' libraries and PCCL."""
    times = {}
    for number, row in read_csv(file, ["figure", "library", "size_MB", "procs", "time_ms"]):
        name, collective, *machine = row["figure"].split()
        library = LIBRARIES.get(row["library"])
        if library is None:
            continue  # Cray-MPICH by itself: the simulator has no model of it
        where = machine[0].lower() if machine else MACHINES[row["library"]]
        cell = c.Cell(collective.replace("-", "_"), library, positive(file, number, row, "procs", int),
                      positive(file, number, row, "size_MB", int) * c.MIB)
        times[where, cell, name] = 1e3 * positive(file, number, row, "time_ms", float)
    return times


@dataclasses.dataclass
class Form:
    """A model of the simulator: the fastest of these algorithms, with these figures to be fit, from these values."""

    name: str
    algorithms: list
    figures: dict
    vendors: list = dataclasses.field(default_factory=list)


def rings(collectives, *protocols):
    """Flat rings with a cost a step: one, or as many as the library has protocols, of which it takes the fastest."""
    vendors, figures = [], {"call_us": 30}
    for name, step, bandwidth in protocols:
        for collective in collectives:
            vendors.append({"name": name, "collective": collective})
        # The collectives of a joint model share their figures: the first stands for all.
        figures[f"vendors.{name}.step_us"], figures[f"vendors.{name}.bandwidth_GBps"] = step, bandwidth
    algorithms = ["vendor" if name == "healthy" else f"vendor-{name}" for name, *_ in protocols]
    return Form(f"ring, {len(protocols)} protocol{'s' if len(protocols) > 1 else ''}", algorithms, figures, vendors)


def levels(algorithm):
    return Form(algorithm, [algorithm], {"call_us": 100, "network.alpha_us": 20, "network.bandwidth_GBps": 20, "node.bandwidth_GBps": 60})


class Model:
    """A form on a machine: predicts cells from values of its figures."""

    def __init__(self, machine, form, source):
        self.machine, self.form, self.source = machine, form, source

    def machine_file(self, values):
        own = {path: value for path, value in values.items() if not path.startswith("vendors.")}
        machine = c.with_figures(self.machine, own, self.source)
        if self.form.vendors:
            value = lambda vendor, name: c.figure(float(f"{values[f'vendors.{vendor}.{name}']:.4g}"), self.source)
            machine["vendors"] = [{**vendor, **{name: value(vendor["name"], name) for name in ("step_us", "bandwidth_GBps")}}
                                  for vendor in self.form.vendors]
        return machine

    def predict(self, values, cells):
        machine = self.machine_file(values)
        asked = [cell._replace(algorithm=name) for cell in cells for name in self.form.algorithms]
        times = c.simulate(machine, list(dict.fromkeys(asked)))
        return {cell: min(times[cell._replace(algorithm=name)] for name in self.form.algorithms) for cell in cells}

    def fit(self, measured, finest=0.02):
        values, _ = c.fit(lambda tried: c.misfit(self.predict(tried, measured), measured), self.form.figures, finest)
        return values


def choose(models, measured):
    """The model that foretells the largest numbers of ranks from the smaller ones best, fit to all of them."""
    if len(models) == 1:
        return models[0], models[0].fit(measured), {}
    most = max(cell.ranks for cell in measured)
    fewer = {cell: us for cell, us in measured.items() if cell.ranks < most}
    last = {cell: us for cell, us in measured.items() if cell.ranks == most}
    scores = {}
    for model in models:
        scores[model.form.name] = c.misfit(model.predict(model.fit(fewer, finest=0.1), last), last)
    best = min(models, key=lambda model: scores[model.form.name])
    return best, best.fit(measured), scores


def load_machine(name):
    return json.loads((c.ROOT / "machines" / f"{name}.json").read_text(encoding="utf-8"))
