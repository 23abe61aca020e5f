import pytest

from tests.database.watch.logs import SHOWN
from tests.rows.following import Followed


@pytest.fixture
def held() -> Followed:
    """A cluster whose watches have shown some objects."""
    followed = Followed()
    followed.commit(SHOWN)
    return followed
