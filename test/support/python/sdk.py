"""Lets a test drive the published Python client: a JSON order a line comes in, a JSON answer a line goes out.

Orders are carried out side by side, so that one can pause what another one waits for.
"""

import json
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # The client prints to stdout, which is for answers alone.

from openhands.sdk import LLM, Agent, Conversation, Tool, Workspace
from openhands.sdk.security import confirmation_policy
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.task_tracker import TaskTrackerTool
from openhands.tools.terminal import TerminalTool
from openhands.workspace import OpenHandsCloudWorkspace

TOOLS = [TerminalTool, FileEditorTool, TaskTrackerTool]
workspaces = {}
conversations = {}
heard = {}


def zone(name):
    os.environ["TZ"] = name
    time.tzset()
    return time.tzname[0]


def workspace(name, url, key, folder):
    workspaces[name] = Workspace(host=url, api_key=key, working_dir=folder)


def cloud_workspace(name, url, key):
    entered = OpenHandsCloudWorkspace(cloud_api_url=url, cloud_api_key=key).__enter__()
    workspaces[name] = entered
    llm = entered.get_llm()
    return {
        "host": entered.host,
        "folder": entered.working_dir,
        "secrets": sorted(entered.get_secrets()),
        "model": llm.model,
        "base_url": llm.base_url,
        "mcp": entered.get_mcp_config(),
    }


def leave(name):
    workspaces.pop(name).__exit__(None, None, None)


def command(name, line):
    result = workspaces[name].execute_command(line)
    return {"exit_code": result.exit_code, "stdout": result.stdout}


def converse(name, llm, secrets=None):
    seen = []
    conversation = Conversation(
        agent=Agent(llm=LLM(**llm), tools=[Tool(name=tool.name) for tool in TOOLS]),
        workspace=workspaces[name],
        secrets=secrets,
        callbacks=[lambda event: seen.append(event.id)],
        visualizer=None,
    )
    id = str(conversation.id)
    conversations[id], heard[id] = conversation, seen
    return id


def call(id, method, *args):
    answer = getattr(conversations[id], method)(*args)
    return answer if isinstance(answer, str) else None


def policy(id, name):
    conversations[id].set_confirmation_policy(getattr(confirmation_policy, name)())


def lend(id, name):
    conversations[id].update_secrets(workspaces[name].get_secrets())


def see(id):
    state = conversations[id].state
    return {
        "status": state.execution_status.value,
        "events": [event.model_dump(mode="json", exclude_none=True) for event in state.events],
        "heard": list(heard[id]),
        "tokens": state.stats.get_combined_metrics().accumulated_token_usage.prompt_tokens,
    }


ALL = (zone, workspace, cloud_workspace, leave, command, converse, call, policy, lend, see)
ORDERS = {order.__name__: order for order in ALL}


def carry_out(number, order, args):
    try:
        answer = {"number": number, "result": ORDERS[order](*args)}
    except BaseException:
        answer = {"number": number, "error": traceback.format_exc()}
    answers.write(json.dumps(answer) + "\n")


with ThreadPoolExecutor(8) as workers:
    for line in sys.stdin:
        workers.submit(carry_out, **json.loads(line))
