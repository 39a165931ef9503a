"""What was written, against the published schemas (docs/schemas)."""

import json
from pathlib import Path

try:
    import jsonschema
except ImportError:  # of .venv, which these tests can run without
    jsonschema = None

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"


def complaints(name, document):
    """What is not as the schema NAME says; nothing where there is no jsonschema."""
    if jsonschema is None:
        return []
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
