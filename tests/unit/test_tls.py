"""TLS on the way to the database: PgBouncer speaks it here, as a server would. What fails is said, and what to do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from core.errors import ConfigError
from core.storage.postgres import open_postgres
from tests.e2e.command import Elefante
from tests.pgbouncer import PROGRAM, WHY_NOT, own_pooler
from tests.postgres import new_database

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT),
    pytest.mark.skipif(
        shutil.which("openssl") is None, reason="no openssl on this machine: TLS to the database is not tested"
    ),
]

OPENSSL: Final = (
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost"
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate that the server has, and one that it has not."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "other"):
        asked = f"{OPENSSL} -keyout {folder}/{name}.key -out {folder}/{name}.crt"
        subprocess.run(["openssl", *asked.split()], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def encrypted(certificates: Path) -> Iterator[Callable[[str, str], str]]:
    """Give what makes the URL of an empty database that is reached by TLS alone, at a host, with these parameters."""
    speaks = [
        f"client_tls_{what} = {{folder}}/server.{kind}" for what, kind in (("key_file", "key"), ("cert_file", "crt"))
    ]
    files = [certificates / f"server.{kind}" for kind in ("key", "crt")]
    with own_pooler("client_tls_sslmode = require", *speaks, files=files) as pooler:
        empty = pooler.through(new_database()).replace("postgres@", "postgres:s3cr3t@")
        yield lambda host, parameters: f"{empty.replace('127.0.0.1', host)}?{parameters.format(folder=certificates)}"


@pytest.mark.parametrize(
    ("host", "parameters"),
    [("127.0.0.1", "sslmode=require"), ("localhost", "sslmode=verify-full&sslrootcert={folder}/server.crt")],
)
async def test_a_link_is_encrypted_and_the_server_verified(
    encrypted: Callable[[str, str], str], host: str, parameters: str
) -> None:
    database = await open_postgres(encrypted(host, parameters))
    await database.write(lambda query: query.run("DELETE FROM people"))
    await database.close()


@pytest.mark.parametrize(
    ("host", "parameters", "said"),
    [
        ("localhost", "sslmode=verify-full&sslrootcert={folder}/other.crt", "certificate cannot be checked"),
        ("localhost", "sslmode=verify-full&sslrootcert=system", "sslrootcert=system finds none"),
        ("localhost", "sslmode=verify-full&sslrootcert={folder}/server.key", "name the file of"),
        ("127.0.0.1", "sslmode=verify-full&sslrootcert={folder}/server.crt", "is for another name"),
        ("localhost", "sslmode=require&sslrootcert=system", "goes with sslmode=verify-full alone"),
        ("localhost", "sslmode=verified", "sslmode is verify-full, "),
        ("localhost", "sslmode=disable", "takes encrypted connections only"),
    ],
)
async def test_what_is_wrong_with_tls_is_said(
    encrypted: Callable[[str, str], str], host: str, parameters: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        await open_postgres(encrypted(host, parameters))


def test_the_command_line_says_it_too_and_not_the_password(
    encrypted: Callable[[str, str], str], tmp_path: Path
) -> None:
    url = encrypted("localhost", "sslmode=verify-full&sslrootcert={folder}/other.crt")
    done = Elefante(tmp_path)("check", STORAGE_URL=url)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "STORAGE_URL: the server's certificate cannot be checked" in said
    assert "s3cr3t" not in said
    assert "Traceback" not in said
