// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Signalling
import Testing

@Suite struct SecretTests {
    /// Every way in which Swift turns a value into text.
    func texts(_ value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(describing: value)) \(String(reflecting: value)) \(dumped)"
    }

    @Test func aSecretShowsNothing() {
        let secret = Secret("s3cret")
        #expect(secret.value == "s3cret")
        #expect(!self.texts(secret).contains("s3cret"))
        #expect(!self.texts([secret]).contains("s3cret"))
        #expect(Mirror(reflecting: secret).children.isEmpty)
        #expect(secret == Secret("s3cret"))
        #expect(secret != Secret("other"))
    }

    @Test func aConfigurationShowsNoSecret() throws {
        let read = try LoadingTests.everything()
        let shown = self.texts(read)
        #expect(!shown.contains("s3cret"))
        #expect(!shown.contains("x?y=z"))
        #expect(shown.contains("socketio+http://rtc.example.org/${ROOM}"))
        let change = ConfigurationChange(from: DaemonConfiguration(), to: read)
        #expect(!self.texts(change).contains("s3cret"))
        #expect(!read.rooms.values.contains { $0.definition.text.contains("s3cret") })
    }

    /// Wrong values of every key of a secret or behind a reference.
    @Test(
        arguments: [
            "api: { token: \"s3cret short\" }", "api: { token: [s3cret] }", "api: { tokens: [s3cret] }",
            "api: { token: é$s3cret }",
            "api: { tokens: [{ name: a, value: \"s3cret s3cret s3cret\", scopes: [read] }] }",
            "api: { tokens: [{ name: a, sha256: s3cret, scopes: [read] }] }", "api: { tokens: s3cret }", "api: s3cret",
            "api: { tokn: s3cret }",
            "ice: { servers: [{ urls: [\"turn:h\"], username: a, credential: \"s3cret \\t\" }] }",
            "webhooks: [{ url: \"https://h/s3cret#s3cret\", secret: s3cret }]", "webhooks: [{ url: \"s3cret\" }]",
            "webhooks: [{ url: \"https://h/s3cret\", secret: s3cret-s3cret-s3cret }]\nwebhook_hosts: [g]",
            "webhooks: [s3cret]",
            "rooms: { a: { url: \"${VALUE}\" } }", "rooms: { a: { url: \"socketio+http://${VALUE}:x/y\" } }",
            "rooms: { a: { url: \"socketio+http://h/r?${VALUE}\" } }", "rooms: { a: \"${VALUE}\" }",
            "rooms: { a: { url: \"socketio+http://h/r?dialect=${VALUE}\" } }", "rooms: { a: { join: \"${VALUE}\" } }",
            "rooms: { a: { join: { schedule: \"${VALUE} * * * *\", duration: \"${VALUE}\", time_zone: \"${VALUE}\" } } }",
            "rooms: { a: { send: { capture: \"${VALUE}\", size: \"${VALUE}\", fps: \"${VALUE}\" } } }",
            "rooms: { a: { url: \"socketio+http://h/r\", secret: \"${VALUE}\\t\" } }",
            "rooms: { a: { url: \"socketio+http://h/r\", secret: [s3cret] } }",
            "storage: { directory: \"${VALUE}\", keep: \"${VALUE}\" }", "webhook_hosts: [\"${VALUE}/\"]",
            "ice: { servers: [{ urls: [\"${VALUE}\"] }] }",
            "api: { listen: \"${VALUE}\", cors_origins: [\"${VALUE}\"] }",
            "api: { tokens: [{ name: a, value: x, scopes: [\"${VALUE}\"] }] }",
            "workers: { export_jobs: \"${VALUE}\" }",
            "api:\n  token: s3cret: x", "webhooks:\n  - url: s3cret: x", "api: { listen: x, tok{en: s3cret }",
            "api:\n  listen: x\n  tok: en: s3cret", "api:\n  token: \"a\n  listen: s3cret\" b",
        ]
    )
    func problemsShowNoSecret(text: String) throws {
        let told = problems(text, FixedValues(variables: ["VALUE": "s3cret"]))
        #expect(!told.isEmpty)
        #expect(!told.joined().contains("s3cret"), "\(told)")
    }
}
