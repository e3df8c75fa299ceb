// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Model
import Testing

@Suite struct ExportSpecTests {
    private static let small = ExportSpec.Grid(
        size: VideoSize(width: 640, height: 360),
        framesPerSecond: 30,
        loudness: -20
    )

    /// Specs and their JSON, with keys as in the body of a request.
    static let texts: [(ExportSpec, String)] = [
        (ExportSpec(), #"{"container":"mkv","layout":"tracks"}"#),
        (ExportSpec(.browser, participant: "a\"b"), #"{"layout":"browser","participant":"a\"b"}"#),
        (
            ExportSpec(
                .tracks(.init(container: .webm, switches: [.keepDamaged, .separateTracks])),
                from: .milliseconds(1050),
                to: .seconds(90),
                series: true
            ),
            #"{"container":"webm","from":1.05,"keepDamaged":true,"layout":"tracks","separateTracks":true,"series":true,"to":90}"#
        ),
        (
            ExportSpec(.grid(Self.small)),
            #"{"codec":"h264","container":"mp4","fps":30,"layout":"grid","loudness":-20,"size":"640x360"}"#
        ),
        (
            ExportSpec(.audio(.init(format: .wav, loudness: -23))),
            #"{"format":"wav","layout":"audio","loudness":-23}"#
        ),
    ]

    @Test(arguments: Self.texts)
    func isWrittenAndRead(spec: ExportSpec, text: String) throws {
        let line = try WorkerLine.encode(spec)
        #expect(String(decoding: line, as: UTF8.self) == text + "\n")
        #expect(try WorkerLine.decode(ExportSpec.self, from: line) == spec)
        let order = try WorkerLine.encode(ExportOrder(spec))
        #expect(try ExportOrder(line: order).spec == spec)
    }

    /// As the body of a request may have it.
    @Test(arguments: [
        (#"{"layout":"tracks","keepDamaged":false}"#, ExportSpec()),
        (#"{"layout":"grid","codec":"vp8"}"#, ExportSpec(.grid(.init(codec: .vp8)))),
        (#"{"layout":"grid","size":"640"}"#, ExportSpec(.grid(.init(size: VideoSize(width: 0, height: 0))))),
        (#"{"layout":"audio","from":1e12,"to":-5}"#, ExportSpec(.init(.audio), from: .seconds(31_536_000), to: .zero)),
    ])
    func whatIsMissingHasItsDefault(text: String, spec: ExportSpec) throws {
        #expect(try WorkerLine.decode(ExportSpec.self, from: Data(text.utf8)) == spec)
    }

    @Test(arguments: [
        ("", "no order"), ("{}", "no order"), (#"{"layout":"tracks"}"#, "no order"), ("[1]", "no order"),
        (#"{"protocolVersion":2,"spec":{"layout":"mosaic"}}"#, "no order"),
        (#"{"protocolVersion":2,"spec":{"layout":"tracks","from":1e300}}"#, "no order"),
        (#"{"protocolVersion":1,"spec":{"layout":"mosaic"}}"#, "version 1 of the worker protocol, not 2"),
    ])
    func anotherLineIsNoOrder(line: String, reason: String) {
        let refusal = #expect(throws: ExportOrder.Refusal.self) { try ExportOrder(line: Data(line.utf8)) }
        #expect(refusal?.description.contains(reason) == true && refusal?.description.contains("\n") == false)
    }

    @Test func whatIsLeftOutFollowsFromTheRest() {
        let grid = ExportSpec.Grid()
        #expect(grid.size == VideoSize(width: 1280, height: 720) && grid.framesPerSecond == 25)
        #expect(grid.container == .mp4 && grid.codec == .h264 && grid.loudness == nil)
        #expect(ExportSpec.Audio().format == .opus && ExportSpec.Audio().loudness == -16)
        #expect(ExportSpec.Grid(codec: .vp8).container == .webm && ExportSpec.Grid(container: .webm).codec == .vp8)
        #expect(ExportSpec.Grid(codec: .vp8, container: .mkv).container == .mkv)
        for name in ExportSpec.Layout.Name.allCases { #expect(ExportSpec.Layout(name).name == name) }
    }

    /// Layouts that cannot be made, and the option that is wrong.
    static let wrong: [(ExportSpec, [String])] = [
        (ExportSpec(from: .seconds(5), to: .seconds(5)), ["to"]), (ExportSpec(to: .zero), ["to"]),
        (ExportSpec(.browser, series: true), ["series"]), (ExportSpec(.init(.grid), series: true), ["series"]),
        (ExportSpec(.init(.audio), series: true), ["series"]),
        (ExportSpec(.tracks(.init(switches: [.project])), series: true), ["project"]),
        (ExportSpec(.tracks(.init(switches: [.project])), from: .seconds(1)), ["project"]),
        (ExportSpec(.tracks(.init(switches: [.project])), to: .seconds(1), series: true), ["project", "project"]),
        (ExportSpec(.grid(.init(framesPerSecond: 0))), ["fps"]),
        (ExportSpec(.grid(.init(framesPerSecond: 61))), ["fps"]),
        (ExportSpec(.grid(.init(codec: .h264, container: .webm))), ["codec"]),
        (ExportSpec(.grid(.init(codec: .vp8, container: .mp4))), ["codec"]),
        (ExportSpec(.grid(.init(loudness: -41))), ["loudness"]), (ExportSpec(.audio(.init(loudness: 0))), ["loudness"]),
        (ExportSpec(.audio(.init(loudness: .nan))), ["loudness"]),
    ]

    @Test(arguments: Self.wrong)
    func refusesWhatCannotBeMade(spec: ExportSpec, options: [String]) {
        #expect(spec.problems.map(\.option) == options)
    }

    @Test(arguments: [(0, 720), (1281, 720), (158, 160), (3842, 2160), (-2, 720), (.max, .max)])
    func refusesSizes(width: Int, height: Int) {
        let size = VideoSize(width: width, height: height)
        let problems = ExportSpec(.grid(.init(size: size))).problems
        #expect(problems.map(\.option) == ["size"])
        #expect(problems[0].text { $0 } == "takes even numbers from 160 to 3840, for example 1280x720, not \(size)")
    }

    @Test func takesTheRest() {
        let project = ExportSpec.Layout.tracks(.init(switches: [.project]))
        let good = [
            ExportSpec(), ExportSpec(series: true), ExportSpec(project, from: .zero),
            ExportSpec(.browser, to: .seconds(1)), ExportSpec(.init(.grid)), ExportSpec(.init(.audio)),
            ExportSpec(.grid(.init(codec: .vp8, container: .mkv))),
        ]
        for spec in good { #expect(spec.problems.isEmpty, "\(spec)") }
    }

    @Test func aProblemSpeaksOfOptionsAsTheSurfaceDoes() {
        let spec = ExportSpec(.tracks(.init(switches: [.project])), to: .seconds(1))
        #expect(
            spec.problems.map { problem in problem.text { "--\($0)" } } == [
                "is of a whole recording: leave --from and --to out"
            ]
        )
    }

    @Test(arguments: [
        (ExportSpec(), "call.mkv"), (ExportSpec(from: .zero), "call.mkv"),
        (ExportSpec(series: true), "call-series.mkv"),
        (ExportSpec(.tracks(.init(container: .webm)), participant: "Alice"), "call-Alice.webm"),
        (ExportSpec(from: .milliseconds(2500), to: .seconds(90)), "call-from-2.5s-to-90s.mkv"),
        (ExportSpec(from: .milliseconds(1050)), "call-from-1.05s.mkv"),
        (ExportSpec(participant: "alice", to: .milliseconds(7), series: true), "call-series-alice-to-0.007s.mkv"),
        (ExportSpec(.grid(.init()), participant: "bob"), "call-grid-bob.mp4"),
        (ExportSpec(.grid(.init(codec: .vp8))), "call-grid.webm"),
        (ExportSpec(.audio(.init(format: .wav))), "call-audio.wav"),
        // The dashboard plays `browser.webm` or `browser.mp4` as the whole.
        (ExportSpec(.browser, from: .zero), "browser"), (ExportSpec(.browser, to: .seconds(9)), "browser-to-9s"),
    ])
    func partsHaveNamesOfTheirOwn(spec: ExportSpec, name: String) {
        #expect(spec.fileName == name)
        #expect(spec.isOfWhole == (spec.participant == nil && spec.to == nil && (spec.from ?? .zero) == .zero))
    }

    @Test func partsOfNamesThatLookAlikeStayApart() {
        let names = ["Al/ice", "al ice", "al-ice", "..", "客厅", "厨房", String(repeating: "a", count: 80) + "b", ""]
        let stems = names.map { ExportSpec(participant: $0).stem }
        #expect(Set(stems).count == names.count)
        #expect(stems.allSatisfy { !$0.contains("/") && !$0.contains(" ") && $0.utf8.count <= 69 })
    }
}
