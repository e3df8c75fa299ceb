// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Rooms

/// The room whose camera is changed, and how the daemon is found.
struct RoomCameraOptions: ParsableArguments {
    @Argument(help: "The room's name in the configuration.")
    var room: String

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    fileprivate func change(_ change: CameraChange) async throws {
        try await self.daemon.client().patch("/v1/rooms/\(PercentCoding.encode(self.room))/camera", change)
    }
}

/// Which kinds are muted.
struct MutedKinds: ParsableArguments {
    @Flag(help: "Pictures only.")
    var video = false

    @Flag(help: "Sound only.")
    var audio = false

    fileprivate func change(_ isMuted: Bool) -> CameraChange {
        var change = CameraChange()
        if self.video || !self.audio { change.isVideoMuted = isMuted }
        if self.audio || !self.video { change.isAudioMuted = isMuted }
        return change
    }
}

/// `tapedeck mute`.
struct MuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Sends black video and silence into a room of the running daemon; devices are closed meanwhile.",
        discussion: "Example: tapedeck mute standup --audio"
    )

    @OptionGroup var kinds: MutedKinds
    @OptionGroup var camera: RoomCameraOptions

    mutating func run() async throws {
        try await self.camera.change(self.kinds.change(true))
    }
}

/// `tapedeck unmute`.
struct UnmuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmute",
        abstract: "Sends video and audio into a room of the running daemon again.",
        discussion: "Example: tapedeck unmute standup"
    )

    @OptionGroup var kinds: MutedKinds
    @OptionGroup var camera: RoomCameraOptions

    mutating func run() async throws {
        try await self.camera.change(self.kinds.change(false))
    }
}

/// `tapedeck freeze`.
struct FreezeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freeze",
        abstract: "Sends one picture again and again into a room of the running daemon; audio goes on.",
        discussion: "Example: tapedeck freeze standup"
    )

    @OptionGroup var camera: RoomCameraOptions

    mutating func run() async throws {
        var change = CameraChange()
        change.isFrozen = true
        try await self.camera.change(change)
    }
}

/// `tapedeck unfreeze`.
struct UnfreezeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unfreeze",
        abstract: "Sends moving video into a room of the running daemon again.",
        discussion: "Example: tapedeck unfreeze standup"
    )

    @OptionGroup var camera: RoomCameraOptions

    mutating func run() async throws {
        var change = CameraChange()
        change.isFrozen = false
        try await self.camera.change(change)
    }
}

/// `tapedeck switch`.
struct SwitchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch",
        abstract: "Changes what is sent into a room of the running daemon while the call goes on.",
        discussion: """
            What is not named stays. It holds until the room's definition says something else.

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

    @Option(help: "Picture size in pixels, even numbers of at least 320x180.")
    var size: PictureSize?

    @Option(help: "Frames a second, 1 to 60.")
    var fps: Int?

    @Option(help: "Video bit rate, for example 1500k or 2M.")
    var bitrate: BitRate?

    @Option(help: "Sound bit rate, 6k to 510k.")
    var audioBitrate: AudioBitRate?

    @OptionGroup var camera: RoomCameraOptions

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
        try await self.camera.change(change)
    }
}
