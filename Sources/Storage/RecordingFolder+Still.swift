// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Matroska

/// A coded keyframe of a recording, with all that a decoder needs to show it.
public struct RecordedStill: Sendable, Hashable {
    /// How it is coded.
    public var codec: MediaCodec
    /// How its frame is turned.
    public var rotation: VideoRotation
    /// Its bytes; of H.264 with start codes, behind its parameter sets.
    public var bytes: [UInt8]
}

extension RecordingFolder {
    /// Blocks that are looked at: about a minute of video.
    private static let stillBlocks = 2_000

    /// The keyframe of a track file's first minute that has the most bytes: the first one is often black, and detail costs bytes.
    ///
    /// Blocks for as long as it takes to read a minute of video. Nil if the file has none; throws `notFound`.
    public func still(of file: String) throws(StorageError) -> RecordedStill? {
        let path = try self.path(of: file)
        let source = try File(path, .read)
        do throws(MatroskaError) {
            var reader = try Reader(source)
            guard let track = reader.tracks.first(where: { $0.codec.kind == .video }) else { return nil }
            var best: BlockHead?
            var count = 0
            while count < Self.stillBlocks, let head = try reader.nextHead() {
                count += 1
                if head.track == track.number, head.isKeyframe, head.payloadSize > best?.payloadSize ?? 0 {
                    best = head
                }
            }
            guard let best else { return nil }
            let payload = try reader.payload(of: best)
            return RecordedStill(
                codec: track.codec,
                rotation: track.video?.rotation ?? .upright,
                bytes: track.codec == .h264 ? Self.annexB(payload, track.codecPrivate) : payload
            )
        } catch {
            return nil
        }
    }

    private static func annexB(_ payload: [UInt8], _ configuration: [UInt8]) -> [UInt8] {
        let sets = H264.parameterSets(decoderConfiguration: configuration)
        let start: [UInt8] = [0, 0, 0, 1]
        var bytes: [UInt8] = []
        for set in (sets?.sequence ?? []) + (sets?.picture ?? []) { bytes += start + set }
        payload.withUnsafeBytes { payload in
            H264.forEachUnit(payload, framing: .lengthPrefixed) { unit in
                bytes += start
                bytes.append(contentsOf: unit)
            }
        }
        return bytes
    }
}
