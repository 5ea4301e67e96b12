"""What an analyst has set changes no answer."""

from __future__ import annotations

import pytest

SETTINGS = {"default_order": "desc", "integer_division": True}
ASKED = "FROM priv.reconstructed_distribution('visits') ORDER BY value ASC"


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("form", ["blocks", "operator", "two_weights"])
def test_order_and_division_by_default_change_no_estimate(release, form, setting):
    connection = release(form)
    expected = connection.execute(ASKED).fetchall()
    connection.execute(f"SET {setting} = '{SETTINGS[setting]}'")
    try:
        found = connection.execute(ASKED).fetchall()
    finally:
        connection.execute(f"RESET {setting}")
    assert found == expected
