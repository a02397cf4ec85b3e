"""One run of a client against a canned server of its own: when the load begins and ends, and what it costs."""

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

RELEASE = Path(__file__).resolve().parents[2] / "target" / "dist"

# Requests that `skyline bench` tries a server with before the load, by its engine.
TESTS = {"openai": 2, "vllm": 1}

WORKLOAD = """
name = "load"
{length}
warmup_s = 0
drain_s = 300
seed = {seed}
{arrival}
[[classes]]
name = "only"
input_tokens = {{ kind = "constant", value = 16 }}
output_tokens = {{ kind = "constant", value = {tokens} }}
"""


def cpu_s(pid):
    """CPU time of a process and all its threads, ended ones too: Linux's clock of another process."""
    return time.clock_gettime((~pid << 3) | 2)


def memory_mb(pid, field):
    """Memory of a process: `VmRSS` is what it holds now, `VmHWM` the most that it ever held."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1_024
    return 0.0


def unread(port):
    """Whether bytes from this port are still on their way to whoever reads them."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote, queues = fields[1], fields[2], fields[4]
        sent, received = (int(queue, 16) for queue in queues.split(":"))
        if (int(remote[-4:], 16) == port and received) or (int(local[-4:], 16) == port and sent):
            return True
    return False


class Canned:
    """A canned server of a load of so many requests, after so many that only test it."""

    def __init__(self, release, tests, requests, gap_us, arrivals):
        first_and_last = [str(tests + 1), str(tests + requests)]
        gap = [] if gap_us is None else [str(gap_us)]
        flags = ["--arrivals"] if arrivals else []
        command = [str(release / "examples" / "canned_server"), *first_and_last, *gap, *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.port = int(self.address.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def wait_for(self, word):
        """The numbers that come with the word."""
        words = self.process.stdout.readline().split()
        assert words and words[0] == word, words
        return [int(number) for number in words[1:]]


class Moment:
    """What two processes have used until now."""

    def __init__(self, client, server):
        self.at, self.client_cpu, self.server_cpu = time.monotonic(), cpu_s(client), cpu_s(server)


class ClientRun:
    """A client from start to end: `begin` and `end` of its load, `usage` in total.

    Memory in MB: `idle_mb` when the load began, `held_mb` and `load_peak_mb` when the server had written the last of
    it, `peak_mb` in total. With `arrivals` the moments at which the server's kernel received the requests,
    nanoseconds since 1970. What the client leaves in `folder` is there as long as this is.
    """

    def __init__(self, command_at, release, tests, requests, gap_us, arrivals=False):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = Path(self.kept.name)
        with Canned(release, tests, requests, gap_us, arrivals) as server:
            self.command = command_at(f"http://{server.address}", self.folder)
            self.started = time.monotonic()
            pipe = subprocess.PIPE
            process = subprocess.Popen(self.command, stdout=pipe, stderr=pipe, text=True)
            said = {}
            readers = [
                threading.Thread(target=lambda name=name: said.update({name: getattr(process, name).read()}))
                for name in ("stdout", "stderr")
            ]
            for reader in readers:
                reader.start()
            # Not from `usage`: there the peak begins with that of the process which started this one.
            self.peak_mb = 0.0
            sampler = threading.Thread(target=self.watch_memory, args=[process])
            sampler.start()
            server.wait_for("begin")
            self.begin = Moment(process.pid, server.process.pid)
            self.idle_mb = memory_mb(process.pid, "VmRSS")
            self.requests, self.tokens = server.wait_for("end")
            self.held_mb = memory_mb(process.pid, "VmRSS")
            self.load_peak_mb = memory_mb(process.pid, "VmHWM")
            self.arrivals = server.wait_for("arrivals") if arrivals else []
            while unread(server.port):
                pass
            self.end = Moment(process.pid, server.process.pid)
            _, _, self.usage = os.wait4(process.pid, 0)
            process.returncode = 0
            for thread in [sampler, *readers]:
                thread.join()
            self.said, self.words = said["stdout"], said["stderr"]

    def watch_memory(self, process):
        while process.returncode is None:
            try:
                self.peak_mb = max(self.peak_mb, memory_mb(process.pid, "VmHWM"))
            except OSError:
                return  # It has ended.
            time.sleep(0.005)
