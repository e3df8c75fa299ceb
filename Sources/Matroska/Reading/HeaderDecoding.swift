// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Decodes the content of the elements that describe a file.
enum HeaderDecoding {
    /// A track with what only the walk over its blocks needs.
    struct Entry {
        var track: Track
        /// How long each frame lasts, if all last the same.
        var defaultDurationNanoseconds: Int64?
    }

    static let maximumTracks = 1_024
    static let maximumChapters = 10_000
    static let maximumTags = 10_000
    private static let contentEncodings: UInt32 = 0x6D80

    /// Whether the content of an EBML head names a document that we can read (RFC 8794 section 11.2).
    static func isReadable(_ content: ArraySlice<UInt8>) -> Bool {
        var docType = ""
        var readVersion: UInt64 = 1
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            switch element.id {
            case ElementID.docType: docType = element.content.ebmlString
            case ElementID.docTypeReadVersion: readVersion = element.content.ebmlUnsigned ?? 0
            case ElementID.ebmlReadVersion where element.content.ebmlUnsigned != 1: return false
            case ElementID.ebmlMaxIDLength where (element.content.ebmlUnsigned ?? 0) > 4: return false
            case ElementID.ebmlMaxSizeLength where (element.content.ebmlUnsigned ?? 0) > 8: return false
            default: break
            }
        }
        return ["matroska", "webm"].contains(docType) && (1...4).contains(readVersion)
    }

    /// Segment information, and the duration in ticks where it is stated; nil if the scale is not usable.
    static func info(_ content: ArraySlice<UInt8>) -> (info: SegmentInfo, durationTicks: Double?)? {
        var info = SegmentInfo(writingApp: "", muxingApp: "")
        var duration: Double?
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            switch element.id {
            case ElementID.timestampScale:
                guard let scale = element.content.ebmlUnsigned, (1...1_000_000_000_000).contains(scale) else {
                    return nil
                }
                info.timestampScaleNanoseconds = scale
            case ElementID.duration: duration = element.content.ebmlFloat
            case ElementID.dateUTC: info.dateUTCNanosecondsSince2001 = element.content.ebmlSigned
            case ElementID.title: info.title = element.content.ebmlString
            case ElementID.muxingApp: info.muxingApp = element.content.ebmlString
            case ElementID.writingApp: info.writingApp = element.content.ebmlString
            case ElementID.segmentUUID where element.content.count == 16: info.uid = Array(element.content)
            default: break
            }
        }
        return (info, duration)
    }

    /// The tracks that we know the codec of, and the others.
    ///
    /// If two tracks have one number, the first counts.
    static func tracks(_ content: ArraySlice<UInt8>) -> (known: [Entry], unsupported: [UnsupportedTrack]) {
        var known: [Entry] = []
        var unsupported: [UnsupportedTrack] = []
        var numbers: Set<Int> = []
        var cursor = ElementCursor(content)
        while let element = cursor.next(), numbers.count < Self.maximumTracks {
            guard element.id == ElementID.trackEntry else { continue }
            var entry = EntryFields()
            var fields = ElementCursor(element.content)
            while let field = fields.next() { entry.take(field.id, field.content) }
            guard let number = Int(exactly: entry.number), number > 0, numbers.insert(number).inserted else { continue }
            if let track = entry.track(number: number) {
                known.append(Entry(track: track, defaultDurationNanoseconds: entry.defaultDuration))
            } else {
                unsupported.append(UnsupportedTrack(number: number, codecID: entry.codecID))
            }
        }
        return (known, unsupported)
    }

    private struct EntryFields {
        var number: UInt64 = 0
        var uid: UInt64 = 0
        var codecID = ""
        var codecPrivate: [UInt8] = []
        var name: String?
        var language = "eng"  // the default of an absent Language (RFC 9559 section 5.1.4.1.19)
        var codecDelay: UInt64 = 0
        var seekPreRoll: UInt64 = 0
        var isDefault = true
        var defaultDuration: Int64?
        var video: VideoTrack?
        var audio: AudioTrack?
        var isEncoded = false

        mutating func take(_ id: UInt32, _ content: ArraySlice<UInt8>) {
            switch id {
            case ElementID.trackNumber: self.number = content.ebmlUnsigned ?? 0
            case ElementID.trackUID: self.uid = content.ebmlUnsigned ?? 0
            case ElementID.codecID: self.codecID = content.ebmlString
            case ElementID.codecPrivate: self.codecPrivate = Array(content)
            case ElementID.trackName: self.name = content.ebmlString
            case ElementID.language: self.language = content.ebmlString
            case ElementID.codecDelay: self.codecDelay = content.ebmlUnsigned ?? 0
            case ElementID.seekPreRoll: self.seekPreRoll = content.ebmlUnsigned ?? 0
            case ElementID.flagDefault: self.isDefault = content.ebmlUnsigned != 0
            case ElementID.defaultDuration:
                // An hour a frame is nonsense; the bound keeps sums of 256 laced frames in range.
                self.defaultDuration = content.ebmlUnsigned.flatMap { $0 <= 3_600_000_000_000 ? Int64($0) : nil }
            case ElementID.video: self.video = HeaderDecoding.video(content)
            case ElementID.audio: self.audio = HeaderDecoding.audio(content)
            case HeaderDecoding.contentEncodings: self.isEncoded = true
            default: break
            }
        }

        /// The track; nil if its codec is not one of ours or its frames are compressed or encrypted.
        func track(number: Int) -> Track? {
            guard !self.isEncoded, let codec = MediaCodec(codecID: self.codecID, codecPrivate: self.codecPrivate) else {
                return nil
            }
            return Track(
                number: number,
                uid: self.uid,
                codec: codec,
                codecPrivate: self.codecPrivate,
                name: self.name,
                language: self.language,
                video: self.video,
                audio: self.audio,
                codecDelayNanoseconds: self.codecDelay,
                seekPreRollNanoseconds: self.seekPreRoll,
                isDefault: self.isDefault
            )
        }
    }

    private static func video(_ content: ArraySlice<UInt8>) -> VideoTrack {
        var video = VideoTrack(width: 0, height: 0)
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            switch element.id {
            case ElementID.pixelWidth: video.width = Int(clamping: element.content.ebmlUnsigned ?? 0)
            case ElementID.pixelHeight: video.height = Int(clamping: element.content.ebmlUnsigned ?? 0)
            case ElementID.colour: video.colour = Self.colour(element.content)
            case ElementID.projection: video.rotation = Self.rotation(element.content)
            default: break
            }
        }
        return video
    }

    /// Quarter turns alone; anything else is not turned.
    private static func rotation(_ content: ArraySlice<UInt8>) -> VideoRotation {
        var (isRectangular, roll) = (true, 0.0)
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            switch element.id {
            case ElementID.projectionType: isRectangular = element.content.ebmlUnsigned == 0
            case ElementID.projectionPoseRoll: roll = element.content.ebmlFloat ?? 0
            default: break
            }
        }
        guard isRectangular, (-360...360).contains(roll), let counterClockwise = Int(exactly: roll) else {
            return .upright
        }
        return VideoRotation(rawValue: (360 - counterClockwise) % 360) ?? .upright
    }

    /// Nil if nothing useful is said; 2 means "unspecified" in all three code points.
    private static func colour(_ content: ArraySlice<UInt8>) -> Colour? {
        var colour = Colour(matrixCoefficients: 2, transferCharacteristics: 2, primaries: 2, isFullRange: false)
        var isKnown = false
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            guard let value = element.content.ebmlUnsigned.flatMap(UInt8.init(exactly:)) else { continue }
            switch element.id {
            case ElementID.matrixCoefficients: colour.matrixCoefficients = value
            case ElementID.transferCharacteristics: colour.transferCharacteristics = value
            case ElementID.primaries: colour.primaries = value
            case ElementID.range: colour.isFullRange = value == 2
            default: continue
            }
            isKnown = true
        }
        return isKnown ? colour : nil
    }

    private static func audio(_ content: ArraySlice<UInt8>) -> AudioTrack {
        var audio = AudioTrack(sampleRate: 8_000, channels: 1)
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            switch element.id {
            case ElementID.samplingFrequency: audio.sampleRate = element.content.ebmlFloat ?? 8_000
            case ElementID.channels: audio.channels = Int(clamping: element.content.ebmlUnsigned ?? 1)
            case ElementID.bitDepth: audio.bitDepth = element.content.ebmlUnsigned.map { Int(clamping: $0) }
            default: break
            }
        }
        return audio
    }

    /// Chapters of all editions, nested ones left out.
    static func chapters(_ content: ArraySlice<UInt8>) -> [Chapter] {
        var chapters: [Chapter] = []
        var editions = ElementCursor(content)
        while let edition = editions.next() {
            guard edition.id == ElementID.editionEntry else { continue }
            var atoms = ElementCursor(edition.content)
            while let atom = atoms.next(), chapters.count < Self.maximumChapters {
                if atom.id == ElementID.chapterAtom { chapters.append(Self.chapter(atom.content)) }
            }
        }
        return chapters
    }

    private static func chapter(_ content: ArraySlice<UInt8>) -> Chapter {
        var chapter = Chapter(uid: 0, startNanoseconds: 0, title: "")
        var cursor = ElementCursor(content)
        while let element = cursor.next() {
            switch element.id {
            case ElementID.chapterUID: chapter.uid = element.content.ebmlUnsigned ?? 0
            case ElementID.chapterTimeStart:
                chapter.startNanoseconds = Int64(clamping: element.content.ebmlUnsigned ?? 0)
            case ElementID.chapterTimeEnd:
                chapter.endNanoseconds = element.content.ebmlUnsigned.map { Int64(clamping: $0) }
            case ElementID.chapterDisplay where chapter.title.isEmpty:
                var display = ElementCursor(element.content)
                while let part = display.next() {
                    if part.id == ElementID.chapString { chapter.title = part.content.ebmlString }
                }
            default: break
            }
        }
        return chapter
    }

    /// Names and text values; nested and binary tags are left out.
    static func tags(_ content: ArraySlice<UInt8>) -> [Tag] {
        var tags: [Tag] = []
        var list = ElementCursor(content)
        while let element = list.next() {
            guard element.id == ElementID.tag else { continue }
            var trackUID: UInt64?
            var parts = ElementCursor(element.content)
            while let part = parts.next(), tags.count < Self.maximumTags {
                switch part.id {
                case ElementID.targets:
                    var targets = ElementCursor(part.content)
                    while let target = targets.next() {
                        if target.id == ElementID.tagTrackUID, let uid = target.content.ebmlUnsigned, uid != 0 {
                            trackUID = uid  // zero means every track
                        }
                    }
                case ElementID.simpleTag:
                    var tag = Tag(trackUID: trackUID, name: "", value: "")
                    var fields = ElementCursor(part.content)
                    while let field = fields.next() {
                        if field.id == ElementID.tagName { tag.name = field.content.ebmlString }
                        if field.id == ElementID.tagString { tag.value = field.content.ebmlString }
                    }
                    tags.append(tag)
                default: break
                }
            }
        }
        return tags
    }
}
