// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model
internal import PipelineCatalogue

/// The keys of one of a room's `outputs`.
enum OutputKeys {
    static let table = KeyTable(
        KeyTable.Entry(name: "rtp", shape: .mapping(RTP.table)),
        KeyTable.Entry(name: "pipeline", shape: .mapping(Pipeline.table))
    )

    /// The keys of `pipeline`.
    enum Pipeline {
        static let file = Key("file", .outputFile)
        static let participant = RTP.participant
        /// Addresses of servers may hold keys.
        static let parameter = Key("parameters", .parameterValue, isSecret: true)

        static let table = KeyTable(file.entry, participant.entry, parameter.entry)
    }

    /// The keys of `rtp`.
    enum RTP {
        static let host = Key("host", .outputHost)
        static let videoPort = Key("video_port", .integer(1...65_534))
        static let audioPort = Key("audio_port", .integer(1...65_534))
        static let participants = Key("participants", .integer(OutputSpec.participantsRange))
        static let portStep = Key("port_step", .integer(OutputSpec.portStepRange))
        static let participant = Key("participant", ValueType<String>.line(maximum: 256))
        static let sourcePort = Key("source_port", .integer(1024...65_532))
        static let interface = Key("interface", .interface)
        static let timeToLive = Key("ttl", .integer(OutputSpec.timeToLiveRange))
        static let videoPayloadType = Key("video_payload_type", .integer(OutputSpec.payloadTypeRange))
        static let audioPayloadType = Key("audio_payload_type", .integer(OutputSpec.payloadTypeRange))
        static let sdpFile = Key("sdp_file", .descriptionFile)
        static let isEncrypted = Key("srtp", .boolean)

        static let table = KeyTable(
            host.entry,
            videoPort.entry,
            audioPort.entry,
            participants.entry,
            portStep.entry,
            participant.entry,
            sourcePort.entry,
            interface.entry,
            timeToLive.entry,
            videoPayloadType.entry,
            audioPayloadType.entry,
            sdpFile.entry,
            isEncrypted.entry
        )
    }
}

extension ValueType where Value == String {
    /// A file of `Pipelines/output`.
    fileprivate static let outputFile = ValueType(accepted: "the name of a pipeline file of output/, such as hls") {
        PipelineFile.isName($0) ? $0 : nil
    }

    /// A host name, or an IPv4 or IPv6 address without brackets.
    fileprivate static let outputHost = ValueType(
        accepted: "a host name or an address, such as 127.0.0.1, \"::1\" or 239.1.2.3"
    ) { text in
        HostAndPort.isHost(text[...]) || IPAddress(text) != nil ? text.lowercased() : nil
    }

    /// A file of ours that receivers read.
    fileprivate static let descriptionFile = ValueType(
        accepted: "an absolute path that ends in .sdp, such as /run/tapedeck/standup.sdp"
    ) { text in
        text.hasSuffix(".sdp") ? AbsolutePath.parse(text) : nil
    }

    /// A network interface's name (IFNAMSIZ).
    fileprivate static let interface = ValueType(accepted: "an interface, such as eth0") { text in
        (1...15).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x2F }
            ? text : nil
    }
}

extension OutputSpec {
    /// Reads `outputs` of a room.
    static func read(_ room: MappingReader) -> [OutputSpec] {
        var files: Set<String> = []
        return (room.list("outputs", OutputKeys.table, maximum: OutputSpec.maximumCount) ?? []).compactMap { entry in
            switch (entry.has("rtp"), entry.has("pipeline")) {
            case (true, true):
                entry.add("pipeline", "stands next to rtp", accepted: "one of them for each output")
            case (false, true):
                guard let reader = entry.mapping("pipeline", OutputKeys.Pipeline.table) else { return nil }
                return PipelineOutputSpec(reader).map {
                    OutputSpec(pipeline: $0, participant: reader.value(OutputKeys.Pipeline.participant))
                }
            case (true, false):
                guard let reader = entry.mapping("rtp", OutputKeys.RTP.table), let output = OutputSpec(reader) else {
                    return nil
                }
                if let file = output.sdpFile, !files.insert(file).inserted {
                    reader.add(OutputKeys.RTP.sdpFile.name, "another output writes the same file")
                }
                return output
            case (false, false):
                entry.add("rtp", "missing", accepted: "rtp with host and ports, or pipeline with a file")
            }
            return nil
        }
    }

    private init?(_ reader: MappingReader) {
        typealias Keys = OutputKeys.RTP
        guard let host = reader.required(Keys.host) else { return nil }
        self.init(host: host)
        self.videoPort = reader.value(Keys.videoPort).map { UInt16(clamping: $0) }
        self.audioPort = reader.value(Keys.audioPort).map { UInt16(clamping: $0) }
        self.participants = reader.value(Keys.participants) ?? self.participants
        self.portStep = reader.value(Keys.portStep) ?? self.portStep
        self.participant = reader.value(Keys.participant)
        self.sourcePort = reader.value(Keys.sourcePort).map { UInt16(clamping: $0) }
        self.interface = reader.value(Keys.interface)
        self.timeToLive = reader.value(Keys.timeToLive)
        self.videoPayloadType = reader.value(Keys.videoPayloadType).map { UInt8(clamping: $0) }
        self.audioPayloadType = reader.value(Keys.audioPayloadType).map { UInt8(clamping: $0) }
        self.sdpFile = reader.value(Keys.sdpFile)
        self.isEncrypted = reader.value(Keys.isEncrypted) ?? self.isEncrypted
        for problem in self.problems { Self.tell(problem, reader) }
    }

    /// Reports problems in the words of the keys, the effects of a wrong value together with it.
    private static func tell(_ problem: Problem, _ reader: MappingReader) {
        typealias Keys = OutputKeys.RTP
        func name(_ stream: Stream) -> String { stream == .video ? Keys.videoPort.name : Keys.audioPort.name }
        switch problem {
        case .noPort where !reader.has(Keys.videoPort.name) && !reader.has(Keys.audioPort.name):
            reader.add(Keys.videoPort.name, "missing", accepted: "video_port, audio_port or both")
        case .portsEnd(let stream, let participants):
            reader.add(name(stream), "the ports of \(participants) participants go beyond 65534")
        case .portTaken(let stream, let port):
            let message = "two streams want port \(port) or \(port + 1): RTCP uses the port after RTP's"
            reader.add(name(stream), message)
        case .sourcePortsEnd(let participants):
            reader.add(Keys.sourcePort.name, "the ports of \(participants) participants go beyond 65535")
        case .noPlaceMark:
            reader.add(
                Keys.sdpFile.name,
                "each participant has a separate file",
                accepted: "a path with {place} in it, such as /run/tapedeck/standup-{place}.sdp"
            )
        case .noFileForKeys where !reader.has(Keys.sdpFile.name):
            reader.add(Keys.isEncrypted.name, "needs sdp_file: the keys are nowhere else")
        case .noPort, .noFileForKeys, .range, .followsSeveral:
            break
        }
    }
}

extension PipelineOutputSpec {
    /// Whether the file is there and takes the values is known when the pipeline files are read.
    fileprivate init?(_ reader: MappingReader) {
        guard let file = reader.required(OutputKeys.Pipeline.file) else { return nil }
        self.init(file: file)
        for (entry, path) in reader.named(OutputKeys.Pipeline.parameter.name) {
            let value = reader.single(entry.value, OutputKeys.Pipeline.parameter, path: path)
            self.parameters[entry.key] = value.map { Secret($0) }
        }
    }
}
