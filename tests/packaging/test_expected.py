from __future__ import annotations

import platform

import pytest

from mtplx_bundle.gates import expected

LOCK = """\
apsw==3.54.1.0 \\
    --hash=sha256:00
    # via mtplx
cffi==2.1.1 ; sys_platform == 'linux' \\
    --hash=sha256:01
Jaraco.Classes==3.4.0 ; python_full_version < '3.12' and platform_machine == 'arm64' \\
    --hash=sha256:02
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:03
"""


def test_what_is_locked_for_macs_is_expected_and_nothing_else():
    assert expected.locked(LOCK) == {("apsw", "3.54.1.0"), ("jaraco-classes", "3.4.0")}


def test_a_checkout_expects_its_own_version_and_the_modules_of_its_python():
    found = expected.of_checkout(None)
    names = {name for name, _ in found.wheels}
    assert {"mlx-metal", "pyside6-essentials", "backports-tarfile"} <= names
    assert not {"mlx-cpu", "secretstorage", "colorama"} & names
    assert {"app/__main__.py", "mtplx_engine/host.py", "resources/models.toml"} <= found.own
    assert found.modules.version == platform.python_version()


@pytest.mark.parametrize("name", ["Jaraco.Classes", "jaraco_classes", "jaraco--classes"])
def test_names_that_are_one_are_equal(name):
    assert expected.normal(name) == "jaraco-classes"
