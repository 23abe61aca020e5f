"""This module makes a certificate for servers of tests at the name `localhost`."""

import datetime
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def for_localhost(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Return the file of a certificate that signs itself, and the context of a server that has it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    built = x509.CertificateBuilder(name, name, key.public_key(), 5, now - day, now + day)
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
    signed = built.add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pkcs8, clear = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, pkcs8, clear))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    return certificate, context
