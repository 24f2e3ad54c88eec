"""The Speed window's page about this machine in each of its states, without an engine or a disk."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QObject, Signal

from app.dashboard.benchmark_runner import BenchmarkRunner
from app.dashboard.measure_controller import MeasureController
from app.dashboard.measure_page import MeasurePage
from app.dashboard.window import SpeedWindow
from app.storage.settings import Settings
from mtplx_engine.ipc.protocol import CheckExactness
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.util.system import Power, SystemState
from tests.support.fake_models import FakeLibrary, installed
from tests.support.fake_services import MODEL
from tests.support.measurements import KEY, PREFILL_S, SUBJECT, measurement, report, run
from tests.support.session_bench import make_bench

LOADED = dataclasses.replace(
    MODEL, name="Qwen3.5 4B · 4-bit", path="/models/qwen", speed_key=KEY, quantization="4-bit, group 64"
)
NAMED = dataclasses.replace(
    SUBJECT, model=LOADED.name, quantization="4-bit, group 64", chip="Apple M3", system="macOS 26.1"
)
OTHER = dataclasses.replace(installed("SmolLM2-135M-Instruct"), title="SmolLM2 135M")
KINDS = tuple(PromptKind)
_GAINS = {
    PromptKind.CHAT: 1.55,
    PromptKind.CODE: 1.86,
    PromptKind.MATHS: 1.7,
    PromptKind.LANGUAGE: 1.31,
    PromptKind.COPY: 1.93,
}
_DEPTH_SHARES = {1: 0.86, 2: 1.0, 3: 0.95}
_ACCEPTED = {1: (24,), 2: (20, 13), 3: (16, 12, 8)}


class FakeRecords(QObject):
    """Measurements that a test keeps."""

    changed = Signal()

    def __init__(self, *measurements):
        super().__init__()
        self.all = measurements

    def refresh(self):
        """Do nothing: what there is is there."""

    def note(self, measurement):
        self.put(measurement, *self.all)

    def lift(self, measurements):
        self.put(*(dataclasses.replace(each, lifted=each.lifted or each in measurements) for each in self.all))

    def put(self, *measurements):
        self.all = measurements
        self.changed.emit()


class FakeSettings:
    """Settings that no disk has."""

    def __init__(self):
        self.value = Settings()

    def change(self, **fields):
        self.value = dataclasses.replace(self.value, **fields)


class Bench:
    """The page in its window, and everything that it follows."""

    def __init__(self, theme, *measurements, model=LOADED):
        self.chat = make_bench()
        self.link, self.queue = self.chat.link, self.chat.line
        self.records, self.library = FakeRecords(*measurements), FakeLibrary()
        self.runner = BenchmarkRunner(self.queue, self.link)
        self.measuring = MeasureController(self.runner, self.records, self.library, self.queue, link=self.link)
        self.page = MeasurePage(theme, self.measuring)
        self.settings = FakeSettings()
        self.window = SpeedWindow(theme, self.settings, (("This machine", self.page),))
        if model is not None:
            self.link.become_ready(model)
            self.library.list(dataclasses.replace(installed(model.name), path=model.path), OTHER)
        self.window.open_tab(self.page)


def rich():
    """Return a measurement of five kinds and three depths, as a Mac might give it."""
    runs = []
    for pair in range(15):
        kind, wobble = KINDS[pair % 5], 1 + 0.03 * (pair // 5 - 1)
        plain_s = 0.5 * (2 - wobble)
        runs.append(run(pair, 0, decode_s=plain_s, kind=kind, peak=2_900_000_000))
        for depth, share in _DEPTH_SHARES.items():
            drafted_s = (PREFILL_S + plain_s) / (1 + (_GAINS[kind] - 1) * share * wobble) - PREFILL_S
            runs.append(
                run(
                    pair,
                    depth,
                    decode_s=drafted_s,
                    kind=kind,
                    accepted_at=_ACCEPTED[depth],
                    identical=True,
                    peak=3_080_000_000 + depth * 10_000_000,
                )
            )
    found = measurement(1.0, kinds=KINDS, subject=NAMED)
    return dataclasses.replace(found, runs=tuple(runs))


def no_data(theme):
    return Bench(theme)


def no_model(theme):
    return Bench(theme, model=None)


def faster(theme):
    return Bench(theme, rich())


def two_lengths(theme):
    return Bench(theme, rich(), dataclasses.replace(rich(), context=8192))


def slower(theme):
    under = SystemState(load=2.5, power=Power.BATTERY, low_power=True, thermal="slowed to 80 %")
    return Bench(theme, measurement(0.6, 0.62, 0.58, subject=NAMED, before=under, accepted_at=(6, 2, 1)))


def unclear(theme):
    return Bench(theme, measurement(0.97, 1.01, 1.06, subject=NAMED, cross_check=0.9, differing=1))


def few(theme):
    return Bench(theme, measurement(1.4, 1.5, subject=NAMED))


def stale(theme):
    return Bench(theme, dataclasses.replace(rich(), subject=dataclasses.replace(NAMED, key="before")))


def planning(theme):
    bench = faster(theme)
    bench.page.again.click()
    return bench


def small_window(theme):
    return Bench(theme, model=dataclasses.replace(LOADED, context_window=4096))


def no_drafter(theme):
    note = "Its files hold no drafting head."
    return Bench(theme, model=dataclasses.replace(LOADED, drafter="none", max_depth=0, drafter_note=note))


def running(theme):
    bench = no_data(theme)
    bench.page.plan.start.click()
    bench.link.show_trial(0.38, "depth 2, another language", 41.0)
    return bench


def running_again(theme):
    bench = planning(theme)
    bench.page.plan.start.click()
    bench.link.show_trial(0.1, "plain decoding, chat", 80.0)
    return bench


def waiting(theme):
    bench = no_data(theme)
    bench.chat.actions.send("Why?")
    bench.page.plan.start.click()
    return bench


def loading(theme):
    bench = no_data(theme)
    bench.measuring.choose_model(str(OTHER.path))
    bench.page.plan.start.click()
    return bench


def failed(theme):
    bench = running(theme)
    bench.link.fail_trial("The engine stopped; nothing of what it measured is kept.")
    return bench


def cancelled(theme):
    bench = running(theme)
    bench.page.progress.cancel.click()
    bench.link.abandon()
    return bench


def checking(theme):
    bench = faster(theme)
    bench.page.exactness.button.click()
    assert isinstance(bench.link.trials[-1], CheckExactness)
    bench.link.show_trial(0.5, "drawing next words", 20.0)
    return bench


def _checked(theme, found):
    bench = checking(theme)
    bench.link.end_check(found)
    return bench


def exact(theme):
    return _checked(theme, report(distance=0.0))


def rounding(theme):
    return _checked(theme, report(greedy_same=7, greedy_ties=1))


def differing(theme):
    return _checked(theme, report(distance=0.2, greedy_same=3, p_value=1e-9))


STATES = {
    state.__name__.replace("_", "-"): state
    for state in (
        no_data,
        no_model,
        faster,
        two_lengths,
        slower,
        unclear,
        few,
        stale,
        planning,
        small_window,
        no_drafter,
        running,
        running_again,
        waiting,
        loading,
        failed,
        cancelled,
        checking,
        exact,
        rounding,
        differing,
    )
}
