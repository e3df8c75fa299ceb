#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A WHIP and WHEP endpoint on aiortc: decodes published media, and sends the test pattern to players.

Strict where the specifications are: content types, entity tags, tokens, what an offer must look like. Anything else
is a 4xx answer with a problem document. Prints one JSON object a line: port, request, connected, closed (figures of
one session), refused.

    /whip/NAME            takes offers (RFC 9725)
    /whep/NAME            takes offers (draft-ietf-wish-whep)
    /counter/whep/NAME    answers offers with 406 and its own offer
    /moved/...            307 to the same path without /moved
    /session/ID           PATCH and DELETE

Ends on SIGTERM, or after --limit seconds.

Example: .venv/peers/bin/python Tests/Peers/whip_endpoint.py --port 8080 --token secret
"""

import argparse
import asyncio
import contextlib
import logging
import re
import signal
import sys
import uuid

from aiohttp import web
from aiortc import RTCSessionDescription
from aiortc.sdp import candidate_from_sdp

from aiortc_peer import LIMIT, Connection, gather_loopback, report, run_to_the_end

SDP = "application/sdp"
FRAGMENT = "application/trickle-ice-sdpfrag"


class Refusal(Exception):
    """A request that is not as the specifications want it."""

    def __init__(self, status, detail, headers=None):
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}


def sections(sdp):
    """The lines of the session level, and those of each m-line."""
    parts, current = [], []
    for line in sdp.split("\r\n")[:-1]:
        if line.startswith("m="):
            parts.append(current)
            current = []
        current.append(line)
    return parts[0] if parts else current, parts[1:] + [current] if parts else []


def values(lines, name):
    return [line.split(":", 1)[1] for line in lines if line.startswith(f"a={name}:")]


def check_offer(sdp, directions):
    """RFC 9725 section 4.4, and the order of lines of RFC 8866."""
    if not sdp.startswith("v=0\r\n") or not sdp.endswith("\r\n") or "\n" in sdp.replace("\r\n", ""):
        raise Refusal(400, "not a session description with CRLF line ends")
    session, media = sections(sdp)
    kinds = [lines[0].split()[0][2:] for lines in media]
    if not media or len(set(kinds)) != len(kinds) or not set(kinds) <= {"audio", "video"}:
        raise Refusal(422, f"one audio and one video m-line at most, not {kinds}")
    groups = values(session, "group")
    mids = [values(lines, "mid") for lines in media]
    if groups != ["BUNDLE " + " ".join(mid for mid, in mids)]:
        raise Refusal(422, f"everything has to be in one bundle: {groups}, {mids}")
    for index, lines in enumerate(media):
        port = lines[0].split()[1]
        if (port == "0", "a=bundle-only" in lines) != ((index > 0), (index > 0)):
            raise Refusal(422, f"m-line {index} breaks the max-bundle policy: {lines[0]}")
        if "a=rtcp-mux" not in lines or "a=rtcp-mux-only" not in lines:
            raise Refusal(422, f"m-line {index} lacks rtcp-mux or rtcp-mux-only")
        if not any(f"a={direction}" in lines for direction in directions):
            raise Refusal(422, f"m-line {index} has none of the directions {directions}")
        first = next(number for number, line in enumerate(lines) if line.startswith("a="))
        if any(not line.startswith("a=") for line in lines[first:]):
            raise Refusal(400, f"m-line {index} has lines out of order")
    if "sendonly" in directions and len({line.split()[0] for lines in media for line in values(lines, "msid")}) != 1:
        raise Refusal(422, "everything has to be in one media stream")
    if values(session + media[0], "setup")[0] not in ("actpass", "active"):
        raise Refusal(422, "setup is neither actpass nor active")
    if not values(media[0], "candidate"):
        raise Refusal(422, "no candidate in the offer; this endpoint is no place for empty ones")
    return (values(session + media[0], "ice-ufrag")[0], values(session + media[0], "ice-pwd")[0])


class Session:
    def __init__(self, connection, credentials=None):
        self.id, self.tag = uuid.uuid4().hex, f'"{uuid.uuid4().hex[:8]}"'
        self.connection, self.credentials = connection, credentials
        self.is_answered = credentials is not None


class Endpoint:
    def __init__(self, options):
        self.options = options
        self.sessions = {}
        self.conflicts = options.conflicts

    def connection(self, publishes):
        options = argparse.Namespace(**vars(self.options), send="none" if publishes else "synthetic",
                                     receive=publishes)
        return Connection(options)

    @web.middleware
    async def guard(self, request, handler):
        try:
            self.check_token(request)
            response = await handler(request)
        except Refusal as refusal:
            report(event="refused", method=request.method, path=request.path, status=refusal.status,
                   detail=refusal.detail)
            response = web.json_response({"title": refusal.detail, "status": refusal.status}, status=refusal.status,
                                         headers=refusal.headers, content_type="application/problem+json")
        report(event="request", method=request.method, path=request.path, status=response.status,
               ifMatch=request.headers.get("If-Match"))
        return response

    def check_token(self, request):
        given = request.headers.get("Authorization")
        wanted = f"Bearer {self.options.token}" if self.options.token else None
        if given != wanted:
            raise Refusal(401, "the token is missing or wrong" if wanted else "no token was asked for",
                          {"WWW-Authenticate": "Bearer"})

    async def offer_of(self, request, directions):
        if request.headers.get("Content-Type") != SDP:
            raise Refusal(415, f"the content type is {request.headers.get('Content-Type')}")
        sdp = await request.text()
        return sdp, check_offer(sdp, directions)

    def links(self):
        return [("Link", link) for link in self.options.link]

    async def post(self, request):
        publishes = request.match_info["kind"] == "whip"
        sdp, credentials = await self.offer_of(request, ["sendonly"] if publishes else ["recvonly"])
        if self.conflicts > 0:
            self.conflicts -= 1
            raise Refusal(409, "nobody publishes", {"Retry-After": "1"})
        session = Session(self.connection(publishes), credentials)
        self.sessions[session.id] = session
        answer = await session.connection.answer({"sdp": sdp})
        headers = [("Location", f"../session/{session.id}"), ("ETag", session.tag), *self.links()]
        return web.Response(status=201, text=answer["sdp"], content_type=SDP, headers=headers)

    async def counter(self, request):
        await self.offer_of(request, ["recvonly"])
        session = Session(self.connection(False))
        self.sessions[session.id] = session
        offer = await session.connection.offer()
        headers = {"Location": f"http://{request.host}/session/{session.id}"}
        response = web.Response(status=406, text=offer["sdp"], content_type=SDP, headers=headers)
        response.headers["Content-Type"] = f'{SDP}; valid-until="Fri, 31 Dec 2100 23:59:59 GMT"'
        return response

    async def move(self, request):
        return web.Response(status=307, headers={"Location": request.path.removeprefix("/moved")})

    async def ask(self, request):
        return web.Response(status=200, headers=[("Accept-Post", SDP), *self.links()])

    def session_of(self, request):
        session = self.sessions.get(request.match_info["id"])
        if session is None:
            raise Refusal(404, "there is no such session")
        return session

    async def patch(self, request):
        session = self.session_of(request)
        kind = request.headers.get("Content-Type")
        if kind == SDP and not session.is_answered:
            sdp = await request.text()
            _, media = sections(sdp)
            if not media or any("a=recvonly" not in lines for lines in media):
                raise Refusal(422, "the answer has to be recvonly")
            session.is_answered = True
            await session.connection.take_answer({"sdp": sdp})
            session.credentials = (values(media[0], "ice-ufrag")[0], values(media[0], "ice-pwd")[0])
            return web.Response(status=204)
        if kind != FRAGMENT:
            raise Refusal(415, f"the content type is {kind}")
        tag = request.headers.get("If-Match")
        if tag is None:
            raise Refusal(428, "there is no If-Match")
        if tag != session.tag:
            raise Refusal(412, "the entity tag is another one", {"ETag": session.tag})
        body = await request.text()
        _, media = sections(body)
        if len(media) != 1 or not body.endswith("\r\n"):
            raise Refusal(400, "a fragment has one m-line here")
        if (values(media[0], "ice-ufrag"), values(media[0], "ice-pwd")) != ([session.credentials[0]],
                                                                            [session.credentials[1]]):
            raise Refusal(422, "ICE cannot be restarted here")
        for line in values(media[0], "candidate"):
            candidate_from_sdp(line)
            await session.connection.take_candidate({"candidate": line, "id": values(media[0], "mid")[0]})
        return web.Response(status=204)

    async def delete(self, request):
        session = self.session_of(request)
        del self.sessions[session.id]
        await session.connection.close()
        return web.Response(status=200)

    async def run(self):
        application = web.Application(middlewares=[self.guard])
        kind = "{kind:whip|whep}"
        application.add_routes([
            web.post(f"/{kind}/{{name}}", self.post), web.post("/counter/whep/{name}", self.counter),
            web.post("/moved/{rest:.*}", self.move), web.patch("/session/{id}", self.patch),
            web.delete("/session/{id}", self.delete), web.options(f"/{kind}/{{name}}", self.ask),
        ])
        ended = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, ended.set)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.options.port)
        await site.start()
        report(event="listening", port=site._server.sockets[0].getsockname()[1])
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), self.options.limit)
        for session in self.sessions.values():
            await session.connection.close()
        await runner.cleanup()
        report(event="end", left=len(self.sessions))


def parser(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", help="the bearer token of every request; without it, none may be sent")
    parser.add_argument("--link", action="append", default=[], help="a Link header of answers to OPTIONS and POST")
    parser.add_argument("--conflicts", type=int, default=0, help="how many offers are answered with 409")
    parser.add_argument("--codec", choices=("vp8", "h264"), help="the only video codec to negotiate")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--notes", metavar="FILE", help="a line of JSON about each decoded frame")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until it ends in any case")
    return parser


def main(make, parser):
    options = parser.parse_args()
    if not re.fullmatch(r"\d+x\d+", options.size):
        parser.error("--size takes WIDTHxHEIGHT")
    options.width, options.height = map(int, options.size.split("x"))
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    gather_loopback()
    run_to_the_end(make(options).run())


if __name__ == "__main__":
    main(Endpoint, parser(__doc__))
