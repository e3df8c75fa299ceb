// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Encodes everything before the first cluster, with room for what is known only at the end.
enum HeaderEncoding {
    static func encode(
        info: SegmentInfo,
        tracks: [Track],
        texts: [TextTrack] = [],
        chapters: [Chapter],
        tags: [Tag]
    ) -> (bytes: [UInt8], layout: SegmentLayout) {
        var bytes: [UInt8] = []
        bytes.appendMaster(ElementID.ebml) { head in
            head.appendUnsigned(ElementID.ebmlVersion, 1)
            head.appendUnsigned(ElementID.ebmlReadVersion, 1)
            head.appendUnsigned(ElementID.ebmlMaxIDLength, 4)
            head.appendUnsigned(ElementID.ebmlMaxSizeLength, 8)
            head.appendString(ElementID.docType, info.documentType.rawValue)
            head.appendUnsigned(ElementID.docTypeVersion, 4)
            head.appendUnsigned(ElementID.docTypeReadVersion, 2)
        }
        bytes.appendElementID(ElementID.segment)
        let sizeOffset = UInt64(bytes.count)
        bytes.appendUnknownElementSize()
        let dataStart = UInt64(bytes.count)
        bytes.appendVoid(total: SegmentLayout.seekReserveSize)
        var elements: [(id: UInt32, offset: UInt64)] = []

        elements.append((ElementID.info, UInt64(bytes.count)))
        let content = Self.infoContent(info)
        bytes.appendElementID(ElementID.info)
        bytes.appendElementSize(UInt64(content.bytes.count))
        let durationSlot = UInt64(bytes.count + content.durationSlot)
        bytes.append(contentsOf: content.bytes)

        elements.append((ElementID.tracks, UInt64(bytes.count)))
        bytes.appendMaster(ElementID.tracks) { list in
            for track in tracks { list.appendMaster(ElementID.trackEntry) { Self.appendTrack(track, to: &$0) } }
            for text in texts { list.appendMaster(ElementID.trackEntry) { Self.appendText(text, to: &$0) } }
        }
        if !chapters.isEmpty {
            elements.append((ElementID.chapters, UInt64(bytes.count)))
            Self.appendChapters(chapters, to: &bytes)
        }
        if !tags.isEmpty {
            elements.append((ElementID.tags, UInt64(bytes.count)))
            Self.appendTags(tags, to: &bytes)
        }
        let layout = SegmentLayout(
            segmentSizeOffset: sizeOffset,
            segmentSizeWidth: 8,
            segmentDataStart: dataStart,
            seekReserve: dataStart..<(dataStart + UInt64(SegmentLayout.seekReserveSize)),
            durationSlot: durationSlot,
            elements: elements
        )
        return (bytes, layout)
    }

    private static func infoContent(_ info: SegmentInfo) -> (bytes: [UInt8], durationSlot: Int) {
        var bytes: [UInt8] = []
        // WebM has no identification of files.
        if let uid = info.uid, info.documentType == .matroska { bytes.appendBinary(ElementID.segmentUUID, uid) }
        bytes.appendUnsigned(ElementID.timestampScale, info.timestampScaleNanoseconds)
        let slot = bytes.count
        // A Duration of zero is not valid (RFC 9559 section 5.1.2.10), so the place is Void until it is known.
        bytes.appendVoid(total: SegmentLayout.durationElementSize)
        if let date = info.dateUTCNanosecondsSince2001 {
            bytes.appendDate(ElementID.dateUTC, nanosecondsSince2001: date)
        }
        if let title = info.title { bytes.appendString(ElementID.title, title) }
        bytes.appendString(ElementID.muxingApp, info.muxingApp)
        bytes.appendString(ElementID.writingApp, info.writingApp)
        return (bytes, slot)
    }

    private static func appendTrack(_ track: Track, to entry: inout [UInt8]) {
        entry.appendUnsigned(ElementID.trackNumber, UInt64(clamping: track.number))
        entry.appendUnsigned(ElementID.trackUID, track.uid)
        entry.appendUnsigned(ElementID.trackType, track.codec.kind == .video ? 1 : 2)
        entry.appendUnsigned(ElementID.flagDefault, track.isDefault ? 1 : 0)
        entry.appendUnsigned(ElementID.flagLacing, 0)
        entry.appendString(ElementID.language, track.language)
        if let name = track.name { entry.appendString(ElementID.trackName, name) }
        entry.appendString(ElementID.codecID, track.codec.codecID)
        if !track.codecPrivate.isEmpty { entry.appendBinary(ElementID.codecPrivate, track.codecPrivate) }
        if track.codecDelayNanoseconds > 0 {
            entry.appendUnsigned(ElementID.codecDelay, track.codecDelayNanoseconds)
        }
        if track.seekPreRollNanoseconds > 0 {
            entry.appendUnsigned(ElementID.seekPreRoll, track.seekPreRollNanoseconds)
        }
        if let video = track.video { Self.appendVideo(video, to: &entry) }
        if let audio = track.audio {
            entry.appendMaster(ElementID.audio) { master in
                master.appendFloat(ElementID.samplingFrequency, audio.sampleRate)
                master.appendUnsigned(ElementID.channels, UInt64(clamping: audio.channels))
                if let depth = audio.bitDepth { master.appendUnsigned(ElementID.bitDepth, UInt64(clamping: depth)) }
            }
        }
    }

    private static func appendText(_ track: TextTrack, to entry: inout [UInt8]) {
        entry.appendUnsigned(ElementID.trackNumber, UInt64(clamping: track.number))
        entry.appendUnsigned(ElementID.trackUID, track.uid)
        entry.appendUnsigned(ElementID.trackType, 17)  // subtitle
        entry.appendUnsigned(ElementID.flagDefault, 0)
        entry.appendUnsigned(ElementID.flagLacing, 0)
        entry.appendString(ElementID.language, track.language)
        if let name = track.name { entry.appendString(ElementID.trackName, name) }
        entry.appendString(ElementID.codecID, TextTrack.codecID)
    }

    private static func appendVideo(_ video: VideoTrack, to entry: inout [UInt8]) {
        entry.appendMaster(ElementID.video) { master in
            master.appendUnsigned(ElementID.flagInterlaced, 2)  // progressive
            master.appendUnsigned(ElementID.pixelWidth, UInt64(clamping: video.width))
            master.appendUnsigned(ElementID.pixelHeight, UInt64(clamping: video.height))
            if let colour = video.colour {
                master.appendMaster(ElementID.colour) { element in
                    element.appendUnsigned(ElementID.matrixCoefficients, UInt64(colour.matrixCoefficients))
                    element.appendUnsigned(ElementID.range, colour.isFullRange ? 2 : 1)
                    element.appendUnsigned(
                        ElementID.transferCharacteristics,
                        UInt64(colour.transferCharacteristics)
                    )
                    element.appendUnsigned(ElementID.primaries, UInt64(colour.primaries))
                }
            }
            guard video.rotation != .upright else { return }
            master.appendMaster(ElementID.projection) { element in
                element.appendUnsigned(ElementID.projectionType, 0)  // rectangular
                // Counter-clockwise, from -180 to 180 (RFC 9559 section 5.1.4.1.28.46).
                let clockwise = Double(video.rotation.rawValue)
                element.appendFloat(ElementID.projectionPoseRoll, clockwise > 180 ? 360 - clockwise : -clockwise)
            }
        }
    }

    /// One edition, which is the default because it is the only one: WebM has no flag for it.
    static func appendChapters(_ chapters: [Chapter], to bytes: inout [UInt8]) {
        bytes.appendMaster(ElementID.chapters) { list in
            list.appendMaster(ElementID.editionEntry) { edition in
                for chapter in chapters {
                    edition.appendMaster(ElementID.chapterAtom) { atom in
                        atom.appendUnsigned(ElementID.chapterUID, chapter.uid)
                        atom.appendUnsigned(ElementID.chapterTimeStart, UInt64(clamping: chapter.startNanoseconds))
                        if let end = chapter.endNanoseconds {
                            atom.appendUnsigned(ElementID.chapterTimeEnd, UInt64(clamping: end))
                        }
                        atom.appendMaster(ElementID.chapterDisplay) { display in
                            display.appendString(ElementID.chapString, chapter.title)
                            display.appendString(ElementID.chapLanguage, "und")
                        }
                    }
                }
            }
        }
    }

    /// One Tag for each target, in order of first appearance.
    private static func appendTags(_ tags: [Tag], to bytes: inout [UInt8]) {
        var targets: [UInt64?] = []
        for tag in tags where !targets.contains(tag.trackUID) { targets.append(tag.trackUID) }
        bytes.appendMaster(ElementID.tags) { list in
            for target in targets {
                list.appendMaster(ElementID.tag) { element in
                    element.appendMaster(ElementID.targets) { master in
                        if let uid = target { master.appendUnsigned(ElementID.tagTrackUID, uid) }
                    }
                    for tag in tags where tag.trackUID == target {
                        element.appendMaster(ElementID.simpleTag) { simple in
                            simple.appendString(ElementID.tagName, tag.name)
                            simple.appendString(ElementID.tagString, tag.value)
                        }
                    }
                }
            }
        }
    }
}
