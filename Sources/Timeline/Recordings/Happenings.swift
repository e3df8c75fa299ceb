// SPDX-License-Identifier: Apache-2.0

/// The events of a call in its journal: participants that joined and left, marks, and messages.
public struct Happenings: Sendable {
    /// One of them, on the session clock.
    public struct Moment: Sendable, Hashable {
        /// When.
        public var nanoseconds: Int64
        /// For how long it had been so by then.
        public var durationNanoseconds: Int64?
        /// Its kind.
        public var kind: CallEvent.Kind
        /// Whom it concerns: the participant's id.
        public var participant: String?
        /// The number of the track that it concerns.
        public var track: Int?
        /// A mark's text, or the number of the part or segment.
        public var text: String?
    }

    /// Something that a participant wrote.
    public struct Message: Sendable, Hashable {
        /// When.
        public var nanoseconds: Int64
        /// The id of the participant who wrote it.
        public var participant: String
        /// The text, as it came.
        public var text: String
    }

    /// The moments, in order of the journal; at most 10,000.
    public private(set) var moments: [Moment] = []
    /// The messages, in order of the journal; at most 10,000.
    public private(set) var messages: [Message] = []
    /// Number of events that did not fit.
    public private(set) var leftOutCount = 0
    private var present: Set<String> = []
    /// The number of the segment at hand; `nil` before the first.
    private var segment: Int?

    private static let maximumMoments = 10_000
    private static let maximumMessages = 10_000

    /// Nothing of a journal yet.
    public init() {}

    /// Takes the next entry of the journal.
    public mutating func note(_ entry: JournalEntry) {
        let at = entry.monotonicNanoseconds
        switch entry.record {
        case .participantJoined(let record):
            // A participant that is already present only sent its name.
            guard self.present.insert(record.participant).inserted else { return }
            self.add(Moment(nanoseconds: at, kind: .joined, participant: record.participant))
        case .participantLeft(let record):
            guard self.present.remove(record.participant) != nil else { return }
            self.add(Moment(nanoseconds: at, kind: .left, participant: record.participant))
        case .recordingStarted(let record):
            let number = record.segment ?? 1
            defer { self.segment = number }
            guard let before = self.segment else { return }
            // Departures during a segment that is missing were not seen.
            if number != before + 1 { self.present = [] }
            self.add(Moment(nanoseconds: at, kind: .segment, text: String(number)))
        case .partStarted(let record):
            // The new process meets every participant again.
            self.present = []
            self.add(Moment(nanoseconds: at, kind: .part, text: String(record.part)))
        case .marker(let record):
            let kind: CallEvent.Kind? =
                switch record.name {
                case "paused": .paused
                case "resumed": .resumed
                case "muted": .muted
                case "unmuted": .unmuted
                case "camera-off": .cameraOff
                case "camera-on": .cameraOn
                case "mark": .mark
                case "stalled": .stalled
                default: nil
                }
            guard let kind else { return }
            self.add(
                Moment(
                    nanoseconds: at,
                    durationNanoseconds: kind == .stalled ? max(0, record.lastedNanoseconds ?? 0) : nil,
                    kind: kind,
                    participant: record.participant,
                    track: record.track,
                    text: record.text
                )
            )
        case .chatMessage(let record):
            guard self.messages.count < Self.maximumMessages else {
                self.leftOutCount += 1
                return
            }
            self.messages.append(Message(nanoseconds: at, participant: record.participant, text: record.text))
        case .trackOpened, .senderReport, .clockAnchor, .formatChanged, .packetsCounted,
            .sourceCounted, .mediaRefused, .trackClosed, .trackDamaged, .trackMended, .detailsChanged,
            .recordingFinished:
            break
        }
    }

    private mutating func add(_ moment: Moment) {
        guard self.moments.count < Self.maximumMoments else {
            self.leftOutCount += 1
            return
        }
        self.moments.append(moment)
    }
}
