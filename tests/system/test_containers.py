"""docker-compose.yml, the image and the manifests of Kubernetes promise the same. scripts/compose-test starts them."""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import yaml
from typer.main import get_command

from hakoiri.cli.app import app
from hakoiri.worker.transport.data_redis import free_port
from tests.support.commands import PATIENCE_SECONDS, ROOT

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("coordinator", "web", "worker", "host")


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_confined_and_comes_back(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["user"].split(":")[0] not in ("", "0", "root")
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["mem_limit"] and service["pids_limit"]
    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


def test_only_the_page_reaches_other_networks() -> None:
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if service["networks"] != ["inside"]} == {"web"}


def test_password_and_token_are_required_and_never_in_the_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    interpolated = re.findall(r"(?<!\$)\$\{([^}]*)\}", text)
    assert interpolated
    secret = ("REDIS_PASSWORD", "HAKOIRI_TOKEN")
    required = {variable for variable in interpolated if variable != "CONTAINER_MEMORY:-8g"}
    assert {variable.partition(":?")[0] for variable in required} == {*secret}
    assert all(variable.partition(":?")[2] for variable in required)
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert all(f"\n{name}=\n" in example for name in secret)


def test_images_are_pinned() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    for image in [*bases, *(service["image"] for service in SERVICES.values())]:
        assert re.search(r":\d+\.\d+", image), image


def test_the_user_of_the_image_is_the_user_of_the_file() -> None:
    assert {SERVICES[name]["user"] for name in OURS} == set(re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE))


# The build context of the image holds what the Dockerfile copies, and nothing else; the service in containers


#: What compose-test exits with where no engine can be had.
NO_ENGINE = 3
IGNORED = [
    line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
]


def sources() -> Iterator[str]:
    """The files and folders of the repository that the Dockerfile copies."""
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        yield from line.split()[:-1]


SOURCES = [*sources()]


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path; ``**/`` at its beginning stands for any folders, ``*`` for none."""
    if pattern.startswith("**/"):
        return fnmatch(Path(path).name, pattern.removeprefix("**/"))
    return fnmatch(path, pattern) and path.count("/") == pattern.count("/")


def passes(name: str) -> bool:
    """Return whether .dockerignore lets a path through: the last line that matches it or a folder above decides."""
    ways = [name, *map(str, Path(name).parents)][:-1]
    deciding = [line for line in IGNORED if any(matches(line.removeprefix("!"), way) for way in ways)]
    return not deciding or deciding[-1].startswith("!")


@pytest.mark.parametrize("source", SOURCES)
def test_what_the_dockerfile_copies_is_in_the_build_context(source: str) -> None:
    path = ROOT / source
    assert path.exists()
    inside = [path, *path.rglob("*")] if path.is_dir() else [path]
    names = [str(each.relative_to(ROOT)) for each in inside if "__pycache__" not in each.parts]
    assert [name for name in names if not passes(name)] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_service_in_containers() -> None:
    done = subprocess.run([ROOT / "scripts/compose-test"], check=False, capture_output=True, text=True)
    if done.returncode == NO_ENGINE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr


# The manifests of examples/kubernetes: as Kubernetes defines them, confined, and with commands that exist


FOLDER = ROOT / "examples" / "kubernetes"
TEXT = (FOLDER / "hakoiri.yaml").read_text(encoding="utf-8")
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(TEXT))
#: The modules of `kube_models` by versions. They take half a second to import, which whoever collects tests need not.
VERSIONS = {
    "v1": "api_v1.io.k8s.api.core.v1", "apps/v1": "apis_apps_v1.io.k8s.api.apps.v1",
    "networking.k8s.io/v1": "apis_networking_k8s_io_v1.io.k8s.api.networking.v1",
}  # fmt: skip
CONFINED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
PODS = {each["metadata"]["name"]: each["spec"]["template"] for each in OBJECTS if "template" in each["spec"]}
CONTAINERS = {each["name"]: each for pod in PODS.values() for each in pod["spec"]["containers"]}


@cache
def known_fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the fields of a class of Kubernetes by name: the type, and whether it is required."""
    hints = get_type_hints(kind)
    return {
        each.name.rstrip("_"): (hints[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(kind)
        if not each.name.startswith("_")
    }


def mistakes(value: Any, kind: Any, where: str) -> Iterator[str]:
    """Yield what of a value differs from its type in the API: unknown and missing fields, other types."""
    if isinstance(kind, type) and is_dataclass(kind):
        known = known_fields(kind)
        if not isinstance(value, dict):
            yield f"{where} is not a map"
            return
        yield from (f"{where}.{name} is unknown" for name in value.keys() - known.keys())
        yield from (f"{where}.{name} is missing" for name, (_, must) in known.items() if must and name not in value)
        for name in value.keys() & known.keys():
            yield from mistakes(value[name], known[name][0], f"{where}.{name}")
    elif get_origin(kind) is list and isinstance(value, list):
        for number, each in enumerate(value):
            yield from mistakes(each, get_args(kind)[0], f"{where}[{number}]")
    elif get_origin(kind) is dict and isinstance(value, dict):
        for name, each in value.items():
            yield from mistakes(each, get_args(kind)[1], f"{where}.{name}")
    elif len(kinds := [each for each in get_args(kind) if each is not NoneType]) == 1 and get_origin(kind) is not list:
        yield from mistakes(value, kinds[0], where)
    elif not isinstance(value, tuple(kinds) or kind) or (isinstance(value, bool) and kind is int):
        yield f"{where} is {value!r}, not {kind}"


def mistakes_of(each: dict[str, Any]) -> list[str]:
    rest = {name: value for name, value in each.items() if name not in ("apiVersion", "kind")}
    kind = getattr(import_module(f"kube_models.{VERSIONS[each['apiVersion']]}"), each["kind"])
    return list(mistakes(rest, kind, each["metadata"]["name"]))


@pytest.mark.parametrize("each", OBJECTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_objects_are_as_kubernetes_defines_them(each: dict[str, Any]) -> None:
    assert mistakes_of(each) == []


def test_each_selector_finds_its_pods() -> None:
    labels = {name: pod["metadata"]["labels"] for name, pod in PODS.items()}
    for each in OBJECTS:
        selector = each["spec"].get("selector", each["spec"].get("podSelector"))
        wanted = selector.get("matchLabels", selector)
        assert [name for name, found in labels.items() if wanted.items() <= found.items()], each["metadata"]
    assert {name for name, found in labels.items() if found["app.kubernetes.io/part-of"] == "hakoiri"} == PODS.keys()


@pytest.mark.parametrize("name", PODS)
def test_pods_are_confined_and_have_time_to_end(name: str) -> None:
    spec = PODS[name]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["automountServiceAccountToken"] is False
    assert spec["terminationGracePeriodSeconds"] >= 30
    for container in spec["containers"]:
        assert container["securityContext"] == CONFINED
        assert {"livenessProbe", "readinessProbe"} <= container.keys()
        assert {"cpu", "memory"} == container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]
        mounted = {each["name"] for each in container["volumeMounts"]}
        own = next(each for each in OBJECTS if each["metadata"]["name"] == name and "template" in each["spec"])
        claims = {each["metadata"]["name"] for each in own["spec"].get("volumeClaimTemplates", [])}
        assert mounted <= {each["name"] for each in spec["volumes"]} | claims


def test_images_and_users_are_those_of_compose() -> None:
    assert CONTAINERS["redis"]["image"] == SERVICES["redis"]["image"]
    assert {CONTAINERS[name]["image"] for name in ("coordinator", "page", "host")} == {SERVICES["host"]["image"]}
    (user,) = re.findall(r"^USER (\d+):", DOCKERFILE, re.MULTILINE)
    assert {PODS[name]["spec"]["securityContext"]["runAsUser"] for name in ("coordinator", "host")} == {int(user)}


def started_redis(password: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """Run the command of its container with a `redis-server` that prints its settings."""
    (tmp_path / "redis-server").write_text("#!/bin/sh\ncat\n", encoding="ascii")
    (tmp_path / "redis-server").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "REDIS_PASSWORD": password}
    return subprocess.run(CONTAINERS["redis"]["command"], env=env, check=False, capture_output=True, text=True)


def test_a_password_that_would_change_the_settings_of_redis_is_refused(tmp_path: Path) -> None:
    assert 'requirepass "a-B_7"\n' in started_redis("a-B_7", tmp_path).stdout
    for password in ("a b", 'a"b', "a#b", "a@b", "a\nsave 1 1", "$(id)"):
        refused = started_redis(password, tmp_path)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "redis-password may hold letters" in refused.stderr


def test_passwords_come_from_the_secret_alone() -> None:
    named = {
        variable["name"]: variable["valueFrom"]["secretKeyRef"]["name"]
        for container in CONTAINERS.values()
        for variable in container["env"]
        if "value" not in variable
    }
    assert named == {"REDIS_PASSWORD": "hakoiri", "HAKOIRI_TOKEN": "hakoiri"}
    for container in CONTAINERS.values():
        assert "PASSWORD" not in " ".join(container.get("args", []))
    assert "kind: Secret" not in TEXT


def commands() -> Iterator[list[str]]:
    """Yield every command of Hakoiri in the manifests."""
    for container in CONTAINERS.values():
        if "args" in container:
            yield container["args"]
        for probe in ("livenessProbe", "readinessProbe"):
            words = " ".join(container[probe].get("exec", {"command": []})["command"])
            yield from (found.split() for found in re.findall(r"hakoiri ([\w /-]*)", words))


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_commands_exist(words: list[str]) -> None:
    group: Any = get_command(app)
    context = group.make_context("hakoiri", [*words])
    command = group.get_command(context, words[0])
    assert command is not None
    command.make_context(words[0], words[1:], context)


VARIABLE = re.compile(r"\$\$|\$\{(\w+):\?[^}]*\}")


def interpolate(text: str, values: dict[str, str]) -> str:
    """Return a text as compose reads it: ``$$`` is ``$``, ``${NAME:?message}`` the value of a required variable."""
    return VARIABLE.sub(lambda match: values[match[1]] if match[1] else "$", text)


@pytest.mark.parametrize("name", SERVICES)
def test_no_port_is_open_to_other_hosts(name: str) -> None:
    assert all(str(port).startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))
    assert "network_mode" not in SERVICES[name]


def test_redis_evicts_nothing_and_keeps_the_queue() -> None:
    settings = SERVICES["redis"]["command"][0].splitlines()
    assert {"maxmemory-policy noeviction", "appendonly yes"} <= set(settings)


class Service:
    """The containers of the file as processes: the same commands, other paths, and free ports instead of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.password, self.token = secrets.token_hex(16), secrets.token_hex(16)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = {port: str(free_port("127.0.0.1")) for port in ("6379", "8080")}
        for volume in COMPOSE["volumes"]:
            (place / volume).mkdir()

    def start(self, name: str, container: str) -> None:
        """Start one container of the service `name`."""
        service = SERVICES[name]
        entry = service.get("entrypoint", ["/bin/sh", str(ROOT / "scripts/container")])
        argv = [*entry, *(self._here(name, container, word) for word in service["command"])]
        with open(self.place / f"{container}.log", "wb") as log:
            self.processes[container] = subprocess.Popen(
                argv, env=self.environment(name, container), cwd=self.place,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def environment(self, name: str, container: str) -> dict[str, str]:
        """The variables that a container has: those of the file and those of the image."""
        own = {key: self._here(name, container, value) for key, value in SERVICES[name]["environment"].items()}
        image = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HAKOIRI_DATA": str(self.place / "data"),
            "XDG_CACHE_HOME": str(self.place / container),
            "BUILT_KERNELS": str(self.place / "kernels"),
        }
        return image | own

    def check(self, name: str, container: str) -> "subprocess.CompletedProcess[str]":
        """Do the health check of a service."""
        kind, *words = (self._here(name, container, word) for word in SERVICES[name]["healthcheck"]["test"])
        return self.execute(["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words, name, container)

    def execute(self, argv: list[str], name: str, container: str) -> "subprocess.CompletedProcess[str]":
        """As ``docker compose exec`` does."""
        return subprocess.run(
            argv, env=self.environment(name, container), cwd=self.place,
            check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip

    def log(self, container: str) -> str:
        return (self.place / f"{container}.log").read_text(encoding="utf-8")

    def _here(self, name: str, container: str, text: str) -> str:
        """A text of the file with the paths, addresses and ports that containers have here."""
        places = {
            "/tmp/store": self.place / f"{container}-store",
            "/store": self.place / "hosts",
            "/data": self.place / ("redis" if name == "redis" else "data"),
        }
        text = re.sub(f"(?<![-\\w])({'|'.join(places)})", lambda match: str(places[match[1]]), text)
        text = text.replace("@redis:", "@127.0.0.1:").replace("hakoiri-container", f"/bin/sh {ROOT}/scripts/container")
        for port, free in self.ports.items():
            text = text.replace(port, free)
        values = {"REDIS_PASSWORD": self.password, "HAKOIRI_TOKEN": self.token}
        return interpolate(text.replace("0.0.0.0", "127.0.0.1"), values)  # noqa: S104


def test_redis_refuses_a_password_that_would_break_its_url(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.password = 'a"b@c d'  # noqa: S105
    service.start("redis", "redis")
    assert service.processes["redis"].wait(PATIENCE_SECONDS) != 0
    assert "REDIS_PASSWORD may hold" in service.log("redis")
    assert service.password not in service.log("redis")


@pytest.mark.parametrize(
    "name",
    [
        ".env", ".git/config", ".venv/bin/python", "tests/conftest.py", "scripts/setup",
        "hakoiri/worker/__pycache__/a.pyc",
    ],
)  # fmt: skip
def test_nothing_else_is_in_the_build_context(name: str) -> None:
    assert not passes(name)
