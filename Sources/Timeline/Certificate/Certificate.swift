// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Completeness of a recording: the media that came, the media that are missing, and whether its files are unchanged.
///
/// A value without I/O: the target `Export` makes it of a folder. Anything that was not checked is absent, never zero.
public struct Certificate: Sendable, Hashable, Codable {
    /// The version that this code writes.
    public static let currentVersion = 1
    /// The most findings that are listed; the verdict counts all.
    public static let maximumFindings = 1_000

    /// The version of this form.
    public var version = Self.currentVersion
    /// The recording's id; `nil` for a file that belongs to none.
    public var recording: String?
    /// The room, unsanitised.
    public var room: String?
    /// When the recording began, if the journal has it.
    public var start: UTCTime?
    /// From the first unit of all tracks to the end of the last, in nanoseconds of the session clock.
    public var durationNanoseconds: Int64 = 0
    /// From the first record of the journal to its last, in nanoseconds; `nil` if the journal does not say so.
    public var wallClockNanoseconds: Int64?
    /// The journal; `nil` if there is none.
    public var journal: Journal?
    /// All tracks, in the order of the journal.
    public var tracks: [Track] = []
    /// Outcomes of the packets of each source; `nil` for journals of versions that did not count them.
    public var sources: [SourceCounted]?
    /// Per participant, how far video was moved against the audio.
    public var alignments: [Alignment] = []
    /// The exported files that were looked at.
    public var exports: [Export] = []
    /// Every file that was looked at.
    public var files: [FileDigest] = []
    /// The program that decoded the tracks; `nil` if none did.
    public var decoder: String?
    /// The checked signature; `nil` if none was checked.
    public var signature: Signature?
    /// The findings, in order; at most `maximumFindings`.
    public private(set) var findings: [Finding] = []
    /// The verdict.
    public private(set) var verdict = Verdict.complete

    /// A certificate without tracks, files and findings: complete.
    public init(recording: String? = nil, room: String? = nil, start: UTCTime? = nil) {
        self.recording = recording
        self.room = room
        self.start = start
    }

    /// Adds a finding; the verdict becomes the worst of all.
    public mutating func note(_ finding: Finding) {
        switch finding.severity {
        case .damage: self.verdict = .damaged
        case .gap: self.verdict = self.verdict == .damaged ? .damaged : .completeWithGaps
        case .note: break
        }
        if self.findings.count < Self.maximumFindings {
            self.findings.append(finding)
        } else if let lesser = self.findings.lastIndex(where: { $0.severity.rank < finding.severity.rank }) {
            // A finding about damage is never left out in favour of one about media that never came.
            self.findings[lesser] = finding
        }
    }

    /// The findings of that severity.
    public func findings(_ severity: Severity) -> [Finding] {
        self.findings.filter { $0.severity == severity }
    }

    private enum CodingKeys: String, CodingKey {
        case version, recording, room, start, journal, tracks, sources, alignments, exports, files, decoder, signature,
            findings, verdict
        case durationNanoseconds = "duration_ns"
        case wallClockNanoseconds = "wall_clock_ns"
    }
}

extension Certificate {
    /// The verdict of a certificate.
    public enum Verdict: String, Sendable, Hashable, Codable, CaseIterable {
        /// Everything that came is there, and nothing that was sent is known to be missing.
        case complete
        /// Every file is as it was written, but something never came, or the recorder was away: the gaps are listed.
        case completeWithGaps = "complete-with-gaps"
        /// A file is missing, changed, torn or cannot be read, or the recording was never closed.
        case damaged

        /// The verdict for a word of any version; versions before the certificate said `incomplete` for damage.
        public init?(stored text: String) {
            self.init(rawValue: text == "incomplete" ? Self.damaged.rawValue : text)
        }

        /// Reads a word of any version.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let verdict = Self(stored: text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "no verdict: \(text)")
            }
            self = verdict
        }
    }

    /// The effect of a finding on the verdict.
    public enum Severity: String, Sendable, Hashable, Codable, CaseIterable {
        /// Worth knowing.
        case note
        /// Something never came.
        case gap
        /// Something that was there is not as it should be.
        case damage

        /// Higher is worse.
        var rank: Int {
            switch self {
            case .note: 0
            case .gap: 1
            case .damage: 2
            }
        }
    }

    /// One thing that was found.
    public struct Finding: Sendable, Hashable, Codable {
        /// Its effect on the verdict.
        public var severity: Severity
        /// Its kind, for programs: a stable identifier.
        public var kind: Kind
        /// The file, relative to the recording's folder, if it concerns one; at most 200 characters of what may come
        /// from a hostile journal.
        public var file: String?
        /// One human-readable sentence.
        public var text: String

        /// A finding with each part given.
        public init(_ severity: Severity, _ kind: Kind, file: String? = nil, _ text: String) {
            self.severity = severity
            self.kind = kind
            self.file = file.map { printableName($0) }
            self.text = text
        }

        /// Kinds of findings; readers take words that they do not know as they are.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
            /// The word.
            public var rawValue: String

            /// The kind for a word.
            public init(rawValue: String) { self.rawValue = rawValue }
        }
    }

    /// State of the journal.
    public struct Journal: Sendable, Hashable, Codable {
        /// Lines with a record.
        public var lines: Int
        /// Lines that cannot be read.
        public var skippedLines: Int
        /// Lines that are chained to the one before.
        public var chainedLines: Int
        /// The first line, from 1, that does not follow from the one before; `nil` if all do.
        public var chainBreak: Int?
        /// The last value of the chain; `nil` if no line has one.
        public var chainEnd: String?

        /// A journal with each part given.
        public init(lines: Int, skippedLines: Int, chainedLines: Int, chainBreak: Int?, chainEnd: String?) {
            self.lines = lines
            self.skippedLines = skippedLines
            self.chainedLines = chainedLines
            self.chainBreak = chainBreak
            self.chainEnd = chainEnd
        }

        private enum CodingKeys: String, CodingKey {
            case lines
            case skippedLines = "skipped_lines"
            case chainedLines = "chained_lines"
            case chainBreak = "chain_break"
            case chainEnd = "chain_end"
        }
    }

    /// A file and what it holds, in one number.
    public struct FileDigest: Sendable, Hashable, Codable {
        /// The file, relative to the recording's folder.
        public var name: String
        /// Its size in bytes.
        public var bytes: UInt64
        /// SHA-256 (FIPS 180-4) of its content, in 64 hexadecimal digits.
        public var sha256: String

        /// A file with each part given.
        public init(name: String, bytes: UInt64, sha256: String) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// A signature that was checked, and the files that are as the certificate says that was signed.
    public struct Signature: Sendable, Hashable, Codable {
        /// The SHA-256 of the public key in DER (SubjectPublicKeyInfo), in 64 hexadecimal digits.
        public var key: String
        /// The files that have the hash of the signed certificate.
        public var files: Int

        /// A signature with each part given.
        public init(key: String, files: Int) {
            self.key = key
            self.files = files
        }

        private enum CodingKeys: String, CodingKey {
            case files
            case key = "key_sha256"
        }
    }

    /// How a participant's video was aligned with the audio.
    public struct Alignment: Sendable, Hashable, Codable {
        /// The participant's id.
        public var participant: String
        /// How much later than by its arrivals the video is placed relative to the audio, in nanoseconds.
        public var pictureCorrectionNanoseconds: Int64
        /// Its basis: the weaker of both tracks.
        public var basis: RTPClockMap.Basis

        /// An alignment with each part given.
        public init(participant: String, pictureCorrectionNanoseconds: Int64, basis: RTPClockMap.Basis) {
            self.participant = participant
            self.pictureCorrectionNanoseconds = pictureCorrectionNanoseconds
            self.basis = basis
        }

        private enum CodingKeys: String, CodingKey {
            case participant, basis
            case pictureCorrectionNanoseconds = "picture_correction_ns"
        }
    }

    /// An exported file.
    public struct Export: Sendable, Hashable, Codable {
        /// The file; relative to the recording's folder when it is inside.
        public var file: String
        /// The duration that it states, in nanoseconds; `nil` if it states none or was not opened.
        public var durationNanoseconds: Int64?
        /// Units of all tracks; `nil` if it was not opened.
        public var units: UInt64?

        /// An export with each part given.
        public init(file: String, durationNanoseconds: Int64? = nil, units: UInt64? = nil) {
            self.file = file
            self.durationNanoseconds = durationNanoseconds
            self.units = units
        }

        private enum CodingKeys: String, CodingKey {
            case file, units
            case durationNanoseconds = "duration_ns"
        }
    }
}

extension Certificate.Finding.Kind {
    /// The folder has no manifest, so that nothing says what its files held.
    public static let noManifest = Self(rawValue: "no-manifest")
    /// The manifest cannot be read.
    public static let manifestUnreadable = Self(rawValue: "manifest-unreadable")
    /// The folder has no journal, or an empty one.
    public static let noJournal = Self(rawValue: "no-journal")
    /// The journal cannot be read, has lines that cannot, or is of another recording.
    public static let journalUnreadable = Self(rawValue: "journal-unreadable")
    /// A line of the journal is missing, changed, or in another place.
    public static let journalChanged = Self(rawValue: "journal-changed")
    /// Records contradict each other, or hold numbers that cannot be.
    public static let journalContradicts = Self(rawValue: "journal-contradicts")
    /// The journal is of a version that did not chain its lines.
    public static let notChained = Self(rawValue: "not-chained")
    /// The recording or the file was not closed.
    public static let notClosed = Self(rawValue: "not-closed")
    /// The recording's process died and another continued it, or a repair closed it.
    public static let cutOff = Self(rawValue: "cut-off")
    /// The recording's process stood still.
    public static let stalled = Self(rawValue: "stalled")
    /// A file that the journal names is not there.
    public static let fileMissing = Self(rawValue: "file-missing")
    /// A file cannot be read as what it should be.
    public static let fileUnreadable = Self(rawValue: "file-unreadable")
    /// A file is not what it was when its hash was taken.
    public static let fileChanged = Self(rawValue: "file-changed")
    /// A file holds other units than were written to it.
    public static let unitsMissing = Self(rawValue: "units-missing")
    /// A file ends in the middle of a unit, or what comes then makes no sense.
    public static let fileTorn = Self(rawValue: "file-torn")
    /// A file is that of another track or recording.
    public static let wrongFile = Self(rawValue: "wrong-file")
    /// A file that the recorder did not write.
    public static let foreignFile = Self(rawValue: "foreign-file")
    /// An exported file is not what the recording gives.
    public static let exportDiffers = Self(rawValue: "export-differs")
    /// A segment came back after the export of its series was made.
    public static let exportOutdated = Self(rawValue: "export-outdated")
    /// The host and the epoch of each recording that an export of a series is made of.
    public static let seriesParts = Self(rawValue: "series-parts")
    /// How the clock of a host that continued a series was brought onto that of the hosts before.
    public static let clocksJoined = Self(rawValue: "clocks-joined")
    /// A track's time does not go with the wall clock's.
    public static let wallClock = Self(rawValue: "wall-clock")
    /// A track's RTP clock counts at another rate than its description states; exports follow it.
    public static let clockRate = Self(rawValue: "clock-rate")
    /// A track's times span another duration than its packets took to come.
    public static let clockContradicts = Self(rawValue: "clock-contradicts")
    /// A stretch of a track in which nothing came.
    public static let gap = Self(rawValue: "gap")
    /// Units came whole, and no decoder takes them: their payload is encrypted from end to end, or broken.
    public static let payloadUndecodable = Self(rawValue: "payload-undecodable")
    /// Media came and are in no file.
    public static let mediaRefused = Self(rawValue: "media-refused")
    /// Another layer of a camera is recorded than the best that was offered.
    public static let lesserLayer = Self(rawValue: "lesser-layer")
    /// A sender changed its codec in mid-call: a track for each codec follows the other.
    public static let codecChanged = Self(rawValue: "codec-changed")
    /// Our answer refused what a participant would have sent.
    public static let notNegotiated = Self(rawValue: "not-negotiated")
    /// A connection did not come about, or not soon after the one before: what a participant may have sent never came.
    public static let notConnected = Self(rawValue: "not-connected")
    /// The account of a source's packets does not balance.
    public static let unbalanced = Self(rawValue: "unbalanced")
    /// Packets that never came.
    public static let packetsLost = Self(rawValue: "packets-lost")
    /// Frames that refer to some that are not in the file: lost, or in the segment before.
    public static let undecodable = Self(rawValue: "undecodable")
    /// A track ended because of its disk.
    public static let diskFailed = Self(rawValue: "disk-failed")
    /// The signed certificate does not name a file.
    public static let notSigned = Self(rawValue: "not-signed")
    /// A decoder complained.
    public static let decodeErrors = Self(rawValue: "decode-errors")
}
