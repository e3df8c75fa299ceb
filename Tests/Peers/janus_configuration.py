# SPDX-License-Identifier: Apache-2.0
"""Writes the configuration of a Janus of our own: VideoRoom with WebSocket and HTTP on loopback, everything else off.

Its ICE needs a network interface other than loopback: Janus gathers nothing there.
"""

import pathlib

PLUGINS = ("audiobridge", "duktape", "echotest", "lua", "nosip", "recordplay", "sip", "streaming", "textroom",
           "videocall", "voicemail")
TRANSPORTS = ("mqtt", "nanomsg", "pfunix", "rabbitmq")


def command(folder, web_socket_port, http_port, rooms, reclaim_seconds=0, tls=None, is_lite=False):
    """Writes the files; returns the command. `rooms`: {id: {setting: value}}; `tls`: certificate and key, for both.

    `is_lite`: whether it answers checks of ICE only (RFC 8445 section 2.5).
    """
    pem = f'certificates: {{ cert_pem = "{tls[0]}"\n cert_key = "{tls[1]}" }}\n' if tls else ""
    secure, plain = ("true", "false") if tls else ("false", "true")
    library = next(pathlib.Path("/usr/lib").glob("*/janus"))
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    plugins = ", ".join(f"libjanus_{name}.so" for name in PLUGINS)
    transports = ", ".join(f"libjanus_{name}.so" for name in TRANSPORTS)
    (folder / "janus.jcfg").write_text(f'''
general: {{
    configs_folder = "{folder}"
    plugins_folder = "{library / "plugins"}"
    transports_folder = "{library / "transports"}"
    events_folder = "{folder}"
    loggers_folder = "{folder}"
    debug_level = 4
    debug_colors = false
    session_timeout = 60
    reclaim_session_timeout = {reclaim_seconds}
}}
nat: {{ ice_lite = {text(is_lite)} }}
plugins: {{ disable = "{plugins}" }}
transports: {{ disable = "{transports}" }}
''')
    (folder / "janus.transport.websockets.jcfg").write_text(
        f'general: {{ json = "compact"\n ws = {plain}\n ws_port = {web_socket_port}\n ws_ip = "127.0.0.1"\n'
        f' wss = {secure}\n wss_port = {web_socket_port}\n wss_ip = "127.0.0.1" }}\n{pem}')
    (folder / "janus.transport.http.jcfg").write_text(
        f'general: {{ json = "compact"\n base_path = "/janus"\n http = {plain}\n port = {http_port}\n'
        f' ip = "127.0.0.1"\n https = {secure}\n secure_port = {http_port}\n secure_ip = "127.0.0.1" }}\n'
        f'admin: {{ admin_http = false }}\n{pem}')
    texts = []
    for room, settings in rooms.items():
        lines = "".join(f"    {key} = {text(value)}\n" for key, value in settings.items())
        texts.append(f"room-{room}: {{\n{lines}}}\n")
    (folder / "janus.plugin.videoroom.jcfg").write_text("general: { }\n" + "".join(texts))
    return ["janus", "-F", folder]


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f'"{value}"'
