// SPDX-License-Identifier: Apache-2.0

public import Basics

extension Certificate {
    /// A stretch of time, from the recording's first unit unless stated otherwise.
    public struct Span: Sendable, Hashable, Codable {
        /// Where it begins, in nanoseconds.
        public var startNanoseconds: Int64
        /// How long it is, in nanoseconds.
        public var durationNanoseconds: Int64

        /// A span with both parts given.
        public init(startNanoseconds: Int64, durationNanoseconds: Int64) {
            self.startNanoseconds = startNanoseconds
            self.durationNanoseconds = durationNanoseconds
        }

        private enum CodingKeys: String, CodingKey {
            case startNanoseconds = "start_ns"
            case durationNanoseconds = "duration_ns"
        }
    }

    /// Stretches of one kind in a track.
    public struct Spans: Sendable, Hashable, Codable {
        /// The most that are listed.
        public static let maximumListed = 100

        /// How many there are.
        public private(set) var count = 0
        /// How long they are together, in nanoseconds.
        public private(set) var totalNanoseconds: Int64 = 0
        /// How long the longest is, in nanoseconds.
        public private(set) var longestNanoseconds: Int64 = 0
        /// The first of them.
        public private(set) var first: [Span] = []

        /// No stretch yet.
        public init() {}

        /// Adds the next.
        public mutating func note(_ span: Span) {
            self.count += 1
            self.totalNanoseconds &+= span.durationNanoseconds
            self.longestNanoseconds = max(self.longestNanoseconds, span.durationNanoseconds)
            if self.first.count < Self.maximumListed { self.first.append(span) }
        }

        private enum CodingKeys: String, CodingKey {
            case count, first
            case totalNanoseconds = "total_ns"
            case longestNanoseconds = "longest_ns"
        }
    }

    /// Result of decoding a track.
    public struct Decoding: Sendable, Hashable, Codable {
        /// Complaints of the decoder.
        public var errors: Int
        /// The first complaint.
        public var firstError: String?
        /// Stretches in which the video was frozen for 2 s or more; `nil` for audio.
        public var freezes: Spans?
        /// Stretches of black frames of 1 s or more; `nil` for audio.
        public var black: Spans?
        /// Stretches of 2 s or more below −60 dB; `nil` for video.
        public var silences: Spans?

        /// A decoding with each part given.
        public init(
            errors: Int,
            firstError: String? = nil,
            freezes: Spans? = nil,
            black: Spans? = nil,
            silences: Spans? = nil
        ) {
            self.errors = errors
            self.firstError = firstError
            self.freezes = freezes
            self.black = black
            self.silences = silences
        }

        private enum CodingKeys: String, CodingKey {
            case errors, freezes, black, silences
            case firstError = "first_error"
        }
    }

    /// One track file.
    public struct Track: Sendable, Hashable, Codable {
        /// Its number in the journal; `nil` if the journal does not know the file.
        public var number: Int?
        /// The file, relative to the recording's folder.
        public var file: String
        /// The sending participant's id.
        public var participant: String
        /// Display name of the participant.
        public var name: String
        /// Video or audio.
        public let media: MediaKind
        /// The codec.
        public let codec: MediaCodec
        /// Its first unit, in nanoseconds from the recording's first unit.
        public var startNanoseconds: Int64 = 0
        /// From its first unit to the end of its last, in nanoseconds.
        public var durationNanoseconds: Int64 = 0
        /// Units in the file.
        public var units: UInt64 = 0
        /// Keyframes among them.
        public var keyframes: UInt64 = 0
        /// Bytes of payload.
        public var bytes: UInt64 = 0
        /// RTP packets that never came, if counted.
        public var packetsLost: Int64?
        /// RTP packets that had been lost and came again over RTX, if counted.
        public var packetsRepaired: UInt64?
        /// Units that refer to frames that are not in the file, because packets never came or, after a cut, because
        /// they are in the segment before; exports leave them out.
        public var leftOut: UInt64 = 0
        /// Stretches in which nothing came, pauses not among them.
        public var gaps = Spans()
        /// Basis of its position in time; `nil` for the file's date alone.
        public var basis: RTPClockMap.Basis?
        /// How far it was moved from where its first unit arrived, in nanoseconds; `nil` without a clock.
        public var correctionNanoseconds: Int64?
        /// How much slower the sender's clock runs than ours, in parts per million; `nil` where it is too short to know.
        public var skewPartsPerMillion: Double?
        /// Result of decoding it; `nil` if it was not decoded.
        public var decoding: Decoding?

        /// A track without units.
        public init(number: Int?, file: String, participant: String, name: String, codec: MediaCodec) {
            self.number = number
            self.file = file
            self.participant = participant
            self.name = name
            self.media = codec.kind
            self.codec = codec
        }

        private enum CodingKeys: String, CodingKey {
            case number, file, participant, name, media, codec, units, keyframes, bytes, gaps, basis, decoding
            case startNanoseconds = "start_ns"
            case durationNanoseconds = "duration_ns"
            case packetsLost = "packets_lost"
            case packetsRepaired = "packets_repaired"
            case leftOut = "left_out"
            case correctionNanoseconds = "correction_ns"
            case skewPartsPerMillion = "skew_ppm"
        }
    }
}
