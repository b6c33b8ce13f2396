import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import ranks  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def _end_ranks():
    yield
    ranks.close_all()
