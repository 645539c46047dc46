"""docker-compose.yml: what it promises. scripts/compose-test starts its service."""

import re
from typing import Any

import pytest
import yaml

from tests.support.commands import ROOT

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("coordinator", "web", "worker", "host")
#: How many containers of each of these.
COUNT = 2


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


def test_redis_evicts_nothing_and_keeps_the_queue() -> None:
    settings = SERVICES["redis"]["command"][0].splitlines()
    assert {"maxmemory-policy noeviction", "appendonly yes"} <= set(settings)


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
