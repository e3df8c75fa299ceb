# SPDX-License-Identifier: Apache-2.0
"""docs/kubernetes, the base that operators copy: against the image, the binary under test, and Kubernetes' own tools."""

import os
import re
import subprocess

import pytest
import yaml
from stage import ROOT

BASE = ROOT / "docs" / "kubernetes"
TOOLS = ROOT / ".venv" / "kubernetes" / "bin"
# What the cluster gives each pod.
POD = {"POD_NAME": "tapedeck-0", "POD_IP": "192.0.2.7", "ETCD_PASSWORD": "etcd secret", "TAPEDECK_TOKEN": "0123456789abcdef0123"}


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)


def objects(text):
    return {found["kind"]: found for found in yaml.safe_load_all(text) if found}


@pytest.fixture(scope="module")
def stateful_set():
    return objects((BASE / "tapedeck.yaml").read_text())["StatefulSet"]["spec"]


@pytest.fixture(scope="module")
def pod(stateful_set):
    return stateful_set["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod):
    (only,) = pod["containers"]
    return only


@pytest.fixture(scope="module")
def configuration():
    return yaml.safe_load((BASE / "configuration.yaml").read_text())


@pytest.fixture(scope="module")
def containerfile():
    return (ROOT / "Containerfile").read_text()


@pytest.fixture(scope="module")
def tools():
    """kubectl and kubernetes-validate from PyPI."""
    made = run(ROOT / "Tests" / "Peers" / "make_venvs.sh", "kubernetes")
    assert made.returncode == 0, made.stderr
    return TOOLS


def test_the_image_is_the_one_of_this_version(container, tapedeck_path):
    version = run(tapedeck_path, "--version").stdout.strip()
    assert re.fullmatch(r"registry\.example\.org/tapedeck:(\S+)", container["image"])[1] in version.split()


def test_the_pod_is_the_user_of_the_image(pod, containerfile):
    (user,) = re.findall(r"useradd .*--uid (\d+)", containerfile)
    (group,) = re.findall(r"groupadd .*--gid (\d+)", containerfile)
    security = pod["securityContext"]
    assert security["runAsNonRoot"] and security["runAsUser"] == int(user)
    assert security["runAsGroup"] == security["fsGroup"] == int(group)


def test_the_image_finds_its_configuration_and_what_it_may_write(pod, container, containerfile, stateful_set, configuration):
    path = re.search(r'CMD \["run", "--config", "(.*?)"\]', containerfile)[1]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    folder, name = path.rsplit("/", 1)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    (generated,) = yaml.safe_load((BASE / "kustomization.yaml").read_text())["configMapGenerator"]
    assert volumes[mounts[folder]["name"]]["configMap"]["name"] == generated["name"]
    (source,) = [item.split("=")[1] for item in generated["files"] if item.startswith(f"{name}=")]
    assert (BASE / source).is_file()
    # The root of the container is read only: recordings are on the claim, what is temporary on a volume.
    assert container["securityContext"]["readOnlyRootFilesystem"]
    claims = {claim["metadata"]["name"] for claim in stateful_set["volumeClaimTemplates"]}
    assert mounts[configuration["storage"]["directory"]]["name"] in claims
    temporary = re.search(r"ENV XDG_CACHE_HOME=(\S+)", containerfile)[1]
    assert "emptyDir" in volumes[mounts[temporary]["name"]]


def test_every_port_is_that_of_the_configuration(container, configuration, stateful_set):
    port = int(configuration["api"]["listen"].rsplit(":", 1)[1])
    (published,) = container["ports"]
    (service,) = objects((BASE / "tapedeck.yaml").read_text())["Service"]["spec"]["ports"]
    assert published["containerPort"] == service["port"] == port
    assert stateful_set["template"]["metadata"]["annotations"]["prometheus.io/port"] == str(port)
    assert configuration["cluster"]["url"].endswith(f":{port}")
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {published["name"]}
    assert container["lifecycle"]["preStop"]["exec"]["command"][-1] == f"http://127.0.0.1:{port}"


def test_the_probes_ask_for_what_the_api_has(container):
    paths = yaml.safe_load((ROOT / "Sources" / "Control" / "OpenAPI" / "openapi.yaml").read_text())["paths"]
    for probe in ("livenessProbe", "readinessProbe"):
        assert "get" in paths[container[probe]["httpGet"]["path"]]


def test_the_selectors_find_the_pods(stateful_set):
    found = objects((BASE / "tapedeck.yaml").read_text())
    labels = stateful_set["template"]["metadata"]["labels"]
    assert stateful_set["selector"]["matchLabels"] == labels == found["Service"]["spec"]["selector"]
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert stateful_set["serviceName"] == found["Service"]["metadata"]["name"]


def test_the_daemon_takes_the_configuration_of_a_pod(container, tapedeck_path, tmp_path):
    given = {variable["name"] for variable in container["env"]}
    text = (BASE / "configuration.yaml").read_text()
    assert given == set(re.findall(r"\$\{(\w+)\}", text)) == set(POD)
    path = tmp_path / "tapedeck.yaml"
    path.write_text(text.replace("/var/lib/tapedeck", str(tmp_path / "recordings")))
    checked = run(tapedeck_path, "run", "--config", path, "--check", env={**os.environ, **POD})
    assert checked.returncode == 0, checked.stderr
    # Each of them is needed.
    for name in POD:
        lacking = {key: value for key, value in {**os.environ, **POD}.items() if key != name}
        refused = run(tapedeck_path, "run", "--config", path, "--check", env=lacking)
        assert refused.returncode == 2 and name in refused.stderr, (name, refused.stderr)


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def test_a_pod_that_ends_is_drained_first(pod, container, tapedeck_path):
    program, *arguments = container["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "tapedeck" and arguments[0] == "drain"
    # Taken as it is: the daemon is missing, and nothing else.
    arguments[-1] = "http://127.0.0.1:1"
    ended = run(tapedeck_path, *arguments)
    assert ended.returncode == 3 and "127.0.0.1:1" in ended.stderr, (ended.returncode, ended.stderr)
    deadline = seconds(arguments[arguments.index("--deadline") + 1])
    assert pod["terminationGracePeriodSeconds"] >= deadline + 300, "files and exports take their time after the drain"


@pytest.mark.long
def test_kustomize_makes_what_kubernetes_takes(tools, tmp_path):
    made = run(tools / "kubectl", "kustomize", BASE)
    assert made.returncode == 0, made.stderr
    found = objects(made.stdout)
    assert set(found) == {"ConfigMap", "Service", "PodDisruptionBudget", "StatefulSet"}
    assert found["ConfigMap"]["data"]["tapedeck.yaml"] == (BASE / "configuration.yaml").read_text()
    # The name carries a sum of the content: pods start again when it changes.
    (volume,) = [volume for volume in found["StatefulSet"]["spec"]["template"]["spec"]["volumes"] if "configMap" in volume]
    assert volume["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"] != "tapedeck"
    path = tmp_path / "base.yaml"
    path.write_text(made.stdout)
    judged = run(tools / "kubernetes-validate", "--strict", path)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    # It finds faults.
    for right, wrong in (("replicas: 3", "replicas: three"), ("readOnlyRootFilesystem:", "readOnlyRootFileSystem:")):
        assert right in made.stdout
        path.write_text(made.stdout.replace(right, wrong))
        assert run(tools / "kubernetes-validate", "--strict", path).returncode != 0, wrong
