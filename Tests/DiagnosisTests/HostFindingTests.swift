// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Model
import Testing

@testable import Diagnosis

@Suite(.timeLimit(.minutes(5))) struct HostFindingTests {
    private static let healthy = SystemFacts(
        clockIsSynchronised: true,
        hasTimeDaemon: true,
        openFiles: 65_536,
        threads: 10_000,
        receiveBuffer: 212_992,
        memory: 8_000_000_000,
        processors: 2,
        hasFFmpeg: true
    )

    @Test func `a healthy system has nothing to complain of`() {
        #expect(Self.healthy.findings.map(\.level) == Array(repeating: .ok, count: 6))
    }

    @Test func `an upload without tracks or journal is warned of`() {
        var spec = UploadSpec(remote: "arc:x")
        #expect(Finding(spec, failure: nil).level == .ok)
        spec.parts = [.exports, .tracks]
        let finding = Finding(spec, failure: nil)
        #expect(finding.level == .warning && finding.meaning?.contains("retention deletes") == true)
    }

    @Test func `each weakness is a warning of its own`() {
        let weaknesses: [(WritableKeyPath<SystemFacts, UInt64?>, UInt64, String)] = [
            (\.openFiles, 256, "open files"), (\.threads, 100, "threads"), (\.receiveBuffer, 8192, "socket buffers"),
            (\.memory, 100_000_000, "memory"),
        ]
        for (path, value, name) in weaknesses {
            var facts = Self.healthy
            facts[keyPath: path] = value
            #expect(facts.findings.filter { $0.level == .warning }.map(\.name) == [name])
            #expect(facts.findings.allSatisfy { $0.level == .ok || $0.meaning != nil })
        }
    }

    @Test func `a clock that nothing keeps needs a package only where none is installed`() {
        var facts = Self.healthy
        facts.clockIsSynchronised = false
        #expect(facts.findings.first?.level == .warning)
        #expect(facts.findings.first?.packages == [])
        facts.hasTimeDaemon = false
        #expect(facts.findings.first?.packages == ["systemd-timesyncd"])
    }

    @Test func `the report on a host without ffmpeg names what it cannot do, and the package`() throws {
        var facts = Self.healthy
        facts.hasFFmpeg = false
        let finding = try #require(facts.findings.first { $0.level == .warning })
        #expect(finding.packages == ["ffmpeg"] && finding.meaning?.contains("MP4") == true)
    }

    @Test func `what is unknown is not mentioned`() {
        let unknown = SystemFacts(hasTimeDaemon: false, processors: 1)
        #expect(unknown.findings.isEmpty)
    }

    @Test func `limits of a process`() {
        let text = """
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             unlimited            unlimited            processes
            Max open files            1024                 524288               files
            Max locked memory         garbage
            """
        #expect(SystemFiles.limit("Max open files", in: text)?.soft == 1024)
        #expect(SystemFiles.limit("Max processes", in: text) == SystemFiles.Limit(soft: nil))
        #expect(SystemFiles.limit("Max locked memory", in: text) == nil)
        #expect(SystemFiles.limit("Max", in: text) == nil)
        #expect(SystemFiles.limit("Max open files", in: "") == nil)
    }

    @Test(
        arguments: [
            ("MemTotal:       16 kB\nMemAvailable:   2 kB\n", 2048), ("MemAvailable: x kB", nil), ("", nil),
            ("MemAvailable: 18446744073709551615 kB", nil),
        ] as [(String, UInt64?)]
    )
    func `memory of the host`(_ text: String, _ bytes: UInt64?) {
        #expect(SystemFiles.memory("MemAvailable", in: text) == bytes)
    }

    @Test func `sound inputs of ALSA's list`() {
        let text = """
            00-00: ALC257 Analog : ALC257 Analog : playback 1 : capture 1
            00-03: HDMI 0 : HDMI 0 : playback 1
            01-00: USB Audio : USB Audio : capture 1
            garbage
            x-y: a : b : capture 1
            """
        #expect(SystemFiles.audioInputs(in: text) == ["hw:0,0 ALC257 Analog", "hw:1,0 USB Audio"])
        #expect(SystemFiles.audioInputs(in: "").isEmpty)
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (212_992, "212 kB"), (1_500_000_000, "1.5 GB"),
            (UInt64.max, "18446744 TB"),
        ] as [(UInt64, String)]
    )
    func `bytes for people`(_ bytes: UInt64, _ text: String) {
        #expect(amount(bytes) == text)
    }

    @Test func `devices that may not be used name their group once`() {
        let facts = DeviceFacts(
            cameras: [
                VideoDevice(
                    path: "/dev/video0",
                    name: "Webcam",
                    captures: true,
                    formats: [
                        .init(fourCC: "MJPG", width: 1920, height: 1080), .init(fourCC: "YUYV", width: 0, height: 0),
                    ]
                )
            ],
            audioInputs: [],
            nodes: [
                .init(path: "/dev/video0", group: "video", mayBeUsed: true),
                .init(path: "/dev/video2", group: "video", mayBeUsed: false),
                .init(path: "/dev/video4", group: "video", mayBeUsed: false),
            ]
        )
        let findings = facts.findings
        #expect(findings.first?.found == "Webcam: MJPG up to 1920x1080, YUYV")
        #expect(
            findings.filter { $0.level == .warning }.map(\.found) == ["/dev/video2, /dev/video4: permission denied"]
        )
    }

    @Test func `a file that is no camera is refused`() {
        #expect(throws: VideoDeviceError.self) { try VideoDevice(path: "/dev/null") }
        #expect(throws: VideoDeviceError(errorNumber: ENOENT)) { try VideoDevice(path: "/dev/no-such-device") }
    }

    @Test func `a directory that can be written is left empty`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let facts = StorageFacts.probe(directory: folder.path, minimumFree: 1)
        #expect(facts.findings.map(\.level) == [.ok, .ok])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `no directory, or no room in it, is a problem`() {
        let absent = StorageFacts.probe(directory: "/no/such/directory", minimumFree: 1)
        #expect(absent.findings.map(\.level) == [.problem])
        let full = StorageFacts(directory: "/", writeError: nil, free: 1_000_000, minimumFree: 2_000_000_000)
        #expect(full.findings.map(\.level) == [.ok, .problem])
        #expect(full.findings.last?.found == "1.0 MB, less than the 2.0 GB that have to stay free")
    }

    @Test(arguments: [(0, Finding.Level.problem), (3, .warning), (8, .ok)])
    func `free media ports`(_ free: Int, _ level: Finding.Level) {
        let facts = NetworkFacts(
            addresses: ["192.0.2.1"],
            mediaPorts: 40_000...40_009,
            freeMediaPorts: free,
            interface: "127.0.0.1:8330",
            interfaceState: .free,
            hasAuthorities: true
        )
        #expect(facts.findings.first { $0.name == "UDP ports" }?.level == level)
        #expect(facts.findings.filter { $0.level != .ok }.count == (level == .ok ? 0 : 1))
    }

    @Test func `a host cut off, its port taken, without authorities`() {
        let facts = NetworkFacts(
            addresses: [],
            mediaPorts: 40_000...49_999,
            freeMediaPorts: 10_000,
            interface: "127.0.0.1:8330",
            interfaceState: .taken("Address already in use"),
            hasAuthorities: false
        )
        #expect(
            facts.findings.filter { $0.level == .warning }.map(\.name) == [
                "addresses", "HTTP interface", "certificates",
            ]
        )
        #expect(facts.findings.flatMap(\.packages) == ["ca-certificates"])
    }

    @Test func `a port of somebody else is told from a free one`() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        try #require(listen(listener, 1) == 0)
        let port = try Self.port(of: listener)
        #expect(LocalSocket.state(host: "127.0.0.1", port: port) == .taken("Address already in use"))
        #expect(LocalSocket.state(host: "127.0.0.1", port: 0) == .free)
        #expect(LocalSocket.state(host: "nowhere.invalid", port: 0) == .taken("'nowhere.invalid' has no address"))
    }

    @Test func `a name is resolved as the server does`() {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let state = LocalSocket.state(host: host, port: 0)
        // Not every host knows its own name.
        #expect(state == .free || state == .taken("'\(host)' has no address"))
        #expect(LocalSocket.state(host: "localhost", port: 0) == .free)
    }

    @Test func `a port that speaks TLS may be ours`() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        try #require(listen(listener, 2) == 0)
        let port = try Self.port(of: listener)
        Thread.detachNewThread {
            for _ in 0..<2 {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                var request = [UInt8](repeating: 0, count: 256)
                _ = recv(client, &request, request.count, 0)
                // A fatal alert: what came makes no sense.
                let alert: [UInt8] = [0x15, 3, 1, 0, 2, 2, 50]
                _ = send(client, alert, alert.count, Int32(MSG_NOSIGNAL))
                close(client)
            }
        }
        #expect(LocalSocket.state(host: "127.0.0.1", port: port, hasTLS: true) == .perhapsOurs)
        #expect(LocalSocket.state(host: "127.0.0.1", port: port) == .taken("Address already in use"))
        let facts = NetworkFacts(
            addresses: ["192.0.2.1"],
            mediaPorts: 40_000...40_009,
            freeMediaPorts: 10,
            interface: "127.0.0.1:8330",
            interfaceState: .perhapsOurs,
            hasAuthorities: true
        )
        #expect(facts.findings.allSatisfy { $0.level == .ok })
    }

    /// The port that a socket got.
    private static func port(of listener: Int32) throws -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        try #require(status == 0)
        return UInt16(bigEndian: address.sin_port)
    }

    @Test func `names that resolve and names that do not`() async {
        #expect(HostLookup.finding("localhost", purpose: "room a", await HostLookup.look(up: "localhost")).level == .ok)
        let absent = await HostLookup.look(up: "no-such-host.invalid")
        #expect(HostLookup.finding("no-such-host.invalid", purpose: "room a", absent).level == .warning)
    }
}
