#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sets a control of a Video4Linux device by its name; v4l2-ctl is in a package that nothing else here needs.

Example: set_control.py /dev/video0 "Percentage of Dropped Buffers" 100
"""

import fcntl
import struct
import sys

# linux/videodev2.h: struct v4l2_queryctrl and struct v4l2_control.
QUERY, CONTROL = struct.Struct("=II32siiiiI8x"), struct.Struct("=Ii")
NEXT = 0x80000000


def request(number, size):
    """_IOWR('V', number, size)"""
    return 3 << 30 | size << 16 | ord("V") << 8 | number


path, wanted, value = sys.argv[1], sys.argv[2], int(sys.argv[3])
names, control = [], 0
with open(path, "rb", buffering=0) as device:
    while True:
        try:
            answer = fcntl.ioctl(device, request(36, QUERY.size), QUERY.pack(control | NEXT, 0, b"", 0, 0, 0, 0, 0))
        except OSError:
            sys.exit(f"{path} has no control {wanted!r}; there is: {', '.join(names)}")
        control, _, name = QUERY.unpack(answer)[:3]
        names.append(name.rstrip(b"\0").decode())
        if names[-1] == wanted:
            break
    fcntl.ioctl(device, request(28, CONTROL.size), CONTROL.pack(control, value))
