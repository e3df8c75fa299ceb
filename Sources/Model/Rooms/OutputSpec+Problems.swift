// SPDX-License-Identifier: Apache-2.0

extension OutputSpec {
    /// What an output sends of a participant.
    public enum Stream: Sendable, Hashable {
        /// Video.
        case video
        /// Audio.
        case audio
    }

    /// Why nothing can be sent like this.
    public enum Problem: Sendable, Hashable, CustomStringConvertible {
        /// There is no port.
        case noPort
        /// There are several places, and one speaks at a time.
        case followsSeveral
        /// A number is outside of its range.
        case range(RangeProblem)
        /// The ports of a stream of so many participants go too far.
        case portsEnd(Stream, participants: Int)
        /// A stream wants a port, or the next one, that another stream has.
        case portTaken(Stream, port: Int)
        /// Our own ports for so many participants go too far.
        case sourcePortsEnd(participants: Int)
        /// Several participants have one file.
        case noPlaceMark
        /// The keys would be nowhere.
        case noFileForKeys

        /// One sentence for a person.
        public var description: String {
            switch self {
            case .noPort: "there is neither a video nor an audio port"
            case .followsSeveral: "one speaks at a time"
            case .range(let problem): problem.description
            case .portsEnd: "the ports go beyond 65534"
            case .portTaken(_, let port):
                "two streams want port \(port) or \(port + 1): RTP uses the port itself, RTCP the next one"
            case .sourcePortsEnd: "the source ports go beyond 65535"
            case .noPlaceMark: "with several participants the description's file needs {place} in its name"
            case .noFileForKeys: "srtp needs the description's file: the keys are nowhere else"
            }
        }
    }

    /// Everything that is wrong, the first of the ports.
    public var problems: [Problem] {
        var problems: [Problem] = []
        if self.videoPort == nil, self.audioPort == nil, self.pipeline == nil { problems.append(.noPort) }
        if self.followsSpeaker, self.participants != 1 { problems.append(.followsSeveral) }
        let ranges = [
            RangeProblem("participants", self.participants, in: Self.participantsRange),
            RangeProblem("portStep", self.portStep, in: Self.portStepRange),
            self.timeToLive.flatMap { RangeProblem("ttl", $0, in: Self.timeToLiveRange) },
            self.videoPayloadType.flatMap { RangeProblem("videoPayloadType", Int($0), in: Self.payloadTypeRange) },
            self.audioPayloadType.flatMap { RangeProblem("audioPayloadType", Int($0), in: Self.payloadTypeRange) },
        ].compactMap { $0 }
        problems += ranges.map { .range($0) }
        // With numbers out of range there is nothing to count.
        if ranges.isEmpty {
            if let problem = self.portProblem { problems.append(problem) }
            if let sourcePort, sourcePort == 0 || Int(sourcePort) + self.participants * 4 > 65_535 {
                problems.append(.sourcePortsEnd(participants: self.participants))
            }
        }
        if let sdpFile, self.participants > 1, !sdpFile.contains(Self.placeMark) { problems.append(.noPlaceMark) }
        if self.isEncrypted, self.sdpFile == nil { problems.append(.noFileForKeys) }
        return problems
    }

    /// RTP uses a port and RTCP the next one; no two streams may share one.
    private var portProblem: Problem? {
        var used: Set<Int> = []
        for case (let stream, let first?) in [(Stream.video, self.videoPort), (.audio, self.audioPort)] {
            for place in 0..<self.participants {
                let port = Int(first) + place * self.portStep
                guard port >= 1, port < 65_535 else { return .portsEnd(stream, participants: self.participants) }
                guard used.insert(port).inserted, used.insert(port + 1).inserted else {
                    return .portTaken(stream, port: port)
                }
            }
        }
        return nil
    }

    /// Everything that is wrong with a room's outputs, in sentences.
    ///
    /// What is wrong with the pipeline of one is shown in its status: the room continues.
    public static func problems(of outputs: [OutputSpec]) -> [String] {
        let isTooMany = outputs.count { $0.label == nil } > Self.maximumCount
        return (isTooMany ? ["a room takes \(Self.maximumCount) outputs at most"] : [])
            + outputs.flatMap { output in output.problems.map { "output \(output.name): \($0)" } }
    }
}
