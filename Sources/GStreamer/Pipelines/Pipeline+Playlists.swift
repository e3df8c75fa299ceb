// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

extension Pipeline {
    /// How an element that writes HLS keeps what it wrote.
    public struct PlaylistBounds: Sendable, Hashable {
        /// Segments that a playlist names; 0 for all.
        public var segments: Int
        /// Segments that are kept; 0 for all.
        public var files: Int
    }

    /// The playlist length of an `hlssink2`; nil for an element of another kind, whose playlists are not kept here.
    public func playlistBounds(of name: String) throws(GStreamerError) -> PlaylistBounds? {
        let sink = try self.element(named: name)
        guard sink.factoryName == "hlssink2" else { return nil }
        return PlaylistBounds(
            segments: Int(CGst_get_int(sink.pointer, "playlist-length")),
            files: Int(CGst_get_int(sink.pointer, "max-files"))
        )
    }

    /// Gives the playlists of an `hlssink2` to `write` instead of a file, and lets it name its segments.
    ///
    /// - Parameters:
    ///   - location: the path of a segment, with `%05d` or the like for its number.
    ///   - write: takes a whole playlist, on a thread of the pipeline; 0, or an `errno` that ends the pipeline.
    public func takePlaylists(
        of name: String,
        location: String,
        write: @escaping @Sendable (String) -> Int32
    ) throws(GStreamerError) {
        let sink = try self.element(named: name)
        try sink.set("location", verbatim: location)
        let box = PlaylistBox(write)
        CTapedeck_take_playlists(
            sink.pointer,
            { user, text, size in
                guard let user, let text else { return 0 }
                let bytes = UnsafeRawBufferPointer(start: text, count: size)
                let box = Unmanaged<PlaylistBox>.fromOpaque(user).takeUnretainedValue()
                return box.write(String(decoding: bytes, as: UTF8.self))
            },
            Unmanaged.passRetained(box).toOpaque(),
            release
        )
    }
}

/// The owner of a closure for C that answers.
private final class PlaylistBox: Sendable {
    let write: @Sendable (String) -> Int32

    init(_ write: @escaping @Sendable (String) -> Int32) {
        self.write = write
    }
}
