// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Testing

/// Messages about wrong texts, in the exact words.
@Suite struct ProblemTests {
    @Test func everyProblemIsToldAtOnce() {
        let text = """
            storge: {}
            storage:
              directory: var/lib
              keep: 1m
            api:
              listen: 0.0.0.0:8330
              requests_per_second: "50"
            rooms:
              one:
                jion: always
                record: { vidoe: true, video: yes, segment: 30 }
              two: { url: "http://h/r", send: { capture: test, fps: 1000, bitrate: 1500 } }
            """
        #expect(
            problems(text) == [
                #"line 1, column 1: storge: unknown key; did you mean "storage"?"#,
                #"line 3, column 14: storage.directory: found "var/lib"; accepted: an absolute path, such as "#
                    + "/var/lib/tapedeck",
                #"line 4, column 9: storage.keep: found "1m"; accepted: a time from 1h to 3650d with its unit "#
                    + "(ms, s, m, h, d), such as 30d, or forever",
                "line 6, column 3: api.listen: a token is needed where others can reach the API; accepted: "
                    + "api.token or api.tokens, or a loopback address in api.listen",
                #"line 7, column 24: api.requests_per_second: found "50"; accepted: a whole number from 1 to 10000"#,
                #"line 10, column 5: rooms.one.jion: unknown key; did you mean "join"?"#,
                "line 10, column 5: rooms.one.url: missing; accepted: a room URL, such as "
                    + "socketio+https://rtc.example.org/123123",
                #"line 11, column 15: rooms.one.record.vidoe: unknown key; did you mean "video"?"#,
                #"line 11, column 35: rooms.one.record.video: found "yes"; accepted: true or false"#,
                "line 11, column 49: rooms.one.record.segment: found 30; accepted: a time from 10s to 7d or a size from "
                    + "1MB to 1TB with its unit, such as 30m or 2GB, or none",
                #"line 12, column 15: rooms.two.url: room URL, scheme: "http" is not a room scheme; did you mean "#
                    + "socketio+http?. Example: socketio+https://rtc.example.org/123123",
                "line 12, column 57: rooms.two.send.fps: found 1000; accepted: a whole number from 1 to 60",
                "line 12, column 72: rooms.two.send.bitrate: found 1500; accepted: a bit rate from 50k to 50M, such "
                    + "as 1500k or 2M",
            ]
        )
    }

    @Test func problemsThatAreFoundWithoutTheTextGetTheirPlaces() throws {
        let path = NSTemporaryDirectory() + "places-\(UInt64.random(in: 0...(.max))).yaml"
        defer { unlink(path) }
        let text = "rooms:\n  r:\n    url: socketio+http://h/1\n    outputs:\n      - pipeline: { file: hls }\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let key = "rooms.r.outputs[0].pipeline.file"
        let problems = [
            ConfigurationProblem(file: path, key: key, message: "m"),
            ConfigurationProblem(file: "other", key: key, message: "m"),
            ConfigurationProblem(file: path, line: 1, column: 2, key: key, message: "m"),
            ConfigurationProblem(file: path, key: "storage.directory", message: "m"),
        ]
        let found = DaemonConfiguration.located(problems, in: path).map(\.description)
        #expect(
            found == [
                "\(path):5:21: \(key): m", "other: \(key): m", "\(path):1:2: \(key): m",
                "\(path): storage.directory: m",
            ]
        )
        #expect(DaemonConfiguration.located(problems, in: path + "-gone") == problems)
    }

    @Test func aProblemHasItsParts() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try DaemonConfiguration.parse(
                text: "rooms:\n  a:\n    join: alwyas\n    url: socketio+http://h/r",
                file: "x.yaml"
            )
        }
        #expect(
            error?.problems == [
                ConfigurationProblem(
                    file: "x.yaml",
                    line: 3,
                    column: 11,
                    key: "rooms.a.join",
                    message: #"found "alwyas""#,
                    accepted: "always, on-demand, or a mapping with schedule, time_zone, duration",
                    suggestion: "always"
                )
            ]
        )
        #expect(error?.code == .invalid)
        #expect(error?.isRetriable == false)
        #expect(
            error?.description == #"x.yaml:3:11: rooms.a.join: found "alwyas"; did you mean "always"?; accepted: "#
                + "always, on-demand, or a mapping with schedule, time_zone, duration"
        )
    }

    @Test(
        arguments: [
            ("ice: { servers: [{}] }", "ice.servers[0].urls: missing"),
            ("ice: { servers: [{urls: []}] }", "ice.servers[0].urls: found a list of 0"),
            ("ice: { servers: [{urls: [\"stun:h?transport=udp\"]}] }", "ice.servers[0].urls[0]: found"),
            ("ice: { servers: [{urls: [\"turn:h?x\"]}] }", "ice.servers[0].urls[0]: found"),
            ("ice: { servers: [{urls: [\"http://h\"]}] }", "ice.servers[0].urls[0]: found"),
            ("ice: { servers: [{urls: [\"turn:h\"], username: a}] }", "ice.servers[0].credential: missing"),
            ("ice: { servers: [{urls: [\"turn:h\"], credential: a}] }", "ice.servers[0].username: missing"),
            ("ice: { host_addresses: [example.org] }", "ice.host_addresses[0]: found"),
            ("ice: { policy: relays }", "ice.policy: found"),
            ("ice: { policy: relay, use_offered: false }", "ice.policy: relay needs a TURN server"),
            ("ice: { offered_hosts: [\"https://x\"] }", "ice.offered_hosts[0]: found"),
            ("rtsp: { listen: \"0.0.0.0:8554\" }", "rtsp.listen: users are needed"),
            ("rtsp: { listen: \"0.0.0.0:8554\", users: [] }", "rtsp.listen: users are needed"),
            ("rtsp: { users: [{ name: \"a:b\", password: long-enough }] }", "rtsp.users[0].name: found"),
            ("rtsp: { users: [{ name: a }] }", "rtsp.users[0].password: missing"),
            ("rtsp: { users: [{ name: a, password: short }] }", "rtsp.users[0].password: found"),
            ("rtsp: { rooms: [a/b] }", "rtsp.rooms[0]: found"),
            ("rtsp: { participants: 65 }", "rtsp.participants: found"),
            ("rtsp: { tls: { key: /k } }", "rtsp.tls.certificate: missing"),
            ("cluster: { host: a, etcd: [\"http://h\"], capacity: 1 }", "cluster.name: missing"),
            ("cluster: { name: a/b, host: a, etcd: [\"http://h\"], capacity: 1 }", "cluster.name: found"),
            ("cluster: { name: c, etcd: [\"http://h\"], capacity: 1 }", "cluster.host: missing"),
            ("cluster: { name: c, host: a, capacity: 1 }", "cluster.etcd: missing"),
            ("cluster: { name: c, host: a, etcd: [], capacity: 1 }", "cluster.etcd: found a list of 0"),
            ("cluster: { name: c, host: a, etcd: [\"http://h/v3\"], capacity: 1 }", "cluster.etcd[0]: found"),
            ("cluster: { name: c, host: a, etcd: [\"h:2379\"], capacity: 1 }", "cluster.etcd[0]: found"),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"] }", "cluster.capacity: missing"),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: -1 }", "cluster.capacity: found"),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, user: u }", "cluster.password: missing"),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, password: p }", "cluster.user: missing"),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, ttl: 2s }", "cluster.ttl: found"),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, token: short }", "cluster.token: found"),
            (
                "cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, url: \"http://h/x\" }",
                "cluster.url: found"
            ),
            (
                "api: { listen: \"0.0.0.0:1\", token: 0123456789abcdef }\n"
                    + "cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1 }",
                "cluster.url: missing, and 0.0.0.0 of api.listen is no address that other hosts reach"
            ),
            ("cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, tls: { ca: /c } }", "cluster.tls: "),
            (
                "cluster: { name: c, host: a, etcd: [\"https://h\"], capacity: 1, tls: { key: /k } }",
                "cluster.tls.certificate: missing"
            ),
            (
                "cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, labels: { z: 1 } }",
                "cluster.labels.z: found"
            ),
            ("rooms: { r: { url: \"socketio+http://h/r\", cost: 0 } }", "rooms.r.cost: found"),
            ("rooms: { r: { url: \"socketio+http://h/r\", hosts: { need: {} } } }", "rooms.r.hosts.need: unknown key"),
            (
                "rooms: { r: { url: \"socketio+http://h/r\", hosts: { require: { \"a b\": x } } } }",
                "rooms.r.hosts.require.a b: cannot be a name"
            ),
            ("rooms: { r: { url: \"socketio+http://h/r\", when_cut_off: stop } }", "rooms.r.when_cut_off: found"),
            ("ice: { host_addresses: 192.0.2.1 }", "ice.host_addresses: found a text"),
            ("ice: { port_range: 50000-40000 }", "ice.port_range: found"),
            ("ice: { port_range: 1-70000 }", "ice.port_range: found"),
            ("ice: { port_range: 5000 }", "ice.port_range: found 5000"),
            ("api: { listen: 8330 }", "api.listen: found 8330"),
            ("api: { listen: \"::1:8330\" }", "api.listen: found"),
            ("api: { listen: \"127.0.0.1:65536\" }", "api.listen: found"),
            ("api: { listen: \"127.0.0.999:1\" }", "api.listen: found"),
            ("api: { listen: \"h:1\", tokens: [] }", "api.listen: a token is needed"),
            ("api: { token: short }", "api.token: found a text, hidden because it is secret"),
            ("api: { token: 12345678901234567 }", "api.token: found a number, hidden because it is secret"),
            ("api: { token: [] }", "api.token: found a list"),
            ("api: { tokens: [s3cret-s3cret-s3cret] }", "api.tokens[0]: found a text; accepted"),
            ("api: { tokens: [{name: a, scopes: [read]}] }", "api.tokens[0].value: either value or sha256"),
            (
                "api: { tokens: [{name: a, value: s3cret-s3cret-s3cret, sha256: \"\(String(repeating: "a", count: 64))\", "
                    + "scopes: [read]}] }", "api.tokens[0].sha256: either value or sha256"
            ),
            (
                "api: { tokens: [{name: a, sha256: \"abc\", scopes: [read]}] }",
                "api.tokens[0].sha256: found a text, hidden"
            ),
            ("api: { tokens: [{name: a, value: s3cret-s3cret-s3cret}] }", "api.tokens[0].scopes: missing"),
            (
                "api: { tokens: [{name: a, value: s3cret-s3cret-s3cret, scopes: [raed]}] }",
                "api.tokens[0].scopes[0]: found \"raed\"; did you mean \"read\"?"
            ),
            (
                "api: { token: s3cret-s3cret-s3cret, tokens: [{name: token, value: s3cret-s3cret-s3cret, scopes: [read]}] }",
                "api.tokens[0].name: another token has this name"
            ),
            ("api: { tls: { certificate: /c } }", "api.tls.key: missing"),
            ("api: { cors_origins: [\"*\"] }", "api.cors_origins[0]: found \"*\""),
            ("api: { cors_origins: [\"https://h/path\"] }", "api.cors_origins[0]: found"),
            ("webhooks: {}", "webhooks: found a mapping"),
            ("webhooks: [{}]", "webhooks[0].url: missing"),
            ("webhooks: [{url: \"https://h/x\"}]", "webhooks[0].secret: missing"),
            ("webhooks: [{url: \"ftp://h/x\"}]", "webhooks[0].url: found a text, hidden because it is secret"),
            ("webhooks: [{url: \"https://u:p@h/x\"}]", "webhooks[0].url: found a text, hidden because it is secret"),
            ("webhooks: [{url: \"https://h/x\", events: [recording]}]", "webhooks[0].events[0]: found"),
            ("webhooks: [{url: \"https://h/x\"}]\nwebhook_hosts: [g]", "webhooks[0].url: its host is not one of"),
            (
                "webhooks: [{url: \"https://h/x\", events: [recording.finishd]}]",
                "webhooks[0].events[0]: found \"recording.finishd\"; did you mean \"recording.finished\"?"
            ),
            ("webhooks: [{url: \"https://h/x\", events: [\"recordings.*\"]}]", "webhooks[0].events[0]: found"),
            ("webhooks: [{url: \"http://h/x\"}]", "webhooks[0].url: plain http is only for this host"),
            ("webhooks: [{url: \"http://192.0.2.1/x\"}]", "webhooks[0].url: plain http is only for this host"),
            ("webhook_hosts: [\"*\"]", "webhook_hosts[0]: found"),
            ("workers: { rooms_per_worker: 0 }", "workers.rooms_per_worker: found 0"),
            ("workers: { maximum_rooms: 0 }", "workers.maximum_rooms: found 0"),
            ("workers: { rooms_per_worker: 1.5 }", "workers.rooms_per_worker: found 1.5"),
            ("workers: { rooms_per_worker: 99999999999999999999 }", "workers.rooms_per_worker: found 9999"),
            ("workers: { hang_limit: 1s }", "workers.hang_limit: found \"1s\""),
            ("workers: { hang_limit: 999999999999999999d }", "workers.hang_limit: found"),
            ("workers: { maximum_memory: 999999999999999999TB }", "workers.maximum_memory: found"),
            ("storage: { minimum_free: 2 GB }", "storage.minimum_free: found \"2 GB\""),
            ("storage: { minimum_free: -2GB }", "storage.minimum_free: found \"-2GB\""),
            ("storage: { keep: ~ }", "storage.keep: found nothing"),
            ("storage: { upload: }", "storage.upload: found nothing"),
            ("storage: { upload: {} }", "storage.upload.remote: missing"),
            ("storage: { upload: { remote: arc } }", "storage.upload.remote: found \"arc\""),
            ("storage: { upload: { remote: ':s3,secret=x:b' } }", "storage.upload.remote: found"),
            ("storage: { upload: { remote: 'arc,secret=x:b' } }", "storage.upload.remote: found"),
            ("storage: { upload: { remote: '-x:b' } }", "storage.upload.remote: found \"-x:b\""),
            ("storage: { upload: { remote: 'arc:a/../b' } }", "storage.upload.remote: found"),
            ("storage: { upload: { remote: 'arc:b', config: rclone.conf } }", "storage.upload.config: found"),
            ("storage: { upload: { remote: 'arc:b', prefix: /x } }", "storage.upload.prefix: found \"/x\""),
            ("storage: { upload: { remote: 'arc:b', prefix: '{host}' } }", "storage.upload.prefix: found"),
            ("storage: { upload: { remote: 'arc:b', prefix: 'a/../b' } }", "storage.upload.prefix: found"),
            ("storage: { upload: { remote: 'arc:b', parts: [] } }", "storage.upload.parts: found a list of 0"),
            (
                "storage: { upload: { remote: 'arc:b', parts: [track] } }",
                "storage.upload.parts[0]: found \"track\"; did you"
            ),
            ("storage: { upload: { remote: 'arc:b', speed_limit: 20M } }", "storage.upload.speed_limit: found \"20M\""),
            ("storage: { upload: { remote: 'arc:b', verify: none } }", "storage.upload.verify: found \"none\""),
            ("storage: { directory: \"/a\\nb\" }", "storage.directory: found \"/ab\""),
            ("rooms: []", "rooms: found a list; accepted: a mapping from names to rooms"),
            ("rooms: { a: }", "rooms.a: found nothing; accepted: a mapping with url"),
            ("rooms: { \"a/b\": { url: \"socketio+http://h/r\" } }", "rooms.a/b: cannot be a room's name"),
            ("rooms: { ..: { url: \"socketio+http://h/r\" } }", "rooms...: cannot be a room's name"),
            ("rooms: { a: { url: 5 } }", "rooms.a.url: found 5"),
            (
                "rooms: { a: { url: \"gopher+ws://h/r\" } }",
                "rooms.a.url: room URL, scheme: \"gopher+ws\" is not a room scheme"
            ),
            ("rooms: { a: { url: \"socketio+http://h/r\", outputs: [{}] } }", "rooms.a.outputs[0].rtp: missing"),
            ("rooms: { a: { url: \"socketio+http://h/r\", outputs: {} } }", "rooms.a.outputs: found a mapping"),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ pipeline: {} }] } }",
                "rooms.a.outputs[0].pipeline.file: missing"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ pipeline: { file: ../hls } }] } }",
                "rooms.a.outputs[0].pipeline.file: found \"../hls\""
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ pipeline: { fil: hls } }] } }",
                "rooms.a.outputs[0].pipeline.fil: unknown key"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ pipeline: { file: hls, "
                    + "parameters: { folder: [a] } } }] } }",
                "rooms.a.outputs[0].pipeline.parameters.folder: found a list"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 1 }, "
                    + "pipeline: { file: hls } }] } }",
                "rooms.a.outputs[0].pipeline: stands next to rtp"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { video_port: 1 } }] } }",
                "rooms.a.outputs[0].rtp.host: missing"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: \"a b\", video_port: 1 } }] } }",
                "rooms.a.outputs[0].rtp.host: found \"a b\""
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h } }] } }",
                "rooms.a.outputs[0].rtp.video_port: missing; accepted: video_port, audio_port or both"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 65535 } }] } }",
                "rooms.a.outputs[0].rtp.video_port: found 65535"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 5004, "
                    + "audio_port: 5005 } }] } }",
                "rooms.a.outputs[0].rtp.audio_port: two streams want port 5005"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 65500, "
                    + "participants: 20 } }] } }",
                "rooms.a.outputs[0].rtp.video_port: the ports of 20 participants go beyond 65534"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 5004, "
                    + "sdp_file: /etc/passwd } }] } }",
                "rooms.a.outputs[0].rtp.sdp_file: found \"/etc/passwd\""
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 5004, "
                    + "participants: 2, sdp_file: /run/a.sdp } }] } }",
                "rooms.a.outputs[0].rtp.sdp_file: each participant has a separate file"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 5004, "
                    + "sdp_file: /run/a.sdp } }, { rtp: { host: h, video_port: 6004, sdp_file: /run/a.sdp } }] } }",
                "rooms.a.outputs[1].rtp.sdp_file: another output writes the same file"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 5004, "
                    + "srtp: true } }] } }",
                "rooms.a.outputs[0].rtp.srtp: needs sdp_file: the keys are nowhere else"
            ),
            ("rooms: { a: { url: \"socketio+http://h/r\", record: { preroll: 2m } } }", "rooms.a.record.preroll: f"),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [mosaic] } } }",
                "rooms.a.record.export[0]: f"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { container: avi } } }",
                "rooms.a.record.container: f"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [grid, tracks, grid] } } }",
                "rooms.a.record.export: a layout stands there twice"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [grid], container: webm } } }",
                "rooms.a.record.container: is of the layout tracks"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [audio], keep_damaged: true } } }",
                "rooms.a.record.keep_damaged: is of the layout tracks"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [grid], separate_tracks: true } } }",
                "rooms.a.record.separate_tracks: is of the layout tracks"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [audio], project: true } } }",
                "rooms.a.record.project: is of the layout tracks"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", record: { video: false, audio: false } } }",
                "rooms.a.record.audio: without video and audio there is nothing to record; accepted: record: none"
            ),
            ("rooms: { a: { url: \"socketio+http://h/r\", record: false } }", "rooms.a.record: found a truth value"),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", send: { capture: none } } }",
                "rooms.a.send.capture: without"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", send: { capture: \"v4l2:video0\" } } }",
                "rooms.a.send.capture: f"
            ),
            ("rooms: { a: { url: \"socketio+http://h/r\", send: { audio: \"alsa:\" } } }", "rooms.a.send.audio: found"),
            ("rooms: { a: { url: \"socketio+http://h/r\", send: { size: 1281x720 } } }", "rooms.a.send.size: found"),
            ("rooms: { a: { url: \"socketio+http://h/r\", send: { size: -1280x720 } } }", "rooms.a.send.size: found"),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", rejoin: { after_kick: 2d } } }",
                "rooms.a.rejoin.after_kick: f"
            ),
            ("rooms: { a: { url: \"socketio+http://h/r\", join: {} } }", "rooms.a.join.schedule: missing"),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", join: { schedule: 0 9 * * 8, duration: 1h } } }",
                "rooms.a.join.schedule: day of week: \"8\" is not from 0 to 7; accepted: minute hour day month weekday"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", join: { schedule: 0 9 * * *, duration: 1h, time_zone: "
                    + "Europe/Berlni } } }",
                "rooms.a.join.time_zone: found \"Europe/Berlni\"; did you mean \"Europe/Berlin\"?"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\" }, b: { url: \"socketio+http://h:80/r\" } }",
                "rooms.b: has the url of \"a\", and we would be there twice"
            ),
            (
                "rooms: { a: { url: \"socketio+http://h/r\", outputs: [{ rtp: { host: h, video_port: 5004, "
                    + "sdp_file: /run/a.sdp } }] }, b: { url: \"socketio+http://h/s\", outputs: [{ rtp: { host: h, "
                    + "video_port: 6004, sdp_file: /run/a.sdp } }] } }",
                "rooms.b.outputs: an output of \"a\" writes the same sdp_file"
            ),
            ("rooms: { a: { url: \"whip+http://h/r\" } }", "rooms.a.send: whip publishes"),
            ("rooms: { a: { url: \"whip+http://h/r\", send: none } }", "rooms.a.send: whip publishes"),
            ("rooms: { a: { url: \"whep+http://h/r\", send: { capture: test } } }", "rooms.a.send: whep plays"),
            ("rooms: { a: { url: \"xmpp://me@h/?peer=ada@h\" } }", "rooms.a.secret: missing"),
            ("rooms: { a: { url: \"${NONE}\" } }", "rooms.a.url: the environment variable NONE is not set"),
            ("rooms: { a: { url: \"${file:/none}\" } }", "rooms.a.url: /none cannot be opened: No such file"),
            ("rooms: { a: { url: \"${file:none}\" } }", "rooms.a.url: ${file:…} has no absolute path; accepted"),
            ("rooms: { a: { url: \"${a b}\" } }", "rooms.a.url: \"${a b}\" is not a reference; accepted"),
            ("rooms: { a: { url: \"${a\" } }", "rooms.a.url: ${ without }; accepted: ${NAME}, ${file:/path}"),
            ("rooms: { <<: {} }", "rooms.<<: cannot be a room's name"),
            ("rooms: { a: { url: 'janus+ws://h/?room=1', announce: x } }", "rooms.a.announce: janus has no chat"),
            ("rooms: { a: { url: 'whep+http://h/r', announce: x } }", "rooms.a.announce: whep has no chat"),
            (
                "rooms: { a: { url: 'socketio+http://h/r', announce: x, record: { chat: false } } }",
                "rooms.a.announce: record.chat is off; accepted: record.chat: true, or no announce"
            ),
            ("rooms: { a: { url: 'socketio+http://h/r', announce: '' } }", "rooms.a.announce: found \"\""),
            ("? [a]\n: b", "a key that is not a text"),
            ("storage: !!set {}", "storage: tags are not taken: tag:yaml.org,2002:set"),
            ("storage: !mine {}", "storage: tags are not taken: !mine"),
        ]
    )
    func wrongValuesAreTold(text: String, start: String) throws {
        let told = problems(text)
        #expect(told.contains { $0.contains(" \(start)") }, "\(told)")
    }

    /// Suggestions near refused values.
    @Test(
        arguments: [
            "webhooks: [{ url: \"http://127.0.0.1:1/x\", secret: s3cret-s3cret-s3cret }]",
            "webhooks: [{ url: \"http://[::1]/x\", secret: s3cret-s3cret-s3cret }]",
            "webhooks: [{ url: \"http://localhost/x\", secret: s3cret-s3cret-s3cret }]",
            "webhooks: [{ url: \"http://h/x\", secret: s3cret-s3cret-s3cret }]\nwebhook_hosts: [h]",
            "webhooks: [{ url: \"https://h/\", secret: s3cret-s3cret-s3cret, events: [\"*\", \"disk.*\", room.left] }]",
            "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [], container: webm, project: true } } }",
            "rooms: { a: { url: \"socketio+http://h/r\", record: { export: [grid], project: false } } }",
            "rooms: { a: { url: \"whip+http://h/r\", send: { capture: test } } }",
            "rooms: { a: { url: \"whep+http://h/r\", send: none } }",
            "rooms: { a: { url: \"xmpp://me@h/?peer=ada@h\", secret: \"p w\", announce: This is recorded. } }",
            "rooms: { a: { url: \"socketio+http://h/r\", announce: x, record: none } }",
        ]
    )
    func whatWorksIsTaken(text: String) {
        #expect(problems(text) == [])
    }

    /// Each kind of value in each place.
    @Test(arguments: ["5", "true", "text", "1.5", "~", "[]", "[5]", "{}", "{ a: b }", "[[]]", "\"\"", "*"])
    func wrongTypesEverywhere(value: String) throws {
        let places = [
            "%", "storage: %", "storage: { directory: % }", "storage: { minimum_free: % }", "storage: { keep: % }",
            "ice: %", "ice: { servers: % }", "ice: { servers: [%] }", "ice: { servers: [{ urls: % }] }",
            "ice: { servers: [{ urls: [%] }] }", "ice: { port_range: % }", "ice: { host_addresses: [%] }", "api: %",
            "api: { listen: % }", "api: { token: % }", "api: { tokens: % }", "api: { tokens: [%] }", "api: { tls: % }",
            "api: { tokens: [{ scopes: % }] }", "api: { tls: { key: % } }", "api: { cors_origins: % }",
            "api: { requests_per_second: % }", "webhooks: %", "webhooks: [%]", "webhooks: [{ events: % }]",
            "webhook_hosts: %", "workers: %", "workers: { hang_limit: % }", "rooms: %", "rooms: { a: % }",
            "rooms: { a: { url: % } }", "rooms: { a: { join: % } }", "rooms: { a: { join: { schedule: % } } }",
            "rooms: { a: { join: { duration: % } } }", "rooms: { a: { record: % } }", "rooms: { a: { outputs: % } }",
            "rooms: { a: { record: { video: % } } }", "rooms: { a: { record: { export: % } } }",
            "rooms: { a: { record: { container: % } } }", "rooms: { a: { record: { project: % } } }",
            "rooms: { a: { send: % } }", "rooms: { a: { send: { capture: % } } }", "rooms: { a: { rejoin: % } }",
        ]
        for place in places {
            let text = place.replacing("%", with: value)
            for problem in problems(text) {
                #expect(!problem.isEmpty)
                #expect(
                    problem.contains("line 1, column ") || problem == "there is nothing in it",
                    "\(text): \(problem)"
                )
            }
        }
    }

    @Test func problemsAreCountedBeyondTheirLimit() throws {
        let text = (0..<5000).map { "key\($0): 1" }.joined(separator: "\n")
        let told = problems(text)
        #expect(told.count == ConfigurationError.maximumProblems)
        #expect(told.first?.hasPrefix("line 1, column 1: key0: unknown key") == true)
        #expect(told.last == "4801 more problems")
    }
}
