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

    /// A keyframe of a track file; nil if it has none.
    ///
    /// Blocks while the file is read up to there.
    ///
    /// - Parameter nanoseconds: a time from the file's first unit, of which the last keyframe before it counts, or the first of all.
    ///   Without one, the keyframe of the first minute that has the most bytes: the first one is often black, and detail costs
    ///   bytes.
    /// - Throws: `notFound`.
    public func still(of file: String, at nanoseconds: Int64? = nil) throws(StorageError) -> RecordedStill? {
        let path = try self.path(of: file)
        let source = try File(path, .read)
        do throws(MatroskaError) {
            var reader = try Reader(source)
            guard let track = reader.tracks.first(where: { $0.codec.kind == .video }) else { return nil }
            var best: BlockHead?
            var count = 0
            while nanoseconds != nil || count < Self.stillBlocks, let head = try reader.nextHead() {
                count += 1
                if let nanoseconds, best != nil, head.timeNanoseconds > nanoseconds { break }
                guard head.track == track.number, head.isKeyframe else { continue }
                if nanoseconds != nil || head.payloadSize > best?.payloadSize ?? 0 { best = head }
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
