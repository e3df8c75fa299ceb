// SPDX-License-Identifier: Apache-2.0

internal import DataChannels
internal import GStreamer
internal import Logging
internal import Observability
internal import SDP
internal import Signalling
internal import Synchronization

/// Messages that a peer writes into data channels, and announcements there.
extension PeerConnection {
    /// Begins to listen, once data channels are negotiated and there is a transport; on the control thread.
    func receiveChat(_ bin: WebRTCBin) {
        let chat = self.state.withLock { state -> ChatReceiver? in
            guard self.context.recorder != nil, state.chat == nil, let port = state.negotiation.dataChannelPort else {
                return nil
            }
            state.chat = ChatReceiver(port: port)
            return state.chat
        }
        guard let chat else { return }
        let isHeard = bin.receiveData(packetsPerSecond: ChatReceiver.packetsPerSecond) {
            [weak self, chat] packet, nanoseconds in
            guard chat.came(packet, at: nanoseconds) else { return }
            self?.context.control.enqueue { [weak self] in self?.takeChat() }
        }
        if !isHeard { self.state.withLock { $0.chat = nil } }
    }

    /// Answers received packets, and records messages; on the control thread.
    ///
    /// Packets that come before the peer's certificate is known wait, and are taken when the connection is up.
    func takeChat() {
        guard let bin = self.bin, let chat = self.state.withLock({ $0.chat }), self.isGenuine(bin) else { return }
        let output = chat.take()
        for packet in output.packets { bin.sendData(packet) }
        for message in output.messages {
            guard let text = ChatText.read(message.text) else { continue }
            self.context.recorder?.wrote(
                participant: self.peer.rawValue,
                text,
                label: message.label,
                message.arrivalNanoseconds
            )
        }
        if let (number, text) = self.context.announcement?.current, let packets = chat.announce(text, of: number) {
            for packet in packets { bin.sendData(packet) }
            self.logger.info("the recording is announced in the chat")
        }
        self.repeatLater(chat)
    }

    private func repeatLater(_ chat: ChatReceiver) {
        guard chat.beginsToRepeat() else { return }
        self.context.control.enqueue(after: ChatReceiver.repetition) { [weak self] in
            guard let self, let bin = self.bin else { return }
            for packet in chat.repeated() { bin.sendData(packet) }
            self.repeatLater(chat)
        }
    }

    /// Says what was not recorded, when the connection is closed.
    func logChat() {
        guard let counters = self.state.withLock({ $0.chat })?.counters else { return }
        let left = counters.tooMany + counters.cut + counters.refusedChannels
        guard left > 0 || counters.binary > 0 else { return }
        self.logger.log(
            level: left > 0 ? .notice : .debug,
            "not all of the data channels is recorded",
            metadata: .tagged([
                .detail: """
                \(counters.binary) binary messages, \(counters.tooMany) beyond the rate, \(counters.cut) cut, \
                \(counters.refusedChannels) channels too many
                """
            ])
        )
    }
}
