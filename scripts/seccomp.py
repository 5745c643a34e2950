#!/usr/bin/env python3
"""Writes deploy/seccomp.json: the system calls that a container of Journeyman and its sandboxes needs.

    scripts/seccomp.py BASE      BASE is the default profile of podman and buildah, /usr/share/containers/seccomp.json

Keeps what BASE allows without capabilities, and adds what bubblewrap needs. The result has no conditions on capabilities
or processors: Kubernetes ignores such conditions and would allow each call unconditionally.
"""

import json
import pathlib
import sys
import textwrap

# Each sandbox sets its own host name. The base already allows bubblewrap's other calls (clone, unshare, mount, umount2,
# pivot_root), which docker's default refuses.
ADDED = ["sethostname"]
NEEDED = ["clone", "clone3", "unshare", "mount", "umount2", "pivot_root", "prctl", "seccomp", "setgroups"]
ARCHITECTURES = {"amd64", "arm64"}

base = json.loads(pathlib.Path(sys.argv[1]).read_text())
assert base["defaultAction"] == "SCMP_ACT_ERRNO", "the base refuses what it does not name"
names, others = set(ADDED), []
for rule in base["syscalls"]:
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    is_for_us = not includes.get("caps") and ARCHITECTURES & set(includes.get("arches") or ARCHITECTURES)
    if rule["action"] != "SCMP_ACT_ALLOW" or not is_for_us:
        continue
    if rule.get("args"):
        allow = {"names": rule["names"], "action": "SCMP_ACT_ALLOW", "args": rule["args"]}
        if allow not in others:
            others.append(allow)
    elif not excludes:
        names |= set(rule["names"])
missing = set(NEEDED) - names
assert not missing, f"the base refuses {missing}, which bubblewrap needs: put them into ADDED"

lines = textwrap.fill(", ".join(json.dumps(name) for name in sorted(names)), 116, break_on_hyphens=False)
rules = ['{"action": "SCMP_ACT_ALLOW", "names": [\n' + textwrap.indent(lines, "      ") + "\n    ]}"]
rules += [json.dumps(rule, sort_keys=True) for rule in others]
text = """{
  "defaultAction": "SCMP_ACT_ERRNO",
  "defaultErrnoRet": 38,
  "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
  "syscalls": [
    %s
  ]
}
""" % ",\n    ".join(rules)
json.loads(text)
pathlib.Path(__file__).parent.parent.joinpath("deploy/seccomp.json").write_text(text)
