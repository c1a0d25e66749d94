"""A filter of system calls for the sandbox, written out as the kernel's own little programs.

bubblewrap hides files, processes and the network.  What remains are the calls that could build new
things out of nothing: sockets, further namespaces (with them, file systems whose size nobody
limits), memory outside the address-space limit (shared, semaphores, pages that stay in a pipe),
tracing.  Honest assignments use none of
them, so they fail with EPERM.  `clone3`, whose flags a filter cannot see, says ENOSYS, and the C
library then uses `clone`, whose flags it can.

A filter is a list of (code, jump if true, jump if false, constant), 8 bytes each; see the kernel's
documentation of seccomp and of classic BPF.
"""

import platform
import struct

__all__ = ["program"]

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38
LOAD, EQUAL, GREATER_EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets in struct seccomp_data
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
CLONE_NEWUSER = 0x10000000

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}
FCNTL = {"x86_64": 72, "aarch64": 25}
# Locks and leases of files, which are the host's own: their number is unlimited, and others wait.
LOCKING = (6, 7, 37, 38, 1024, 1026)
DENIED = {  # number on x86_64, number on aarch64
    "socket": (41, 198),
    "socketpair": (53, 199),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_create": (319, 279),
    # Memory of the kernel's, or pages kept when their process has given them back
    "shmget": (29, 194),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "vmsplice": (278, 75),
    "splice": (275, 76),
    "tee": (276, 77),
    "memfd_secret": (447, 447),
    "io_setup": (206, 0),
    "inotify_init": (253, 26),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "io_uring_setup": (425, 425),
    "flock": (73, 32),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "pidfd_getfd": (438, 438),
}
CLONE3 = 435


def program(machine: str | None = None) -> bytes | None:
    """The filter for this machine, or None where its call numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    code = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (GREATER_EQUAL, 0, 1, 0x40000000),  # x32: the same calls under other numbers
        (RETURN, 0, 0, ERRNO | ENOSYS),
        (EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, ERRNO | ENOSYS),
    ]
    for numbers in DENIED.values():
        code += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ERRNO | EPERM)]
    code += [
        (EQUAL, 0, 2 * len(LOCKING) + 2, FCNTL[machine]),
        (LOAD, 0, 0, SECOND_ARGUMENT),
    ]
    for command in LOCKING:
        code += [(EQUAL, 0, 1, command), (RETURN, 0, 0, ERRNO | EPERM)]
    code += [
        (RETURN, 0, 0, ALLOW),
        (EQUAL, 0, 3, CLONE[machine]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 1, CLONE_NEWUSER),
        (RETURN, 0, 0, ERRNO | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in code)
