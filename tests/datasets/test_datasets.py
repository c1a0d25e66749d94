"""Loaders: found, downloaded, resumed, verified; generators as documented."""

import io
import os
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from kernelbook import datasets
from kernelbook.datasets import _fetch, tables, text

REAL = Path(os.environ.get("KERNELBOOK_DATA", "absent"))
real_data = pytest.mark.skipif(
    not (REAL / "coil20").exists(), reason="KERNELBOOK_DATA does not name the real data"
)


def make_tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def data(tmp_path, monkeypatch):
    """An empty KERNELBOOK_DATA and an empty cache."""
    monkeypatch.setenv("KERNELBOOK_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(_fetch, "cache_root", lambda: tmp_path / "cache")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


# ----------------------------------------------------------------------------------- the server


class Handler(BaseHTTPRequestHandler):
    """A server with ranges, which breaks the first answer off after `server.broken` bytes."""

    def do_GET(self):
        start = 0
        if header := self.headers.get("Range"):
            start = int(header.split("=")[1].rstrip("-"))
            self.server.ranges.append(start)
        body = self.server.body[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.broken:
            body, self.server.broken = body[: self.server.broken], 0
            self.wfile.write(body)
            self.wfile.flush()
            self.connection.close()
            return
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.body, server.broken, server.ranges = os.urandom(300_000), 0, []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def source(server, **options):
    return _fetch.Source("f", ("a.bin",), f"http://127.0.0.1:{server.server_port}/a.bin", **options)


def test_a_download_goes_to_the_cache_and_is_used_from_there(data, server):
    path = datasets.data_file(source(server))
    assert path.read_bytes() == server.body
    server.body = b"changed"
    assert datasets.data_file(source(server)) == path
    assert path.stat().st_size == 300_000


def test_an_interrupted_download_goes_on_where_it_stopped(data, server):
    server.broken = 200_000
    with pytest.raises(datasets.DataUnavailable, match="goes on there"):
        datasets.data_file(source(server))
    path = datasets.data_file(source(server))
    assert path.read_bytes() == server.body
    assert len(server.ranges) == 1
    assert server.ranges[0] > 0
    assert [p.name for p in path.parent.iterdir()] == ["a.bin"]


def test_a_damaged_download_is_an_error_and_is_not_kept(data, server):
    with pytest.raises(ValueError, match="SHA-256"):
        datasets.data_file(source(server, checksum=_fetch.check_sha256("0" * 64)))
    assert not list((data.parent / "cache" / "f").iterdir())


def test_the_named_folder_comes_first(data, server):
    (data / "f").mkdir()
    (data / "f" / "a.bin").write_bytes(b"mine")
    assert datasets.data_file(source(server)).read_bytes() == b"mine"


def test_absent_data_say_what_to_put_where(data):
    with pytest.raises(datasets.DataUnavailable) as error:
        datasets.load_7sectors()
    message = str(error.value)
    assert "7sectors.tar.gz" in message
    assert "KERNELBOOK_DATA" in message
    assert str(data.parent / "cache" / "7sectors") in message


def test_no_network_says_what_to_put_where(data):
    unreachable = _fetch.Source("f", ("a.bin",), "http://127.0.0.1:9/a.bin")
    with pytest.raises(datasets.DataUnavailable, match=r"did not give it.*Put a\.bin into"):
        datasets.data_file(unreachable)


def test_git_hashes(tmp_path):
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    _fetch.check_git_blob("ce013625030ba8dba906f756967f9e9ca394464a")(path)
    with pytest.raises(ValueError, match="git hash"):
        _fetch.check_git_blob("0" * 40)(path)


# --------------------------------------------------------------------------------------- texts


def newsgroups(n=1000, last=997):
    groups = [f"{s}.g{i}" for s, k in text.SUBSETS.items() for i in range(k)]
    groups += ["alt.x", "misc.x", "soc.religion.christian"]
    for group in groups:
        for i in range(last if group.startswith("soc") else n):
            body = f"Newsgroups: {group}\nSubject: s\n\nbody {i}\n\nmore".encode("latin-1")
            yield f"20_newsgroups/{group}/{i}", body


def test_newsgroups(data):
    (data / "20newsgroups").mkdir()
    make_tar(data / "20newsgroups" / "20_newsgroups_19997.tar.gz", newsgroups())
    sci = datasets.load_newsgroups("sci")
    assert len(sci.data) == 4000
    assert sci.target_names == ["sci.g0", "sci.g1", "sci.g2", "sci.g3"]
    assert np.bincount(sci.target).tolist() == [1000] * 4
    assert not any("Newsgroups" in t or "Subject" in t for t in sci.data)
    assert sci.data[0].startswith("body ")
    assert sci.data[0].endswith("more")
    with pytest.raises(ValueError, match="subset='x'"):
        datasets.load_newsgroups("x")


def test_wrong_counts_are_an_error(data):
    (data / "20newsgroups").mkdir()
    make_tar(data / "20newsgroups" / "20_newsgroups_19997.tar.gz", newsgroups(n=10, last=7))
    with pytest.raises(ValueError, match="19,997"):
        datasets.load_newsgroups()


def pages(counts, pattern):
    for label, n in counts.items():
        for i in range(n):
            body = b"MIME: 1\r\n\r\n<html><script>x<1</script><b>caf&eacute;</b> <!-- no -->yes"
            yield pattern.format(label=label, i=i), body


def test_webkb_and_sectors(data):
    for folder in ("webkb", "7sectors"):
        (data / folder).mkdir()
    make_tar(data / "webkb" / "webkb.tar.gz", pages(text.WEBKB_COUNTS, "webkb/{label}/misc/u{i}"))
    counts = {label: min(allowed) for label, allowed in text.SECTOR_COUNTS.items()}
    make_tar(
        data / "7sectors" / "7sectors.tar.gz", pages(counts, "7sectors/{label}.sector/a/b/u{i}")
    )
    webkb, sectors = datasets.load_webkb(), datasets.load_7sectors()
    assert len(webkb.data) == 8282
    assert len(sectors.data) == 4571
    assert webkb.data[0].split() == ["café", "yes"]
    assert sectors.target_names == sorted(text.SECTOR_COUNTS)


def test_nothing_is_written_whatever_an_archive_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("../escaped", "/tmp/kernelbook-escaped", "a/../../b"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    found = list(text.read_archive(path))
    assert len(found) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["evil.tar"]
    assert not Path("/tmp/kernelbook-escaped").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LARGEST", 10)
    path = make_tar(tmp_path / "big.tar.gz", [("a", b"x" * 11)])
    with pytest.raises(ValueError, match="unpacks to more"):
        list(text.read_archive(path))


# -------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(("names", "scale"), [(("X", "Y"), 1), (("fea", "gnd"), 255)])
def test_coil20(data, names, scale):
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(0, 1, (1440, 1024)), np.repeat(np.arange(1, 21), 72)
    X[0, 0] = 1.0
    (data / "coil20").mkdir()
    savemat(data / "coil20" / "COIL20.mat", {names[0]: X * scale, names[1]: Y[:, None]})
    coil = datasets.load_coil20()
    np.testing.assert_allclose(coil.data, X, atol=1e-12)
    np.testing.assert_allclose(coil.images[3], X[3].reshape(32, 32).T)
    by_name = datasets.load_coil20(order="file name")
    assert by_name.view[:4].tolist() == [0, 1, 10, 11]
    np.testing.assert_allclose(by_name.data[72 + 2], X[72 + 10], atol=1e-12)
    with pytest.raises(ValueError, match="order='x'"):
        datasets.load_coil20(order="x")


def test_a_wrong_matrix_is_an_error(data):
    (data / "coil20").mkdir()
    savemat(data / "coil20" / "COIL20.mat", {"X": np.zeros((10, 4)), "Y": np.ones(10)})
    with pytest.raises(ValueError, match="20 objects"):
        datasets.load_coil20()


@real_data
def test_the_real_files():
    coil, ionosphere = datasets.load_coil20(), datasets.load_ionosphere()
    sixteenths = coil.data * 255 * 16
    np.testing.assert_allclose(sixteenths, sixteenths.round(), atol=1e-6)
    assert ionosphere.data.shape == (351, 34)
    assert len(np.unique(ionosphere.data, axis=0)) == 350
    assert (ionosphere.data.std(axis=0) == 0).sum() == 1
    assert tables.IONOSPHERE.checksum is not None


@real_data
def test_the_real_texts():
    assert len(datasets.load_newsgroups().data) == 19_997
    assert len(datasets.load_webkb().data) == 8_282
    assert len(datasets.load_7sectors().data) == 4_571


# ---------------------------------------------------------------------------------- generators


@pytest.mark.parametrize("law", ["logarithmic", "archimedean"])
def test_spirals_without_noise_are_spirals(law):
    X, y = datasets.make_spirals(300, law=law, noise=0.0, random_state=0)
    r = np.hypot(*X.T)
    assert r.min() >= 0.005
    assert r.max() <= 1.0
    low, high = 0.005, 1.0
    share = (
        np.log(r / low) / np.log(high / low) if law == "logarithmic" else (r - low) / (high - low)
    )
    angle = 4 * np.pi * share + np.where(y > 0, np.pi, 0)
    np.testing.assert_allclose(X, r[:, None] * np.c_[np.cos(angle), np.sin(angle)], atol=1e-9)


def test_the_noise_of_the_spirals_grows_with_the_radius():
    clean, _ = datasets.make_spirals(20_000, noise=0.0, random_state=1)
    noisy, _ = datasets.make_spirals(20_000, noise=0.1, random_state=1)
    r = np.hypot(*clean.T)
    relative = (noisy - clean) / r[:, None]
    assert abs(relative.std() - 0.1) < 0.002
    np.testing.assert_array_equal(
        noisy, datasets.make_spirals(20_000, noise=0.1, random_state=1)[0]
    )


def test_generators_refuse_nonsense():
    with pytest.raises(ValueError, match="law='round'"):
        datasets.make_spirals(law="round")
    with pytest.raises(ValueError, match="radii"):
        datasets.make_spirals(radii=(0, 1))


def test_abs():
    X, y = datasets.make_abs(50_000, noise=0.5, random_state=0)
    assert X.shape == (50_000, 1)
    assert np.all(np.diff(X[:, 0]) >= 0)
    assert abs((y - np.abs(5 - X[:, 0])).std() - 0.5) < 0.01
