#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks: checks the signature of every delivery and answers as configured.

Runs in .venv/socketio5, which has aiohttp. Prints JSON lines: first {"event": "listening", "port": …}, then one for each delivery with its
headers, whether the signature holds, the body as JSON, and the status it was answered with.

Statuses are used in turn, the last one for all that follow; `hang` answers nothing, `drop` closes the connection, and
`redirect` sends the client to /redirected, where nothing should ever come.

Example: .venv/socketio5/bin/python Tests/Peers/webhook_sink.py --secret hush --status 503 --status 200
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import time

from aiohttp import web

MAXIMUM_AGE = 300


def is_signed(secret, headers, body):
    """Whether the delivery is from who knows the secret, and recent: what a receiver should do."""
    timestamp = headers.get("Tapedeck-Timestamp", "")
    code = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_recent = timestamp.isdigit() and abs(time.time() - int(timestamp)) <= MAXIMUM_AGE
    return is_recent and hmac.compare_digest("v1=" + code, headers.get("Tapedeck-Signature", ""))


def say(**line):
    print(json.dumps(line), flush=True)


def application(options):
    statuses = list(options.status or ["204"])

    async def take(request):
        body = await request.read()
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        try:
            event = json.loads(body)
        except ValueError:
            event = None
        say(event="delivery", path=request.path_qs, signed=is_signed(options.secret, request.headers, body),
            kind=request.headers.get("Tapedeck-Event"), delivery=request.headers.get("Tapedeck-Delivery"),
            timestamp=request.headers.get("Tapedeck-Timestamp"), body=event, status=status)
        if status == "hang":
            await asyncio.sleep(3600)
        if status == "drop":
            request.transport.abort()
            return web.Response()
        if status == "redirect":
            return web.Response(status=307, headers={"Location": "/redirected"})
        return web.Response(status=int(status))

    result = web.Application(client_max_size=1 << 20)
    result.router.add_route("*", "/{path:.*}", take)
    return result


async def serve(options):
    runner = web.AppRunner(application(options), access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.port)
    await site.start()
    say(event="listening", port=runner.addresses[0][1])
    await asyncio.Event().wait()


def status(text):
    if text in ("hang", "drop", "redirect") or text.isdigit() and 200 <= int(text) <= 599:
        return text
    raise argparse.ArgumentTypeError(f"{text} is neither a status nor hang, drop or redirect")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes any")
    parser.add_argument("--secret", required=True)
    parser.add_argument("--status", action="append", type=status, help="may be repeated; default: 204")
    try:
        asyncio.run(serve(parser.parse_args()))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
