"""How a run ends: interrupted, shortened, or shipped quickly; what it leaves, and what it says."""

import json
import signal

import pytest

pytest.importorskip("torch")

from helpers import SMALL, needs_training
from random_policies import policy_file
from tiny_runs import TINY, tiny_run

from card_envs.agents import NetworkAgent, shipped
from training import ship, train
from training.networks.sparse import SparseRowsBuffer
from training.ppo import PPO, Rollout
from training.runs.run import Run
from training.train import Session

pytestmark = needs_training

SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


def arguments(tmp_path, **changes):
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps({"game": SMALL.id, **TINY, **changes}))  # JSON is YAML
    return [str(path), "--out", str(tmp_path / "run")]


def interrupted_in(monkeypatch, owner, name, number, times=1):
    """The signal comes within a method's call, the first time that it was called so often."""
    method, calls = getattr(owner, name), []

    def called(self, *args):
        calls.append(name)
        if len(calls) == times:
            signal.raise_signal(number)
        return method(self, *args)

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize(
    "number", [SIGNALS[0], *(pytest.param(n, marks=pytest.mark.slow) for n in SIGNALS[1:])]
)
@pytest.mark.parametrize(
    ("owner", "name"), [(PPO, "update"), (PPO, "collect"), (Session, "_evaluate")]
)
def test_an_interrupted_run_leaves_all_it_has_and_resumes_bit_for_bit(
    owner, name, number, tmp_path, monkeypatch, capsys, caplog
):
    straight = tiny_run(
        SMALL, tmp_path / "straight", "evaluation.every=96", "checkpoint_every=1000"
    )
    train.train(straight, quiet=True)
    run = tiny_run(SMALL, tmp_path / "run", "evaluation.every=96", "checkpoint_every=1000")
    path = tmp_path / "same.yaml"
    path.write_text(json.dumps(run.config.model_dump(mode="json")))
    with monkeypatch.context() as patch, caplog.at_level("WARNING", "card_envs"):
        interrupted_in(patch, owner, name, number, times=2)
        assert train.main([str(path), "--out", str(run.folder)]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "training.train: interrupted"
    assert f"{run.policy_path} is the policy after 128 decisions" in caplog.text
    NetworkAgent.from_file(run.policy_path, SMALL)
    card = json.loads(run.card_path.read_text())
    assert (card["decisions"], card["finished"]) == (128, False)
    assert (run.folder / "learning_curve.png").exists()
    assert not run.is_finished
    assert train.main(["--resume", str(run.folder)]) == 0
    assert run.policy_path.read_bytes() == straight.policy_path.read_bytes()
    told = [[{**entry, "seconds": 0} for entry in x.progress] for x in (run, straight)]
    assert told[0] == told[1]
    assert run.is_finished


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ((Rollout, "arrays"), (SparseRowsBuffer, "clear")),  # a checkpoint, half of it made ready
        ((Session, "_evaluate"), (Run, "add_progress")),  # an evaluation, noted and not yet counted
    ],
)
def test_what_belongs_together_is_not_interrupted(outer, inner, tmp_path, monkeypatch):
    straight, run = (tiny_run(SMALL, tmp_path / name) for name in ("straight", "run"))
    train.train(straight, quiet=True)
    begin, step, calls = getattr(*outer), getattr(*inner), []

    def begun(self, *args):
        with monkeypatch.context() as patch:
            patch.setattr(*inner, interrupted)
            return begin(self, *args)

    def interrupted(self, *args):
        step(self, *args)
        calls.append(args)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(*outer, begun)
        with pytest.raises(KeyboardInterrupt):
            train.train(run, quiet=True)
    train.train(Run.reopen(run.folder), resume=True, quiet=True)
    assert run.policy_path.read_bytes() == straight.policy_path.read_bytes()
    told = [[entry["decisions"] for entry in x.progress] for x in (run, straight)]
    assert told[0] == told[1]


@pytest.mark.parametrize("number", SIGNALS)
def test_before_the_first_update_there_is_nothing_to_keep(
    number, tmp_path, monkeypatch, capsys, caplog
):
    with monkeypatch.context() as patch, caplog.at_level("WARNING", "card_envs"):
        interrupted_in(patch, Session, "_evaluate", number)
        assert train.main(arguments(tmp_path)) == 130
    assert caplog.messages == ["there is nothing to keep: no update has been made yet"]
    assert not list((tmp_path / "run").glob("*.safetensors"))
    assert train.main(["--resume", str(tmp_path / "run")]) == 0


def test_a_second_interrupt_does_not_wait_and_spoils_nothing(tmp_path, monkeypatch, capsys):
    """Within an update: the last checkpoint stays."""
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64", "checkpoint_every=1000")
    train.train(run, quiet=True)
    before = run.checkpoint_path.read_bytes()

    def interrupted(self):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it waited")

    with monkeypatch.context() as patch:
        patch.setattr(PPO, "update", interrupted)
        assert train.main(["--resume", str(run.folder), "--set", "decisions=128"]) == 130
    assert run.checkpoint_path.read_bytes() == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_has_a_whole_policy_from_its_first_checkpoint_on(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run")
    seen = []
    update = PPO.update

    def noted(self):
        if run.policy_path.exists():
            NetworkAgent.from_file(run.policy_path, SMALL)
            card = json.loads(run.card_path.read_text())
            seen.append((self.decisions, card["decisions"], card["finished"]))
        return update(self)

    monkeypatch.setattr(PPO, "update", noted)
    train.train(run, quiet=True)
    assert seen == [(128, 64, False), (192, 128, False)]
    assert json.loads(run.card_path.read_text())["finished"]


def test_a_run_can_be_shortened(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run")
    with monkeypatch.context() as patch:
        interrupted_in(patch, PPO, "update", signal.SIGINT, times=2)
        with pytest.raises(KeyboardInterrupt):
            train.train(run, quiet=True)
    assert train.main(["--resume", str(run.folder), "--set", "decisions=100"]) == 0
    shorter = Run.reopen(run.folder)
    assert shorter.config.decisions == 100
    assert shorter.is_finished
    assert json.loads(run.card_path.read_text())["decisions"] == 128  # which were made already
    assert shorter.progress[-1]["decisions"] == 128


def test_a_run_that_dies_before_its_last_checkpoint_makes_it_again(tmp_path, monkeypatch):
    """Its last evaluation was noted, of a policy that is lost."""
    run = tiny_run(SMALL, tmp_path / "run", "evaluation.every=1000")
    write = Session._checkpoint

    def dies_in_the_end(self):
        if self._learner.decisions >= run.config.decisions:
            raise OSError("no space left on device")
        write(self)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_checkpoint", dies_in_the_end)
        with pytest.raises(OSError, match="no space left"):
            train.train(run, quiet=True)
    noted = [entry["decisions"] for entry in run.progress]
    assert noted[-1] >= run.config.decisions
    train.train(run, resume=True, quiet=True)
    assert [entry["decisions"] for entry in run.progress] == noted
    with pytest.raises(ValueError, match="is finished"):
        train.train(run, resume=True, quiet=True)


def test_shipping_says_what_it_does_and_refuses_before_it_measures(tmp_path, monkeypatch, capsys):
    run = tiny_run(SMALL, tmp_path / "run")
    folder = tmp_path / "package" / "policies"
    for module in (ship, shipped):
        monkeypatch.setattr(module, "policies_folder", lambda game: folder)
    measured = []
    monkeypatch.setattr(ship, "strength", lambda *args: measured.append(args) or {"means": []})
    with monkeypatch.context() as patch:
        interrupted_in(patch, PPO, "update", signal.SIGINT, times=2)
        with pytest.raises(KeyboardInterrupt):
            train.train(run, quiet=True)
    assert ship.main([str(run.folder)]) == 2
    assert "is not finished: --resume finishes it" in capsys.readouterr().err
    train.train(run, resume=True, quiet=True)
    assert ship.main([str(run.folder), "--deals", "0"]) == 2
    with monkeypatch.context() as patch:
        patch.setattr(ship, "policy_versions", lambda game: ["ppo"])
        assert ship.main([str(run.folder)]) == 2
        assert "ppo is an opponent of the benchmark, which never changes" in capsys.readouterr().err
    folder.mkdir(parents=True)
    policy_file(SMALL, folder / "ppo.safetensors")
    assert ship.main([str(run.folder)]) == 2
    assert "already has a shipped policy" in capsys.readouterr().err
    assert not measured
    assert ship.main([str(run.folder), "--replace", "--quick"]) == 0
    assert measured[0][2] == ship.QUICK_DEALS
    out = capsys.readouterr().out
    assert f"Measuring one ppo against random at {SMALL.min_players} to " in out
    assert f"{ship.QUICK_DEALS} deals" in out
    assert "finished" not in json.loads((folder / "ppo.json").read_text())


def test_shipping_does_not_measure_for_a_folder_that_cannot_be_written(
    tmp_path, monkeypatch, capsys
):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train(run, quiet=True)
    (tmp_path / "file").write_text("no folder")
    for module in (ship, shipped):
        monkeypatch.setattr(module, "policies_folder", lambda game: tmp_path / "file")
    monkeypatch.setattr(ship, "strength", None)
    assert ship.main([str(run.folder)]) == 2
    assert "cannot be written" in capsys.readouterr().err
