#!/usr/bin/env python3
"""Ids of texts by other people's programs, for vocabularies that list tokens by rank.

    python3 -m venv v && v/bin/pip install tiktoken mistral_common dashscope
    v/bin/python tests/interop/clients/vocabularies.py FOLDER [FILE.tiktoken …]
    SKYLINE_VOCABULARIES=FOLDER cargo test --lib ids_of_whole_vocabularies -- --ignored --nocapture

It writes the vocabularies of the packages (Mistral's tekken.json, Qwen's) and those named into FOLDER, with the ids of a
thousand texts by mistral_common and tiktoken. cl100k_base.tiktoken, o200k_base.tiktoken and p50k_base.tiktoken are in the
crate tiktoken-rs.
"""

import json
import pathlib
import random
import shutil
import sys

import dashscope
import mistral_common
import tiktoken
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public

WORDS = """the river runs through a valley They'll DON'T it's 1987 12,345.67 naïve Straße über façade Ελληνικά Русский язык
日本語のテキスト 中文字符处理 한국어 العربية हिन्दी ไทย 👍🏽 👨‍👩‍👧 ½ Ⅷ x² e\u0301 \u200b def f(x): return {"a": [1, 2]} https://example.com/a?b=c#d
<|endoftext|> </s> [INST] ``` -> != === ……… --- $$ \\n \t CamelCaseWord snake_case_word ALLCAPS antidisestablishmentarianism""".split(" ")
GAPS = [" "] * 8 + ["  ", "\n", "\n\n", "\t", "", "     ", "\r\n", ", ", ". ", " \n "]


def texts():
    draw = random.Random(40)
    made = ["", " ", "\n", "a", "   ", " " * 40, "=" * 90, "\n\n\n", "0" * 50, "x" * 300]
    while len(made) < 1000:
        made.append("".join(draw.choice(WORDS) + draw.choice(GAPS) for _ in range(draw.randint(1, 40))))
    return made


def qwen():
    from dashscope.tokenizers.qwen_tokenizer import PAT_STR

    return PAT_STR


def pattern(name):
    """The pattern that tiktoken itself has for a file, without reading the file."""
    if name == "qwen.tiktoken":
        return qwen()
    seen = {}
    openai_public.load_tiktoken_bpe = lambda *_, **__: seen
    return getattr(openai_public, name.removesuffix(".tiktoken"))()["pat_str"]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    given = [pathlib.Path(path) for path in sys.argv[2:]]
    given += pathlib.Path(dashscope.__file__).parent.glob("resources/*.tiktoken")
    given += pathlib.Path(mistral_common.__file__).parent.glob("data/tekken*.json")
    ids = {}
    for path in given:
        shutil.copy(path, folder / path.name)
        if path.suffix == ".json":
            tekken = Tekkenizer.from_file(path)
            encode = lambda text, tekken=tekken: tekken.encode(text, bos=False, eos=False)
        else:
            ranks = load_tiktoken_bpe(str(path))
            own = tiktoken.Encoding(path.name, pat_str=pattern(path.name), mergeable_ranks=ranks, special_tokens={})
            encode = own.encode_ordinary
        ids[path.name] = [[text, encode(text)] for text in texts()]
        print(path.name, sum(len(known) for _, known in ids[path.name]), "ids")
    (folder / "ids.json").write_text(json.dumps(ids))


main()
