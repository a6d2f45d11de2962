# Reads each frame as its type, and each of the types at all: `python modelina.py FRAMES`, beside the folder `models`.
import json
import pathlib
import re
import sys
from importlib import import_module

for file in sorted(pathlib.Path("models").glob("*.py")):
    import_module("models." + file.stem)

with open(sys.argv[1]) as file:
    frames = json.load(file)
for name, value in frames:
    module = import_module("models." + re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
    read = getattr(module, name).model_validate(value)
    written = json.loads(read.model_dump_json(exclude_none=True))
    for key, member in value.items():
        if member is not None and key not in written:
            raise SystemExit(f"{name} loses {key}")
print(len(frames))
