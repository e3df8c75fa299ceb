// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Timeline

extension CallEvent {
    /// A short English title, as in a player's list of chapters.
    public var title: String {
        let name = printable(self.name ?? self.participant ?? "a participant")
        switch self.kind {
        case .joined: return "\(name) joined"
        case .left: return "\(name) left"
        case .muted: return self.isGuess ? "\(name) silent (muted?)" : "\(name) muted"
        case .unmuted: return self.isGuess ? "\(name) audible again" : "\(name) unmuted"
        case .cameraOff: return self.isGuess ? "\(name): still video (camera off?)" : "\(name): camera off"
        case .cameraOn: return self.isGuess ? "\(name): moving video again" : "\(name): camera on"
        case .paused: return "Recording paused"
        case .resumed: return "Recording resumed"
        case .resolutionChanged, .codecChanged: return "\(name): \(self.before ?? "?") → \(self.after ?? "?")"
        case .gap: return "gap of \(self.length) in \(name)'s \(self.medium)"
        case .leftOut: return "\(self.length) of \(name)'s \(self.medium) left out (damaged)"
        case .stalled where self.isSuspension: return "Machine suspended for \(self.length)"
        case .stalled: return "Recorder stood still for \(self.length)"
        case .part: return "Recording restarted (part \(printable(self.before ?? "?")))"
        case .segment: return "Segment \(printable(self.before ?? "?"))"
        case .mark: return self.before.map { "Mark: \(printable($0))" } ?? "Mark"
        }
    }

    /// Whether no time passed in the recording while it lasted.
    var isSuspension: Bool { self.kind == .stalled && self.before == Marker.suspended }

    private var medium: String { self.media?.rawValue ?? "track" }

    /// For example `2.1 s`.
    private var length: String {
        let tenths = ((self.durationNanoseconds ?? 0) + 50_000_000) / 100_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
