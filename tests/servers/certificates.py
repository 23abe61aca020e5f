"""This module makes certificates for servers of tests, which sign themselves."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def signed(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a certificate for localhost and 127.0.0.1, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now, day = datetime.now(UTC), timedelta(days=1)
    hosts = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    built = x509.CertificateBuilder(called, called, key.public_key(), 5, now - day, now + day)
    built = built.add_extension(hosts, False).add_extension(x509.BasicConstraints(True, None), True)
    certificate, private = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(built.sign(key, SHA256()).public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, private


def served(certificate: Path, private: Path) -> ssl.SSLContext:
    """Return the context of a server that has this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    return context


def for_localhost(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Return the file of a certificate that signs itself, and the context of a server that has it."""
    certificate, private = signed(folder, "localhost")
    return certificate, served(certificate, private)
