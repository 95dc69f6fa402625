#!/usr/bin/env python3
"""Kills agents, the coordinator and nats-server at random moments of runs over three hosts, and compares what each run
kept with what was said on the bus: no I/O may count twice, and no interval be lost that the server had acknowledged.

    scripts/fleet-kills.py [ROUNDS] [SEED]

Each host does exactly OPS I/Os in a run. A host whose agent lives must have all of them, whatever else was killed. A
listener on the bus adds up what agents have sent and the server has acknowledged: of a host whose agent was killed that
much must be kept, and nothing beyond what it has sent. ASSAY is the program. Needs nats-server."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ASSAY = os.environ.get("ASSAY", "assay")
HOSTS = ["a", "b", "c"]
OPS = 1000
IO_BYTES = 4096
PLAN = f"""
[[test]]
name = "counted"
access = [{{ size = "{IO_BYTES}B", random = 100 }}]
pace = {{ rate = "600/s", arrivals = "constant" }}
outstanding = 64
ops = {OPS}
run = "60s"
"""


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Listener(threading.Thread):
    """What agents have sent, each message once, and which of it the server has acknowledged."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.lock = port, threading.Lock()
        self.sent, self.acknowledged, self.waiting, self.run_id = {}, set(), {}, None
        self.start()

    def begin(self):
        with self.lock:
            self.sent, self.acknowledged, self.waiting, self.run_id = {}, set(), {}, None

    def run(self):
        while True:
            try:
                self.listen()
            except OSError:
                pass
            time.sleep(0.02)

    def listen(self):
        with socket.create_connection(("127.0.0.1", self.port)) as server, server.makefile("rb") as lines:
            server.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nSUB assay.run.> 1\r\nSUB assay.plan.> 3\r\n')
            server.sendall(b"".join(f"SUB _INBOX_{host}.> 2\r\n".encode() for host in HOSTS) + b"PING\r\n")
            while line := lines.readline():
                words = line.decode().split()
                if words[0] == "PING":
                    server.sendall(b"PONG\r\n")
                elif words[0] in ("MSG", "HMSG"):
                    body = lines.read(int(words[-1]) + 2)[:-2]
                    head = int(words[-2]) if words[0] == "HMSG" else 0
                    reply = words[3] if len(words) == (6 if head else 5) else ""
                    self.heard(words[1], int(words[2]), reply, body[:head].decode(), body[head:])

    def heard(self, subject, sid, reply, headers, body):
        with self.lock:
            if sid == 3:
                self.run_id = self.run_id or subject.split(".")[2]
            elif sid == 1 and "Nats-Msg-Id: " in headers:
                name = headers.split("Nats-Msg-Id: ")[1].split("\r\n")[0]
                self.sent[name] = operations(json.loads(body))
                self.waiting[reply] = name
            elif sid == 2 and subject in self.waiting and b'"seq"' in body:
                self.acknowledged.add(self.waiting.pop(subject))

    def sums(self, host):
        """I/Os that were acknowledged, and that were sent."""
        with self.lock:
            of = {name: ops for name, ops in self.sent.items() if name.split(".")[1] == host}
            return sum(ops for name, ops in of.items() if name in self.acknowledged), sum(of.values())


def operations(said):
    count = 0
    for what in said["what"]:
        event = what.get("event", {}).get("what", {}) if isinstance(what, dict) else {}
        if event.get("event") == "interval":
            count += sum(of.get("read", {}).get("bytes", 0) // IO_BYTES for of in event["body"]["by_access"])
    return count


class Fleet:
    def __init__(self, folder):
        self.folder, self.port, self.agents, self.nats = folder, free_port(), {}, None
        self.url = f"nats://127.0.0.1:{self.port}"
        self.environment = dict(os.environ, ASSAY_STORE=f"{folder}/runs.db")
        with open(f"{folder}/plan.toml", "w") as plan:
            plan.write(PLAN)

    def spawn(self, words, out=subprocess.DEVNULL, says=subprocess.DEVNULL):
        return subprocess.Popen(words, stdout=out, stderr=says, env=self.environment, cwd=self.folder)

    def start_nats(self):
        words = ["nats-server", "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", f"{self.folder}/js"]
        self.nats = self.spawn(words)
        # An agent that begins before the server is there has nobody to announce itself to.
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)

    def start_agent(self, host):
        self.agents[host] = self.spawn([ASSAY, "agent", "--nats", self.url, "--name", host])

    def ready(self):
        for _ in range(120):
            hosts = subprocess.run(
                [ASSAY, "hosts", "--nats", self.url], capture_output=True, text=True, env=self.environment
            )
            if hosts.stdout.count(" ready ") == len(HOSTS):
                return
            time.sleep(0.5)
        sys.exit(f"the agents are not ready: {hosts.stdout}{hosts.stderr}")

    def coordinator(self, words):
        with open(f"{self.folder}/out.json", "w") as out, open(f"{self.folder}/says.txt", "w") as says:
            return self.spawn([ASSAY, *words, "--nats", self.url, "--json"], out, says)

    def shown(self, run_id):
        with open(f"{self.folder}/out.json", "w") as out:
            return self.spawn([ASSAY, "show", run_id, "--json"], out).wait()

    def says(self):
        with open(f"{self.folder}/says.txt") as says:
            return says.read()

    def end(self):
        for process in [*self.agents.values(), self.nats]:
            process.kill()


def play(fleet, listener, chance):
    """Returns what was killed and when, how the run ended, and what is wrong with it."""
    listener.begin()
    run = fleet.coordinator(["run", "plan.toml", "null:", "--hosts", ",".join(HOSTS)])
    limit = time.monotonic() + 60
    while "1 step" not in fleet.says() and run.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    victim, after_s = chance.choice([*HOSTS, "coordinator", "coordinator", "nats", "nats", "nats"]), chance.uniform(0, 6)
    away_s = chance.choice([0, 0, chance.uniform(0, 3)])
    time.sleep(after_s)
    if victim == "nats":
        fleet.nats.kill()
        fleet.nats.wait()
        time.sleep(away_s)
        fleet.start_nats()
    elif victim == "coordinator":
        run.kill()
        was_over = run.wait() == 0
        time.sleep(away_s)
        if not was_over:
            run = fleet.coordinator(["attach", listener.run_id])
    else:
        fleet.agents[victim].send_signal(signal.SIGKILL)
        fleet.agents[victim].wait()
        time.sleep(away_s)
        fleet.start_agent(victim)
    try:
        code = run.wait(180)
    except subprocess.TimeoutExpired:
        run.kill()
        return victim, after_s, away_s, None, {}, ["the run does not end"]
    if victim == "coordinator" and code == 2 and "it is over and stored" in fleet.says():
        # It was killed between storing the run and printing it.
        code = fleet.shown(listener.run_id)
    return victim, after_s, away_s, code, *compared(fleet, listener, victim, code)


def compared(fleet, listener, victim, code):
    try:
        with open(f"{fleet.folder}/out.json") as out:
            run = json.load(out)
    except ValueError:
        return {}, [f"no result: {fleet.says().strip()[-200:]}"]
    kept = {job["name"]: job["total"]["ops"] for job in run["tests"][0]["jobs"]}
    wrong = []
    for host in HOSTS:
        acknowledged, sent = listener.sums(host)
        count = kept.get(host, 0)
        if host != victim and count != OPS:
            due = [job["due"] for job in run["tests"][0]["jobs"] if job["name"] == host]
            wrong.append(f"{host} has {count} of {OPS}; sent {sent}, acknowledged {acknowledged}, due {due}")
        if count < acknowledged:
            wrong.append(f"{host} has {count}, and {acknowledged} were acknowledged")
        if count > OPS or (victim != "nats" and count > sent):
            wrong.append(f"{host} has {count}, and sent {sent}")
    if victim not in HOSTS and code != 0:
        wrong.append(f"code {code}: {fleet.says().strip()[-200:]}")
    return kept, wrong


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="fleet-kills.") as folder:
        fleet = Fleet(folder)
        fleet.start_nats()
        for host in HOSTS:
            fleet.start_agent(host)
        listener = Listener(fleet.port)
        try:
            for number in range(1, rounds + 1):
                fleet.ready()
                victim, after_s, away_s, code, kept, wrong = play(fleet, listener, chance)
                faults += bool(wrong)
                counts = " ".join(f"{host} {ops}" for host, ops in kept.items())
                says = "; ".join(wrong) or "right"
                print(f"{number:3} {victim:11} after {after_s:.2f} s, back after {away_s:.2f} s: code {code}, {counts}: {says}",
                      flush=True)
        finally:
            fleet.end()
    print(f"{rounds} kills, {faults} runs wrong")
    sys.exit(faults > 0)


main()
