import pytest
import torch

from tests.decoding.models import tiny


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """These models are too small to gain from threads, and other tests run beside them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def untrained():
    return tiny.untrained()


@pytest.fixture(scope="session")
def trained():
    if not (tiny.TRAINED / "weak").is_dir():
        pytest.skip(f"no trained models in {tiny.TRAINED}")
    return tiny.trained()
