"""The child process in which a running server reads the key stores and trust stores that clients configure.

A file may be on a file system that hangs, and a key may be encrypted with billions of iterations. A process can be
killed after a time limit, a thread cannot. The process reads one JSON request from stdin, reads and tests the stores
with the same code as a server start, and writes JSON to stdout: the stores as PEM, or an error.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any, Final

from kconf.errors import ConfigurationError
from kconf.security.allowed_files import AllowedFiles
from kconf.server.auth.tls_context import new_context, read_material

_MAX_MEMORY: Final = 2 << 30  # bytes of address space


def answer(request: dict[str, Any]) -> dict[str, Any]:
    listener, given = request["listener"], request["given"]
    files = AllowedFiles(tuple(request["directories"]), frozenset(request["paths"]))
    try:
        material = read_material(listener, given, files.read)
        new_context(listener, given, material)
    except ConfigurationError as error:
        return {"error": str(error)}
    return {"material": list(material)}


def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MAX_MEMORY if hard == resource.RLIM_INFINITY else min(hard, _MAX_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (limit if soft == resource.RLIM_INFINITY else min(soft, limit), hard))
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
