#!/usr/bin/env python3
"""Runs a command under the sandbox of a unit, without systemd: sandbox.py UNIT COMMAND...

Applies what the kernel offers to every process: families of sockets, system calls, namespaces, real time, set-uid bits, capabilities,
limits, umask, a read-only system and a private /tmp. Each rule that it does not know ends it with 2, so that no rule of a unit is left out
unnoticed. Needs Linux, root, systemd-analyze (names of groups of system calls) and the kernel's headers (their numbers).
"""
import ctypes, os, platform, re, resource, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
NAMESPACES = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000
ARCH, HEADER = {
    "x86_64": (0xC000003E, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": (0xC00000B7, "/usr/include/asm-generic/unistd.h"),
}[platform.machine()]

# Not of the kind that a process can be put under here: identity and folders, which systemd makes, and the order of units.
ELSEWHERE = {
    "Type", "ExecStart", "ExecStartPre", "WorkingDirectory", "EnvironmentFile", "Environment", "LoadCredential", "DynamicUser", "User",
    "StateDirectory", "StateDirectoryMode", "ReadWritePaths", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec",
    "TimeoutStartSec", "RemainAfterExit", "PrivateDevices", "PrivateUsers", "ProtectClock", "ProtectControlGroups", "ProtectHostname",
    "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "ProtectProc", "ProtectHome", "LockPersonality",
    "SystemCallArchitectures", "SystemCallErrorNumber", "Nice", "IOSchedulingClass", "SuccessExitStatus",
}


def rules_of(path):
    """The lines of [Service], in order; an empty value begins a list anew."""
    section, rules = "", {}
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line and line[0] not in "#;":
            name, value = line.split("=", 1)
            rules.setdefault(name, []).append(value)
    return rules


def numbers():
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", open(HEADER).read()))
    return {name: int(number) for name, number in found.items()}


def calls_of(group):
    """The names in a group of systemd, with those of the groups in it."""
    if not group.startswith("@"):
        return {group}
    said = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True).stdout
    names = [line.strip() for line in said.splitlines()[1:]]
    return set().union(*(calls_of(name) for name in names if name and name[0] != "#"), set())


def op(code, k, jt=0, jf=0):
    return struct.pack("HBBI", code, jt, jf, k & 0xFFFFFFFF)


def load(at):
    return op(0x20, at)


def equal(value, jt, jf):
    return op(0x15, value, jt, jf)


def ret(value):
    return op(0x06, value)


def install(program):
    """One filter; of several the strictest answer counts. Every filter begins with the architecture."""
    program = load(4) + equal(ARCH, 1, 0) + ret(KILL) + program
    buffer = ctypes.create_string_buffer(program, len(program))

    class Fprog(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    fprog = Fprog(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if libc.prctl(22, 2, ctypes.byref(fprog), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def refuse_families(value, call):
    program = load(0) + equal(call["socket"], 1, 0) + ret(ALLOW) + load(16)
    for family in value.split():
        program += equal(FAMILIES[family], 0, 1) + ret(ALLOW)
    install(program + ret(ERRNO | EAFNOSUPPORT))


def refuse_calls(values, call):
    allowed = calls_of("@default")
    for value in values:
        names = set().union(*(calls_of(name) for name in value.lstrip("~").split()))
        allowed = allowed - names if value.startswith("~") else allowed | names
    program = load(0)
    for name in sorted(allowed & call.keys()):
        program += equal(call[name], 0, 1) + ret(ALLOW)
    install(program + ret(ERRNO | EPERM))


def refuse_flags(names, at, mask, call):
    for name in names:
        if name in call:
            install(load(0) + equal(call[name], 1, 0) + ret(ALLOW) + load(at) + op(0x45, mask, 0, 1) + ret(ERRNO | EPERM) + ret(ALLOW))


def read_only(rules):
    if libc.unshare(0x00020000) != 0:
        raise OSError(ctypes.get_errno(), "no namespace of mounts")
    writable = os.environ.get("SANDBOX_WRITABLE", "")
    run = lambda *words: subprocess.run(words, check=True)
    run("mount", "--make-rprivate", "/")
    if writable:
        run("mount", "--bind", writable, writable)
    if "strict" in rules.get("ProtectSystem", []):
        run("mount", "-o", "remount,ro,bind", "/")
    if "yes" in rules.get("PrivateTmp", []) and not writable.startswith("/tmp"):
        run("mount", "-t", "tmpfs", "tmpfs", "/tmp")


def main():
    unit, command = sys.argv[1], sys.argv[2:]
    rules, call = rules_of(unit), numbers()
    read_only(rules)
    for name, values in rules.items():
        value = values[-1]
        if name == "LimitNOFILE":
            most = min(int(value), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        elif name == "UMask":
            os.umask(int(value, 8))
        elif name == "CapabilityBoundingSet" and value == "":
            for capability in range(64):
                libc.prctl(24, capability, 0, 0, 0)
        elif name == "AmbientCapabilities" and value == "":
            libc.prctl(47, 4, 0, 0, 0)
        elif name not in ELSEWHERE | {
            "NoNewPrivileges", "RestrictAddressFamilies", "SystemCallFilter", "RestrictNamespaces", "RestrictRealtime",
            "RestrictSUIDSGID", "ProtectSystem", "PrivateTmp",
        }:
            sys.exit(f"{unit}: {name} is not known here")
    libc.prctl(38, 1, 0, 0, 0)
    if "RestrictNamespaces" in rules:
        refuse_flags(["clone", "unshare"], 16, NAMESPACES, call)
        install(load(0) + equal(call["clone3"], 0, 1) + ret(ERRNO | ENOSYS) + ret(ALLOW))
        install(load(0) + equal(call["setns"], 0, 1) + ret(ERRNO | EPERM) + ret(ALLOW))
    if "RestrictSUIDSGID" in rules:
        refuse_flags(["chmod", "fchmod"], 24, 0o6000, call)
        refuse_flags(["fchmodat"], 32, 0o6000, call)
    if "RestrictRealtime" in rules:
        for policy in (1, 2, 6):
            install(load(0) + equal(call["sched_setscheduler"], 1, 0) + ret(ALLOW) + load(24) + equal(policy, 0, 1) + ret(ERRNO | EPERM) + ret(ALLOW))
    if "RestrictAddressFamilies" in rules:
        refuse_families(rules["RestrictAddressFamilies"][-1], call)
    if "SystemCallFilter" in rules:
        refuse_calls(rules["SystemCallFilter"], call)
    os.execvp(command[0], command)


main()
