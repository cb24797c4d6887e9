"""Checks scenes against `stiction schema` with an independent validator.

    pip install jsonschema
    stiction schema > scene.schema.json
    python benches/peers/schema.py scene.schema.json scenes/*.toml scenes/validation/*.toml

Prints the scenes that the schema rejects, and ends with 1 if there are any. `--reject` turns it round: it
prints those that are accepted, with the message that the scene's first line expects.
"""

import json
import math
import sys
import tomllib

import jsonschema


def finite(value):
    """JSON has no number that is not finite."""
    if isinstance(value, dict):
        return all(finite(v) for v in value.values())
    if isinstance(value, list):
        return all(finite(v) for v in value)
    return not isinstance(value, float) or math.isfinite(value)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--reject"]
    reject = len(arguments) < len(sys.argv) - 1
    with open(arguments[0], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = 0
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            scene = tomllib.loads(text)
            error = jsonschema.exceptions.best_match(validator.iter_errors(scene))
            message = None if error is None else f"{error.json_path}: {error.message[:200]}"
            if message is None and not finite(scene):
                message = "a number that is not finite"
        except tomllib.TOMLDecodeError as error:
            message = str(error)
        if reject and message is None:
            print(f"accepted: {path}: {text.splitlines()[0]}")
            wrong += 1
        elif not reject and message is not None:
            print(f"rejected: {path}: {message}")
            wrong += 1
    print(f"{len(arguments) - 1} scenes, {wrong} {'accepted' if reject else 'rejected'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
