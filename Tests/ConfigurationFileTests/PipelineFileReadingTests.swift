// SPDX-License-Identifier: Apache-2.0

import Basics
import EmbeddedFiles
import Foundation
import Model
import PipelineCatalogue
import Testing

@testable import ConfigurationFile

struct PipelineFileReadingTests {
    private static let good = """
        description: Bars.
        gives: { video: [raw] }
        ports: { out_video: src }
        requires: [videotestsrc, identity]
        live: true
        test_pattern: true
        launch: |
          videotestsrc name=source ! identity name=out_video
        argument: pattern
        parameters:
          pattern: { element: source, property: pattern, type: string, default: ball, description: What it shows. }
          speed: { element: source, property: horizontal-speed, type: int, unit: pixels, minimum: -5, maximum: 5.5 }
        """

    private static func problems(_ text: String) -> [ConfigurationProblem] {
        do throws(ConfigurationError) {
            _ = try PipelineFile.parse(.capture, "bars", text: text, file: "bars.yaml")
            return []
        } catch {
            return error.problems
        }
    }

    @Test
    func everythingIsRead() throws {
        let file = try PipelineFile.parse(.capture, "bars", text: Self.good, file: "bars.yaml")
        var expected = PipelineFile(
            kind: .capture,
            name: "bars",
            description: "Bars.",
            launch: "videotestsrc name=source ! identity name=out_video\n"
        )
        expected.gives = [.video: ["raw"]]
        expected.ports = ["out_video": "src"]
        expected.requires = ["videotestsrc", "identity"]
        expected.hasTestPattern = true
        expected.argument = "pattern"
        var pattern = PipelineParameter(element: "source", property: "pattern", form: .string)
        pattern.defaultText = "ball"
        pattern.description = "What it shows."
        var speed = PipelineParameter(element: "source", property: "horizontal-speed", form: .int)
        (speed.unit, speed.minimum, speed.maximum) = (.pixels, -5, 5.5)
        expected.parameters = ["pattern": pattern, "speed": speed]
        #expect(file == expected)
    }

    @Test(arguments: [
        ("description: Bars.\n", "", "description"),
        ("live: true", "lives: true", "lives"),
        ("live: true", "live: perhaps", "live"),
        ("[raw]", "[]", "gives.video"),
        ("[raw]", "[mp3]", "gives.video"),
        ("{ video: [raw] }", "raw", "gives"),
        ("video: [raw]", "vidio: raw", "gives.vidio"),
        ("out_video: src", "out_video: source", "ports.out_video"),
        ("out_video: src", "out video: src", "ports.out video"),
        ("{ out_video: src }", "[src]", "ports"),
        ("[videotestsrc, identity]", "videotestsrc", "requires"),
        ("identity]", "\"id entity\"]", "requires[1]"),
        ("identity]", "other]", "requires"),
        ("identity name=out_video", "identity name=${HOME}", "launch"),
        ("property: pattern, ", "", "parameters.pattern.property"),
        ("property: pattern, ", "property: \"a b\", ", "parameters.pattern.property"),
        ("type: string", "type: text", "parameters.pattern.type"),
        ("element: source, property: pattern", "element: sauce, property: pattern", "parameters.pattern.element"),
        ("unit: pixels", "unit: miles", "parameters.speed.unit"),
        ("minimum: -5", "minimum: low", "parameters.speed.minimum"),
        ("minimum: -5", "minimum: 6", "parameters.speed.minimum"),
        ("argument: pattern", "argument: patern", "argument"),
    ])
    func mistakesTellTheirKeyAndPlace(old: String, new: String, key: String) {
        let problems = Self.problems(Self.good.replacingOccurrences(of: old, with: new))
        let problem = problems.first { $0.key == key }
        #expect(problem != nil, "\(problems)")
        #expect(problem?.file == "bars.yaml")
        #expect(problem?.line != nil)
    }

    @Test(arguments: ["", "[]", "x", "{", "a: 1\na: 2", String(repeating: "[", count: 5000)])
    func whatIsNoPipelineIsRefused(text: String) {
        #expect(!Self.problems(text).isEmpty)
    }

    @Test(arguments: EmbeddedFile.pipelines)
    func theFilesOfTheProgramAreRight(file: EmbeddedFile) throws {
        let parts = file.name.dropLast(".yaml".count).split(separator: "/").map(String.init)
        let kind = try #require(parts.first.flatMap { PipelineFile.Kind(rawValue: $0) })
        let (text, path) = (String(decoding: file.bytes, as: UTF8.self), "Pipelines/\(file.name)")
        let pipeline = try PipelineFile.parse(kind, parts[1], text: text, file: path)
        #expect(pipeline.description.hasSuffix("."), "\(path)")
        // Its comment says when to use it, and what it costs.
        #expect(text.hasPrefix("# SPDX-License-Identifier: Apache-2.0\n# "), "\(path)")
    }

    @Test
    func everyFileOfTheFolderIsPartOfTheProgram() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Pipelines")
        var found: Set<String> = []
        for folder in PipelineFile.Kind.allCases.map(\.rawValue) {
            let names = try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            for name in names ?? [] where name.hasSuffix(".yaml") { found.insert("\(folder)/\(name)") }
        }
        #expect(found == Set(EmbeddedFile.pipelines.map(\.name)))
    }
}

/// Folders of an operator's.
struct PipelineFolderTests {
    /// A folder that goes away with the test.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.path + "/tapedeck-pipelines-\(UUID().uuidString)"

        init(_ files: [String: String]) throws {
            for (name, text) in files {
                let url = URL(fileURLWithPath: "\(self.path)/\(name)")
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                try text.write(to: url, atomically: true, encoding: .utf8)
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }
    }

    private static let capture = """
        description: Mine.
        gives: { video: raw }
        ports: { out_video: src }
        requires: [videotestsrc, identity]
        launch: videotestsrc ! identity name=out_video
        """

    @Test
    func filesOfAFolderGoBesideAndBeforeThoseOfTheProgram() throws {
        let folder = try Folder([
            "capture/mine.yaml": Self.capture, "capture/test.yaml": Self.capture, "capture/.hidden": "",
            "capture/old.yaml~": "", "README.md": "",
        ])
        let catalogue = try PipelineCatalogue.load(directory: folder.path)
        #expect(catalogue.file(.capture, "mine")?.description == "Mine.")
        #expect(catalogue.file(.capture, "test")?.description == "Mine.")
        #expect(catalogue.file(.capture, "v4l2") != nil)
        let entry = catalogue.entries.first { $0.file.path == "capture/test" }
        #expect(entry?.origin == .folder("\(folder.path)/capture/test.yaml"))
        #expect(try PipelineCatalogue.load().file(.capture, "mine") == nil)
    }

    @Test
    func everyProblemOfEveryFileIsTold() throws {
        let folder = try Folder([
            "capture/a.yaml": "description: 1\n", "capture/B.yaml": Self.capture, "encode/notes.txt": "",
            "recode/x.yaml": Self.capture, "capture/utf16.yaml": "\u{0}\u{FFFD}",
        ])
        let error = #expect(throws: ConfigurationError.self) { try PipelineCatalogue.load(directory: folder.path) }
        let files = Set((error?.problems ?? []).compactMap { $0.file?.dropFirst(folder.path.count + 1) })
        #expect(
            files == ["capture/a.yaml", "capture/B.yaml", "encode/notes.txt", "recode", "capture/utf16.yaml"],
            "\(files)"
        )
    }

    @Test
    func aFolderThatIsNotThereIsAProblem() {
        let error = #expect(throws: ConfigurationError.self) {
            try PipelineCatalogue.load(directory: "/no/such/folder")
        }
        #expect(error?.code == .unreadable)
    }

    private static func problems(_ send: String, _ folder: Folder? = nil) throws -> [String] {
        try Self.problems(room: "send: { \(send) }", folder).map(\.key)
    }

    private static func problems(room: String, _ folder: Folder? = nil) throws -> [ConfigurationProblem] {
        let pipelines = folder.map { "pipelines: { directory: \($0.path) }\n" } ?? ""
        let text = "\(pipelines)rooms: { r: { url: \"socketio+http://127.0.0.1:3000/1\", \(room) } }"
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parseWithPipelines(text: text, file: "x.yaml")
            return []
        } catch {
            return error.problems
        }
    }

    private static let output = """
        description: Mine.
        accepts: { video: H264 }
        ports: { in_video: sink }
        requires: [fakesink]
        launch: fakesink name=in_video
        parameters:
          depth: { element: in_video, property: num-buffers, type: int, required: true, minimum: 1 }
        """

    @Test
    func outputsNameFilesAndParametersThatThereAre() throws {
        func problems(_ pipelines: String..., folder: Folder? = nil) throws -> [String] {
            let outputs = pipelines.map { "{ pipeline: { \($0) } }" }.joined(separator: ", ")
            return try Self.problems(room: "outputs: [\(outputs)]", folder).map(\.key)
        }
        let key = "rooms.r.outputs[0].pipeline"
        #expect(try problems("file: hls, parameters: { folder: /srv/a, bitrate: 900 }, participant: Ada") == [])
        #expect(try problems("file: hsl, parameters: { folder: /srv/a }") == ["\(key).file"])
        #expect(try problems("file: hls") == ["\(key).parameters.folder"])
        #expect(
            try problems("file: hls, parameters: { folder: srv, bitrate: x, colour: red }")
                == ["folder", "bitrate", "colour"].map { "\(key).parameters.\($0)" }
        )
        #expect(
            try problems("file: hls, parameters: { folder: /a }", "file: hls, parameters: { folder: /a }")
                == ["rooms.r.outputs[1].pipeline.parameters.folder"]
        )
        let mine = try Folder(["output/mine.yaml": Self.output])
        #expect(try problems("file: mine, parameters: { depth: 4 }", folder: mine) == [])
        #expect(try problems("file: mine", folder: mine) == ["\(key).parameters.depth"])
        let shown = try Self.problems(
            room: "outputs: [{ pipeline: { file: mine, parameters: { depth: s3cret } } }]",
            mine
        )
        #expect(shown.map(\.key) == ["\(key).parameters.depth"])
        #expect(!"\(shown)".contains("s3cret"))
    }

    private static func descriptions(_ text: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parseWithPipelines(text: text, file: "x.yaml")
            return []
        } catch {
            return error.problems.map { $0.description.split(separator: ";")[0].description }
        }
    }

    /// With line and column, in the order of the text, together with the problems of the other keys.
    @Test
    func problemsOfPipelinesStandWhereTheirKeysAre() {
        let text = """
            rooms:
              zoo:
                url: socketio+http://h/1
                send: { capture: tset }
              dotted.name:
                url: socketio+http://h/2
                outputs:
                  - pipeline: { file: hls }
                  - pipeline:
                      file: hls
                      parameters:
                        folder: srv
                        colour: red
              ant:
                url: socketio+http://h/3
                jion: always
                send: { capture: tset, fps: 100 }
              bee:
                url: socketio+http://h/4
                send: { capture: 7, parameters: { pattern: ball } }
            storage: { keep: 30 }
            """
        #expect(
            Self.descriptions(text) == [
                "x.yaml:4:13: rooms.zoo.send.capture: no pipeline file capture/tset gives video",
                "x.yaml:8:9: rooms.dotted.name.outputs[0].pipeline.parameters.folder: missing",
                "x.yaml:12:13: rooms.dotted.name.outputs[1].pipeline.parameters.folder: is not taken",
                "x.yaml:13:13: rooms.dotted.name.outputs[1].pipeline.parameters.colour: output/hls has no such parameter",
                "x.yaml:16:5: rooms.ant.jion: unknown key",
                "x.yaml:17:13: rooms.ant.send.capture: no pipeline file capture/tset gives video",
                "x.yaml:17:33: rooms.ant.send.fps: found 100",
                "x.yaml:20:22: rooms.bee.send.capture: found 7",
                "x.yaml:21:18: storage.keep: found 30",
            ]
        )
    }

    private static let counting = """
        description: Mine.
        gives: { video: [raw] }
        ports: { out_video: src }
        requires: [videotestsrc]
        launch: videotestsrc name=out_video
        parameters:
          pattern: { element: out_video, property: horizontal-speed, type: int }
        """

    /// They may come from the environment.
    @Test
    func valuesOfParametersAreNotShown() throws {
        let folder = try Folder(["capture/test.yaml": Self.counting])
        let text = """
            pipelines: { directory: \(folder.path) }
            rooms:
              r:
                url: socketio+http://h/1
                send: { capture: test, parameters: { pattern: "${P}" } }
            """
        let values = FixedValues(variables: ["P": "s3cret"])
        let error = #expect(throws: ConfigurationError.self) {
            try DaemonConfiguration.parseWithPipelines(text: text, values: values)
        }
        let told = error?.problems.map(\.description).joined() ?? ""
        #expect(told.hasPrefix("line 5, column 42: rooms.r.send.parameters.pattern: is not taken"), "\(told)")
        #expect(!told.contains("s3cret"))
    }

    @Test
    func filesThatCannotBeReadAreToldBehindTheText() {
        let text = "storage: { keep: 30 }\npipelines: { directory: /no/such/folder }"
        #expect(
            Self.descriptions(text) == [
                "x.yaml:1:18: storage.keep: found 30", "/no/such/folder: cannot be read: No such file or directory",
            ]
        )
        let alone = #expect(throws: ConfigurationError.self) {
            try DaemonConfiguration.parseWithPipelines(text: "pipelines: { directory: /no/such/folder }")
        }
        #expect(alone?.code == .unreadable)
        // The files there are unknown.
        let unknown = """
            pipelines: { directory: etc }
            rooms: { r: { url: "socketio+http://h/1", send: { capture: mine } } }
            """
        #expect(Self.descriptions(unknown).map { $0.prefix(35) } == ["x.yaml:1:25: pipelines.directory: f"])
    }

    @Test
    func aFolderHasFiles() throws {
        let parameter = "{ element: in_video, type: folder, files: { location: a%d.ts } }"
        func keys(_ parameter: String) -> [String] {
            let text = Self.output.replacing(/\{ element.*/, with: parameter)
            do throws(ConfigurationError) {
                _ = try PipelineFile.parse(.output, "x", text: text, file: "x.yaml")
                return []
            } catch {
                return error.problems.map(\.key)
            }
        }
        #expect(keys(parameter) == [])
        #expect(keys(parameter.replacing("a%d.ts", with: "a/b")) == ["parameters.depth.files.location"])
        #expect(keys(parameter.replacing("a%d.ts", with: "..")) == ["parameters.depth.files.location"])
        #expect(keys("{ element: in_video, type: folder }") == ["parameters.depth.files"])
        #expect(keys("{ element: in_video, type: int }") == ["parameters.depth.property"])
    }

    @Test
    func roomsNameCapturesAndParametersThatThereAre() throws {
        let mine = try Folder(["capture/mine.yaml": Self.capture])
        #expect(try Self.problems("capture: test, audio: test, parameters: { pattern: ball }") == [])
        #expect(try Self.problems("capture: mine", mine) == [])
        #expect(try Self.problems("capture: mine") == ["rooms.r.send.capture"])
        #expect(try Self.problems("capture: \"image:/a.png\"") == [])
        #expect(try Self.problems("capture: \"rtsp://camera/1\", parameters: { latency: 100 }") == [])
        #expect(
            try Self.problems("capture: \"rtsp://camera/1\", parameters: { latency: -1 }")
                == ["rooms.r.send.parameters.latency"]
        )
        #expect(try Self.problems("capture: test, audio: image") == ["rooms.r.send.audio"])
        #expect(try Self.problems("capture: test, parameters: { colour: red }") == ["rooms.r.send.parameters.colour"])
    }

    @Test(arguments: [
        "Test", "test:", "file", "file:a.mp4", "image:a.png", "rtp:x", "v4l2", "v4l2:video0", "v4l2:name=", "none:x",
        "a b", "x:\u{1}",
    ])
    func otherCapturesAreRefused(text: String) {
        let configuration =
            "rooms: { r: { url: \"socketio+http://127.0.0.1:3000/1\", send: { capture: \"\(text)\" } } }"
        #expect(throws: ConfigurationError.self) { try DaemonConfiguration.parse(text: configuration) }
    }

    @Test(arguments: ["v4l2:name=HD Webcam", "v4l2:serial=4F2A", "screen", "screen::1", "rtsp://a/b", "mine:x y"])
    func capturesAreTakenAsTheyAreWritten(text: String) throws {
        let configuration =
            "rooms: { r: { url: \"socketio+http://127.0.0.1:3000/1\", send: { capture: \"\(text)\" } } }"
        let room = try DaemonConfiguration.parse(text: configuration).rooms["r"]
        #expect(room?.spec.send?.video?.description == text)
    }
}
