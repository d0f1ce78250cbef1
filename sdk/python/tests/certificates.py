"""Certificates of an installation with a CA of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


def make_certificates(folder: Path, host: str) -> None:
    """Make a CA with certificates for a server on an IP address and for its tasks: ca.crt, server.crt, task.crt and their keys."""
    _openssl(folder, "req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test CA")
    for name, extension in (("server", f"subjectAltName=IP:{host}"), ("task", "extendedKeyUsage=clientAuth")):
        (folder / f"{name}.ext").write_text(extension + "\n")
        _openssl(folder, "req", *CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext")


def _openssl(folder: Path, *args: str) -> None:
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)
