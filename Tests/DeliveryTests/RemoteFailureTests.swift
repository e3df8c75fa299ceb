// SPDX-License-Identifier: Apache-2.0

import Delivery
import Foundation
import Model
import Testing

@Suite struct RemoteFailureTests {
    /// What rclone 1.60.1 wrote to standard error, against SeaweedFS, its own WebDAV server, and nothing at all.
    @Test(arguments: [
        (
            """
            2026/11/29 09:37:53 ERROR : small: Failed to copy: SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method.
            \tstatus code: 403, request id: 18EC7A875BAE722F67333131, host id:
            2026/11/29 09:37:53 Failed to copyto: SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method.
            \tstatus code: 403, request id: 18EC7A875BAE722F67333131, host id:
            """, RemoteFailure.Kind.credentials,
            "the remote refuses the user or the secret: Failed to copyto: SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method., status code: 403"
        ),
        (
            "2026/11/29 09:38:21 Failed to copyto: InvalidAccessKeyId: The access key ID you provided does not exist in our records.",
            .credentials,
            "the remote refuses the user or the secret: Failed to copyto: InvalidAccessKeyId: The access key ID you provided does not exist in our records."
        ),
        (
            "2026/11/29 09:36:00 Failed to copyto: AccessDenied: Access Denied.\n\tstatus code: 403, request id: 1, host id: ",
            .rights,
            "the remote does not let this user do that: Failed to copyto: AccessDenied: Access Denied., status code: 403"
        ),
        (
            #"2026/11/29 09:36:00 Failed to create file system for destination "nosuch:recordings/x/": didn't find section in config file"#,
            .name,
            #"rclone's configuration does not have the remote, or cannot be read: Failed to create file system for destination "nosuch:recordings/x/": didn't find section in config file"#
        ),
        (
            "2026/11/29 09:36:00 Failed to copyto: RequestError: send request failed\ncaused by: Put \"http://127.0.0.1:1/x\": dial tcp 127.0.0.1:1: connect: connection refused",
            .host,
            #"the remote does not answer: Failed to copyto: RequestError: send request failed, caused by: Put "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused"#
        ),
        (
            "2026/11/29 09:36:00 Failed to copyto: NoSuchBucket: The specified bucket does not exist", .bucket,
            "the remote has no such bucket or folder: Failed to copyto: NoSuchBucket: The specified bucket does not exist"
        ),
        (
            "2026/11/29 09:36:00 Failed to copyto: RequestTimeTooSkewed: The difference between the request time and the server's time is too large.\n\tstatus code: 403, request id: 1, host id: ",
            .clock,
            "this host's clock is wrong, or the remote's: Failed to copyto: RequestTimeTooSkewed: The difference between the request time and the server's time is too large., status code: 403"
        ),
        (
            "2020/01/01 00:00:00 Failed to copyto: Propfind \"https://127.0.0.1:8443/\": x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2026-11-30T15:00:00Z",
            .clock,
            #"this host's clock is wrong, or the remote's: Failed to copyto: Propfind "https://127.0.0.1:8443/": x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2026-11-30T15:00:00Z"#
        ),
        (
            "2026/11/29 09:36:00 Failed to copyto: couldn't list files: 401 Unauthorized", .credentials,
            "the remote refuses the user or the secret: Failed to copyto: couldn't list files: 401 Unauthorized"
        ),
        (
            "2026/11/29 15:03:00 Failed to copyto: Update mkParentDir failed: 404 Not Found", .bucket,
            "the remote has no such bucket or folder: Failed to copyto: Update mkParentDir failed: 404 Not Found"
        ),
        (
            "2026/11/29 15:03:00 Failed to copyto: object not found", .content,
            "what arrived is not what was sent: Failed to copyto: object not found"
        ),
        ("", .other, "rclone failed: it ended with code 7"),
    ])
    func eachKindIsTold(words: String, kind: RemoteFailure.Kind, sentence: String) {
        let failure = RemoteFailure(words: words, exitCode: 7)
        #expect(failure.kind == kind)
        #expect(failure.description == sentence)
    }

    @Test func manyWordsAreCut() {
        let failure = RemoteFailure(words: String(repeating: "x", count: 100_000), exitCode: 1)
        #expect(failure.description.count < 400)
    }
}

/// Against a program in the place of rclone.
@Suite(.timeLimit(.minutes(2))) final class RcloneTests {
    private let folder = FileManager.default.temporaryDirectory.path() + "/tapedeck-rclone-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    private func rclone(_ script: String, _ change: (inout UploadSpec) -> Void = { _ in }) throws -> Rclone {
        let path = self.folder + "/rclone"
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        var spec = UploadSpec(remote: "arc:x")
        change(&spec)
        return Rclone(
            spec,
            environment: ["PATH": self.folder + ":/usr/bin:/bin", "SECRET": "1", "AWS_CA_BUNDLE": "/x"],
            hiding: ["SECRET"]
        )
    }

    /// S3 answers so for what is not there.
    @Test(arguments: [
        #"echo '{"Path":"","Name":"","Size":-1,"IsDir":true}'"#, "exit 3", "exit 4",
    ])
    func whatIsNotThereIsNone(script: String) async throws {
        #expect(try await self.rclone(script).look("arc:x/1") == nil)
    }

    @Test func theStrongestChecksumCounts() async throws {
        let found = try await self.rclone(
            #"echo '{"Path":"1","Size":3,"IsDir":false,"Hashes":{"md5":"A","SHA-1":"B","sha256":""}}'"#
        ).look("arc:x/1")
        #expect(found?.bytes == 3)
        #expect(found?.checksum?.function == "sha1" && found?.checksum?.value == "b")
    }

    @Test(arguments: ["echo '{'", "echo", "echo '[]'", "echo '{\"Size\":\"x\"}'"])
    func anAnswerThatIsNoneIsAFailure(script: String) async throws {
        let rclone = try self.rclone(script)
        await #expect(throws: RemoteFailure.self) { try await rclone.look("arc:x/1") }
    }

    @Test func settingsReachItByTheEnvironment() async throws {
        let rclone = try self.rclone("echo \"$*\" > \(self.folder)/arguments; env > \(self.folder)/environment") {
            $0.config = "/etc/tapedeck/rclone.conf"
            $0.speedLimit = 20_000_000
        }
        try await rclone.send("/a b", to: "arc:x/1", bytes: 1)
        #expect(
            try String(contentsOfFile: self.folder + "/arguments", encoding: .utf8)
                == "copyto --no-check-dest /a b arc:x/1\n"
        )
        let lines = try String(contentsOfFile: self.folder + "/environment", encoding: .utf8).split(separator: "\n")
        for line in [
            "RCLONE_CONFIG=/etc/tapedeck/rclone.conf", "RCLONE_BWLIMIT=20000000B", "RCLONE_S3_NO_CHECK_BUCKET=true",
            "RCLONE_MULTI_THREAD_STREAMS=0", "RCLONE_S3_ENCODING=Slash,BackSlash,Ctl,Del,InvalidUtf8,Dot",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(!lines.contains { $0.hasPrefix("SECRET=") || $0.hasPrefix("AWS_CA_BUNDLE=") })
    }

    /// rclone 1.60 finds no file by a name with a control character.
    @Test(arguments: [
        ("a\tb\u{7F}\r\n", "a␉b␡␍␊"), ("a␉␡", "a‛␉‛␡"), ("ä+\\ ‛／␀日本💾", "ä+\\ ‛／␀日本💾"), ("", ""),
    ])
    func namesAreWrittenAsRcloneShowsThem(name: String, expected: String) async throws {
        let rclone = try self.rclone("printf '%s\\n' \"$@\" > \(self.folder)/arguments")
        try await rclone.send("/" + name, to: "arc:x/" + name, bytes: 1)
        #expect(
            try String(contentsOfFile: self.folder + "/arguments", encoding: .utf8)
                == "copyto\n--no-check-dest\n/\(expected)\narc:x/\(expected)\n"
        )
    }

    @Test func recordingsGoFirst() async throws {
        let rclone = try self.rclone("nice > \(self.folder)/nice; ionice -p $$ > \(self.folder)/class")
        try await rclone.delete("arc:x/1")
        #expect(try String(contentsOfFile: self.folder + "/nice", encoding: .utf8) == "19\n")
        #expect(try String(contentsOfFile: self.folder + "/class", encoding: .utf8).hasPrefix("idle"))
    }

    /// After an upload, the file is not read again for the remote's checksum.
    @Test(arguments: ["sha1", "md5"]) func aKnownChecksumIsNotComputedAgain(function: String) async throws {
        let sum = String(repeating: "c", count: 40)
        let found = try await self.rclone(#"echo '{"Size":1,"IsDir":false,"Hashes":{"\#(function)":"b"}}'"#).look(
            "arc:x"
        )
        let rclone = try self.rclone("echo 1 >> \(self.folder)/runs; echo '\(sum)  a'")
        let comparison = try await rclone.compare(
            "/a",
            bytes: 1,
            with: "arc:x",
            found: #require(found),
            ours: ["md5": "b"]
        )
        #expect(comparison == (function == "md5" ? .same("md5:b") : .different("another sha1")))
        #expect(FileManager.default.fileExists(atPath: self.folder + "/runs") == (function == "sha1"))
    }

    /// rclone has the same words for a file of this host as for the remote's.
    @Test(arguments: ["permission denied", "directory not found"])
    func aFileOfThisHostThatCannotBeReadIsNotTheRemotesFault(words: String) async throws {
        let rclone = try self.rclone("echo 'Failed to lsjson: \(words)' >&2; exit 1")
        let failure = await #expect(throws: RemoteFailure.self) { try await rclone.hashes(ofFile: "/a", bytes: 1) }
        #expect(failure?.kind == .other && failure?.description.hasPrefix("this host's file cannot be read") == true)
    }

    @Test func theNewestFolderOfARecordingIsFirst() async throws {
        let rclone = try self.rclone(
            "echo '2026-07-04 12:00:00;a/x-1/manifest.json'; echo '2026-07-05 12:00:00;b;c/x-1/manifest.json'"
        )
        #expect(try await rclone.folders(ofRecording: "1") == ["arc:x/b;c/x-1", "arc:x/a/x-1"])
    }

    @Test func aCancelledCallEndsTheProgram() async throws {
        let rclone = try self.rclone("echo $$ > \(self.folder)/pid; exec sleep 600")
        let call = Task { try await rclone.send("/a", to: "arc:x/1", bytes: 1) }
        var text = ""
        while !text.hasSuffix("\n") {
            try await Task.sleep(for: .milliseconds(20))
            text = (try? String(contentsOfFile: self.folder + "/pid", encoding: .utf8)) ?? ""
        }
        call.cancel()
        _ = await call.result
        let process = try #require(pid_t(text.dropLast()))
        #expect(kill(process, 0) != 0)
    }

    @Test func withoutRcloneThatIsTold() async {
        let rclone = Rclone(UploadSpec(remote: "arc:x"), environment: ["PATH": "/nowhere"])
        let failure = await #expect(throws: RemoteFailure.self) { try await rclone.delete("arc:x/1") }
        #expect(failure?.kind == .program)
    }
}
