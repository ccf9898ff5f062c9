"""The files for operators are what their tools read, and name what askalike has."""

import re
from pathlib import Path

import pytest

from askalike.service.routes import monitoring
from askalike_opensearch.connection import OpenSearchAddress
from askalike_opensearch.maintenance import MAX_CLAUSES
from commands import run_command

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
FOLDER = Path(__file__).parents[1] / "docs" / "operators"


def test_compose_file_starts_three_nodes_and_two_desks():
    services = yaml.safe_load((FOLDER / "docker-compose.yml").read_text())["services"]
    nodes = {name: service for name, service in services.items() if name.startswith("opensearch")}
    assert {service["environment"]["node.name"] for service in nodes.values()} == nodes.keys()
    assert all(service["environment"]["cluster.name"] == "askalike" for service in nodes.values())
    for node in nodes.values():
        assert set(node["environment"]["discovery.seed_hosts"].split(",")) == nodes.keys()
    desks = [service for name, service in services.items() if name.startswith("desk")]
    assert len({tuple(desk["ports"]) for desk in desks}) == len(desks) == 2
    for desk in desks:
        address = OpenSearchAddress.parse(
            desk["environment"]["ASKALIKE_ENGINE"].removeprefix("opensearch+").replace("${OPENSEARCH_PASSWORD}", "x")
        )
        assert {host for host, _ in address.hosts} == nodes.keys()


def arguments_of_desks():
    """What the image's command, askalike, is given."""
    command = yaml.safe_load((FOLDER / "docker-compose.yml").read_text())["services"]["desk-1"]["command"]
    _, deployment, _ = yaml.safe_load_all((FOLDER / "askalike.yaml").read_text())
    return command, deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_desk_command_has_options_that_serve_takes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    image = (FOLDER.parents[3] / "deploy" / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["askalike"]' in image
    assert "opensearch" in image
    [volume] = re.findall(r"^VOLUME (\S+)", image, re.MULTILINE)
    for arguments in arguments_of_desks():
        code, helped, said = run_command(arguments[0], "--help")
        assert code == 0, said
        assert all(word in helped for word in arguments if word.startswith("--"))
        assert arguments[1].startswith(f"{volume}/")


def test_kubernetes_desks_find_the_helm_cluster():
    values = yaml.safe_load((FOLDER / "opensearch-values.yaml").read_text())
    claim, deployment, service = yaml.safe_load_all((FOLDER / "askalike.yaml").read_text())
    pod = deployment["spec"]["template"]
    [container] = pod["spec"]["containers"]
    environment = {one["name"]: one.get("value") for one in container["env"]}
    address = OpenSearchAddress.parse(
        environment["ASKALIKE_ENGINE"].removeprefix("opensearch+").replace("$(OPENSEARCH_PASSWORD)", "x")
    )
    name = f"{values['clusterName']}-{values['nodeGroup']}"
    assert [host for host, _ in address.hosts] == [f"{name}-{n}.{name}-headless" for n in range(values["replicas"])]
    assert service["spec"]["selector"] == pod["metadata"]["labels"] == deployment["spec"]["selector"]["matchLabels"]
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert volumes["archive"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes.keys()
    probed = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    assert probed <= {route.path for route in monitoring.router.routes}


def test_the_helm_values_are_a_cluster_of_three():
    values = yaml.safe_load((FOLDER / "opensearch-values.yaml").read_text())
    settings = yaml.safe_load(values["config"]["opensearch.yml"])
    assert (values["replicas"], values["clusterName"]) == (3, settings["cluster.name"])
    compose = yaml.safe_load((FOLDER / "docker-compose.yml").read_text())["services"]["opensearch-1"]["environment"]
    for name in (name for name in compose if name.endswith((".timeout", ".retry_count", "_block"))):
        assert str(settings[name]) == compose[name]
    assert settings["indices.query.bool.max_clause_count"] == MAX_CLAUSES
