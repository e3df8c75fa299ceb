// SPDX-License-Identifier: Apache-2.0

import Signalling
import Supervision

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

    /// `POST /v1/recordings/{id}/exports`.
    static func export(_ body: [String: JSONValue]) throws(Problem) -> ExportRequest {
        var fields = JSONFields(body)
        var request = ExportRequest(layout: fields.choice("layout", ["tracks", "browser"]) ?? "tracks")
        request.participant = fields.text("participant", 1...512)
        request.from = fields.seconds("from")
        request.to = fields.seconds("to")
        if let to = request.to, to <= request.from ?? 0 { fields.complain("to", "must be greater than from") }
        try fields.finish()
        return request
    }

    private static func camera(_ fields: inout JSONFields) -> CameraOrder? {
        guard !fields.isNull("camera") else { return nil }
        if fields.isMissing("camera") { fields.complain("camera", "is missing: an object, or null to send nothing") }
        guard let members = fields.object("camera") else { return nil }
        var inner = JSONFields(members, path: "camera.")
        var order = CameraOrder()
        if !inner.isNull("video") {
            order.video = self.source("video", "v4l2:", &inner) ?? "test"
        } else {
            order.video = nil
        }
        if !inner.isNull("audio") {
            order.audio = self.source("audio", "alsa:", &inner) ?? "test"
        } else {
            order.audio = nil
        }
        order.preferredCodec = inner.choice("preferredCodec", ["vp8", "h264"]) ?? order.preferredCodec
        order.width = self.even("width", 320...3840, &inner) ?? order.width
        order.height = self.even("height", 180...2160, &inner) ?? order.height
        order.framesPerSecond = inner.integer("framesPerSecond", 1...60) ?? order.framesPerSecond
        order.bitsPerSecond = inner.integer("bitsPerSecond", 50_000...50_000_000) ?? order.bitsPerSecond
        fields.adopt(inner)
        return order
    }

    /// `test`, or a device or file by prefix and absolute path or name.
    private static func source(_ name: String, _ device: String, _ fields: inout JSONFields) -> String? {
        guard let text = fields.text(name, 1...1024) else { return nil }
        let isKnown =
            text == "test" || (text.hasPrefix(device) && text.utf8.count > device.utf8.count)
            || text.hasPrefix("file:/")
        if !isKnown { fields.complain(name, "must be \"test\", \"\(device)…\", \"file:/…\" or null") }
        return text
    }

    private static func even(_ name: String, _ range: ClosedRange<Int>, _ fields: inout JSONFields) -> Int? {
        guard let value = fields.integer(name, range) else { return nil }
        if !value.isMultiple(of: 2) { fields.complain(name, "must be even") }
        return value
    }
}
