// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Model

extension RoomOptions {
    fileprivate func change(_ change: CameraChange, done: String) async throws {
        try await self.tell("camera", change, method: "PATCH", done: done)
    }
}

/// Which kinds are muted.
struct MutedKinds: ParsableArguments {
    @Flag(help: "Video only.")
    var video = false

    @Flag(help: "Audio only.")
    var audio = false

    fileprivate func change(_ isMuted: Bool) -> CameraChange {
        var change = CameraChange()
        if self.video || !self.audio { change.isVideoMuted = isMuted }
        if self.audio || !self.video { change.isAudioMuted = isMuted }
        return change
    }

    /// The kinds in words.
    fileprivate var names: String { self.video == self.audio ? "video and audio" : self.video ? "video" : "audio" }
}

/// `tapedeck mute`.
struct MuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Send black video and silence into a room, and close the devices.",
        discussion: "Example: tapedeck mute standup --audio"
    )

    @OptionGroup var kinds: MutedKinds
    @OptionGroup var room: RoomOptions

    mutating func run() async throws {
        try await self.room.change(self.kinds.change(true), done: "\(self.kinds.names) muted")
    }
}

/// `tapedeck unmute`.
struct UnmuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmute",
        abstract: "Send video and audio into a room again after mute.",
        discussion: "Example: tapedeck unmute standup"
    )

    @OptionGroup var kinds: MutedKinds
    @OptionGroup var room: RoomOptions

    mutating func run() async throws {
        try await self.room.change(self.kinds.change(false), done: "\(self.kinds.names) unmuted")
    }
}

/// `tapedeck freeze`.
struct FreezeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freeze",
        abstract: "Send a still frame into a room; audio continues.",
        discussion: "Example: tapedeck freeze standup"
    )

    @OptionGroup var room: RoomOptions

    mutating func run() async throws {
        var change = CameraChange()
        change.isFrozen = true
        try await self.room.change(change, done: "video frozen")
    }
}

/// `tapedeck unfreeze`.
struct UnfreezeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unfreeze",
        abstract: "Send moving video into a room again after freeze.",
        discussion: "Example: tapedeck unfreeze standup"
    )

    @OptionGroup var room: RoomOptions

    mutating func run() async throws {
        var change = CameraChange()
        change.isFrozen = false
        try await self.room.change(change, done: "video moves again")
    }
}

/// `tapedeck switch`.
struct SwitchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch",
        abstract: "Change what the running daemon sends into a room during the call.",
        discussion: """
            Options that are not given keep their value. The change lasts until the room's definition changes.

            Example: tapedeck switch standup --video v4l2:/dev/video1 --size 640x360
            """
    )

    @Option(
        help: ArgumentHelp("Another video source: what `send: { capture: … }` takes, but none.", valueName: "capture")
    )
    var video: MediaSource?

    @Option(
        help: ArgumentHelp("Another audio source: what `send: { audio: … }` takes, but none.", valueName: "capture")
    )
    var audio: MediaSource?

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp("Sets a parameter of a capture; with another capture, all of them.", valueName: "name=value")
    )
    var parameters: [ParameterArgument] = []

    @Option(help: "Video size in pixels, even numbers of at least 320x180.")
    var size: VideoSize?

    @Option(help: "Frames per second, 1 to 60.")
    var fps: Int?

    @Option(help: "Video bit rate, for example 1500k or 2M.")
    var bitrate: BitRate?

    @Option(help: "Audio bit rate, 6k to 510k.", transform: { try BitRate($0, in: SendSpec.audioBitsPerSecondRange) })
    var audioBitrate: BitRate?

    @OptionGroup var room: RoomOptions

    /// The daemon says what is wrong with values.
    mutating func validate() throws {
        let given: [Any?] = [self.video, self.audio, self.size, self.fps, self.bitrate, self.audioBitrate]
        guard given.contains(where: { $0 != nil }) || !self.parameters.isEmpty else {
            throw ValidationError("there is nothing to change: --video, --audio, --size, --fps, --bitrate, …")
        }
    }

    mutating func run() async throws {
        var change = CameraChange()
        (change.video, change.audio) = (self.video, self.audio)
        if !self.parameters.isEmpty {
            change.parameters = Dictionary(self.parameters.map { ($0.name, $0.value) }) { _, last in last }
        }
        (change.width, change.height) = (self.size?.width, self.size?.height)
        change.framesPerSecond = self.fps
        change.bitsPerSecond = self.bitrate?.bitsPerSecond
        change.audioBitsPerSecond = self.audioBitrate?.bitsPerSecond
        try await self.room.change(change, done: "camera changed")
    }
}
