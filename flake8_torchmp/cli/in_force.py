"""`torchmp config`: the value of every option, and where it comes from."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from flake8_torchmp.cli.arguments import given_options
from flake8_torchmp.options import OPTIONS, Value
from flake8_torchmp.options.configuration import Configurations, shown
from flake8_torchmp.source import root_of_folder

if TYPE_CHECKING:
    from argparse import Namespace


def show_configuration(arguments: Namespace) -> int:
    path = os.path.abspath(arguments.path)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    configuration = Configurations(given_options(arguments), arguments.config).for_folder(folder)
    print(f"# project: {root_of_folder(folder, os.getcwd())}")
    print(f"# configuration: {shown(configuration.file) or 'none'}")
    for option in OPTIONS:
        chosen = configuration.chosen[option.name]
        print(f"{option.name} = {_toml(chosen.value)}  # {chosen.origin}")
    return 0


def _toml(value: Value) -> str:
    if value is None:
        return "[]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(name)} = {_toml(codes)}" for name, codes in value.items()) + "}"
    return "[" + ", ".join(map(_text, value)) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
