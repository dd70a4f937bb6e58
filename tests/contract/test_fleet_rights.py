"""Facts of a blob are visible to a member who may read a repository that holds it, and to no
other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from sutler.errors import DeniedError
from sutler.fleet.catalogue import Fleet, Repository
from sutler.fleet.queue import Queue, Unit, open_queue
from sutler.store.team import Member, add_member, url_of
from tests.stores import joined

NAME = "company"
FACT = "facts:x.py"


class Team:
    """A tenant with a worker and readers of single repositories of its fleet."""

    def __init__(self, admin: str, folder: str) -> None:
        self.tenant = f"t{uuid4().hex[:8]}"
        self.admin, self.folder = admin, folder
        self.worker = self.queue(joined(admin, self.tenant, f"{self.tenant}_w", "writer"))

    def member(self, role: str, *repositories: str) -> Queue:
        login = f"{self.tenant}_{uuid4().hex[:6]}"
        projects = " ".join([f"fleet-{NAME}", *repositories])
        password = add_member(
            self.admin, self.tenant, Member(login, role, projects, ""), login=True
        )
        return self.queue(url_of(self.admin, login, password))

    def queue(self, url: str) -> Queue:
        return open_queue(Fleet(self.folder, NAME, url))


@pytest.fixture
def team(postgres_admin: str, tmp_path: Path) -> Iterator[Team]:
    """A fleet of three repositories; `web` and `team/fork` share the blob `both`."""
    made = Team(postgres_admin, str(tmp_path))
    with closing(made.worker) as worker:
        repos = {"web": ["both", "w"], "team/fork": ["both"], "api": ["a"]}
        worker.add_repositories([Repository(name, f"/{name}") for name in repos])
        worker.enqueue(map(unit, repos))
        worker.put_facts([(blob, FACT, "v", b"x") for blob in ("both", "w", "a", "none")])
        worker.put_facts([(f"u-{name}", "card", "v", b"x") for name in repos])
        for name, blobs in repos.items():
            worker.hold(unit(name), blobs)
        yield made


def unit(name: str) -> Unit:
    return Unit(f"u-{name}", name, "t", "index", "v", "p")


def visible(queue: Queue) -> set[str]:
    names = [(blob, FACT) for blob in ("both", "w", "a", "none")]
    return {blob for blob, _ in queue.facts_of(names, "v")}


@pytest.mark.parametrize(
    ("repositories", "blobs"),
    [
        (["web"], {"both", "w"}),
        (["team.fork"], {"both"}),
        (["api"], {"a"}),
        (["web", "api"], {"both", "w", "a"}),
        ([], set()),
    ],
)
def test_who_reads_a_repository_reads_the_facts_of_its_blobs(
    team: Team, repositories: list[str], blobs: set[str]
) -> None:
    with closing(team.member("reader", *repositories)) as queue:
        assert visible(queue) == blobs
        names = {name.replace(".", "/") for name in repositories}
        assert {item.name for item in queue.repositories()} == names
        assert {item.repo for item in queue.units()} == names
        cards = {f"u-{name}" for name in ("web", "team/fork", "api")}
        seen = {key for key in cards if queue.fact(key, "card", "v")}
        assert seen == {f"u-{name}" for name in names}


def test_workers_and_members_of_all_projects_read_everything(team: Team) -> None:
    assert visible(team.worker) == {"both", "w", "a", "none"}


def test_a_dropped_blob_is_no_longer_visible(team: Team) -> None:
    with closing(team.member("reader", "web")) as queue:
        team.worker.hold(unit("web"), ["w"])
        assert visible(queue) == {"w"}


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_no_member_of_few_projects_makes_a_blob_visible(team: Team, role: str) -> None:
    """Knowing the id of a blob is not enough: its holder cannot be claimed, nor its facts be
    written."""
    with closing(team.member(role, "api")) as queue:
        with pytest.raises(DeniedError):
            queue.hold(unit("api"), ["a", "w"])
        with pytest.raises(DeniedError):
            queue.put_facts([("z", FACT, "v", b"x")])
        with pytest.raises(DeniedError):
            queue.add_repositories([Repository("web", "/elsewhere")])
        assert visible(queue) == {"a"}
