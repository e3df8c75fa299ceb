// SPDX-License-Identifier: Apache-2.0

/// The element ids that the writer and reader know, marker bits included (RFC 8794 section 11, RFC 9559 section 5.1).
enum ElementID {
    static let ebml: UInt32 = 0x1A45_DFA3
    static let ebmlVersion: UInt32 = 0x4286
    static let ebmlReadVersion: UInt32 = 0x42F7
    static let ebmlMaxIDLength: UInt32 = 0x42F2
    static let ebmlMaxSizeLength: UInt32 = 0x42F3
    static let docType: UInt32 = 0x4282
    static let docTypeVersion: UInt32 = 0x4287
    static let docTypeReadVersion: UInt32 = 0x4285
    static let void: UInt32 = 0xEC
    static let crc32: UInt32 = 0xBF

    static let segment: UInt32 = 0x1853_8067
    static let seekHead: UInt32 = 0x114D_9B74
    static let seek: UInt32 = 0x4DBB
    static let seekID: UInt32 = 0x53AB
    static let seekPosition: UInt32 = 0x53AC

    static let info: UInt32 = 0x1549_A966
    static let segmentUUID: UInt32 = 0x73A4
    static let timestampScale: UInt32 = 0x2A_D7B1
    static let duration: UInt32 = 0x4489
    static let dateUTC: UInt32 = 0x4461
    static let title: UInt32 = 0x7BA9
    static let muxingApp: UInt32 = 0x4D80
    static let writingApp: UInt32 = 0x5741

    static let tracks: UInt32 = 0x1654_AE6B
    static let trackEntry: UInt32 = 0xAE
    static let trackNumber: UInt32 = 0xD7
    static let trackUID: UInt32 = 0x73C5
    static let trackType: UInt32 = 0x83
    static let flagDefault: UInt32 = 0x88
    static let flagLacing: UInt32 = 0x9C
    static let trackName: UInt32 = 0x536E
    static let language: UInt32 = 0x22_B59C
    static let codecID: UInt32 = 0x86
    static let codecPrivate: UInt32 = 0x63A2
    static let codecDelay: UInt32 = 0x56AA
    static let seekPreRoll: UInt32 = 0x56BB
    static let defaultDuration: UInt32 = 0x23_E383
    static let video: UInt32 = 0xE0
    static let flagInterlaced: UInt32 = 0x9A
    static let pixelWidth: UInt32 = 0xB0
    static let pixelHeight: UInt32 = 0xBA
    static let colour: UInt32 = 0x55B0
    static let matrixCoefficients: UInt32 = 0x55B1
    static let range: UInt32 = 0x55B9
    static let transferCharacteristics: UInt32 = 0x55BA
    static let primaries: UInt32 = 0x55BB
    static let projection: UInt32 = 0x7670
    static let projectionType: UInt32 = 0x7671
    static let projectionPoseRoll: UInt32 = 0x7675
    static let audio: UInt32 = 0xE1
    static let samplingFrequency: UInt32 = 0xB5
    static let channels: UInt32 = 0x9F
    static let bitDepth: UInt32 = 0x6264

    static let cluster: UInt32 = 0x1F43_B675
    static let timestamp: UInt32 = 0xE7
    static let simpleBlock: UInt32 = 0xA3
    static let blockGroup: UInt32 = 0xA0
    static let block: UInt32 = 0xA1
    static let blockDuration: UInt32 = 0x9B
    static let referenceBlock: UInt32 = 0xFB

    static let cues: UInt32 = 0x1C53_BB6B
    static let cuePoint: UInt32 = 0xBB
    static let cueTime: UInt32 = 0xB3
    static let cueTrackPositions: UInt32 = 0xB7
    static let cueTrack: UInt32 = 0xF7
    static let cueClusterPosition: UInt32 = 0xF1
    static let cueRelativePosition: UInt32 = 0xF0

    static let chapters: UInt32 = 0x1043_A770
    static let editionEntry: UInt32 = 0x45B9
    static let editionUID: UInt32 = 0x45BC
    static let chapterAtom: UInt32 = 0xB6
    static let chapterUID: UInt32 = 0x73C4
    static let chapterTimeStart: UInt32 = 0x91
    static let chapterTimeEnd: UInt32 = 0x92
    static let chapterDisplay: UInt32 = 0x80
    static let chapString: UInt32 = 0x85
    static let chapLanguage: UInt32 = 0x437C

    static let tags: UInt32 = 0x1254_C367
    static let tag: UInt32 = 0x7373
    static let targets: UInt32 = 0x63C0
    static let tagTrackUID: UInt32 = 0x63C5
    static let simpleTag: UInt32 = 0x67C8
    static let tagName: UInt32 = 0x45A3
    static let tagString: UInt32 = 0x4487

    static let attachments: UInt32 = 0x1941_A469

    static let position: UInt32 = 0xA7
    static let previousSize: UInt32 = 0xAB
    static let silentTracks: UInt32 = 0x5854
    static let encryptedBlock: UInt32 = 0xAF

    /// Whether an element of this id may be anywhere.
    static func isFiller(_ id: UInt32) -> Bool { id == Self.void || id == Self.crc32 }

    /// Whether an element of this id belongs into a cluster.
    static func isInCluster(_ id: UInt32) -> Bool {
        switch id {
        case Self.timestamp, Self.simpleBlock, Self.blockGroup, Self.position, Self.previousSize, Self.silentTracks,
            Self.encryptedBlock:
            true
        default: Self.isFiller(id)
        }
    }

    /// Whether an element of this id belongs behind the clusters, or between them.
    static func isBetweenClusters(_ id: UInt32) -> Bool { Self.isInSegment(id) || Self.isFiller(id) }

    /// Whether an element of this id ends a cluster of unknown size: a child of Segment, or a new top element.
    static func endsCluster(_ id: UInt32) -> Bool {
        Self.isInSegment(id) || id == Self.segment || id == Self.ebml
    }

    /// Whether an element of this id is a child of Segment alone.
    private static func isInSegment(_ id: UInt32) -> Bool {
        switch id {
        case Self.cluster, Self.cues, Self.tags, Self.chapters, Self.seekHead, Self.info, Self.tracks,
            Self.attachments:
            true
        default: false
        }
    }
}
