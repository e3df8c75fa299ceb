// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import PipelineCatalogue

/// The bodies of requests, as values; every initialiser throws `invalid` with everything that is wrong.
enum RequestBodies {
    /// `POST /v1/rooms`.
    struct NewRoom: Sendable, Hashable {
        var name: String
        /// JSON text.
        var definition: String

        init(_ body: [String: JSONValue]) throws(Problem) {
            var fields = JSONFields(body)
            let name = fields.requiredText("name", 1...128)
            if fields.isMissing("definition") { fields.complain("definition", "is missing") }
            let definition = fields.object("definition")
            try fields.finish()
            self.name = name ?? ""
            self.definition = JSONValue.object(definition ?? [:]).text
        }
    }

    /// `POST /v1/session`.
    static func secret(_ body: [String: JSONValue]) throws(Problem) -> String {
        var fields = JSONFields(body)
        let secret = fields.requiredText("token", 1...1024)
        try fields.finish()
        return secret ?? ""
    }

    /// `POST /v1/rooms/{name}/…`.
    static func action(_ verb: RoomVerb, _ body: [String: JSONValue]) throws(Problem) -> RoomAction {
        var fields = JSONFields(body)
        let action: RoomAction
        switch verb {
        case .record: action = .record
        case .pause: action = .pause
        case .resume: action = .resume
        case .stop: action = .stop
        case .keyframe: action = .requestKeyframe(participant: fields.text("participant", 1...512))
        case .mark: action = .mark(fields.requiredText("text", 1...512) ?? "")
        case .camera: action = .camera(self.camera(&fields))
        }
        try fields.finish()
        return action
    }

    /// How long a drain may take that does not say it: calls of two hours end by themselves.
    private static let drainSeconds = 7200

    /// `POST /v1/cluster/drain`.
    static func drain(_ body: [String: JSONValue]) throws(Problem) -> (time: Duration, untilRestart: Bool) {
        var fields = JSONFields(body)
        let seconds = fields.integer("deadlineSeconds", 0...31_536_000)
        let untilRestart = fields.boolean("untilRestart")
        try fields.finish()
        return (.seconds(seconds ?? Self.drainSeconds), untilRestart ?? false)
    }

    /// `POST /v1/recordings/{id}/exports`.
    static func export(_ body: [String: JSONValue]) throws(Problem) -> ExportSpec {
        var fields = JSONFields(body)
        let name: ExportSpec.Layout.Name = fields.choice("layout") ?? .tracks
        for option in ExportSpec.optionsOfLayouts {
            guard let refusal = ExportSpec.refusal(of: option, by: name), fields.take(option) else { continue }
            fields.complain(option, refusal)
        }
        var spec = ExportSpec(self.layout(name, &fields))
        spec.participant = fields.text("participant", 1...512)
        spec.from = fields.seconds("from").map(ExportSpec.time)
        spec.to = fields.seconds("to").map(ExportSpec.time)
        spec.series = fields.boolean("series") ?? false
        for problem in spec.problems { fields.complain(problem.option, problem.text { $0 }) }
        try fields.finish()
        return spec
    }

    private static func layout(_ name: ExportSpec.Layout.Name, _ fields: inout JSONFields) -> ExportSpec.Layout {
        switch name {
        case .tracks:
            var tracks = ExportSpec.Tracks()
            tracks.container = fields.choice("container") ?? tracks.container
            for name in ExportSpec.Tracks.Switch.allCases where fields.boolean(name.rawValue) ?? false {
                tracks.switches.insert(name)
            }
            return .tracks(tracks)
        case .browser: return .browser
        case .grid:
            let text = fields.text("size", 3...16)
            let size = text.flatMap { VideoSize($0) }
            if text != nil, size == nil { fields.complain("size", "must be a text like 1280x720") }
            let rate = fields.integer("fps", ExportSpec.Grid.rates)
            return .grid(
                .init(
                    size: size,
                    framesPerSecond: rate,
                    codec: fields.choice("codec"),
                    loudness: fields.number("loudness")
                )
            )
        case .audio: return .audio(.init(format: fields.choice("format"), loudness: fields.number("loudness")))
        }
    }

    private static func camera(_ fields: inout JSONFields) -> SendSpec? {
        guard !fields.isNull("camera") else { return nil }
        if fields.isMissing("camera") { fields.complain("camera", "is missing: an object, or null to send nothing") }
        guard let members = fields.object("camera") else { return nil }
        var inner = JSONFields(members, path: "camera.")
        var order = SendSpec()
        order.video = inner.isNull("video") ? nil : self.source("video", &inner) ?? .test
        order.audio = inner.isNull("audio") ? nil : self.source("audio", &inner) ?? .test
        order.preferredCodec = inner.choice("preferredCodec") ?? order.preferredCodec
        order.parameters = self.parameters(&inner) ?? [:]
        order.width = self.even("width", VideoSize.sendableWidths, &inner) ?? order.width
        order.height = self.even("height", VideoSize.sendableHeights, &inner) ?? order.height
        order.framesPerSecond = inner.integer("framesPerSecond", SendSpec.framesPerSecondRange) ?? order.framesPerSecond
        order.bitsPerSecond = inner.integer("bitsPerSecond", SendSpec.bitsPerSecondRange) ?? order.bitsPerSecond
        let minimum = inner.integer("minimumBitsPerSecond", SendSpec.bitsPerSecondRange)
        order.minimumBitsPerSecond = minimum ?? min(order.minimumBitsPerSecond, order.bitsPerSecond)
        if order.problems.contains(.minimum(order.minimumBitsPerSecond)) {
            inner.complain("minimumBitsPerSecond", "must be at most bitsPerSecond")
        }
        order.audioBitsPerSecond =
            inner.integer("audioBitsPerSecond", SendSpec.audioBitsPerSecondRange) ?? order.audioBitsPerSecond
        order.usesAudioFEC = inner.boolean("audioFEC") ?? order.usesAudioFEC
        order.usesAudioDTX = inner.boolean("audioDTX") ?? order.usesAudioDTX
        order.keepsOpen = inner.boolean("keepsOpen") ?? order.keepsOpen
        order.isVideoMuted = inner.boolean("videoMuted") ?? order.isVideoMuted
        order.isAudioMuted = inner.boolean("audioMuted") ?? order.isAudioMuted
        order.isFrozen = inner.boolean("frozen") ?? order.isFrozen
        fields.adopt(inner)
        return order
    }

    /// `PATCH /v1/rooms/{name}/camera`.
    static func cameraChange(_ body: [String: JSONValue]) throws(Problem) -> CameraChange {
        var fields = JSONFields(body)
        var change = CameraChange()
        change.video = self.source("video", &fields)
        change.audio = self.source("audio", &fields)
        change.parameters = self.parameters(&fields)
        change.width = self.even("width", VideoSize.sendableWidths, &fields)
        change.height = self.even("height", VideoSize.sendableHeights, &fields)
        change.framesPerSecond = fields.integer("framesPerSecond", SendSpec.framesPerSecondRange)
        change.bitsPerSecond = fields.integer("bitsPerSecond", SendSpec.bitsPerSecondRange)
        change.audioBitsPerSecond = fields.integer("audioBitsPerSecond", SendSpec.audioBitsPerSecondRange)
        change.isVideoMuted = fields.boolean("videoMuted")
        change.isAudioMuted = fields.boolean("audioMuted")
        change.isFrozen = fields.boolean("frozen")
        try fields.finish()
        return change
    }

    /// A capture as `NAME` or `NAME:ARGUMENT`; files by absolute paths.
    ///
    /// Whether there is such a capture, and whether it works, the worker finds out.
    private static func source(_ name: String, _ fields: inout JSONFields) -> MediaSource? {
        guard let text = fields.text(name, 1...1024) else { return nil }
        guard let source = MediaSource(text), source.isAbsolute else {
            fields.complain(name, "must be a capture such as \"test\", \"v4l2:/dev/video0\", \"file:/…\", or null")
            return nil
        }
        return source
    }

    /// Texts, numbers and truth values by name, as texts.
    private static func parameters(_ fields: inout JSONFields) -> [String: String]? {
        guard let members = fields.object("parameters") else { return nil }
        guard members.count <= 64 else {
            fields.complain("parameters", "has more than 64 members")
            return nil
        }
        var values: [String: String] = [:]
        for (name, value) in members {
            switch value {
            case .string(let text) where text.utf8.count <= PipelineParameter.maximumLength: values[name] = text
            case .integer(let integer): values[name] = String(integer)
            case .number(let number): values[name] = String(number)
            case .bool(let bool): values[name] = String(bool)
            case .string, .null, .array, .object:
                fields.complain("parameters", "must have texts, numbers and truth values only")
            }
        }
        return values
    }

    private static func even(_ name: String, _ range: ClosedRange<Int>, _ fields: inout JSONFields) -> Int? {
        guard let value = fields.integer(name, range) else { return nil }
        if !value.isMultiple(of: 2) { fields.complain(name, "must be even") }
        return value
    }
}
