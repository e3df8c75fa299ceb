// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import PipelineCatalogue

struct PipelineFileTests {
    private static func capture() -> PipelineFile {
        var file = PipelineFile(
            kind: .capture,
            name: "bars",
            description: "Bars.",
            launch: "videotestsrc name=source ! identity name=out_video"
        )
        file.gives = [.video: ["raw"]]
        file.ports = ["out_video": "src"]
        file.requires = ["videotestsrc", "identity"]
        file.parameters["pattern"] = PipelineParameter(element: "source", property: "pattern", form: .word)
        file.parameters["count"] = PipelineParameter(element: "source", property: "num-buffers", form: .int)
        file.parameters["count"]?.minimum = 1
        file.parameters["count"]?.maximum = 9
        return file
    }

    private static func encoder() -> PipelineFile {
        var file = PipelineFile(
            kind: .encode,
            name: "x",
            description: "X.",
            launch: "x name=in_video ! y name=out_video"
        )
        file.accepts = [.video: ["raw"]]
        file.gives = [.video: ["H264"]]
        file.ports = ["in_video": "sink", "out_video": "src"]
        file.requires = ["x", "y"]
        return file
    }

    @Test
    func rightFilesHaveNoFindings() {
        #expect(Self.capture().findings == [])
        #expect(Self.encoder().findings == [])
        #expect(Self.encoder().codec == "H264")
        #expect(Self.capture().codec == nil)
    }

    private struct Mistake: Sendable, CustomTestStringConvertible {
        var key: String
        var change: @Sendable (inout PipelineFile) -> Void
        var testDescription: String { self.key }
    }

    private static let mistakes: [Mistake] = [
        Mistake(key: "") { $0.name = "../x" },
        Mistake(key: "") { $0.name = "X" },
        Mistake(key: "gives.video") { $0.gives = [.video: ["H264"]] },
        Mistake(key: "gives.video") { $0.gives = [.video: []] },
        Mistake(key: "gives") { $0.gives = [:] },
        Mistake(key: "accepts") { $0.accepts = [.video: ["raw"]] },
        Mistake(key: "accepts.audio") { $0.accepts = [.audio: ["MP3"]] },
        Mistake(key: "ports") { $0.ports = [:] },
        Mistake(key: "ports.out_video") { $0.ports = ["out_video": "sink"] },
        Mistake(key: "ports.source") { $0.ports["source"] = "src" },
        Mistake(key: "ports.nobody") { $0.ports["nobody"] = "src" },
        Mistake(key: "requires") { $0.requires = ["videotestsrc"] },
        Mistake(key: "launch") { $0.launch += " identity name=source" },
        Mistake(key: "launch") { $0.launch += " identity name=tapedeck_raw" },
        Mistake(key: "launch") { $0.launch = " " },
        Mistake(key: "parameters.pattern.element") { $0.parameters["pattern"]?.element = "sauce" },
        Mistake(key: "parameters.pattern.unit") { $0.parameters["pattern"]?.unit = .frames },
        Mistake(key: "parameters.pattern.minimum") { $0.parameters["pattern"]?.minimum = 1 },
        Mistake(key: "parameters.pattern.maximum") { $0.parameters["pattern"]?.maximum = 1 },
        Mistake(key: "parameters.count.minimum") { $0.parameters["count"]?.minimum = 10 },
        Mistake(key: "parameters.count.default") { $0.parameters["count"]?.defaultText = "10" },
        Mistake(key: "parameters.count.default") { $0.parameters["count"]?.defaultText = "two" },
        Mistake(key: "parameters.count.default") {
            $0.parameters["count"]?.defaultText = "2"
            $0.parameters["count"]?.isRequired = true
        },
        Mistake(key: "argument") { $0.argument = "path" },
        Mistake(key: "argument") { $0.argument = "count" },
        Mistake(key: "parameters.pattern.property") { $0.parameters["pattern"]?.property = "" },
        Mistake(key: "parameters.pattern.files") { $0.parameters["pattern"]?.files = ["location": "a"] },
        Mistake(key: "parameters.pattern.files") { $0.parameters["pattern"]?.form = .folder },
        Mistake(key: "parameters.pattern.property") {
            $0.parameters["pattern"]?.form = .folder
            $0.parameters["pattern"]?.files = ["location": "a"]
        },
        Mistake(key: "rank") { $0.rank = 1 },
        Mistake(key: "probe") { $0.isProbed = true },
    ]

    @Test(arguments: Self.mistakes)
    private func mistakesAreFoundByTheirKeys(mistake: Mistake) {
        var file = Self.capture()
        mistake.change(&file)
        #expect(file.findings.contains { $0.key == mistake.key }, "\(file.findings)")
        #expect(file.findings.allSatisfy { $0.file == file.path })
    }

    @Test
    func encodersAndOutputsHaveRulesOfTheirOwn() {
        var encoder = Self.encoder()
        encoder.isLive = false
        encoder.hasTestPattern = true
        encoder.gives = [.video: ["H264", "VP8"]]
        encoder.accepts = [:]
        #expect(Set(encoder.findings.map(\.key)) == ["live", "test_pattern", "gives", "accepts", "ports.in_video"])
        var output = Self.encoder()
        output.kind = .output
        #expect(output.findings.map(\.key) == ["gives"])
        output.gives = [:]
        output.ports = ["in_video": "sink"]
        #expect(output.findings == [])
        output.accepts = [:]
        output.ports = [:]
        #expect(output.findings.map(\.key) == ["accepts"])
    }

    @Test
    func valuesAreChecked() throws {
        var plan = PipelinePlan(Self.capture())
        #expect(throws: PipelineFinding.self) { try plan.set("size", "1") }
        #expect(throws: PipelineFinding.self) { try plan.set("count", "0") }
        #expect(throws: PipelineFinding.self) { try plan.set("count", "1.5") }
        #expect(throws: PipelineFinding.self) { try plan.set("count", "99999999999999999999") }
        #expect(throws: PipelineFinding.self) { try plan.set("pattern", "") }
        #expect(throws: PipelineFinding.self) { try plan.set("pattern", String(repeating: "x", count: 5000)) }
        #expect(throws: PipelineFinding.self) { try plan.setArgument("x") }
        #expect(try plan.settings() == [])
        try plan.set("count", "3")
        try plan.set("pattern", "ball")
        #expect(try plan.settings().map(\.text) == ["3", "ball"])
        plan.setNumber("count", 100)
        #expect(try plan.settings().first?.text == "9")
        plan.setNumber("absent", 1)
        #expect(try plan.settings().count == 2)
    }

    @Test
    func aValueThatIsNeededIsAskedFor() throws {
        var file = Self.capture()
        file.parameters["path"] = PipelineParameter(element: "source", property: "location", form: .string)
        file.parameters["path"]?.isRequired = true
        file.argument = "path"
        var plan = PipelinePlan(file)
        let error = #expect(throws: PipelineFinding.self) { try plan.settings() }
        #expect(error?.description == "capture/bars: parameters.path: is needed: write bars:VALUE")
        try plan.setArgument("/a b\"'\\")
        #expect(try plan.settings().last?.text == "/a b\"'\\")
    }

    @Test
    func aFolderIsToldAsItsFiles() throws {
        var file = Self.capture()
        var folder = PipelineParameter(element: "source", property: "", form: .folder)
        folder.files = ["location": "%05d.ts", "playlist": "index.m3u8"]
        folder.isRequired = true
        file.parameters = ["folder": folder]
        file.argument = "folder"
        #expect(file.findings == [])
        var plan = PipelinePlan(file)
        #expect(throws: PipelineFinding.self) { try plan.settings() }
        for wrong in ["a", "/a%d", "/a\nb", ""] {
            #expect(throws: PipelineFinding.self) { try plan.set("folder", wrong) }
        }
        try plan.setArgument("/srv/hls")
        #expect(try plan.settings().map(\.text) == ["/srv/hls/%05d.ts", "/srv/hls/index.m3u8"])
        #expect(plan.folders == ["/srv/hls"] && plan.setting(of: "folder") == nil)
    }

    @Test(arguments: [(PipelineParameter.Unit.bits, "1500400"), (.kilobits, "1500")])
    func bitRatesComeInTheParametersUnit(unit: PipelineParameter.Unit, text: String) throws {
        var file = Self.capture()
        file.parameters = ["bitrate": PipelineParameter(element: "source", property: "bitrate", form: .int)]
        file.parameters["bitrate"]?.unit = unit
        var plan = PipelinePlan(file)
        plan.setBitRate("bitrate", bitsPerSecond: 1_500_400)
        #expect(try plan.settings().map(\.text) == [text])
    }

    @Test
    func flagsAreSetWhereTheFileTakesThem() throws {
        var file = Self.capture()
        file.parameters = [
            "fec": PipelineParameter(element: "source", property: "fec", form: .bool),
            "dtx": PipelineParameter(element: "source", property: "dtx", form: .int),
        ]
        var plan = PipelinePlan(file)
        plan.setFlag("fec", true)
        plan.setFlag("dtx", true)
        plan.setFlag("other", true)
        #expect(try plan.settings().map(\.text) == ["true"])
        #expect(plan.text(of: "fec") == "true" && plan.text(of: "dtx") == nil)
    }

    @Test(arguments: [
        (PipelineParameter.Form.bool, "true", true), (.bool, "yes", false), (.number, "1e3", true),
        (.number, "nan", false), (.number, "inf", false), (.int, "-4", true), (.int, "4 ", false),
        (.caps, "video/x-raw", true), (.caps, "", false), (.string, "", true), (.string, "a\0b", false),
    ])
    func formsAreChecked(form: PipelineParameter.Form, text: String, isTaken: Bool) {
        let parameter = PipelineParameter(element: "e", property: "p", form: form)
        #expect((parameter.objection(to: text) == nil) == isTaken)
    }

    @Test
    func laterFilesTakeTheirPlaceAndRanksOrderEncoders() {
        var (low, high, mine) = (Self.encoder(), Self.encoder(), Self.encoder())
        (low.name, low.rank) = ("low", 1)
        (high.name, high.rank) = ("high", 2)
        (mine.name, mine.rank) = ("low", 3)
        let bundled = [low, high, Self.capture()].map { PipelineCatalogue.Entry(file: $0, origin: .bundled) }
        let own = PipelineCatalogue.Entry(file: mine, origin: .folder("/x/encode/low.yaml"))
        #expect(PipelineCatalogue(bundled).encoders(of: "H264").map(\.name) == ["high", "low"])
        let catalogue = PipelineCatalogue(bundled + [own])
        #expect(catalogue.encoders(of: "H264").map(\.name) == ["low", "high"])
        #expect(catalogue.encoders(of: "VP8").isEmpty)
        #expect(catalogue.file(.capture, "bars") != nil)
        #expect(catalogue.file(.encode, "bars") == nil)
        #expect(catalogue.entries.map(\.file.path) == ["capture/bars", "encode/low", "encode/high"])
    }
}
