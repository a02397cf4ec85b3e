#!/usr/bin/env python3
"""What AIPerf sends for files of its `dag_jsonl`, by its own loader and its own sessions of users.

    python3 -m venv v && v/bin/pip install aiperf==0.13.0
    v/bin/python tests/interop/clients/aiperf_dag.py FOLDER tests/data/traces/sessions/dag*.jsonl
    SKYLINE_AIPERF_DAG=FOLDER cargo test --lib graphs_are_those_of_aiperf -- --ignored --nocapture

It copies each file into FOLDER, makes a hundred more there, and writes beside it, as NAME.json, every request: what it waits for, with the delays in
milliseconds, its messages, its tools, its model and its max_tokens. An answer of the server stands for itself as
{"answer of": NAME}. Where AIPerf starts a child beside the first turn (`pre_session_spawns`), Skyline waits for the turn.
"""

import json
import pathlib
import random
import shutil
import sys

from aiperf.common.enums import ConversationBranchMode
from aiperf.common.models import Turn
from aiperf.dataset.loader.dag_jsonl import DagJsonlLoader
from aiperf.endpoints.base_endpoint import BaseEndpoint
from aiperf.workers.session_manager import UserSession


def requests(path):
    loader = DagJsonlLoader(str(path))
    conversations = {conversation.session_id: conversation for conversation in loader.load()}
    sent = []

    def play(name, after, history):
        """Plays a conversation that begins after a request; returns its last request."""
        conversation = conversations[name]
        session = UserSession(
            x_correlation_id=name,
            num_turns=len(conversation.turns),
            conversation=conversation,
            turn_list=history,
            context_mode=conversation.context_mode,
        )
        branches = {branch.branch_id: branch for branch in conversation.branches}
        ends, before = {}, after
        for number in range(len(conversation.turns)):
            turn = session.advance_turn(number)
            this = f"turn {number} of {name}"
            waits = [[before, turn.delay]] if before else []
            for gate in turn.prerequisites:
                waits += [[end, 0.0] for end in ends[gate.branch_id]]
            sent.append({
                "name": this,
                "after": sorted(waits),
                "messages": [message for said in session.turn_list for message in said.raw_messages],
                "tools": BaseEndpoint._latest_turn_attr(session.turn_list, "raw_tools"),
                "model": turn.model,
                "max_tokens": turn.max_tokens,
            })
            if session.should_store_response():
                session.store_response(Turn(role="assistant", raw_messages=[{"answer of": this}]))
            for branch in (branches[identifier] for identifier in turn.branch_ids):
                forks = branch.mode == ConversationBranchMode.FORK
                children = branch.child_conversation_ids
                ends[branch.branch_id] = [play(child, this, list(session.turn_list) if forks else []) for child in children]
            before = this
        return before

    for root in conversations:
        if root in loader.root_session_ids():
            play(root, None, [])
    return sent


def drawn(draw):
    """Lines of conversations that fork and spawn later ones."""
    mode = draw.choice(["deltas_without_responses", "deltas_with_responses"])
    names, forked, lines = [f"c{number}" for number in range(draw.randint(1, 7))], set(), []
    for number, name in enumerate(names):
        turns = []
        for place in range(last := draw.randint(1, 4)):
            messages = [{"role": "user", "content": f"{place} of {name}"}]
            if mode == "deltas_with_responses" and (place or name in forked) and draw.random() < 0.8:
                messages.insert(0, {"role": "assistant", "content": f"before {place} of {name}"})
            turn = {"messages": messages}
            if draw.random() < 0.4:
                turn["delay"] = draw.randint(0, 2000)
            if draw.random() < 0.3:
                turn["max_tokens"] = draw.randint(1, 99)
            if draw.random() < 0.2:
                turn["tools"] = [{"type": "function", "function": {"name": name}}]
            if draw.random() < 0.2:
                turn["model"] = draw.choice(["big", "small"])
            later = names[number + 1:]
            draw.shuffle(later)
            for child in later[:draw.choice([0, 0, 1, 2])]:
                ends = place + 1 == last
                if child not in forked and draw.random() < 0.4:
                    forked.add(child)
                    turn.setdefault("forks", []).append(child if ends else {"child": child, "background": True})
                elif ends or draw.random() < 0.5:
                    turn.setdefault("spawns", []).append(child)
                else:
                    join = draw.randint(place + 1, last - 1)
                    turn.setdefault("spawns", []).append({"children": [child], "join_at": join})
            turns.append(turn)
        lines.append({"session_id": name, "context_mode": mode, "turns": turns})
    return "".join(json.dumps(line) + "\n" for line in lines)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
for file in sys.argv[2:]:
    shutil.copy(file, folder)
draw = random.Random(40)
for number in range(100):
    (folder / f"drawn-{number}.jsonl").write_text(drawn(draw))
for file in sorted(folder.glob("*.jsonl")):
    made = requests(file)
    file.with_suffix(".json").write_text(json.dumps(made, indent=1))
    print(file.name, len(made), "requests")
